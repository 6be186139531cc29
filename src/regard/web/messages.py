"""What the page and the server say to each other; `/openapi.json` documents it."""

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
    """Why there is no answer."""

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
    """What is asked of a model in which something may be changed."""

    changes: Annotated[list[AskedChange], Field(max_length=200)] = []
    """What is changed inside the model while it computes."""
    into: Annotated[str, Field(max_length=100)] | None = None
    """The language to write, of a model that writes several."""

    def made(self) -> list[Change]:
        return [each.made() for each in self.changes]


class Asked(Changed):
    """One example, and what is changed inside the model while it is read and written."""

    texts: Annotated[list[Words], Field(min_length=1, max_length=2)]
    """What is read, and for a translator what is written: its own translation if none is given."""


class AskedReason(Changed):
    """One example, and the output that is asked about."""

    texts: Annotated[list[Words], Field(min_length=1, max_length=2)]
    place: Annotated[int, Field(ge=0, le=10_000)] | None = None
    """Of the output; without it, all of them."""
    other_attention: bool = False
    """Whether to ask if other attention would have given the same output."""
    layer: Annotated[str, Field(max_length=200)] | None = None
    """Whose attention, by its tap; without it, that which outputs are made from."""
    head: int | None = None
    """One head of it; without it, all of them."""


class AskedSteps(Changed):
    """One pair, and the attention that is followed."""

    texts: Annotated[list[Words], Field(min_length=2, max_length=2)]
    layer: Annotated[str, Field(max_length=200)] | None = None
    """By the tap of its weights; without it, the last layer."""


class AskedTranslation(Changed):
    text: Words
    beam: Annotated[int, Field(ge=1, le=20)] = 5
    prefix: Words = ""
    """What the translation must begin with."""


class AskedBeginning(Changed):
    text: Words
    prefix: Words = ""


class AskedToken(Changed):
    text: Words
    """What is there already."""
    written: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=512)] = []
    """Numbers of the tokens that were written since."""
    count: Annotated[int, Field(ge=1, le=50)] = 10
    temperature: Annotated[float, Field(gt=0, le=100)] = 1.0
    sample: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Each draws other tokens."""


class AskedText(Changed):
    text: Words


class AskedMap(Message):
    vectors: Word = ""
    """Which vectors, of a model that has several; its first without one."""
    words: Annotated[list[Word], Field(max_length=500)] = []
    """Words that are placed besides the most frequent ones."""
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
    """The changes that suit it."""
    kind: Literal["attention", "gate", "candidate", "state"]
    """Weights and gates lie between 0 and 1."""
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
    """Whether it can be asked what an output rests on."""
    goes_on: bool = False
    """Whether it says how likely running text is, and writes on."""
    vectors: list[str] = []
    """Its vectors of words or tokens, of which there are maps."""
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
    """What maps of words can be drawn by here."""


class Output(Message):
    text: str
    score: float
    probability: float
    finished: bool


class Outputs(Message):
    """The n best translations, best first."""

    outputs: list[Output]


class ArrayCard(Message):
    """An array of an inspection; its numbers too, if they are few."""

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
    """By axis, of each part of `a+b` in turn."""
    words: dict[str, list[int | None]]
    leftward: list[str]
    """Axes whose text runs from right to left."""
    meanings: dict[str, str]
    shown: list[str]
    gold: list[tuple[int, int]]
    arrays: list[ArrayCard]
    texts: list[str]
    """What was read and written."""
    python: str
    """The program that gives the same."""
