"""`[model.vectors]`: files of word vectors that embeddings start from."""

from typing import Self

from pydantic import model_validator

from regard.recipe.section import FilePath, Section


class PretrainedVectors(Section):
    """Settings of every table of pretrained vectors."""

    freeze: bool = False
    """Whether embeddings that start from a file are frozen, including those of tokens that are not in the file."""

    @property
    def files(self) -> dict[str, str]:
        """The named files, by setting."""
        return {name: value for name, value in self if isinstance(value, str) and value}

    @model_validator(mode="after")
    def _something_is_frozen(self) -> Self:
        if self.freeze and not self.files:
            raise ValueError("freeze = true, but no vectors are named to start from; name some, or set freeze = false")
        return self


class PairVectors(PretrainedVectors):
    """Vectors for both sides of a translator."""

    source: FilePath = ""
    """Word vectors that the source embedding starts from, in any format of `regard vectors`; none means random
    vectors."""
    target: FilePath = ""
    """The same for the target embedding, and for the readout if it shares weights with it."""


class TextVectors(PretrainedVectors):
    """Vectors for a language model."""

    file: FilePath = ""
    """Word vectors that the embedding starts from, in any format of `regard vectors`; none means random vectors."""
