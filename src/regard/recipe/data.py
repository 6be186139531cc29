"""`[data]` and `[tokens]`: where examples come from, and how their text becomes tokens."""

import re
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from regard.recipe.names import CORPORA, TOKENIZERS, CorpusName, TokenizerName
from regard.recipe.recipe import Corpus, HeldOut
from regard.recipe.section import FilePath, Only, Positive, Section, Share

Remedy = Literal["keep", "drop", "refuse"]


def _spelled(name: object) -> object:
    return str(name) if isinstance(name, int) and not isinstance(name, bool) else name


FieldName = Annotated[str, BeforeValidator(_spelled)]
"""A field by its name, or a column by its number, as text or as a number."""


class Data(Corpus):
    """Where examples come from, and what happens to the doubtful ones."""

    corpus: CorpusName = "files"
    """`files` reads your own text; the other names are built-in corpora that need no download."""
    train: list[FilePath] = Field(default=[])
    """Training text: two files (source, target), or one `.tsv` or `.jsonl`; each may end in `.gz`."""
    dev: list[FilePath] = Field(default=[])
    """Development text, in the same formats; used for validation and for choosing settings."""
    test: list[FilePath] = Field(default=[])
    """Test text, in the same formats; read only by `regard evaluate`, and checked for overlap with the training
    text."""
    held_out: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """Share of the sources in `train` that become development text instead, and the same share test text; the split
    depends only on the source, so that no source is in two parts; 0 means that `dev` and `test` are files."""
    tags: list[str] = Field(default=[])
    """Tags of several corpora, such as `de`, `fr`, each put as one token before the sources of its corpus, so that one
    model has several target languages; `train`, `dev`, and `test` then name one or two files for each."""
    format: Annotated[Literal["auto", "lines", "tsv", "jsonl"], Only(corpus=CORPORA)] = "auto"
    """Format of the files of pairs; `auto` goes by their names."""
    source_field: Annotated[FieldName, Only(corpus=CORPORA), Only(format=("auto", "tsv", "jsonl"))] = "source"
    """Where the source is: a field of a JSON Lines record, with dots if it is nested (`translation.de`), or the number
    of a column of a `.tsv` file, from 1 (without it, a line has two columns)."""
    target_field: Annotated[FieldName, Only(corpus=CORPORA), Only(format=("auto", "tsv", "jsonl"))] = "target"
    """Where the target is, in the same way."""
    examples: Annotated[Positive, Only(corpus=CORPORA)] = 20_000
    """Training examples a built-in corpus generates; development and test sets have a tenth of it, 1,000 at most."""
    languages: Annotated[list[str], Only(corpus=CORPORA)] = Field(default=[])
    """Languages of the built-in dates, as codes such as `de`; empty means all of them."""
    longest: Positive = 256
    """Maximum number of tokens of a source or a target, without the end-of-sentence token."""
    over_long: Literal["drop", "cut", "refuse"] = "drop"
    """What happens to a training pair with more tokens than `longest`; it is counted and reported in any case."""
    empty: Literal["drop", "refuse"] = "drop"
    """What happens to a training pair with an empty side."""
    duplicates: Remedy = "keep"
    """What happens to a training pair that occurred before."""
    identical: Remedy = "keep"
    """What happens to a training pair with the same text on both sides."""
    overlap: Remedy = "keep"
    """What happens to a training pair whose source is also in the development or test text."""
    control: Remedy = "keep"
    """What happens to a training pair with control characters (a file with NUL bytes is not text and is refused)."""
    invalid: Literal["refuse", "drop", "replace"] = "refuse"
    """What happens to a line that is not valid UTF-8; `replace` puts U+FFFD in place of the bytes."""
    ratio: Annotated[float, Field(gt=1)] = 9.0
    """Length ratio in characters beyond which a pair is reported as doubtful; never a reason to drop it."""

    @model_validator(mode="after")
    def _files_are_named(self) -> Self:
        each = max(1, len(self.tags))
        for name in ("train", "dev", "test"):
            paths = getattr(self, name)
            if len(paths) not in (0, each, 2 * each):
                corpora = f" for each of {each} tags" if self.tags else ""
                raise ValueError(
                    f"{name} names {len(paths)} files; give two (source, target) or one (.tsv, .jsonl){corpora}"
                )
            if paths and self.corpus != "files":
                raise ValueError(
                    f"{name} names files, but corpus is {self.corpus!r}; set corpus to 'files' or leave {name} out"
                )
        if self.corpus == "files" and not self.train:
            raise ValueError(
                "train is missing: name two files (source, target) or one (.tsv, .jsonl), or choose a built-in corpus"
            )
        if self.held_out and (self.dev or self.test or self.corpus != "files"):
            raise ValueError(
                f"held_out = {self.held_out} takes dev and test out of the files of train; leave dev, test and corpus "
                "out, or held_out"
            )
        return self

    @property
    def is_generated(self) -> bool:
        """Whether it is built in, and not read from files."""
        return self.corpus != "files"

    def has(self, part: HeldOut) -> bool:
        """Whether there is development or test text."""
        return self.corpus != "files" or bool(getattr(self, part) or self.held_out)

    @model_validator(mode="after")
    def _tags_are_words(self) -> Self:
        for tag in self.tags:
            if not re.fullmatch(r"[A-Za-z0-9_-]+", tag):
                raise ValueError(f"tags: {tag!r} is not a tag; use letters, digits, - and _, such as 'de'")
        if self.tags and self.corpus != "files":
            raise ValueError(f"tags are for files, but corpus is {self.corpus!r}; leave one of them out")
        return self


class TokenizerSettings(Section):
    """How text of one side becomes tokens."""

    kind: TokenizerName = "bpe"
    """Unit of text: words split at white space, characters, bytes, or subwords learned by BPE or unigram."""
    size: Positive = 8_000
    """Maximum size of the vocabulary, including special tokens; bytes need no more than 256 plus these."""
    least: Annotated[Positive, Only(kind=TOKENIZERS)] = 1
    """Minimum number of occurrences for a word or character to enter the vocabulary."""
    lowercase: bool = False
    """Whether text is lower-cased first."""
    unknown: str = ""
    """Words: the unknown token that the text already has, such as `<unk>`; empty if it has none."""
    dropout: Share = 0.0
    """Share of BPE merges skipped at random in training text (BPE dropout), as a function of seed, epoch, and
    example."""

    @model_validator(mode="after")
    def _settings_fit_the_kind(self) -> Self:
        if self.dropout and self.kind != "bpe":
            remedy = "set kind to 'bpe' or dropout to 0.0"
            raise ValueError(f"dropout = {self.dropout} skips BPE merges; kind = {self.kind!r} has none: {remedy}")
        if self.unknown and (self.kind != "words" or len(self.unknown.split()) != 1):
            raise ValueError(
                f"unknown = {self.unknown!r} must be one word, and kind 'words' (it is {self.kind!r}); "
                "set kind to 'words' or leave unknown out"
            )
        return self


class Tokens(Section):
    """The tokenizers of both sides; they are trained on the training text as part of the run."""

    source: TokenizerSettings = TokenizerSettings()
    """The source side."""
    target: TokenizerSettings = TokenizerSettings()
    """The target side."""
    shared: bool = False
    """One vocabulary for both sides, trained on both texts with the settings of `source`."""

    @model_validator(mode="after")
    def _shared_is_said_once(self) -> Self:
        if self.shared and self.target not in (TokenizerSettings(), self.source):
            raise ValueError("shared uses the settings of tokens.source for both sides; leave tokens.target out")
        return self
