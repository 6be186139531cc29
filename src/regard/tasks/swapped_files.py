"""Detects given pairs whose source and target are swapped against a model's training text."""

from collections.abc import Sequence
from itertools import islice

from regard.data import Pair, load_corpus
from regard.data.characters import Characters
from regard.data.sides import Languages, Sides, languages_of, read_languages
from regard.errors import RegardError
from regard.tasks.translator import Translator
from regard.tokens import UNKNOWN, Tokenizer

_LOOKED_AT = 200
_LEAST_CHARACTERS = 100
"""Characters of each side needed to identify its language."""
_PROFILED = 2000
_UNKNOWN_COSTS = 4
_FAR = 0.8
"""Exchanged sides must need fewer tokens than this share of those in place."""


def swapped(translator: Translator, pairs: Sequence[Pair]) -> str:
    """A warning if the sides of these pairs seem to be swapped; empty if not, or if it cannot be known."""
    some = [pair for pair in pairs[:_LOOKED_AT] if pair.source and pair.target]
    if not some or not _seem_swapped(translator, some):
        return ""
    shown = f'"{some[0].source[:40]}" is the first source'
    return f"source and target seem to be swapped for this model ({shown}): give the files in the other order"


def _seem_swapped(translator: Translator, pairs: Sequence[Pair]) -> bool:
    if translator.folder and (known := read_languages(translator.folder)):
        tag = pairs[0].tag
        return all(_read_so(languages, pairs) for languages in ([known[tag]] if tag in known else known.values()))
    if _costs_less(translator, pairs):
        return True
    # For older models without languages in their folder: those of their text, if available.
    own = _own_languages(translator)
    return own is not None and _read_so(own, pairs)


def _read_so(languages: Languages, pairs: Sequence[Pair]) -> bool:
    """Whether each side is in the language of the other."""
    texts = [pair.source for pair in pairs], [pair.target for pair in pairs]
    if min(sum(map(len, side)) for side in texts) < _LEAST_CHARACTERS:
        return False
    sides = Sides(languages)
    sides.add([Characters.of(side) for side in texts])
    return sides.are_swapped()


def _costs_less(translator: Translator, pairs: Sequence[Pair]) -> bool:
    """Whether the tokenizers need far fewer tokens for the sides exchanged. A shared one cannot tell."""
    sides = translator.source_tokenizer, translator.target_tokenizer

    def cost(tokenizer: Tokenizer, texts: list[str]) -> int:
        rows = tokenizer.encode_all(texts)
        return sum(len(row) + _UNKNOWN_COSTS * sum(token == UNKNOWN for token in row) for row in rows)

    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    in_place = cost(sides[0], sources) + cost(sides[1], targets)
    return cost(sides[0], targets) + cost(sides[1], sources) < _FAR * in_place


def _own_languages(translator: Translator) -> Languages | None:
    """The languages of the model's own text, if available."""
    data = translator.recipe.data
    if data.is_generated or data.tags:
        return None
    try:
        corpora = load_corpus(data, translator.recipe.seed)
        own = list(islice(corpora.dev or corpora.train, _PROFILED))
    except (RegardError, OSError):
        return None
    return languages_of([(pair.source, pair.target) for pair in own])
