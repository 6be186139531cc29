"""The recipe of a tagger: `[data]` are sentences of words with a tag for each word, `[words]` how words are read."""

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from regard.recipe.encoders import ENCODERS, Encoding
from regard.recipe.names import TAGGED_CORPORA, TaggedCorpusName
from regard.recipe.pooling import PoolingTable
from regard.recipe.recipe import AnyRecipe, Corpus, HeldOut, Recipe
from regard.recipe.section import ChosenBy, FilePath, Only, Positive, Section, Share
from regard.recipe.training import TokenTraining
from regard.recipe.words import WordTable

ConlluColumn = Literal["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"]
CONLLU_COLUMNS: tuple[str, ...] = get_args(ConlluColumn)
LABEL_METRICS = ("label_accuracy", "exact")
"""Metrics that judge the labels of sentences."""
SchemeName = Literal["none", "iob1", "iob2", "iobes"]


class TaggingData(Corpus):
    """Where tagged sentences come from."""

    corpus: TaggedCorpusName = "files"
    """`files` reads your own text; `dates` is built in: the parts of dates in many languages, without a download."""
    train: list[FilePath] = Field(default=[])
    """Training text: files of columns, or of one sentence per line; each may end in `.gz`."""
    dev: list[FilePath] = Field(default=[])
    """Development text, in the same format; used for validation and for choosing settings."""
    test: list[FilePath] = Field(default=[])
    """Test text, in the same format; read only by `regard evaluate` and `regard check`."""
    format: Annotated[Literal["columns", "lines"], Only(corpus=TAGGED_CORPORA)] = "columns"
    """Format of the files: one word per line and a blank line between sentences; or one sentence per line, with its
    words in one column and their tags in another, separated by spaces, and tabs between the columns."""
    word_column: Annotated[int | ConlluColumn, Only(corpus=TAGGED_CORPORA)] = 1
    """Column of the words: a number from 1, or from -1 counted from the end; for CoNLL-U files, a name such as
    `FORM`."""
    tag_column: Annotated[int | ConlluColumn, Only(corpus=TAGGED_CORPORA)] = -1
    """Column of the tags, in the same way; for CoNLL-U files, a name such as `UPOS`."""
    label_column: Annotated[int, Only(corpus=TAGGED_CORPORA), Only(format=("lines",))] = 0
    """Lines: column of a label for the whole sentence, such as its intent, which the same model predicts; 0 means that
    there is none."""
    comments: Annotated[str, Only(corpus=TAGGED_CORPORA)] = ""
    """How comment lines begin; empty means that there are none. In CoNLL-U files, it is always `#`."""
    scheme: Annotated[Literal["auto"] | SchemeName, Only(corpus=TAGGED_CORPORA)] = "auto"
    """How tags mark spans of words; `none` means tags of single words. `auto` goes by the training text."""
    broken: Annotated[Literal["refuse", "replace"], Only(corpus=TAGGED_CORPORA)] = "refuse"
    """What happens to a tag that breaks the scheme; `replace` reads the spans as the CoNLL script does and writes them
    in the scheme."""
    examples: Annotated[Positive, Only(corpus=TAGGED_CORPORA)] = 20_000
    """Training sentences a built-in corpus generates; development and test sets have a tenth of it, 1,000 at most."""
    languages: Annotated[list[str], Only(corpus=TAGGED_CORPORA)] = Field(default=[])
    """Languages of the built-in dates, as codes such as `de`; empty means all of them."""

    @property
    def is_generated(self) -> bool:
        return self.corpus != "files"

    @property
    def is_conllu(self) -> bool:
        """Whether the files are CoNLL-U."""
        return isinstance(self.word_column, str)

    @property
    def has_labels(self) -> bool:
        """Whether sentences have a label, beside the tags of their words."""
        return self.label_column != 0

    @property
    def comment_mark(self) -> str:
        """The prefix of comment lines."""
        return "#" if self.is_conllu else self.comments

    def has(self, part: HeldOut) -> bool:
        return self.is_generated or bool(getattr(self, part))

    @model_validator(mode="after")
    def _columns_are_of_one_kind(self) -> Self:
        if isinstance(self.word_column, str) != isinstance(self.tag_column, str):
            raise ValueError(
                f"word_column = {self.word_column!r} and tag_column = {self.tag_column!r}: give two numbers, or two "
                "names of CoNLL-U columns such as 'FORM' and 'UPOS'"
            )
        for name in ("word_column", "tag_column"):
            if getattr(self, name) == 0:
                raise ValueError(f"{name} = 0: columns are counted from 1, or from -1 at the end")
        if self.is_conllu and self.format == "lines":
            raise ValueError(f"word_column = {self.word_column!r} names a column of CoNLL-U; set format to 'columns'")
        if self.label_column in (self.word_column, self.tag_column):
            raise ValueError(
                f"label_column = {self.label_column} is the column of the words or of the tags; name another one"
            )
        return self

    @model_validator(mode="after")
    def _files_are_named(self) -> Self:
        for name in ("train", "dev", "test"):
            paths = getattr(self, name)
            if paths and self.is_generated:
                raise ValueError(
                    f"{name} names files, but corpus is {self.corpus!r}; set corpus to 'files' or leave {name} out"
                )
            conllu = [path for path in paths if path.removesuffix(".gz").endswith(".conllu")]
            if conllu and not self.is_conllu:
                raise ValueError(
                    f"{name} names {conllu[0]!r}, whose columns have names; set word_column = 'FORM' and tag_column "
                    "to one such as 'UPOS'"
                )
        if not self.is_generated and not self.train:
            raise ValueError("train is missing: name a file of columns, or choose corpus = 'dates', which is built in")
        return self


class TaggerModel(Section):
    """The encoder of a sentence, and how a tag is chosen for each word."""

    encoder: Annotated[Encoding, ChosenBy(ENCODERS)]
    """What reads the vectors of the words."""
    output: Literal["softmax", "crf"] = "crf"
    """Whether tags are chosen independently, or all tags of a sentence together by a linear-chain conditional random
    field (Lafferty et al. 2001)."""
    forbid: Annotated[bool, Only(output=("crf",))] = False
    """CRF: whether tags that break the scheme of the training text are impossible, in training and decoding."""
    scheme: Literal["data"] | SchemeName = "data"
    """Scheme that the model uses internally; outputs have the scheme of the data, which is the default."""
    pooling: PoolingTable = PoolingTable()
    """How the features of the words become one vector, from which the label of the sentence is chosen, if sentences
    have one (`data.label_column`)."""
    dropout: Share = 0.0
    """Share of the encoder's features dropped before tags and the label are predicted."""


class TaggingCorpus(AnyRecipe):
    """The settings for reading and checking tagged sentences."""

    task: Literal["tagging"]
    data: TaggingData
    """Where tagged sentences come from."""


class TaggingRecipe(TaggingCorpus, Recipe):
    """A recipe for a tagger."""

    data: TaggingData
    """Where tagged sentences come from."""
    words: WordTable = WordTable()
    """How words become vectors."""
    model: TaggerModel
    """The model."""
    train: TokenTraining
    """The training loop."""

    @model_validator(mode="after")
    def _labels_are_there(self) -> Self:
        metric = self.train.validation.metric
        wishes = {
            "model.pooling": self.model.pooling != PoolingTable(),
            f"train.validation.metric = {metric!r}": metric in LABEL_METRICS,
        }
        wish = next((name for name, wished in wishes.items() if wished), "")
        if wish and not self.data.has_labels:
            raise ValueError(
                f"{wish} is for sentences with a label; name its column (data.label_column), or leave it out"
            )
        return self
