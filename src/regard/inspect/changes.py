"""Changes of attention and gates that can be named, shown and repeated.

    changes = [
        Silence("encoder.layers.0.attention.weights", head=2),
        SetWeight("decoder.layers.1.cross.weights", 0.9, head=0, query=3, key=5),
    ]
    with changed(model, changes):
        seen = model.inspect("3. März 2021", "2021-03-03")

A change names a tap, or several by a pattern. Positions are counted from the first that passes the tap in the block, so
a change with positions belongs around one run: for a translator, around `inspect` with a given target. Changed rows of
attention keep their sums, except for those of a silenced head, and keys without weight stay without.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from regard.errors import UsageError
from regard.inspect.outputs import Outputs
from regard.tap import Watchable, intervene, taps


@dataclass(frozen=True, repr=False)
class Change(ABC):
    """One change at one place."""

    tap: str
    """Name or pattern of the taps."""

    @abstractmethod
    def __call__(self, value: Tensor, first: int) -> Tensor:
        """The changed value, whose first position is number `first`."""

    @classmethod
    def suits(cls, axes: tuple[str, ...]) -> bool:
        """Whether this change applies to a tap with these axes."""
        return len(axes) == 3 and axes[0] == "row"

    def __repr__(self) -> str:
        """The call that makes it, without arguments at their defaults."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "tap"}
        plain = {field.name: field.default for field in fields(self)}
        named = [f"{name}={value!r}" for name, value in given.items() if value != plain[name]]
        return f"{type(self).__name__}({', '.join([repr(self.tap), *named])})"


@dataclass(frozen=True, repr=False)
class ChangeAttention(Change):
    """A change of the weights of attention, of all heads and queries unless they are named."""

    head: int | None = None
    query: int | None = None

    @classmethod
    def suits(cls, axes: tuple[str, ...]) -> bool:
        return axes[1:2] == ("head",) or len(axes) == 2  # pooling has one head and one query

    def __call__(self, value: Tensor, first: int) -> Tensor:
        changed = value.clone() if value.dim() == 4 else value[:, None, None].clone()
        heads, queries = changed.shape[1:3]
        _check("head", self.head, heads)
        if self.query is not None and not first <= self.query < first + queries:
            return value
        some = changed[:, _only(self.head), _only(None if self.query is None else self.query - first)]
        some.copy_(self.weights(some))
        return changed.view_as(value)

    @abstractmethod
    def weights(self, old: Tensor) -> Tensor:
        """The new weights of the chosen heads and queries ("row head query key"); zero weights may be masked."""


class Silence(ChangeAttention):
    """Zero weights: the head adds nothing to its layer."""

    def weights(self, old: Tensor) -> Tensor:
        return torch.zeros_like(old)


class Uniform(ChangeAttention):
    """The same weight for all positions that have any."""

    def weights(self, old: Tensor) -> Tensor:
        return _normalized((old > 0).to(old), old)


@dataclass(frozen=True, repr=False)
class Temper(ChangeAttention):
    """Weights to the power of 1 / temperature: above 1 they are flatter, below 1 sharper."""

    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise UsageError(f"temperature = {self.temperature}: must be above 0; 1 changes nothing")

    def weights(self, old: Tensor) -> Tensor:
        # The largest is 1 before it is raised, so that no row underflows.
        return _normalized((old / old.amax(-1, keepdim=True).clamp(min=1e-30)) ** (1 / self.temperature), old)


@dataclass(frozen=True, repr=False)
class Permute(ChangeAttention):
    """The weights of each query in another order, drawn with a seed, among the positions that have any."""

    seed: int = 0

    def weights(self, old: Tensor) -> Tensor:
        noise = torch.from_numpy(np.random.default_rng(self.seed).random(old.shape[-1])).to(old.device)
        masked = old <= 0
        plain = masked.to(torch.uint8).argsort(dim=-1, stable=True)
        drawn = noise.expand_as(old).masked_fill(masked, 2.0).argsort(dim=-1, stable=True)
        return torch.zeros_like(old).scatter(-1, plain, old.gather(-1, drawn))


@dataclass(frozen=True, repr=False)
class SetWeight(ChangeAttention):
    """One weight; the others of its row keep their proportions and share the rest. A row in which the key has no
    weight (if masked, for example) or all of it is unchanged."""

    key: int = 0
    value: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.value <= 1:
            raise UsageError(f"value = {self.value}: a weight lies between 0 and 1")

    def weights(self, old: Tensor) -> Tensor:
        _check("key", self.key, old.shape[-1])
        others = old.clone()
        others[..., self.key] = 0.0
        total = old.sum(-1, keepdim=True)
        rest = others.sum(-1, keepdim=True)
        new = others * (total * (1 - self.value) / rest.clamp(min=1e-30))
        new[..., self.key] = self.value * total[..., 0]
        return torch.where((old[..., self.key, None] > 0) & (rest > 0), new, old)


@dataclass(frozen=True, repr=False)
class SetGate(Change):
    """A gate, or a unit of a state, of all units and steps unless they are named. Steps are counted as they are read:
    backward in a cell that reads backward."""

    value: float = 0.0
    unit: int | None = None
    step: int | None = None

    def __call__(self, value: Tensor, first: int) -> Tensor:
        _check("unit", self.unit, value.shape[2])
        if self.step is not None and not first <= self.step < first + value.shape[1]:
            return value
        changed = value.clone()
        changed[:, _only(None if self.step is None else self.step - first), _only(self.unit)] = self.value
        return changed


CHANGES: dict[str, type[Change]] = {
    each.__name__: each for each in (Silence, Uniform, Temper, Permute, SetWeight, SetGate)
}


@contextmanager
def changed(model: Watchable, changes: Sequence[Change]) -> Iterator[None]:
    """Applies all changes, in order, while the block runs."""
    with ExitStack() as block:
        for change in changes:
            for name, tap in taps(model, change.tap).items():
                if not change.suits(tap.axes):
                    known = ", ".join(tap.axes)
                    raise UsageError(f"{type(change).__name__} does not fit {name!r}, whose axes are {known}")
                block.enter_context(intervene(model, name, _counting(change, tap.axes)))
        yield


def changed_outputs(outputs: Outputs, changes: Sequence[Change]) -> Outputs:
    """The same outputs of the model with these changes, applied in every run of it."""

    def run(place: int, axis: str, without: Sequence[Collection[int]]) -> Tensor:
        with changed(outputs.model, changes):
            return outputs.run(place, axis, without)

    return replace(outputs, run=run) if changes else outputs


def as_python(
    load: str,
    call: str,
    changes: Sequence[Change] = (),
    *,
    name: str = "seen",
    after: Sequence[str] = (),
    used: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> str:
    """A program that loads a model by an expression, and calls one of its methods under the changes. Lines that come
    `after` may need the imports in `used`."""
    given = {"regard.inspect": {type(change).__name__ for change in changes} | ({"changed"} if changes else set())}
    for module, names in used.items():
        given[module] = given.get(module, set()) | set(names)
    imports = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(given.items()) if names]
    lines = ["import regard", *imports, "", f"model = {load}"]
    if changes:
        lines += ["changes = [", *(f"    {change!r}," for change in changes), "]", "with changed(model, changes):"]
    return "\n".join([*lines, f"{'    ' if changes else ''}{name} = model.{call}", *after]) + "\n"


def _counting(change: Change, axes: tuple[str, ...]) -> Callable[[Tensor], Tensor]:
    """The change for one tap, whether positions pass it together or one after another."""
    passed = 0
    along = len(axes) - 2  # queries, or steps

    def apply(value: Tensor) -> Tensor:
        nonlocal passed
        first, passed = passed, passed + (value.shape[along] if along else 1)
        return change(value, first)

    return apply


def _only(place: int | None) -> slice:
    return slice(None) if place is None else slice(place, place + 1)


def _check(name: str, given: int | None, size: int) -> None:
    if given is not None and not 0 <= given < size:
        raise UsageError(f"{name} = {given}: must be from 0 to {size - 1}")


def _normalized(new: Tensor, old: Tensor) -> Tensor:
    """The new rows scaled to the sums of the old ones."""
    return new * (old.sum(-1, keepdim=True) / new.sum(-1, keepdim=True).clamp(min=1e-30))
