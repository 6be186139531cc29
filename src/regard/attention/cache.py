"""What attention remembers: keys and values of positions read so far, and of a source read once."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import UsageError

ROOM = 16
"""A cache takes memory for so many positions at a time."""


@dataclass(frozen=True)
class Memory:
    """Prepared keys and values of a source. Scores with parameters for each head may prepare more heads of keys than
    there are of values.

    Several rows of queries, side by side, may look at one row of a memory: as many for each row.
    """

    keys: Float[Tensor, "N Gk S D"]
    values: Float[Tensor, "N G S Dv"]

    def select(self, rows: Int[Tensor, " M"]) -> "Memory":
        """The memory whose row i is row rows[i] of this one."""
        return Memory(self.keys.index_select(0, rows), self.values.index_select(0, rows))

    def copy(self) -> "Memory":
        """Itself: nothing ever writes into a memory."""
        return self

    def places(self, queries: Tensor) -> int:
        """How many rows of these queries look at each row."""
        return len(queries) // max(len(self.keys), 1)

    def repeat(self, places: int) -> "Memory":
        """The memory with each row so many times, side by side."""
        return Memory(self.keys.repeat_interleave(places, 0), self.values.repeat_interleave(places, 0))


class KeyValueCache:
    """Prepared keys and values of the positions read so far, at most `capacity`.

    Pieces are written into memory that has room for more. The first piece, if it fills the whole capacity, is kept as
    it is (training copies nothing), and pieces that gradients must flow through are joined instead.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.length = 0
        self._keys = self._values = _Rows()

    def append(
        self, keys: Float[Tensor, "N Gk n D"], values: Float[Tensor, "N G n Dv"]
    ) -> tuple[Float[Tensor, "N Gk K D"], Float[Tensor, "N G K Dv"]]:
        """Takes n more positions; gives keys and values of all K so far."""
        end = self.length + keys.shape[-2]
        if end > self.capacity:
            raise UsageError(
                f"a cache of capacity {self.capacity} cannot hold {end} positions; "
                f"start with a capacity of at least {end}"
            )
        self._keys = self._keys.join(keys, self.length, self.capacity)
        self._values = self._values.join(values, self.length, self.capacity)
        self.length = end
        return self._keys.filled(end), self._values.filled(end)

    def select(self, rows: Int[Tensor, " M"]) -> "KeyValueCache":
        """The cache whose row i is row rows[i] of this one; this one is consumed."""
        return self._with(self._keys.select(rows, self.length), self._values.select(rows, self.length))

    def copy(self) -> "KeyValueCache":
        """An independent cache with the same content."""
        return self._with(self._keys.copy(self.length), self._values.copy(self.length))

    def _with(self, keys: "_Rows", values: "_Rows") -> "KeyValueCache":
        other = KeyValueCache(self.capacity)
        other.length, other._keys, other._values = self.length, keys, values
        return other


@dataclass(frozen=True)
class _Rows:
    """The keys or the values of a cache, and memory that the next selection of rows may write into.

    A beam search selects at every step. Two pieces of memory that take turns spare it asking for a new one each time,
    which costs more than the copy: the system clears every page it gives.
    """

    kept: Float[Tensor, "N G room D"] | None = None
    own: bool = False
    """Whether the memory is the cache's own, and not a piece it was given."""
    spare: Float[Tensor, "M G room D"] | None = None

    def filled(self, length: int) -> Float[Tensor, "N G K D"]:
        assert self.kept is not None
        return self.kept[:, :, :length]

    def join(self, piece: Float[Tensor, "N G n D"], length: int, capacity: int) -> "_Rows":
        end = length + piece.shape[2]
        if self.kept is None and end == capacity:
            return _Rows(piece)
        if torch.is_grad_enabled() and (piece.requires_grad or (self.kept is not None and self.kept.requires_grad)):
            return _Rows(piece if self.kept is None else torch.cat([self.filled(length), piece], dim=2))
        rows = self
        if not self.own or self.kept is None or self.kept.shape[2] < end:
            # Never much more room than is filled: what lies close together is read, and moved, several times faster.
            room = min(capacity, -(-end // ROOM) * ROOM)
            rows = _Rows(piece.new_empty(*piece.shape[:2], room, piece.shape[3]), own=True)
            if self.kept is not None:
                rows.filled(length).copy_(self.filled(length))
        rows.filled(end)[:, :, length:] = piece
        return rows

    def select(self, rows: Int[Tensor, " M"], length: int) -> "_Rows":
        if self.kept is None:
            return self
        if not self.own:
            return _Rows(self.filled(length).index_select(0, rows))
        room = self.spare
        if room is None or len(room) < len(rows):
            room = self.kept.new_empty(len(rows), *self.kept.shape[1:])
        # Whole rows, what is not filled included: they are one piece of memory each.
        chosen = torch.index_select(self.kept, 0, rows, out=room[: len(rows)])
        return _Rows(chosen, own=True, spare=self.kept)

    def copy(self, length: int) -> "_Rows":
        return self if self.kept is None else _Rows(self.filled(length).clone())
