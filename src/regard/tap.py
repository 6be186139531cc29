"""Taps: named identity modules at which values can be recorded or replaced.

    with record(model, "decoder.*.weights") as seen:      # records values
        model(...)
    seen["decoder.layers.0.cross.weights"]                 # a list, one tensor for each call of the tap
    seen.axes["decoder.layers.0.cross.weights"]            # ("row", "head", "target", "source")

    with intervene(model, "encoder.*.weights", uniform):   # replaces values
        model(...)

A tap names the axes of its values:

    row       examples of a batch, or hypotheses of a search
    head      heads of attention
    source    positions of the source
    target    positions of the target, each labelled with the token that is generated there
    past      the same positions, each labelled with the token that is read there
    feature   units of a layer
    spelling  the different words of a batch, in parts that read their characters, in the place of `row`

Parts that are used in several places have axes `query`, `key` and `step` (positions in the order of the tokens), which
the model that contains them renames (`name_axes`). `a+b` is an axis of the positions of a, then those of b, where a
name without positions counts as one: `past+sentinel`.

Recordings and interventions are local to the caller's thread or async task; other users of the model at the same time
are not affected.

A module computes the value of a tap only if it is watched:

    if self.weights.intervened:      # no fused kernel: weights = self.weights(weights)
    elif self.weights.recorded:      # use the fused kernel, and compute the weights in addition

so that recording changes nothing (except for rounding in recurrent cells, which do not use the fused kernel then), and
an unwatched tap costs nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from regard.display import html_table
from regard.errors import UsageError, counted, one_of
from regard.misuse import explained

LISTED = 12
"""Taps that are listed in a terminal."""


class Tap(nn.Module):
    """The identity, unless the caller intervenes; `axes` are the names of the value's dimensions."""

    def __init__(self, *axes: str) -> None:
        super().__init__()
        self.axes = axes

    @property
    def recorded(self) -> bool:
        return any(listener.change is None for listener in self._listeners())

    @property
    def intervened(self) -> bool:
        return any(listener.change is not None for listener in self._listeners())

    @property
    def watched(self) -> bool:
        """Whether the caller records or intervenes here."""
        return bool(self._listeners())

    def forward(self, value: Tensor) -> Tensor:
        value = self.change(value)
        self.show(value)
        return value

    def change(self, value: Tensor) -> Tensor:
        """Applies the interventions to a value, without recording it."""
        for listener in self._listeners():
            if listener.change is not None:
                changed = listener.change(value)
                if not isinstance(changed, Tensor):
                    raise UsageError(f"an intervention must return a tensor, not {changed!r:.60}")
                if changed.shape != value.shape:
                    shapes = f"it was given {tuple(value.shape)} and returned {tuple(changed.shape)}"
                    raise UsageError(f"an intervention must keep the shape: {shapes}")
                value = changed.to(value)
        return value

    def show(self, value: Tensor) -> None:
        """Records a value, without interventions."""
        for listener in self._listeners():
            if listener.change is None:
                listener.seen[listener.taps[self]].append(value.detach())

    def _listeners(self) -> "list[Listener] | tuple[()]":
        # torch.compile cannot trace context variables, and compiled code runs only unwatched.
        every = () if torch.compiler.is_compiling() else _LISTENERS.get()
        return [each for each in every if each.active and self in each.taps] if every else ()


class Seen(dict[str, list[Tensor]]):
    """A recording: by the full name of each tap, the tensors that passed it, in order. `axes` has the names of their
    dimensions."""

    def __init__(self, axes: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.axes: dict[str, tuple[str, ...]] = dict(axes or {})
        super().__init__({name: [] for name in self.axes})

    def last(self, name: str) -> Tensor:
        """The last tensor that passed a tap."""
        if not self.get(name):
            raise UsageError(f"nothing passed the tap {name!r} while it was recorded")
        return self[name][-1]

    def __repr__(self) -> str:
        rows = self._rows()
        width = max((len(name) for name, _ in rows), default=0)
        lines = [f"  {name:{width}}  {passed}" for name, passed in rows[:LISTED]]
        more = [f"  … and {len(rows) - LISTED:,} more"] if len(rows) > LISTED else []
        return "\n".join([f"<Seen: {counted(len(rows), 'place')}", *lines, *more]) + ">"

    def _repr_html_(self) -> str:
        return html_table(self._rows(), heading=("place", "what passed"))

    def _rows(self) -> list[tuple[str, str]]:
        """The name of each tap, and what passed it: how often, with the name and the size of each axis."""
        return [(name, self._passed(name)) for name in self]

    def _passed(self, name: str) -> str:
        shapes = list(dict.fromkeys(self._shape(name, tensor) for tensor in self[name]))
        if not shapes:
            return "nothing passed"
        often = f"{len(self[name])} times, " if len(self[name]) > 1 else ""
        return often + (shapes[0] if len(shapes) == 1 else f"at first {shapes[0]}, at last {shapes[-1]}")

    def _shape(self, name: str, tensor: Tensor) -> str:
        axes = self.axes.get(name, ())
        named = axes if len(axes) == tensor.dim() else ("?",) * tensor.dim()
        return " × ".join(f"{axis} {size}" for axis, size in zip(named, tensor.shape, strict=True)) or "number"


@dataclass(eq=False)
class Listener:
    """A block that records at some taps or, with `change`, intervenes there."""

    taps: Mapping[Tap, str]
    seen: Seen
    change: Callable[[Tensor], Tensor] | None = None
    active: bool = True
    """False after the end of the block, since tasks started inside may still have it in their context."""


_LISTENERS: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())
"""Listeners of the current thread or async task."""


@runtime_checkable
class Watchable(Protocol):
    """A module, or an object that wraps one and gives its named submodules."""

    def named_modules(self) -> Iterable[tuple[str, nn.Module]]: ...


@explained
def taps(model: Watchable, pattern: str = "*") -> dict[str, Tap]:
    """The taps of a model whose dotted names match a shell-style pattern (`*` also matches dots)."""
    every = {name: module for name, module in model.named_modules() if isinstance(module, Tap)}
    found = {name: tap for name, tap in every.items() if fnmatchcase(name, pattern)}
    if not found:
        raise UsageError(f"no tap matches {pattern!r}; this model has {one_of(every, pattern) or 'none'}")
    return found


def name_axes(module: nn.Module, **names: str) -> None:
    """Renames the axes of all taps in a module, whose parts do not know where they are used: `name_axes(self.encoder,
    step="source", query="source", key="source")`. Renamed axes are not affected by renames of outer modules."""
    for part in module.modules():
        if isinstance(part, Tap):
            part.axes = tuple(names.get(axis, axis) for axis in part.axes)


@contextmanager
def record(model: Watchable, *patterns: str) -> Iterator[Seen]:
    """Records the values at taps that match a pattern (default: all) while the block runs. They are detached, not
    copied."""
    found = {name: tap for pattern in patterns or ("*",) for name, tap in taps(model, pattern).items()}
    seen = Seen({name: tap.axes for name, tap in found.items()})
    with _listening(Listener({tap: name for name, tap in found.items()}, seen)):
        yield seen


@contextmanager
def intervene(model: Watchable, pattern: str, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Replaces each value at matching taps with `change(value)` while the block runs."""
    if not callable(change):
        raise UsageError(f"intervene: change is {change!r:.60}, but a function of a tensor is needed")
    found = taps(model, pattern)
    with _listening(Listener({tap: name for name, tap in found.items()}, Seen(), change)):
        yield


@contextmanager
def _listening(listener: Listener) -> Iterator[None]:
    _LISTENERS.set((*_LISTENERS.get(), listener))
    try:
        yield
    finally:
        listener.active = False
        # By identity, not by a token: blocks may end in another order than they began.
        _LISTENERS.set(tuple(other for other in _LISTENERS.get() if other is not listener))
