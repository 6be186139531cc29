"""`[words]`: how the words of a sentence become vectors, for every task that reads sentences of words."""

from typing import Annotated, Any, Self

from pydantic import model_validator

from regard.recipe.pretrained import TextVectors
from regard.recipe.section import Named, Only, Positive, Section, Share, Width
from regard.registry import Entry, Registry

CHARACTER_ENCODERS: Registry[Any] = Registry(
    "character encoder",
    {
        "cnn": Entry(
            "regard.models.characters:CharacterCNN", uses=("embedding", "width", "window", "longest", "dropout")
        ),
        "lstm": Entry("regard.models.characters:CharacterLSTM", uses=("embedding", "width", "longest", "dropout")),
    },
)
"""Builds the character encoder of words, from the table and the number of distinct characters."""


class CharacterTable(Section):
    """How the characters of a word are read, in addition to its vector."""

    kind: Annotated[str, Named(CHARACTER_ENCODERS, others=("none",))] = "none"
    """Nothing, a CNN (Ma and Hovy 2016), or a bidirectional LSTM (Lample et al. 2016)."""
    embedding: Annotated[Width, Only(kind=CHARACTER_ENCODERS)] = 30
    """Width of the character embeddings."""
    width: Annotated[Width, Only(kind=CHARACTER_ENCODERS)] = 50
    """Width of the vector made of a word's characters; an LSTM has half of it in each direction."""
    window: Annotated[Positive, Only(kind=CHARACTER_ENCODERS)] = 3
    """CNN: characters that a filter sees."""
    longest: Annotated[Positive, Only(kind=CHARACTER_ENCODERS)] = 40
    """Maximum number of characters read of a word; of a longer word, half as many from each end."""
    dropout: Annotated[Share, Only(kind=CHARACTER_ENCODERS)] = 0.0
    """Share of features of character embeddings dropped."""

    @property
    def vector_width(self) -> int:
        """Width of the character features appended to a word's vector."""
        return 0 if self.kind == "none" else self.width

    @model_validator(mode="after")
    def _directions_are_equal(self) -> Self:
        if self.kind == "lstm" and self.width % 2:
            raise ValueError(f"width = {self.width} is divided between two directions; choose an even number")
        return self


class WordTable(Section):
    """How words become vectors."""

    width: Width = 100
    """Width of the word embeddings. If the vectors of word and characters together do not have the input width of the
    encoder, a linear map is inserted."""
    least: Positive = 1
    """Minimum number of occurrences in the training text for a word to get its own vector, unless it is in
    `vectors.file`."""
    lowercase: bool = False
    """Whether all words are looked up in lower case; otherwise, only those that are not in the vocabulary are.
    Characters keep their case."""
    dropout: Share = 0.0
    """Share of words replaced by the unknown token in training, so that its vector is learned. Their characters are
    still read."""
    vectors: TextVectors = TextVectors()
    """Word vectors to start from; all their words are in the vocabulary."""
    characters: CharacterTable = CharacterTable()
    """What is read of a word's spelling."""

    @property
    def vector_width(self) -> int:
        """Width of a word's vector with that of its characters."""
        return self.width + self.characters.vector_width
