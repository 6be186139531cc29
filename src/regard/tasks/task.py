"""The trainer's interface to a task."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, Self

from torch import Tensor, nn

from regard.data.batches import Batches, CorpusPosition
from regard.recipe import Recipe


class Batch(Protocol):
    """Examples that go through the model together."""

    @property
    def count(self) -> int:
        """Number of targets: the normalizer of the summed loss."""
        ...

    def rows(self, rank: int, world: int) -> Self:
        """The share of one of `world` processes; it may be empty."""
        ...

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The batch with `function` applied to each tensor, always in the same order."""
        ...


class Task(ABC):
    """A recipe with its data at hand: batches in, a summed loss and validation metrics out."""

    recipe: Recipe

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Writes what a trained model needs besides recipe and weights (tokenizers)."""

    @abstractmethod
    def build_model(self) -> nn.Module:
        """A new model with initial weights drawn from torch's global generator, on the CPU, in float32."""

    def start(self, model: nn.Module) -> list[str]:
        """Loads into a new model any weights that it starts from; returns lines that describe them.

        A run that is resumed, and a model that is loaded, do without: they have their weights."""
        return []

    @abstractmethod
    def batches(self, position: CorpusPosition) -> Iterator[tuple[Any, CorpusPosition]]:
        """Training batches from a position on, without end, each with the position after it; a pure function of
        the recipe's seed and the position. `position.epoch` counts finished passes."""

    def passes(self, position: CorpusPosition) -> float:
        """Passes over the training text completed at a position reached by `batches`, including the fraction of the
        current one, if the task knows it."""
        return float(position.epoch)

    @property
    def tokens_in_pass(self) -> int:
        """Tokens of the training text without padding, of pairs those of the longer side: about the batch tokens of a
        pass; 0 if the task does not know."""
        return 0

    def sizes(self, *, decode: bool) -> Mapping[str, int]:
        """The settings, by name, that decide how much memory a step takes, or a validation that decodes."""
        tokens = self.recipe.train.tokens_in_batch
        return {"train.batch_tokens": tokens} if tokens else {}

    @abstractmethod
    def objective(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Tensor, Any]:
        """The summed training loss of a batch, in float32, and the state carried to the next batch (None for most).

        It may be captured in a CUDA graph: it must then be a function of the batch's tensors, without device syncs."""

    @abstractmethod
    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        """Metrics on the development text, equal on all ranks: `loss` (per target, without label smoothing) and the
        others of `TaskKind.metrics`, those that decode only with `decode`. Empty if there is no development text. The
        model is in eval mode."""

    @abstractmethod
    def describe_batch(self, batch: Any) -> Any:
        """A batch as plain JSON-able data that a person can read, for the record of a bad step."""


class BatchedTask(Task):
    """A task whose training examples are shuffled and made into batches by `Batches`."""

    _batches: Batches[Any, Any]

    def batches(self, position: CorpusPosition) -> Iterator[tuple[Any, CorpusPosition]]:
        return self._batches.from_position(position)

    def passes(self, position: CorpusPosition) -> float:
        return self._batches.passes(position)

    @property
    def tokens_in_pass(self) -> int:
        return self._batches.tokens


class CountingTask(Task):
    """A task whose model is counted from the training text in one pass, not trained by steps."""

    @abstractmethod
    def count(self, on_progress: Callable[[int], None]) -> nn.Module:
        """The whole model, on the CPU; `on_progress` is called periodically with the number of tokens read."""
