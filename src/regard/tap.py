"""A place one may look at: a named identity module.

    with record(model, "decoder.*.weights") as seen:      # reads what passes
        model(...)
    seen["decoder.layers.0.cross.weights"]                 # a list, one tensor for each time it passed

    with intervene(model, "encoder.*.weights", uniform):   # replaces what passes
        model(...)

A module computes what a tap would show only when somebody looks:

    if self.weights.intervened:      # take the plain path: weights = self.weights(weights)
    elif self.weights.recorded:      # keep the fast kernel, compute the weights beside it, and show them

so looking changes nothing (recurrent cells leave the library's kernel for it, which is another order of rounding), and
not looking costs nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Protocol

from torch import Tensor, nn

from regard.errors import UsageError, one_of


class Tap(nn.Module):
    """Gives back what it is given, unless somebody intervenes."""

    def __init__(self) -> None:
        super().__init__()
        self._recorders: list[list[Tensor]] = []
        self._changes: list[Callable[[Tensor], Tensor]] = []

    @property
    def recorded(self) -> bool:
        return bool(self._recorders)

    @property
    def intervened(self) -> bool:
        return bool(self._changes)

    @property
    def watched(self) -> bool:
        return self.recorded or self.intervened

    def forward(self, value: Tensor) -> Tensor:
        for change in self._changes:
            changed = change(value)
            if changed.shape != value.shape:
                shapes = f"it was given {tuple(value.shape)} and returned {tuple(changed.shape)}"
                raise UsageError(f"an intervention must keep the shape: {shapes}")
            value = changed
        for recorder in self._recorders:
            recorder.append(value.detach())
        return value


class Seen(dict[str, list[Tensor]]):
    """What a recording saw: the full name of each tap, and the tensors that passed it in order."""

    def last(self, name: str) -> Tensor:
        """The tensor that passed last."""
        if not self.get(name):
            raise UsageError(f"nothing passed the tap {name!r} while it was recorded")
        return self[name][-1]


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


@contextmanager
def record(model: Watchable, pattern: str = "*") -> Iterator[Seen]:
    """Reads what passes the matching taps while the block runs. Recorded tensors are detached, not copied."""
    found = taps(model, pattern)
    seen = Seen({name: [] for name in found})
    for name, tap in found.items():
        tap._recorders.append(seen[name])
    try:
        yield seen
    finally:
        for name, tap in found.items():
            # By identity: two empty lists are equal, and removing the wrong one would blind another recording.
            tap._recorders[:] = [recorder for recorder in tap._recorders if recorder is not seen[name]]


@contextmanager
def intervene(model: Watchable, pattern: str, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Replaces what passes the matching taps by `change` of it while the block runs."""
    found = taps(model, pattern)

    def mine(value: Tensor) -> Tensor:
        # A function of this block's own: removing `change` itself could remove that of another block.
        return change(value)

    for tap in found.values():
        tap._changes.append(mine)
    try:
        yield
    finally:
        for tap in found.values():
            tap._changes.remove(mine)
