"""Whether given pairs have source and target the other way round than the text a model was trained on."""

from collections.abc import Sequence
from itertools import islice

from regard.data import Pair, load_corpus
from regard.data.characters import Characters
from regard.data.languages import Language
from regard.errors import RegardError
from regard.tasks.translator import Translator
from regard.tokens import UNKNOWN, Tokenizer

_LOOKED_AT = 200
_PROFILED = 2000
_UNKNOWN_COSTS = 4
_FAR = 0.8
"""Exchanged sides must need fewer tokens than this share of those in place."""
_NEARER = 0.3


def swapped(translator: Translator, pairs: Sequence[Pair]) -> str:
    """What to tell if the sides of these pairs seem to be swapped; empty if not, or if nothing can be known."""
    some = [pair for pair in pairs[:_LOOKED_AT] if pair.source and pair.target]
    if not some or not (_costs_less(translator, some) or _reads_so(translator, some)):
        return ""
    shown = f'"{some[0].source[:40]}" is the first source'
    return f"source and target seem to be swapped for this model ({shown}): give the files in the other order"


def _costs_less(translator: Translator, pairs: Sequence[Pair]) -> bool:
    """Whether the tokenizers need far fewer tokens for the sides exchanged. A shared one cannot tell."""
    sides = translator.source_tokenizer, translator.target_tokenizer

    def cost(tokenizer: Tokenizer, texts: list[str]) -> int:
        rows = tokenizer.encode_all(texts)
        return sum(len(row) + _UNKNOWN_COSTS * sum(token == UNKNOWN for token in row) for row in rows)

    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    in_place = cost(sides[0], sources) + cost(sides[1], targets)
    return cost(sides[0], targets) + cost(sides[1], sources) < _FAR * in_place


def _reads_so(translator: Translator, pairs: Sequence[Pair]) -> bool:
    """Whether the sides are each in the language of the other side of the model's own text, where that is at hand."""
    data = translator.recipe.data
    if data.is_generated or data.tags:
        return False
    try:
        corpora = load_corpus(data, translator.recipe.seed)
        own = list(islice(corpora.dev or corpora.train, _PROFILED))
    except (RegardError, OSError):
        return False
    known = [Language.of([text(pair) for pair in own]) for text in (_source, _target)]
    likeness = [
        language.likeness(Characters.of([text(pair) for pair in pairs])).mean()
        for text in (_source, _target)
        for language in known
        if language
    ]
    if len(likeness) < 4:
        return False
    own_source, source_as_target, target_as_source, own_target = likeness
    return bool(source_as_target - own_source + target_as_source - own_target > 2 * _NEARER)


def _source(pair: Pair) -> str:
    return pair.source


def _target(pair: Pair) -> str:
    return pair.target
