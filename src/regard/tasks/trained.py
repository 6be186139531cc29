"""What every trained model can do, whatever its task."""

from collections.abc import Iterator
from typing import Protocol

from torch import nn

from regard.inspect import Inspection
from regard.metrics import MetricScore
from regard.recipe import HeldOut, Recipe


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
