"""The recipe of a judge of moods, and the tables of an encoder and of a translator."""

from typing import Literal

from pydantic import Field

from regard.recipe import AnyRecipe, Corpus, EncoderTable, Recipe, TranslatorTable
from regard.recipe.section import FilePath, Positive, Section


class MoodsData(Corpus):
    """Files of lines `mood ~ sentence`."""

    train: list[FilePath] = Field(default=[])
    """Training text."""
    dev: list[FilePath] = Field(default=[])
    """Development text."""
    test: list[FilePath] = Field(default=[])
    """Test text."""


class MoodsModel(Section):
    """A weighted mean of word vectors."""

    width: Positive = 8
    """Width of the word vectors."""


class MoodsCorpus(AnyRecipe):
    """What reading the data needs."""

    task: Literal["moods"]
    data: MoodsData
    """Where sentences come from."""


class MoodsRecipe(MoodsCorpus, Recipe):
    """A recipe for a judge of moods."""

    data: MoodsData
    """Where sentences come from."""
    model: MoodsModel = MoodsModel()
    """The model."""


class ReversedEncoding(EncoderTable):
    """Word vectors, and the mean of them, mapped once."""

    kind: Literal["reversed"]
    """Which encoder."""
    width: Positive = 8
    """Width of the word vectors and of the features."""

    @property
    def input_width(self) -> int:
        return self.width


class MeanModel(TranslatorTable):
    """A translator that knows the mean of the source and the last word."""

    kind: Literal["mean"]
    """Which model."""
    width: Positive = 8
    """Width of the word vectors."""
