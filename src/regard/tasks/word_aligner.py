"""A trained aligner: which words of two sentences are translations of each other.

aligner = regard.load("runs/aligner")
aligner.align(["das Haus ist klein"], ["the house is small"])[0].links      # frozenset({(0, 0), (1, 1), …})
aligner.inspect("das Haus ist klein", "the house is small")                  # probabilities, in both directions
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from jaxtyping import Float

from regard.checkpoint import ModelFolder, load_weights, put_weights
from regard.errors import ModelWarning, UsageError
from regard.inspect import Alignment, Inspection, Joining, Links, WordWeights
from regard.inspect.inspection import Array
from regard.inspect.labels import arrow_between
from regard.metrics import MetricScore
from regard.misuse import explained
from regard.models.alignment.aligner import SIDES, Posteriors, StatisticalAligner
from regard.recipe import HeldOut
from regard.recipe.alignment import AlignmentData, AlignmentRecipe
from regard.tasks.aligned_words import words_of
from regard.tasks.alignment import load_words
from regard.tasks.loading import refuse_company, refuse_other_task
from regard.tasks.long_pairs import is_too_long, no_links
from regard.tasks.trained import LoadedModel
from regard.tasks.unlike_text import KnownText, is_swapped, tokenized_otherwise
from regard.tasks.validating import check_pair_up, check_texts
from regard.tokens.segmentation import Units

BY_PROBABILITY = Joining("by-probability", 0.2)
"""The default symmetrization; chosen on development text of ten languages."""
CELLS_AT_ONCE = 1_000_000
"""Pairs of words in the sentence pairs that are aligned together."""


JUDGED = 10_000
"""Pairs by which a text is compared with the training text."""


@dataclass(frozen=True, repr=False)
class AlignedPair:
    """Two texts and the links between their words."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: Links
    probabilities: Float[np.ndarray, "T S"]
    """Of every link: the harmonic mean of both directions."""
    score: float
    """How well the two texts fit: the mean log-probability of a word given the other text."""

    def __repr__(self) -> str:
        pairs = (f"{self.source[i]}–{self.target[j]} {self.probabilities[j, i]:.2f}" for i, j in sorted(self.links))
        return f"<AlignedPair: {', '.join(pairs) or 'no links'}>"


@explained
class WordAligner(LoadedModel[AlignmentRecipe, StatisticalAligner]):
    """An aligner, ready for use."""

    joining = BY_PROBABILITY

    def __init__(self, recipe: AlignmentRecipe, model: StatisticalAligner) -> None:
        self.recipe, self.model = recipe, model.eval()
        self._to_judge = JUDGED

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The aligner in a folder."""
        recipe, weights = ModelFolder(folder).read_recipe(AlignmentRecipe), load_weights(folder)
        model = StatisticalAligner.untrained(recipe.model, load_words(folder))
        model.make_room(weights)
        put_weights(model, weights, folder)
        return cls(recipe, model)

    @property
    def _facts(self) -> dict[str, str]:
        source, target = self.model.words
        return {"words": f"{len(source):,} source, {len(target):,} target", "pairs": f"{len(self.model.keys):,}"}

    def evaluate(self, split: HeldOut) -> tuple[MetricScore, ...]:
        """Refuses: a recipe of an aligner has no true links to judge by."""
        raise UsageError("an aligner is judged by true links: regard align MODEL SOURCE TARGET --gold LINKS")

    def align(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        joining: Joining | None = None,
        units: Units | tuple[Units, Units] = "auto",
    ) -> list[AlignedPair]:
        """The links of pairs of texts, with their probabilities and a score of each pair."""
        both = units if isinstance(units, tuple) else (units, units)
        found = self.alignments(sources, targets, units=units, scored=True)
        return [
            AlignedPair(
                tuple(words_of(source, self._as_written, both[0])),
                tuple(words_of(target, self._as_written, both[1])),
                alignment.links(joining or self.joining),
                alignment.probabilities,
                alignment.score or 0.0,
            )
            for source, target, alignment in zip(sources, targets, found, strict=True)
        ]

    @cached_property
    def _as_written(self) -> AlignmentData:
        return self.recipe.data.model_copy(update={"lowercase": False})

    def alignments(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        units: Units | tuple[Units, Units] = "auto",
        scored: bool = False,
    ) -> Iterator[Alignment]:
        """The probabilities of the links of each pair, in both directions, and its score, which costs nothing more.
        `units` defines a word, if differently from training."""
        check_pair_up(sources, targets)
        both = units if isinstance(units, tuple) else (units, units)
        rows = [
            tuple(words_of(text, self.recipe.data, each) for text, each in zip(pair, both, strict=True))
            for pair in zip(sources, targets, strict=True)
        ]
        self._tell_if_unlike(rows)
        first = cells = 0
        for number, (source, target) in enumerate(rows):
            long, size = is_too_long(len(source), len(target)), len(source) * len(target)
            if long or cells + size > CELLS_AT_ONCE:
                yield from self._aligned(rows[first:number], scored)
                first, cells = number, 0
            if long:
                yield no_links(sources[number], len(source), len(target), both=True)
                first = number + 1
            else:
                cells += size
        yield from self._aligned(rows[first:], scored)

    def _aligned(self, rows: Sequence[tuple[list[str], ...]], scored: bool) -> Iterator[Alignment]:
        sources, targets = [row[0] for row in rows], [row[1] for row in rows]
        for found in self.model.posteriors(sources, targets) if rows else ():
            yield Alignment(_weights(found.forward), _weights(found.backward), _score(found) if scored else None)

    def _tell_if_unlike(self, rows: Sequence[tuple[list[str], ...]]) -> None:
        """Warns, once, if a text seems to be unlike the training text."""
        if not self._to_judge:
            return
        sides = [[word for row in rows for word in row[place]] for place in (0, 1)]
        what = ""
        if is_swapped(sides, self._known):
            what = (
                "source and target seem to be swapped for this model, which knows more words of them the other way "
                "round: give the files in the other order"
            )
        for side, words, known in zip(SIDES, sides, self._known, strict=True):
            if not what and (apart := tokenized_otherwise(words, known)):
                what = (
                    f"the {side} text seems to be tokenized otherwise than the training text, which costs many links: "
                    f"{apart}"
                )
        self._to_judge = 0 if what else max(self._to_judge - len(rows), 0)
        if what:
            warnings.warn(what, ModelWarning, stacklevel=4)

    @cached_property
    def _known(self) -> tuple[KnownText, ...]:
        return tuple(map(KnownText, self.model.numbers, self.model.occurrences))

    def inspect(self, *texts: str) -> Inspection:
        """The probabilities of all links of a pair: of each direction, and of both."""
        check_texts("texts", texts)
        if len(texts) != 2:
            raise UsageError(f"an aligner looks at a pair of texts, not at {len(texts)}; give source and target")
        (found,) = self.align(*([text] for text in texts))
        (each,) = self.alignments(*([text] for text in texts))
        assert each.backward is not None
        axes = ("target", "source")
        return Inspection(
            {
                "probabilities": Array(axes, found.probabilities),
                "forward": Array(axes, each.forward.weights),
                "backward": Array(axes, each.backward.weights.T),
            },
            {"source": found.source, "target": found.target},
            title=arrow_between(*texts),
            words={"source": tuple(range(len(found.source))), "target": tuple(range(len(found.target)))},
            shown=("probabilities", "forward", "backward"),
        )


def load_word_aligner(
    folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()
) -> WordAligner:
    """The aligner in a folder. It runs on the CPU."""
    refuse_company(folder, "word aligner", others, changes)
    refuse_other_task(Path(folder), "alignment")
    return WordAligner.load(Path(folder))


def _weights(found: Float[np.ndarray, "T S"]) -> WordWeights:
    return WordWeights(found, np.maximum(1 - found.sum(axis=1), 0.0))


def _score(found: Posteriors) -> float:
    """The mean log-probability of a word; of a pair with an empty side, minus infinity."""
    words = sum(found.forward.shape)
    return sum(found.log_likelihoods) / words if found.forward.size else float("-inf")
