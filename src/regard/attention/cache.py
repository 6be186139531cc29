"""What attention remembers: keys and values of positions read so far, and of a source read once."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import UsageError


@dataclass(frozen=True)
class Memory:
    """Prepared keys and values of a source. Scores with parameters for each head may prepare more heads of keys than
    there are of values."""

    keys: Float[Tensor, "N Gk S D"]
    values: Float[Tensor, "N G S Dv"]

    def select(self, rows: Int[Tensor, " M"]) -> "Memory":
        """The memory whose row i is row rows[i] of this one."""
        return Memory(self.keys[rows], self.values[rows])

    def copy(self) -> "Memory":
        """Itself: nothing ever writes into a memory."""
        return self


class KeyValueCache:
    """Prepared keys and values of the positions read so far, at most `capacity`.

    Pieces are written into memory that is taken once. The first piece, if it fills the whole capacity, is kept as it is
    (training copies nothing), and pieces that gradients must flow through are joined instead.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.length = 0
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

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
        self._keys = self._joined(self._keys, keys, end)
        self._values = self._joined(self._values, values, end)
        self.length = end
        return self._keys[:, :, :end], self._values[:, :, :end]

    def select(self, rows: Int[Tensor, " M"]) -> "KeyValueCache":
        """The cache whose row i is row rows[i] of this one; this one is consumed."""
        return self._with(self._chosen(self._keys, rows), self._chosen(self._values, rows))

    def copy(self) -> "KeyValueCache":
        """An independent cache with the same content."""
        return self._with(
            None if self._keys is None else self._keys[:, :, : self.length].clone(),
            None if self._values is None else self._values[:, :, : self.length].clone(),
        )

    def _joined(self, kept: Tensor | None, piece: Tensor, end: int) -> Tensor:
        if kept is None and end == self.capacity:
            return piece
        if torch.is_grad_enabled() and (piece.requires_grad or (kept is not None and kept.requires_grad)):
            return piece if kept is None else torch.cat([kept[:, :, : self.length], piece], dim=2)
        if kept is None or kept.shape[2] < end:
            room = self._room(piece, len(piece))
            if kept is not None:
                room[:, :, : self.length] = kept[:, :, : self.length]
            kept = room
        kept[:, :, self.length : end] = piece
        return kept

    def _chosen(self, kept: Tensor | None, rows: Tensor) -> Tensor | None:
        if kept is None:
            return None
        filled = kept[:, :, : self.length]
        if kept.requires_grad:
            return filled.index_select(0, rows)
        # Straight into memory with room for more: this happens at every step of a beam search.
        room = self._room(kept, len(rows))
        torch.index_select(filled, 0, rows, out=room[:, :, : self.length])
        return room

    def _room(self, like: Tensor, rows: int) -> Tensor:
        return like.new_empty(rows, like.shape[1], self.capacity, like.shape[3])

    def _with(self, keys: Tensor | None, values: Tensor | None) -> "KeyValueCache":
        other = KeyValueCache(self.capacity)
        other.length, other._keys, other._values = self.length, keys, values
        return other
