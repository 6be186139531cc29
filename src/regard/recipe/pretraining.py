"""The recipe of pre-training: `[data]` is plain text, `[words]` how words are read, and an encoder learns from both."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from regard.recipe.encoders import ENCODERS, Encoding
from regard.recipe.language import LanguageData
from regard.recipe.names import TextCorpusName
from regard.recipe.recipe import AnyRecipe, Corpus, HeldOut, Recipe
from regard.recipe.section import ChosenBy, FilePath, Positive, Section, Share
from regard.recipe.training import TokenTraining
from regard.recipe.words import WordTable


class PretrainingData(Corpus):
    """Where plain text comes from."""

    corpus: TextCorpusName = "files"
    """`files` reads your own text; `topics` and `library` come with Python: the documentation of the language and of
    its standard library."""
    train: list[FilePath] = Field(default=[])
    """Training text: files with one sentence per line, words separated by spaces; each may end in `.gz`."""
    dev: list[FilePath] = Field(default=[])
    """Development text, in the same format; used for validation and for choosing settings."""
    test: list[FilePath] = Field(default=[])
    """Test text, in the same format; read only by `regard evaluate` and `regard check`."""
    longest: Positive = 128
    """Maximum number of words in a sentence; a longer line is cut into several."""
    invalid: Literal["refuse", "drop", "replace"] = "refuse"
    """What happens to a line that is not valid UTF-8; `replace` puts U+FFFD in place of the bytes."""

    @property
    def lines(self) -> LanguageData:
        """The same text as lines."""
        shared = self.model_dump(include={"corpus", "train", "dev", "test", "invalid"})
        return LanguageData(**shared, empty="drop")

    def has(self, part: HeldOut) -> bool:
        return self.lines.has(part)

    @model_validator(mode="after")
    def _files_are_named(self) -> Self:
        _ = self.lines  # its own checks
        return self


class PretrainingModel(Section):
    """The encoder of a sentence, and how words are predicted from its features."""

    encoder: Annotated[Encoding, ChosenBy(ENCODERS)]
    """What reads the vectors of the words. One that reads in both directions learns to guess masked words, one that
    reads in one direction the next word."""
    tie: bool = True
    """Whether the output layer shares the word vectors of the input (Press and Wolf 2017)."""
    dropout: Share = 0.0
    """Share of the encoder's features dropped before words are predicted."""


class PretrainingTraining(TokenTraining):
    """The training loop of pre-training."""

    masked: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """Share of words to be masked, different ones in each epoch (Devlin et al. 2019). They are read as the unknown
    token without a spelling."""
    kept: Share = 0.1
    """Share of these that are left unchanged, so that features of visible words are learned too."""


class PretrainingCorpus(AnyRecipe):
    """The settings for reading and checking plain text."""

    task: Literal["pretraining"]
    data: PretrainingData
    """Where plain text comes from."""


class PretrainingRecipe(PretrainingCorpus, Recipe):
    """A recipe for pre-training an encoder."""

    data: PretrainingData
    """Where plain text comes from."""
    words: WordTable = WordTable()
    """How words become vectors."""
    model: PretrainingModel
    """The model."""
    train: PretrainingTraining
    """The training loop."""

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        encoder, train = self.model.encoder, self.train
        for name in ("masked", "kept") if encoder.is_causal else ():
            if getattr(train, name) != type(train).model_fields[name].default:
                raise ValueError(
                    f"train.{name} = {getattr(train, name)} is for encoders that read in both directions, and this one "
                    f"learns to guess the next word; leave it out, or set model.encoder.bidirectional = true"
                )
        most = encoder.learned_positions
        if most is not None and most < self.data.longest:
            raise ValueError(
                f"model.encoder.longest = {most} learned positions are too few for data.longest = {self.data.longest}; "
                "raise the one, or lower the other"
            )
        return self
