"""A place one may look at: a named identity module.

    with record(model, "decoder.*.weights") as seen:      # reads what passes
        model(...)
    seen["decoder.layers.0.cross.weights"]                 # a list, one tensor for each time something passed
    seen.axes["decoder.layers.0.cross.weights"]            # ("row", "head", "target", "source")

    with intervene(model, "encoder.*.weights", uniform):   # replaces what passes
        model(...)

A tap names the axes of what passes it:

    row       examples of a batch, or hypotheses of a search
    head      heads of attention
    source    positions of the source
    target    positions of the target, each named by the token that is written there
    past      the same positions, each named by the token that was read there
    feature   units of a layer

Parts that serve several places use `query`, `key` and `step` (positions in the order of the tokens); the model that is
built of them says what these run over (`name_axes`). `a+b` is an axis of the positions of a, then those of b, where a
name without positions of its own counts as one: `past+sentinel`.

Recording and intervening belong to the caller: they reach what the same thread or async task runs, and nothing that
others do with the model at the same time.

A module computes what a tap would show only when its caller looks:

    if self.weights.intervened:      # take the plain path: weights = self.weights(weights)
    elif self.weights.recorded:      # keep the fast kernel, compute the weights beside it, and show them

so looking changes nothing (recurrent cells leave the library's kernel for it, which is another order of rounding), and
not looking costs nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

import torch
from torch import Tensor, nn

from regard.display import html_table
from regard.errors import UsageError, counted, one_of

LISTED = 12
"""Places that are listed in a terminal."""


class Tap(nn.Module):
    """Gives back what it is given, unless its caller intervenes; `axes` are the names of its dimensions."""

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
        """What interventions make of a value, shown to no recording."""
        for listener in self._listeners():
            if listener.change is not None:
                changed = listener.change(value)
                shape = tuple(changed.shape) if isinstance(changed, Tensor) else type(changed).__name__
                if shape != value.shape:
                    shapes = f"it was given {tuple(value.shape)} and returned {shape}"
                    raise UsageError(f"an intervention must keep the shape: {shapes}")
                value = changed.to(value)
        return value

    def show(self, value: Tensor) -> None:
        """Shows a value to recordings, and to no intervention."""
        for listener in self._listeners():
            if listener.change is None:
                listener.seen[listener.taps[self]].append(value.detach())

    def _listeners(self) -> "list[Listener] | tuple[()]":
        # The compiler cannot trace context variables, and compiled code only runs unwatched.
        every = () if torch.compiler.is_compiling() else _LISTENERS.get()
        return [each for each in every if each.active and self in each.taps] if every else ()


class Seen(dict[str, list[Tensor]]):
    """What a recording saw: the full name of each tap, and the tensors that passed it in order. `axes` has the names of
    their dimensions."""

    def __init__(self, axes: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.axes: dict[str, tuple[str, ...]] = dict(axes or {})
        super().__init__({name: [] for name in self.axes})

    def last(self, name: str) -> Tensor:
        """The tensor that passed last."""
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
    """One block that records at some taps or, with a `change`, intervenes there."""

    taps: Mapping[Tap, str]
    seen: Seen
    change: Callable[[Tensor], Tensor] | None = None
    active: bool = True
    """False when the block has ended: tasks started inside may still have it in their context."""


_LISTENERS: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())
"""Those of the present thread or async task."""


class Watchable(Protocol):
    """What has taps: a module, or whatever holds one and knows the names inside."""

    def named_modules(self) -> Iterable[tuple[str, nn.Module]]: ...


def taps(model: Watchable, pattern: str = "*") -> dict[str, Tap]:
    """The taps of a model whose dotted names match a shell-style pattern (`*` also matches dots)."""
    every = {name: module for name, module in model.named_modules() if isinstance(module, Tap)}
    found = {name: tap for name, tap in every.items() if fnmatchcase(name, pattern)}
    if not found:
        raise UsageError(f"no tap matches {pattern!r}; this model has {one_of(every, pattern) or 'none'}")
    return found


def name_axes(module: nn.Module, **names: str) -> None:
    """Says what the axes of taps inside a module run over where its parts could not know: `name_axes(self.encoder,
    step="source", query="source", key="source")`. Names that are given here are not changed by modules further out."""
    for part in module.modules():
        if isinstance(part, Tap):
            part.axes = tuple(names.get(axis, axis) for axis in part.axes)


@contextmanager
def record(model: Watchable, *patterns: str) -> Iterator[Seen]:
    """Reads what passes the taps that match a pattern, or all of them, while the block runs. Recorded tensors are
    detached, not copied."""
    found = {name: tap for pattern in patterns or ("*",) for name, tap in taps(model, pattern).items()}
    seen = Seen({name: tap.axes for name, tap in found.items()})
    with _listening(Listener({tap: name for name, tap in found.items()}, seen)):
        yield seen


@contextmanager
def intervene(model: Watchable, pattern: str, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Replaces what passes the matching taps by `change` of it while the block runs."""
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
        # By identity and not by a token: blocks may end in another order than they began.
        _LISTENERS.set(tuple(other for other in _LISTENERS.get() if other is not listener))
