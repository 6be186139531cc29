"""The recipe of a classifier: `[data]` are texts with their labels, `[words]` how words are read."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from regard.recipe.encoders import ENCODERS, Encoding
from regard.recipe.names import LABELLED_CORPORA, SCORES, LabelledCorpusName, NormalizerName, ScoreName
from regard.recipe.pooling import PoolingTable
from regard.recipe.recipe import AnyRecipe, Corpus, HeldOut, Recipe
from regard.recipe.section import ChosenBy, FilePath, Only, Positive, Section, Share, Width
from regard.recipe.training import TokenTraining
from regard.recipe.words import WordTable

LabelFormat = Literal["tsv", "jsonl", "fasttext", "trees"]


class ClassifyingData(Corpus):
    """Where texts with labels come from."""

    corpus: LabelledCorpusName = "files"
    """`files` reads your own text; two corpora are built in and need no download: `dates`, labeled by the language in
    which a date is written, and `echoes`, labeled by the language of a name that is repeated several times, so that
    attention does not matter."""
    train: list[FilePath] = Field(default=[])
    """Training text: files with one text and its labels per line; each may end in `.gz`."""
    dev: list[FilePath] = Field(default=[])
    """Development text, in the same format; used for validation and for choosing settings."""
    test: list[FilePath] = Field(default=[])
    """Test text, in the same format; read only by `regard evaluate` and `regard check`."""
    format: Annotated[Literal["auto"] | LabelFormat, Only(corpus=LABELLED_CORPORA)] = "auto"
    """Format of the files: columns separated by tabs, JSON Lines, fastText (`__label__x` before the text), or bracket
    trees. `auto` goes by the name and the first line of each file."""
    text_column: Annotated[int, Only(corpus=LABELLED_CORPORA)] = -1
    """TSV: column of the text, from 1, or from -1 counted from the end."""
    label_column: Annotated[int, Only(corpus=LABELLED_CORPORA)] = 1
    """TSV: column of the label, in the same way."""
    header: Annotated[bool, Only(corpus=LABELLED_CORPORA)] = False
    """TSV: whether the first line of a file is a heading."""
    text_field: Annotated[str, Only(corpus=LABELLED_CORPORA)] = "text"
    """JSON Lines: field of the text."""
    label_field: Annotated[str, Only(corpus=LABELLED_CORPORA)] = "label"
    """JSON Lines: field of the label, or of a list of labels."""
    phrases: Annotated[bool, Only(corpus=LABELLED_CORPORA)] = False
    """Trees: whether all phrases of the training text are examples, each distinct one once, or only whole sentences.
    Development and test text are whole sentences."""
    rename: Annotated[list[str], Only(corpus=LABELLED_CORPORA)] = Field(default=[])
    """New names of labels, such as `1=positive`; texts with a label without a new name, such as `2=`, are left out."""
    rename_in_trees: Annotated[list[str], Only(corpus=LABELLED_CORPORA)] = Field(default=[])
    """The same for labels in bracket trees, to which `rename` does not apply."""
    multiple: Annotated[bool, Only(corpus=LABELLED_CORPORA)] = False
    """Whether a text may have several labels or none, each decided independently (sigmoid); otherwise it has exactly
    one (softmax)."""
    separator: Annotated[str, Field(min_length=1), Only(multiple=(True,))] = ","
    """Separator between several labels in a column."""
    conversations: Annotated[bool, Only(corpus=LABELLED_CORPORA)] = False
    """Whether texts are the utterances of conversations, which a blank line separates; a text can then be labeled given
    those before it (`model.context`)."""
    speaker_column: Annotated[int, Only(corpus=LABELLED_CORPORA), Only(conversations=(True,))] = 0
    """TSV: column of the speaker, in the same way as `text_column`; 0 means that there is none."""
    examples: Annotated[Positive, Only(corpus=LABELLED_CORPORA)] = 20_000
    """Training texts a built-in corpus generates; development and test sets have a tenth of it, 1,000 at most."""
    languages: Annotated[list[str], Only(corpus=LABELLED_CORPORA)] = Field(default=[])
    """Languages of the built-in dates, as codes such as `de`; empty means all of them."""

    @property
    def is_generated(self) -> bool:
        return self.corpus != "files"

    def has(self, part: HeldOut) -> bool:
        return self.is_generated or bool(getattr(self, part))

    def new_names(self, trees: bool) -> dict[str, str]:
        """New names of labels by the old ones; empty for those that are left out."""
        return {old: new for old, _, new in (pair.rpartition("=") for pair in self._renamed(trees))}

    def _renamed(self, trees: bool) -> list[str]:
        return self.rename_in_trees if trees else self.rename

    @model_validator(mode="after")
    def _settings_are_sound(self) -> Self:
        for name in ("text_column", "label_column"):
            if getattr(self, name) == 0:
                raise ValueError(f"{name} = 0: columns are counted from 1, or from -1 at the end")
        if self.conversations and self.phrases:
            raise ValueError(
                "phrases = true takes texts apart, and conversations are of whole ones; leave one of them out"
            )
        for name, trees in (("rename", False), ("rename_in_trees", True)):
            for pair in self._renamed(trees):
                if not pair.rpartition("=")[0]:
                    raise ValueError(f"{name}: {pair!r} is not a label and its new name, such as '1=positive'")
        return self

    @model_validator(mode="after")
    def _files_are_named(self) -> Self:
        for name in ("train", "dev", "test"):
            if getattr(self, name) and self.is_generated:
                raise ValueError(
                    f"{name} names files, but corpus is {self.corpus!r}; set corpus to 'files' or leave {name} out"
                )
        if not self.is_generated and not self.train:
            raise ValueError(
                "train is missing: name a file of texts with labels, or choose corpus = 'dates', which is built in"
            )
        return self


class ContextTable(Section):
    """How the conversation before a text is read."""

    kind: Literal["none", "attention"] = "none"
    """Nothing, or a mean of the vectors of the preceding texts, weighted by attention with the text's own vector as the
    query. Attention also depends on the distance and on whether the speaker is the same."""
    reach: Annotated[Positive, Only(kind=("attention",))] = 5
    """Number of preceding texts to attend to."""
    score: Annotated[ScoreName, Only(kind=("attention",))] = "additive"
    """How a text is compared with a preceding one."""
    hidden: Annotated[Width, Only(kind=("attention",)), Only(score=SCORES)] = 64
    """Hidden width of the scores that have one."""
    normalizer: Annotated[NormalizerName, Only(kind=("attention",))] = "softmax"
    """How scores become weights."""

    @property
    def texts_before(self) -> int:
        """Number of preceding texts that are read with each text."""
        return 0 if self.kind == "none" else self.reach


class ClassifierModel(Section):
    """The encoder of a text, and how its features are pooled."""

    encoder: Annotated[Encoding, ChosenBy(ENCODERS)]
    """What reads the vectors of the words."""
    pooling: PoolingTable = PoolingTable()
    """How the features of the words become one vector."""
    context: ContextTable = ContextTable()
    """What is read of the conversation before a text (`data.conversations`)."""
    dropout: Share = 0.0
    """Share of the pooled features dropped before a label is predicted."""


class ClassifyingCorpus(AnyRecipe):
    """The settings for reading and checking texts with labels."""

    task: Literal["classifying"]
    data: ClassifyingData
    """Where texts with labels come from."""


class ClassifyingRecipe(ClassifyingCorpus, Recipe):
    """A recipe for a classifier."""

    data: ClassifyingData
    """Where texts with labels come from."""
    words: WordTable = WordTable()
    """How words become vectors."""
    model: ClassifierModel
    """The model."""
    train: TokenTraining
    """The training loop."""

    @model_validator(mode="after")
    def _context_is_there(self) -> Self:
        if self.model.context.kind == "none":
            return self
        if not self.data.conversations:
            raise ValueError(
                f"model.context.kind = {self.model.context.kind!r} is for conversations; set data.conversations = "
                "true, or leave it out"
            )
        if self.train.shapes:
            raise ValueError(
                f"train.shapes = {self.train.shapes}: stretches of conversations do not come in few shapes; leave it "
                "out"
            )
        return self
