"""Sentences that are too long for a model: a table of learned positions is finite."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from regard.data.examples import Split
from regard.errors import DataError, UsageError, counted
from regard.recipe import EncoderTable


class Words(Protocol):
    """Words of a file."""

    @property
    def words(self) -> tuple[str, ...]: ...

    @property
    def places(self) -> "Places": ...


class Places(Protocol):
    """The place of a word, for a message."""

    def __call__(self, word: int, /) -> str: ...


def refuse_long_texts(encoder: EncoderTable, parts: Mapping[Split, Sequence[Words]]) -> None:
    """Refuses parts of a corpus with a sentence of more words than the encoder has positions for."""
    most = encoder.learned_positions
    if most is None:
        return
    for split, sentences in parts.items():
        longest = max(sentences, key=lambda sentence: len(sentence.words), default=None)
        if longest is not None and len(longest.words) > most:
            raise DataError(
                f"data.{split}: {longest.places(0)}: a sentence of {counted(len(longest.words), 'word')}, but there "
                f"are model.encoder.longest = {most} learned positions; shorten it, or raise model.encoder.longest"
            )


def refuse_long_text(encoder: EncoderTable, words: int, where: str = "") -> None:
    """Refuses a sentence for a trained model."""
    most = encoder.learned_positions
    if most is not None and words > most:
        raise UsageError(
            f"{where}a sentence of {counted(words, 'word')}, but this model has learned {most} positions "
            "(model.encoder.longest); split it"
        )
