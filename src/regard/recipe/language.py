"""What a language model's recipe says otherwise than a translator's: `[data]` is one text, read in order; `[tokens]`
are of one side; and some defaults of `[train]` are others."""

from typing import Literal, Self

from pydantic import Field, model_validator

from regard.recipe.data import HeldOut, Tokenizer
from regard.recipe.names import TextCorpusName, TokenizerName
from regard.recipe.section import Positive, Section, Share
from regard.recipe.training import Training


class LanguageData(Section):
    """Where text comes from, and what of it belongs together."""

    corpus: TextCorpusName = "files"
    """`files` reads the user's own text; `topics` is the text of Python's own help, which needs no download."""
    train: list[str] = Field(default=[])
    """Training text: one file or several, read one after the other; each may end in `.gz`."""
    dev: list[str] = Field(default=[])
    """Development text, in the same form; used for validation and for choosing settings."""
    test: list[str] = Field(default=[])
    """Test text, in the same form; read by `regard score` and `regard ladder` alone."""
    end_of_line: bool = True
    """Whether the end of a line is a token, which is then predicted as words are."""
    empty: Literal["keep", "drop"] = "keep"
    """Whether a line without text counts as a line, that is, as its end alone."""
    documents: Literal["none", "blank", "headings"] = "none"
    """Where documents begin: nowhere, after an empty line, or at headings such as ` = Title = ` (WikiText)."""
    context: Literal["stream", "documents", "lines"] = "stream"
    """What a word may depend on: all text before it, its document, or its line."""
    segment: Positive = 70
    """Tokens of a row in a batch; a batch has train.batch_tokens / segment rows, each going on where it ended."""
    vary: bool = False
    """Whether segments of a stream are of random lengths around `segment`, a few of half of it (Merity et al. 2018)."""
    rotate: bool = False
    """Whether each row of a stream begins at a random place of its stretch in every pass, and goes around (Press 2019):
    segments are then cut elsewhere each time."""
    invalid: Literal["refuse", "drop", "replace"] = "refuse"
    """What happens to a line that is not valid UTF-8; `replace` puts U+FFFD in place of the bytes."""

    def has(self, part: HeldOut) -> bool:
        """Whether there is development or test text."""
        return self.corpus != "files" or bool(getattr(self, part))

    @model_validator(mode="after")
    def _files_are_named(self) -> Self:
        for name in ("train", "dev", "test"):
            if getattr(self, name) and self.corpus != "files":
                raise ValueError(
                    f"{name} names files, but corpus is {self.corpus!r}; set corpus to 'files' or leave {name} out"
                )
        if self.corpus == "files" and not self.train:
            raise ValueError("train is missing: name a text file, or choose corpus = 'topics', which is built in")
        if self.context == "documents" and self.documents == "none":
            raise ValueError(
                "context = 'documents' must know where documents begin; set documents to 'blank' or 'headings'"
            )
        if self.context == "lines" and not self.end_of_line:
            raise ValueError("context = 'lines' must know where lines end; set end_of_line = true")
        for name in ("vary", "rotate"):
            if getattr(self, name) and self.context != "stream":
                raise ValueError(
                    f"{name} = true is for a stream, but context = {self.context!r} has pieces of its own lengths; set "
                    f"{name} = false, or context = 'stream'"
                )
        return self


class LanguageTraining(Training):
    """The training loop of a language model."""

    label_smoothing: Share = 0.0
    """Share of probability spread evenly over the vocabulary."""


class LanguageTokenizer(Tokenizer):
    """How text becomes tokens; learned from the training text as part of the run."""

    kind: TokenizerName = "words"
    """Unit of text: words split at white space, characters, bytes, or subwords learned by BPE or unigram."""
    size: Positive = 50_000
    """Most entries of the vocabulary, special ones included; bytes need no more than 256 and those."""
