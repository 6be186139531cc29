"""The recipe of a language model: `[data]` is one text, read in order, and `[tokens]` are of one side."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from regard.recipe.data import TokenizerSettings
from regard.recipe.decoding import LanguageDecoding
from regard.recipe.language_models import LanguageModel, NeuralModel, NgramModel
from regard.recipe.names import TextCorpusName, TokenizerName
from regard.recipe.recipe import AnyRecipe, Corpus, HeldOut, Recipe
from regard.recipe.section import Count, FilePath, Positive, Share, changed_settings
from regard.recipe.training import TokenTraining


class LanguageData(Corpus):
    """Where text comes from, and which parts of it belong together."""

    corpus: TextCorpusName = "files"
    """`files` reads your own text. Two texts need no download: `topics` is Python's own help, and `library` adds the
    documentation of Python's standard library, five times as much text."""
    train: list[FilePath] = Field(default=[])
    """Training text: one or more files, read one after another; each may end in `.gz`."""
    dev: list[FilePath] = Field(default=[])
    """Development text, in the same format; used for validation and for choosing settings."""
    test: list[FilePath] = Field(default=[])
    """Test text, in the same format; read only by `regard score` and `regard ladder`."""
    end_of_line: bool = True
    """Whether the end of a line is a token, which is then predicted like words."""
    empty: Literal["keep", "drop"] = "keep"
    """Whether an empty line counts as a line, that is, as an end of line alone."""
    documents: Literal["none", "blank", "headings"] = "none"
    """Where documents begin: nowhere, after an empty line, or at headings such as ` = Title = ` (WikiText)."""
    context: Literal["stream", "documents", "lines"] = "stream"
    """What a word may depend on: all text before it, its document, or its line."""
    segment: Positive = 70
    """Tokens per row in a batch; a batch has train.batch_tokens / segment rows, each continuing where it ended."""
    vary: bool = False
    """Whether segments of a stream have random lengths around `segment`, a few of them half of it (Merity et al.
    2018)."""
    rotate: bool = False
    """Whether each row of a stream begins at a random position of its stretch in every epoch, and wraps around (Press
    2019), so that segments are cut at other places each time."""
    invalid: Literal["refuse", "drop", "replace"] = "refuse"
    """What happens to a line that is not valid UTF-8; `replace` puts U+FFFD in place of the bytes."""

    @property
    def is_generated(self) -> bool:
        """Whether it is built in, and not read from files."""
        return self.corpus != "files"

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
            raise ValueError("train is missing: name a text file, or choose corpus = 'library', which is built in")
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


class LanguageTraining(TokenTraining):
    """The training loop of a language model."""

    precision: Literal["float32", "bfloat16", "auto"] = "auto"
    """Precision of matrix products (`auto`: bfloat16 on CUDA, otherwise float32); weights and sums stay in float32."""
    shapes: Count | Literal["auto"] = "auto"
    """Any number but 0 allows steps to be captured on CUDA, since all batches have one shape. `auto` does so on
    CUDA."""
    label_smoothing: Share = 0.0
    """Share of probability spread evenly over the vocabulary."""


UNCOUNTED = (
    "accumulate",
    "average",
    "bad_steps",
    "clip",
    "label_smoothing",
    "optimizer",
    "precision",
    "schedule",
    "start",
    "start_from",
)
"""Settings of `[train]` for models that learn in steps; an n-gram model is counted."""


class LanguageTokenizer(TokenizerSettings):
    """How text becomes tokens; learned from the training text as part of the run."""

    kind: TokenizerName = "words"
    """Unit of text: words split at white space, characters, bytes, or subwords learned by BPE or unigram."""
    size: Positive = 50_000
    """Maximum size of the vocabulary, including special tokens; bytes need no more than 256 plus these."""


class LanguageCorpus(AnyRecipe):
    """The settings for reading and checking running text."""

    task: Literal["language"]
    data: LanguageData
    """Where text comes from."""
    tokens: LanguageTokenizer = LanguageTokenizer()
    """How text becomes tokens."""


class LanguageRecipe(LanguageCorpus, Recipe):
    """A recipe for a language model."""

    data: LanguageData
    """Where text comes from."""
    model: LanguageModel
    """The model."""
    train: LanguageTraining
    """The training loop."""
    decode: LanguageDecoding = LanguageDecoding()
    """How the model writes, unless a command says otherwise."""

    @model_validator(mode="before")
    @classmethod
    def _counting_ends_by_itself(cls, tables: Any) -> Any:
        """An n-gram model is counted in one step; its recipe need not say so."""
        match tables:
            case {"model": {"kind": "ngram"}, **rest} if isinstance(train := rest.get("train", {}), dict):
                return tables | {"train": {"steps": 1} | train}
        return tables

    @model_validator(mode="after")
    def _counting_takes_no_steps(self) -> Self:
        if isinstance(self.model, NgramModel):
            for setting, value in changed_settings(self.train, LanguageTraining(steps=1), "train"):
                if setting.split(".")[1] in UNCOUNTED:
                    ctx = {"given": value, "other": "model.kind", "chosen": self.model.kind, "used": None}
                    raise PydanticCustomError("unused_setting", "not used", {"setting": setting, **ctx})
        return self

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        train = self.train
        if self.tokens.dropout:
            raise ValueError(
                f"tokens.dropout = {self.tokens.dropout} is not used by task = {self.task!r}; leave it out"
            )
        if isinstance(self.model, NgramModel) and self.data.context != "lines":
            raise ValueError("an n-gram model is counted line by line; set data.context = 'lines'")
        learned = self.model.learned_positions if isinstance(self.model, NeuralModel) else None
        if learned is not None and learned < self.data.segment:
            raise ValueError(
                f"model.longest = {learned} learned positions are too few for data.segment = {self.data.segment}; "
                "raise model.longest, or lower data.segment"
            )
        if self.data.segment > train.batch_tokens:
            raise ValueError(
                f"a batch of train.batch_tokens = {train.batch_tokens} tokens has no room for a row of data.segment = "
                f"{self.data.segment}; raise train.batch_tokens or lower data.segment"
            )
        return self
