"""Training an n-gram model is counting."""

from collections.abc import Callable, Iterable

from regard.models.ngram.counting import Tokens, count_ngrams
from regard.models.ngram.generator import NgramLanguageModel
from regard.models.ngram.smoothing import SMOOTHINGS
from regard.recipe import NgramModel


def count(
    texts: Iterable[Tokens], settings: NgramModel, size: int, on_progress: Callable[[int], None] | None = None
) -> NgramLanguageModel:
    """A model of texts, given as tokens without special ones but UNKNOWN; each is put between BEGIN and END.

    `size` is that of the vocabulary. `on_progress` is told how many tokens were read, now and then and in the end.
    """
    # The counts have no name here, so that they are gone before the model sums over its table.
    smooth = SMOOTHINGS[settings.smoothing]
    return NgramLanguageModel(smooth(count_ngrams(texts, settings.order, size, settings.memory, on_progress), settings))
