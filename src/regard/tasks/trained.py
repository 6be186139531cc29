"""The interfaces of trained models, across tasks, and how they display themselves."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

from torch import nn

from regard.display import html_table
from regard.errors import counted
from regard.inspect import Alignment, Inspection, Joining, Outputs
from regard.metrics import MetricScore
from regard.misuse import explained
from regard.recipe import HeldOut, Recipe
from regard.tap import Tap
from regard.tokens.segmentation import Units
from regard.vectors import Vectors


class Trained(Protocol):
    """A model with its recipe and all it needs, ready for use. Further methods depend on its task."""

    @property
    def recipe(self) -> Recipe: ...

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]:
        """The parts of the model by name, so that `regard.record` and `regard.intervene` take it as it is."""
        ...

    def evaluate(self, split: HeldOut) -> tuple[MetricScore, ...]:
        """Its scores on the development or test text of its recipe."""
        ...

    def inspect(self, *texts: str) -> Inspection:
        """An inspection of the model on one example."""
        ...


@runtime_checkable
class Inspectable(Protocol):
    """A model that reads texts and can be inspected, as every trained model can."""

    def inspect(self, *texts: str) -> Inspection: ...


@runtime_checkable
class Explainable(Protocol):
    """A trained model whose outputs can be explained."""

    def outputs(self, *texts: str) -> Outputs:
        """Its outputs for one example, as differentiable functions of its inputs and activations."""
        ...


@runtime_checkable
class Embedding(Protocol):
    """A model with a vector for each token or word."""

    def embeddings(self) -> Mapping[str, Vectors]:
        """These vectors, by what they represent."""
        ...


class Output(Protocol):
    """A text that was written."""

    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def log_prob(self) -> float: ...
    @property
    def finished(self) -> bool: ...


class Outputted(Output, Protocol):
    """The best output for a text, and the next ones."""

    @property
    def others(self) -> Sequence[Output]: ...


@runtime_checkable
class Searching(Protocol):
    """A trained model that writes a text given another, by a beam search."""

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int | None = None,
        n_best: int | None = None,
        prefixes: Sequence[str] | None = None,
    ) -> Sequence[Outputted]:
        """The best outputs for each text, as many as `n_best`, beginning with its prefix."""
        ...

    def search_tree(self, source: str, *, beam: int | None = None, prefix: str = "") -> Inspection:
        """The hypotheses of a search."""
        ...

    def alternatives(self, source: str, prefix: str = "") -> Inspection:
        """The likeliest next tokens after the beginning of an output."""
        ...

    def count_tokens(self, text: str, *, written: bool = False) -> int:
        """Number of tokens of a text that it reads, or of one that it writes."""
        ...


@runtime_checkable
class Following(Protocol):
    """A trained model with attention that can be followed step by step."""

    def followed(self) -> Sequence[str]:
        """Their names, by the taps of their weights."""
        ...

    def attention_steps(self, source: str, target: str | None = None, *, layer: str | None = None) -> Inspection:
        """One of them: queries, keys, values, scores, weights and what becomes of them."""
        ...


@runtime_checkable
class Multilingual(Protocol):
    """A trained model that writes several languages."""

    @property
    def tags(self) -> Sequence[str]:
        """The languages; none if it writes only one."""
        ...

    def into(self, tag: str | None) -> Self: ...


class Measured(Protocol):
    """A text of any length with how likely each of its tokens is."""

    def inspection(self) -> Inspection: ...


@runtime_checkable
class Reader(Protocol):
    """A trained language model, which scores running text and continues it."""

    def score(self, lines: str) -> Measured:
        """Its scores of a text."""
        ...

    def continuations(
        self,
        prompt: str = "",
        written: Sequence[int] = (),
        *,
        count: int = 10,
        sample: int = 0,
        decoding: Mapping[str, Any] | None = None,
    ) -> Inspection:
        """The likeliest next tokens."""
        ...


@runtime_checkable
class Aligner(Protocol):
    """A trained model that finds the links between the words of given pairs, in one direction or in both."""

    @property
    def joining(self) -> Joining:
        """How two directions are joined by default."""
        ...

    def alignments(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        units: Units | tuple[Units, Units] = "auto",
        scored: bool = False,
    ) -> Iterator[Alignment]:
        """The link probabilities of each pair; with `scored`, its score too, which may take longer."""
        ...


R = TypeVar("R", bound=Recipe)
M = TypeVar("M", bound=nn.Module)


@explained
class LoadedModel(ABC, Generic[R, M]):
    """A torch model with its recipe, with displays for a terminal and for a notebook."""

    recipe: R
    model: M

    @property
    @abstractmethod
    def _facts(self) -> dict[str, str]:
        """Facts that its task adds to the display."""

    def __repr__(self) -> str:
        known = self.about
        kind = known.pop("model")
        return f"<{type(self).__name__}: {', '.join([kind, *(f'{name} {fact}' for name, fact in known.items())])}>"

    def _repr_html_(self) -> str:
        """The same for a notebook, with the places where one may record and intervene."""
        table = html_table([*self.about.items()], title=type(self).__name__)
        found = {name: module for name, module in self.named_modules() if isinstance(module, Tap)}
        if not found:
            return table
        places = html_table([(name, " × ".join(tap.axes)) for name, tap in found.items()], heading=("place", "axes"))
        told = f"{counted(len(found), 'place')} to record and intervene"
        return f"{table}<details><summary>{told}</summary>{places}</details>"

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]:
        """The parts of the model by name, so that `regard.record` and `regard.intervene` take it as it is."""
        yield from self.model.named_modules()

    @property
    def about(self) -> dict[str, str]:
        """Its kind, its size, and the facts of its task; a counted model has no parameters."""
        kind = getattr(getattr(self.recipe, "model", None), "kind", self.recipe.task)
        every = {each for _, module in self.named_modules() for each in module.parameters(recurse=False)}
        size = {"parameters": f"{sum(each.numel() for each in every):,}"} if every else {}
        return {"model": kind} | size | self._facts
