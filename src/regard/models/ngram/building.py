"""Training an n-gram model by counting."""

from collections.abc import Callable, Iterable

from regard.models.ngram.counting import Tokens, count_ngrams
from regard.models.ngram.generator import NgramLanguageModel
from regard.models.ngram.smoothing import SMOOTHINGS
from regard.recipe import NgramModel


def count(
    texts: Iterable[Tokens], settings: NgramModel, size: int, on_progress: Callable[[int], None] | None = None
) -> NgramLanguageModel:
    """A model of tokenized texts, without special tokens but UNKNOWN; BEGIN and END are added to each.

    `size` is that of the vocabulary. `on_progress` gets the number of tokens read, periodically and at the end.
    """
    # The counts are not bound to a name, so that they are freed before the model sums over its table.
    smooth = SMOOTHINGS[settings.smoothing]
    return NgramLanguageModel(smooth(count_ngrams(texts, settings.order, size, settings.memory, on_progress), settings))
