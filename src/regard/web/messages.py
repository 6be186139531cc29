"""Requests and responses of the API; `/openapi.json` documents them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from regard.errors import UsageError, one_of
from regard.inspect.changes import CHANGES, Change

MOST_CHARACTERS = 10_000
Words = Annotated[str, Field(max_length=MOST_CHARACTERS)]


Word = Annotated[str, Field(max_length=200)]


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Failed(Message):
    """Why a request failed."""

    error: str


class AskedChange(Message):
    """One change, as in `regard.inspect.changes`."""

    kind: Literal["Silence", "Uniform", "Temper", "Permute", "SetWeight", "SetGate"]
    tap: Annotated[str, Field(max_length=200)]
    head: int | None = None
    query: int | None = None
    key: int | None = None
    value: float | None = None
    temperature: float | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    unit: int | None = None
    step: int | None = None

    def made(self) -> Change:
        kind, given = CHANGES[self.kind], self.model_dump(exclude_none=True, exclude={"kind"})
        unknown = next((name for name in given if name not in kind.__dataclass_fields__), None)
        if unknown:
            raise UsageError(f"{self.kind} has no {unknown!r}; it has {one_of(kind.__dataclass_fields__, unknown)}")
        return kind(**given)


class Changed(Message):
    """A request to a model that may have changes inside."""

    changes: Annotated[list[AskedChange], Field(max_length=200)] = []
    """The changes inside the model while it computes."""
    into: Annotated[str, Field(max_length=100)] | None = None
    """The language to write, for a model that writes several."""

    def made(self) -> list[Change]:
        return [each.made() for each in self.changes]


class Asked(Changed):
    """One example, and the changes inside the model while it is read and written."""

    texts: Annotated[list[Words], Field(min_length=1, max_length=2)]
    """The input, and for a translator the output: its own translation if none is given."""


class AskedReason(Changed):
    """One example, and the output to explain."""

    texts: Annotated[list[Words], Field(min_length=1, max_length=2)]
    place: Annotated[int, Field(ge=0, le=10_000)] | None = None
    """The place of the output; without it, all of them."""
    other_attention: bool = False
    """Whether to ask if other attention would have given the same output."""
    layer: Annotated[str, Field(max_length=200)] | None = None
    """The tap of the attention; without it, the attention that outputs are made from."""
    head: int | None = None
    """One of its heads; without it, all of them."""


class AskedSteps(Changed):
    """One pair, and the attention that is followed."""

    texts: Annotated[list[Words], Field(min_length=2, max_length=2)]
    layer: Annotated[str, Field(max_length=200)] | None = None
    """By the tap of its weights; without it, the last layer."""


class AskedTranslation(Changed):
    text: Words
    beam: Annotated[int, Field(ge=1, le=20)] = 5
    prefix: Words = ""
    """The beginning of the translation."""


class AskedBeginning(Changed):
    text: Words
    prefix: Words = ""


class AskedToken(Changed):
    text: Words
    """The text so far."""
    written: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=512)] = []
    """Ids of the tokens generated since."""
    count: Annotated[int, Field(ge=1, le=50)] = 10
    temperature: Annotated[float, Field(gt=0, le=100)] = 1.0
    sample: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Each sample draws different tokens."""


class AskedText(Changed):
    text: Words


class AskedMap(Message):
    vectors: Word = ""
    """Which vectors, if the model has several; by default the first."""
    words: Annotated[list[Word], Field(max_length=500)] = []
    """Words to place besides the most frequent ones."""
    top: Annotated[int, Field(ge=0, le=2000)] = 300
    projection: Literal["tsne", "pca", "umap"] = "pca"
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1


class AskedNeighbors(Message):
    vectors: Word = ""
    positive: Annotated[list[Word], Field(max_length=20)] = []
    negative: Annotated[list[Word], Field(max_length=20)] = []
    top: Annotated[int, Field(ge=1, le=100)] = 10
    method: Literal["additive", "multiplicative"] = "additive"


class Place(Message):
    """A tap that can be changed."""

    tap: str
    axes: list[str]
    kinds: list[str]
    """The changes that apply to it."""
    kind: Literal["attention", "gate", "candidate", "state"]
    """Attention weights and gates are between 0 and 1."""
    backward: bool = False
    """Whether its steps pass from the end of the text to its beginning."""


class ModelCard(Message):
    name: str
    about: dict[str, str]
    task: str
    reads: bool = True
    """Whether it reads texts, which vectors of words do not."""
    writes: bool = False
    """Whether it translates; all others read a text."""
    explains: bool = False
    """Whether its outputs can be explained."""
    goes_on: bool = False
    """Whether it scores running text and continues it."""
    vectors: list[str] = []
    """Its vectors of words or tokens, which can be mapped."""
    tours: list[str] = []
    """The attention that can be followed step by step, by the taps of its weights."""
    languages: list[str] = []
    examples: list[str] = []
    places: list[Place] = []


class Models(Message):
    version: str
    models: list[ModelCard]
    most_characters: int = MOST_CHARACTERS
    projections: list[str]
    """The projections available for maps of words."""


class Output(Message):
    text: str
    score: float
    probability: float
    finished: bool


class Outputs(Message):
    """The n best translations, best first."""

    outputs: list[Output]


class ArrayCard(Message):
    """An array of an inspection, including its numbers if they are few."""

    name: str
    axes: list[str]
    shape: list[int]
    largest: float
    """The largest absolute value."""
    signed: bool
    values: list[float | str] | None = None
    texts: list[str] | None = None


class Shown(Message):
    """An inspection without its large arrays, which are fetched by `id`."""

    id: str
    title: str
    note: str
    labels: dict[str, list[str]]
    """Labels by axis, of each part of `a+b` in turn."""
    words: dict[str, list[int | None]]
    leftward: list[str]
    """Axes whose text runs from right to left."""
    meanings: dict[str, str]
    shown: list[str]
    gold: list[tuple[int, int]]
    arrays: list[ArrayCard]
    texts: list[str]
    """The texts read and written."""
    python: str
    """The Python program that gives the same."""
