"""Glossary terms put in place of the words that a model wrote for them, which are found by its attention.

The rest of the model's output is kept. Where it already contains the term, nothing changes; where no word of the output
comes from the term, the text is translated again by a search that must write all of its terms (`decode.forced_terms`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool

from regard.decode.forced_terms import check_can_force
from regard.inspect import WordWeights, link
from regard.tasks.glossary import FoundTerm
from regard.tasks.markup import longest_run
from regard.tasks.translations import Translation
from regard.tasks.translator import Translator
from regard.tokens.segmentation import Span, smallest_parts_of

LEAST_SHARE = 0.5
"""A word is attributed to a term if it attended to it most, with at least this share of the highest such weight: the
others, such as articles, have nothing better to attend to."""

Write = Callable[[Sequence[str], Sequence[Sequence[str]] | None], Sequence[Translation]]
"""Translates texts, each with all of its terms if they are given."""


def translate_with_terms(
    translator: Translator, texts: Sequence[str], terms: Sequence[Sequence[FoundTerm]], write: Write
) -> list[Translation]:
    """The translation of every text with its terms, and of each of its `others` where they can be placed."""
    check_can_force(translator.recipe.decode)
    found = list(write(texts, None))
    bound = [place for place, each in enumerate(terms) if each]
    lacking = bound
    if bound and translator.model.cross_taps:
        placed = list(_placed(translator, [found[place] for place in bound], [terms[place] for place in bound]))
        lacking = [place for place, new in zip(bound, placed, strict=True) if new is None]
        for place, new in zip(bound, placed, strict=True):
            found[place] = new or found[place]
    forced = write([texts[place] for place in lacking], [[term.target for term in terms[place]] for place in lacking])
    for place, new in zip(lacking, forced, strict=True):
        found[place] = new
    return found


def _placed(
    translator: Translator, found: Sequence[Translation], terms: Sequence[Sequence[FoundTerm]]
) -> Iterator[Translation | None]:
    """Translations with their terms; None where the best has no word for one of them."""
    outputs = [output for best in found for output in (best, *best.others)]
    every = [each for best, each in zip(found, terms, strict=True) for _ in (best, *best.others)]
    sources, texts = [output.source for output in outputs], [output.text for output in outputs]
    weights = translator.word_weights(sources, texts, units=smallest_parts_of)
    placed = iter([place_terms(*each) for each in zip(sources, texts, every, weights, strict=True)])
    for best in found:
        rows = [(output, next(placed)) for output in (best, *best.others)]
        # Outputs that differed only in these words are now equal.
        different: dict[str, Translation] = {}
        for output, text in rows:
            if text is not None:
                different.setdefault(text, replace(output, text=text, others=()))
        yield (
            replace(next(iter(different.values())), others=tuple(different.values())[1:])
            if rows[0][1] is not None
            else None
        )


def place_terms(source: str, output: str, terms: Sequence[FoundTerm], weights: WordWeights) -> str | None:
    """An output with the terms of its source, given the weights between the smallest parts of both; None if no word
    comes from one of the terms."""
    spans = smallest_parts_of(output)
    written = [output[start:end] for start, end in spans]
    read = smallest_parts_of(source)
    origins = {target: origin for origin, target in sorted(link(weights), reverse=True)}
    taken: dict[Span, str] = {}
    lacking = []
    for term in terms:
        own = _written_for(term, read, weights, origins)
        same = _standing(term.target, written, own, taken)
        if same is None:
            lacking.append((term, own))
        else:
            taken[same] = output[spans[same[0]][0] : spans[same[1] - 1][1]]
    for term, own in lacking:
        mine = [is_own and not _is_taken(place, taken) for place, is_own in enumerate(own)]
        start, end = longest_run(mine, [place not in origins for place in range(len(spans))])
        if start == end or any(_is_taken(place, taken) for place in range(start, end)):
            return None
        taken[start, end] = term.target
    for (start, end), text in sorted(taken.items(), reverse=True):
        output = output[: spans[start][0]] + text + output[spans[end - 1][1] :]
    return output


def _written_for(
    term: FoundTerm, read: Sequence[Span], weights: WordWeights, origins: dict[int, int]
) -> Bool[np.ndarray, " T"]:
    """Whether each part of an output was written for a term."""
    columns = [place for place, (start, end) in enumerate(read) if term.span[0] <= start and end <= term.span[1]]
    looked = weights.weights[:, columns].max(axis=1, initial=0.0)
    linked = np.array([origins.get(place) in columns for place in range(len(looked))], dtype=bool)
    written: Bool[np.ndarray, " T"] = linked & (looked >= LEAST_SHARE * looked[linked].max(initial=0.0))
    return written


def _standing(target: str, written: Sequence[str], own: Bool[np.ndarray, " T"], taken: dict[Span, str]) -> Span | None:
    """The span where an output already has a term, preferably among the parts written for it."""
    parts = [target[start:end] for start, end in smallest_parts_of(target)]
    ends = range(len(parts), len(written) + 1)
    same = [
        (end - len(parts), end)
        for end in ends
        if written[end - len(parts) : end] == parts
        and not any(_is_taken(place, taken) for place in range(end - len(parts), end))
    ]
    return max(same, key=lambda span: own[slice(*span)].sum(), default=None)


def _is_taken(place: int, taken: dict[Span, str]) -> bool:
    return any(start <= place < end for start, end in taken)
