"""Memory for what attention keeps: where it is taken from, and how it grows."""

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
"""Memory that is moved when it is filled is taken for so many positions at first."""
PART, SHARE = 8, 8
"""Memory that grows in parts is taken for multiples of so many, and grows by one in so many of those that there are."""


class KvMemory:
    """What attention reads, in memory of its own, which is no weight's: whatever a step of decoding does to it may be
    done twice, with the same result. To choose among its rows may not, and is no part of a step."""


Taker = Callable[[Tensor, int], Tensor]
"""Gives memory for so many numbers or more, in the format and on the device of a tensor."""

_taker: ContextVar[Taker | None] = ContextVar("taker", default=None)


@contextmanager
def taking(taker: Taker) -> Iterator[None]:
    """Memory for what is kept is taken from there while the block runs: captured steps have places for it."""
    token = _taker.set(taker)
    try:
        yield
    finally:
        _taker.reset(token)


def has_places() -> bool:
    """Whether there are places for what is kept."""
    return _taker.get() is not None


def taken(like: Tensor, *shape: int) -> Tensor:
    """Memory for what is kept."""
    size = prod(shape)
    return _memory(like, size)[:size].view(shape)


def taken_for(like: Tensor, room: int, most: int, before: Sequence[int], after: Sequence[int]) -> Tensor:
    """Memory for so many positions, between other dimensions; for more of them, though not for more than `most`, where
    there is more memory in any case."""
    each = max(prod(before) * prod(after), 1)
    memory = _memory(like, each * room)
    room = min(max(memory.numel() // each // PART * PART, room), most)
    return memory[: prod(before) * room * prod(after)].view(*before, room, *after)


def _memory(like: Tensor, size: int) -> Tensor:
    taker = _taker.get()
    return like.new_empty(size) if taker is None else taker(like, size)


def grows_in_parts(tensor: Tensor) -> bool:
    """Whether memory such as a tensor's grows part by part."""
    return has_scarce_memory(tensor.device)


@dataclass(frozen=True)
class Parts(KvMemory):
    """Memory for positions, the third dimension, which grows when they are filled.

    As a rule twice as much is taken then, and all is moved there: it is read at every step, and sooner in one piece. On
    a CUDA device it is memory that is scarce, and steps that were captured keep what they have for ever. There a part
    is added, and whoever reads is given all parts joined; most outputs are no longer than was expected, and have one.
    """

    held: tuple[Float[Tensor, "N G _ *features"], ...] = ()
    """As many positions as each has room for."""

    @property
    def room(self) -> int:
        """For so many positions."""
        return sum(part.shape[2] for part in self.held)

    def filled(self, length: int) -> Float[Tensor, "N G K *features"]:
        """The first so many of them."""
        is_first = self.held[0].shape[2] >= length
        return (self.held[0] if is_first else torch.cat(self.held, 2))[:, :, :length]

    def extended(self, end: int, expected: int, capacity: int, make: Callable[[int, int], Tensor]) -> "Parts":
        """With a part more, so that there is room for `end` positions, of which there will be `capacity` at most, and
        probably as many as are `expected`. `make` gives memory for a number of them, and for another at most."""
        have = self.room
        part = have // SHARE if have else expected
        more = max(-(-part // PART) * PART, end - have)
        return Parts((*self.held, make(min(more, capacity - have), capacity - have)))

    def moved(self, end: int, length: int, capacity: int, make: Callable[[int, int], Tensor]) -> "Parts":
        """The same, with the `length` positions that are filled, in one piece of memory that is twice as large."""
        room = ROOM
        while room < end:
            room *= 2
        wider = make(min(room, capacity), capacity)
        if self.held:
            wider[:, :, :length] = self.filled(length)
        return Parts((wider,))

    def write(self, piece: Float[Tensor, "N G n *features"], at: int) -> None:
        """Writes positions, from one on."""
        begin = 0
        for part in self.held:
            first, last = max(at, begin), min(at + piece.shape[2], begin + part.shape[2])
            if first < last:
                part[:, :, first - begin : last - begin] = piece[:, :, first - at : last - at]
            begin += part.shape[2]

    def place(self, position: int) -> tuple[Float[Tensor, "N G _ *features"], int]:
        """The part in which a position is, and its place there."""
        for part in self.held:
            if position < part.shape[2]:
                return part, position
            position -= part.shape[2]
        raise IndexError(f"no part holds position {position + self.room} of {self.room}")

    def map(self, function: Callable[[Tensor], Tensor]) -> "Parts":
        """What a function makes of each part."""
        return Parts(tuple(map(function, self.held)))


NOTHING = Parts()
