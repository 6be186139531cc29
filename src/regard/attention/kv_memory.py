"""Memory of key-value caches: how it is allocated, and how it grows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import prod

import torch
from jaxtyping import Float
from torch import Tensor

from regard.device import has_scarce_memory

ROOM = 32
"""Initial number of positions of memory that is moved when full."""
PART, SHARE = 8, 8
"""Memory that grows in parts has multiples of PART positions, and grows by one in SHARE of those it has."""


class KvMemory:
    """Attention state, not weights. Decoding steps write to it idempotently, so a step may be replayed; selecting rows
    is not idempotent and happens between steps."""


Allocator = Callable[[Tensor, int], Tensor]
"""Allocates at least this many elements, with the dtype and device of a tensor."""

_allocator: ContextVar[Allocator | None] = ContextVar("allocator", default=None)


@contextmanager
def allocating_with(allocator: Allocator) -> Iterator[None]:
    """`KvMemory` is allocated by `allocator` while the block runs: captured steps have fixed buffers for it."""
    token = _allocator.set(allocator)
    try:
        yield
    finally:
        _allocator.reset(token)


def has_allocator() -> bool:
    return _allocator.get() is not None


def allocate(like: Tensor, *shape: int) -> Tensor:
    size = prod(shape)
    return _memory(like, size)[:size].view(shape)


def allocate_positions(like: Tensor, room: int, most: int, before: Sequence[int], after: Sequence[int]) -> Tensor:
    """Memory for `room` positions, between other dimensions; for up to `most` if the allocator returns more than asked
    for."""
    each = max(prod(before) * prod(after), 1)
    memory = _memory(like, each * room)
    room = min(max(memory.numel() // each // PART * PART, room), most)
    return memory[: prod(before) * room * prod(after)].view(*before, room, *after)


def _memory(like: Tensor, size: int) -> Tensor:
    allocator = _allocator.get()
    return like.new_empty(size) if allocator is None else allocator(like, size)


def grows_in_parts(tensor: Tensor) -> bool:
    """Whether memory on a tensor's device grows part by part."""
    return has_scarce_memory(tensor.device)


@dataclass(frozen=True)
class Parts(KvMemory):
    """Memory for positions, the third dimension, which grows when it is full.

    By default it doubles and everything is moved, because it is read at every step and faster in one piece. On a CUDA
    device memory is scarce, and captured steps never release theirs: there a part is added, and reads concatenate the
    parts. Most outputs are no longer than expected and have one part.
    """

    held: tuple[Float[Tensor, "N G _ *features"], ...] = ()

    @property
    def room(self) -> int:
        """Number of positions that fit."""
        return sum(part.shape[2] for part in self.held)

    def filled(self, length: int) -> Float[Tensor, "N G K *features"]:
        """The first `length` positions."""
        is_first = self.held[0].shape[2] >= length
        return (self.held[0] if is_first else torch.cat(self.held, 2))[:, :, :length]

    def extended(self, end: int, expected: int, capacity: int, make: Callable[[int, int], Tensor]) -> "Parts":
        """Adds a part, so that `end` positions fit; there will be `capacity` at most, and probably `expected`.
        `make(room, most)` allocates between `room` and `most` positions."""
        have = self.room
        part = have // SHARE if have else expected
        more = max(-(-part // PART) * PART, end - have)
        return Parts((*self.held, make(min(more, capacity - have), capacity - have)))

    def moved(self, end: int, length: int, capacity: int, make: Callable[[int, int], Tensor]) -> "Parts":
        """Moves the first `length` positions to one larger piece of memory."""
        room = ROOM
        while room < end:
            room *= 2
        wider = make(min(room, capacity), capacity)
        if self.held:
            wider[:, :, :length] = self.filled(length)
        return Parts((wider,))

    def write(self, piece: Float[Tensor, "N G n *features"], at: int) -> None:
        """Writes positions from `at` on."""
        begin = 0
        for part in self.held:
            first, last = max(at, begin), min(at + piece.shape[2], begin + part.shape[2])
            if first < last:
                part[:, :, first - begin : last - begin] = piece[:, :, first - at : last - at]
            begin += part.shape[2]

    def place(self, position: int) -> tuple[Float[Tensor, "N G _ *features"], int]:
        """The part that holds a position, and the position's index there."""
        for part in self.held:
            if position < part.shape[2]:
                return part, position
            position -= part.shape[2]
        raise IndexError(f"no part holds position {position + self.room} of {self.room}")

    def map(self, function: Callable[[Tensor], Tensor]) -> "Parts":
        return Parts(tuple(map(function, self.held)))


EMPTY = Parts()
