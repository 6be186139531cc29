"""The recipe of a dependency parser: `[data]` are files of CoNLL-U, `[words]` how words are read."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from regard.recipe.encoders import ENCODERS, Encoding
from regard.recipe.recipe import AnyRecipe, Corpus, Recipe
from regard.recipe.section import ChosenBy, FilePath, Positive, Section, Share, Width
from regard.recipe.training import TokenTraining
from regard.recipe.words import WordTable
from regard.registry import Entry, Registry


class ParsingData(Corpus):
    """Where trees come from."""

    train: list[FilePath]
    """Training trees: CoNLL-U files, read one after another; each may end in `.gz`."""
    dev: list[FilePath] = Field(default=[])
    """Development trees, in the same format; used for validation and for choosing settings."""
    test: list[FilePath] = Field(default=[])
    """Test trees, in the same format; read only by `regard evaluate`."""
    malformed: Literal["refuse", "drop"] = "refuse"
    """What happens to a training sentence whose lines or heads are wrong; development and test text must be right."""

    @model_validator(mode="after")
    def _files_are_named(self) -> Self:
        if not self.train:
            raise ValueError("train names no file; name one of CoNLL-U")
        return self


class ParserTable(Section):
    """Settings of every parser."""

    kind: str
    """Which parser."""
    encoder: Annotated[Encoding, ChosenBy(ENCODERS)]
    """What reads the vectors of the words, and that of the root before them."""
    relation_width: Width = 100
    """Width of the layers that words and heads pass through before relations are scored."""
    dropout: Share = 0.33
    """Share of features dropped in the layers before scores, the same ones for all words of a sentence."""

    @property
    def needs_projective(self) -> bool:
        """Whether it learns from projective trees alone."""
        return False


class GraphParserModel(ParserTable):
    """Scores every arc and finds the best tree (Dozat and Manning 2017)."""

    kind: Literal["graph"]
    """Which parser."""
    arc_width: Width = 500
    """Width of the layers that words and heads pass through before arcs are scored."""


class TransitionParserModel(ParserTable):
    """Builds the tree move by move, arc-hybrid with a dynamic oracle (Goldberg and Nivre 2013; features of Kiperwasser
    and Goldberg 2016)."""

    kind: Literal["transition"]
    """Which parser."""
    hidden: Width = 256
    """Width of the layer that scores moves."""
    explore: Share = 0.1
    """Share of training moves that the parser chooses itself, right or wrong; the others are right."""

    @property
    def needs_projective(self) -> bool:
        return True


PARSERS: Registry[Any] = Registry(
    "parser",
    {
        "graph": Entry("regard.models.parsing.graph:GraphParser", table=GraphParserModel),
        "transition": Entry("regard.models.parsing.transition:TransitionParser", table=TransitionParserModel),
    },
)
"""Builds the parser of a recipe's table, by its `kind`, from the table and what all parsers are built from."""

ParserModel = GraphParserModel | TransitionParserModel


class ParsingDecoding(Section):
    """How trees are found."""

    projective: bool = False
    """Whether the arcs of a tree may not cross. Sentences of more than 1,000 words, in which the search would take too
    long, keep trees with crossing arcs, and a warning says so."""
    batch_tokens: Positive = 8192
    """Words in a batch, including padding."""


class ParsingCorpus(AnyRecipe):
    """The settings for reading and checking trees."""

    task: Literal["parsing"]
    data: ParsingData
    """Where trees come from."""


class ParsingRecipe(ParsingCorpus, Recipe):
    """A recipe for a dependency parser."""

    data: ParsingData
    """Where trees come from."""
    words: WordTable = WordTable()
    """How words become vectors."""
    model: Annotated[ParserModel, ChosenBy(PARSERS)]
    """The parser."""
    train: TokenTraining
    """The training loop."""
    decode: ParsingDecoding = ParsingDecoding()
    """How trees are found, unless a command says otherwise."""

    @model_validator(mode="after")
    def _trees_fit_the_parser(self) -> Self:
        if self.decode.projective and self.model.needs_projective:
            raise ValueError(
                f"decode.projective = true, but model.kind = {self.model.kind!r} finds no other trees; leave it out"
            )
        return self
