"""What every trained model can do, whatever its task, and how it shows itself."""

from collections.abc import Iterator
from typing import Protocol

from torch import nn

from regard.display import html_table
from regard.errors import counted
from regard.inspect import Inspection
from regard.metrics import MetricScore
from regard.recipe import HeldOut, Recipe
from regard.tap import Tap


class Shown(Protocol):
    """What a model needs to show itself."""

    @property
    def recipe(self) -> Recipe: ...

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]: ...


class Trained(Protocol):
    """A model with its recipe and all it needs, ready for use. What else it can do is a matter of its task."""

    @property
    def recipe(self) -> Recipe: ...

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]:
        """The parts of the model by name, so that `regard.record` and `regard.intervene` take it as it is."""
        ...

    def evaluate(self, split: HeldOut) -> tuple[MetricScore, ...]:
        """How good it is on the development or test text of its recipe."""
        ...

    def inspect(self, *texts: str) -> Inspection:
        """What happens inside while it reads or writes one example."""
        ...


def line_of(trained: Shown, facts: dict[str, str]) -> str:
    """A trained model on one line; `facts` are what its task says of it."""
    known = _known(trained) | facts
    kind = known.pop("model")
    return f"<{type(trained).__name__}: {', '.join([kind, *(f'{name} {fact}' for name, fact in known.items())])}>"


def cell_of(trained: Shown, facts: dict[str, str]) -> str:
    """The same for a notebook, with the places where one may record and intervene."""
    table = html_table([*(_known(trained) | facts).items()], title=type(trained).__name__)
    found = {name: module for name, module in trained.named_modules() if isinstance(module, Tap)}
    if not found:
        return table
    places = html_table([(name, " × ".join(tap.axes)) for name, tap in found.items()], heading=("place", "axes"))
    return (
        f"{table}<details><summary>{counted(len(found), 'place')} to record and intervene</summary>{places}</details>"
    )


def _known(trained: Shown) -> dict[str, str]:
    """What is known of every model; one that was counted has no parameters."""
    kind = getattr(getattr(trained.recipe, "model", None), "kind", trained.recipe.task)
    every = {each for _, module in trained.named_modules() for each in module.parameters(recurse=False)}
    return {"model": kind} | ({"parameters": f"{sum(each.numel() for each in every):,}"} if every else {})
