"""Key-value caches of attention: of positions read so far, and of a source read once."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.kv_memory import (
    EMPTY,
    KvMemory,
    Parts,
    allocate,
    allocate_positions,
    grows_in_parts,
    has_allocator,
)
from regard.attention.masks import additive
from regard.device import is_asynchronous
from regard.errors import UsageError
from regard.kernels import pick


@dataclass(frozen=True)
class Memory(KvMemory):
    """Prepared keys and values of a source. Scores with parameters per head may prepare more heads of keys than there
    are of values.

    Each row of a memory may serve several consecutive rows of queries.
    """

    keys: Float[Tensor, "N Gk S D"]
    values: Float[Tensor, "N G S Dv"]
    is_placed: bool = False
    """Whether it is in an allocator's buffer; memory elsewhere is never overwritten."""

    def put(self) -> "Memory":
        """A copy in the allocator's buffers, if there is an allocator."""
        if not has_allocator():
            return self
        keys, values = (allocate(held, *held.shape).copy_(held) for held in (self.keys, self.values))
        return Memory(keys, values, is_placed=True)

    def select(self, rows: Int[Tensor, " M"]) -> "Memory":
        """The memory whose row i is row rows[i] of this one, which may be overwritten."""
        if self.is_placed and len(rows) < len(self.keys):
            keys, values = (_select_in_place(held, rows) for held in (self.keys, self.values))
            return Memory(keys, values, is_placed=True)
        return Memory(self.keys.index_select(0, rows), self.values.index_select(0, rows))

    def copy(self) -> "Memory":
        """An independent memory with the same content."""
        return Memory(self.keys.clone(), self.values.clone()) if self.is_placed else self

    def places(self, queries: Tensor) -> int:
        """How many rows of queries each row serves."""
        return len(queries) // max(len(self.keys), 1)

    def repeat(self, places: int) -> "Memory":
        """The memory with each row repeated."""
        return Memory(self.keys.repeat_interleave(places, 0), self.values.repeat_interleave(places, 0))


@dataclass(frozen=True)
class Unprepared:
    """A source whose keys and values are computed where they are used, as in training, where they are used once."""

    source: Float[Tensor, "N S E"]

    def select(self, rows: Int[Tensor, " M"]) -> "Unprepared":
        """The source whose row i is row rows[i] of this one."""
        return Unprepared(self.source.index_select(0, rows))

    def copy(self) -> "Unprepared":
        """Itself: a source is never overwritten."""
        return self


@dataclass
class KeyValueCache(KvMemory):
    """Prepared keys and values of the positions read so far, at most `capacity`.

    The first piece is not copied, which is all that training needs; when others follow, all are copied into memory with
    room for more. Pieces that need gradients are concatenated instead.
    """

    capacity: int
    expected: int | None = None
    """Estimated number of positions."""
    length: int = 0
    keys: "Buffer" = field(default_factory=lambda: Buffer())
    values: "Buffer" = field(default_factory=lambda: Buffer())

    def append(
        self, keys: Float[Tensor, "N Gk n D"], values: Float[Tensor, "N G n Dv"]
    ) -> tuple[Float[Tensor, "N Gk K D"], Float[Tensor, "N G K Dv"]]:
        """Appends n positions; returns keys and values of all K so far."""
        end = _end(self, keys.shape[-2])
        write = pick("write_position", keys, values)
        if write is not None and min(self.keys.parts.room, self.values.parts.room) >= end:
            held = (rows.parts.map(_with_place_axis).place(self.length) for rows in (self.keys, self.values))
            write(keys, values, *chain.from_iterable(held))
        else:
            self.keys, self.values = self.keys.join(keys, self), self.values.join(values, self)
        self.length = end
        return self.keys.filled(end), self.values.filled(end)

    def select(self, rows: Int[Tensor, " M"]) -> "KeyValueCache":
        """The cache whose row i is row rows[i] of this one, which may be overwritten."""
        return replace(self, keys=self.keys.select(rows, self.length), values=self.values.select(rows, self.length))

    def copy(self) -> "KeyValueCache":
        """An independent cache with the same content."""
        return replace(self, keys=self.keys.copy(self.length), values=self.values.copy(self.length))


@dataclass(frozen=True)
class Buffer(KvMemory):
    """The keys or the values of a cache: the first piece itself, or allocated memory; and spare memory for the next
    selection of rows.

    A beam search selects rows at every step. Double buffering avoids a new allocation each time, which costs more than
    the copy, because the system clears every new page.
    """

    piece: Float[Tensor, "N G K D"] | None = None
    parts: Parts = EMPTY
    spare: Float[Tensor, "M G room D"] | None = None

    @property
    def is_empty(self) -> bool:
        return self.piece is None and not self.parts.held

    def filled(self, length: int) -> Float[Tensor, "N G K D"]:
        return self.parts.filled(length) if self.piece is None else self.piece[:, :, :length]

    def join(self, piece: Float[Tensor, "N G n D"], cache: KeyValueCache) -> "Buffer":
        """Appends a piece to what the cache has read so far."""
        length = cache.length
        if self.is_empty:
            return Buffer(piece)
        if torch.is_grad_enabled() and (piece.requires_grad or self.filled(length).requires_grad):
            return Buffer(torch.cat([self.filled(length), piece], dim=2))
        rows, heads, count, width = piece.shape

        def make(room: int, most: int) -> Tensor:
            return allocate_positions(piece, room, most, (rows, heads), (width,))

        parts = _with_room(self.parts, length + count, cache, piece, make)
        if self.piece is not None:
            parts.write(self.filled(length), 0)
        parts.write(piece, length)
        return Buffer(parts=parts) if parts is not self.parts else self

    def select(self, rows: Int[Tensor, " M"], length: int) -> "Buffer":
        if not self.parts.held:
            return self if self.is_empty else Buffer(self.filled(length).index_select(0, rows))
        if len(rows) < len(self.parts.held[0]) and is_asynchronous(self.parts.held[0].device):
            return Buffer(parts=self.parts.map(lambda part: _select_in_place(part, rows)))
        if len(self.parts.held) > 1:
            return Buffer(parts=self.parts.map(lambda part: part.index_select(0, rows)))
        (held,) = self.parts.held
        spare = self.spare
        if spare is None or len(spare) < len(rows):
            spare = held.new_empty(len(rows), *held.shape[1:])
        # Whole rows, with their unused room, because each is contiguous.
        chosen = torch.index_select(held, 0, rows, out=spare[: len(rows)])
        return Buffer(parts=Parts((chosen,)), spare=held)

    def copy(self, length: int) -> "Buffer":
        return self if self.is_empty else Buffer(self.filled(length).clone())


@dataclass(frozen=True)
class Lineage:
    """Which beam slot wrote each position of a hypothesis.

    Hypotheses with a common past share its keys and values: each position was written once, by the hypothesis in some
    slot ("place") of the beam. When the beam branches, only this table changes, and no keys or values move.
    """

    writers: Int[Tensor, "B places room"]
    """For each hypothesis and position, the place that wrote it."""

    @classmethod
    def own(cls, sources: int, places: int, room: int, device: torch.device) -> "Lineage":
        """The lineage of hypotheses that share nothing."""
        places_, room = torch.arange(places, dtype=torch.int16, device=device), _rounded(room)
        return cls(places_[:, None].expand(sources, places, room).clone())

    def branch(self, rows: Int[Tensor, "B places"], length: int) -> "Lineage":
        """The lineage after the hypothesis at place j of source i continues the one in row rows[i, j], all `length`
        long. This one may be overwritten."""
        places = rows.shape[1]
        branch_ = pick("branch_lineage", self.writers)
        if branch_ is not None:
            branch_(self.writers, rows.contiguous(), length)
            return self
        writers = self.writers.gather(1, (rows % places)[..., None].expand(self.writers.shape))
        writers[..., length:] = torch.arange(places, dtype=writers.dtype, device=writers.device)[:, None]
        return Lineage(writers)

    def copy(self) -> "Lineage":
        return Lineage(self.writers.clone())

    def select(self, sources: Int[Tensor, " M"]) -> "Lineage":
        return Lineage(self.writers.index_select(0, sources))

    def bias(self, length: int, dtype: torch.dtype) -> Float[Tensor, "B 1 places K"]:
        """A bias that hides the entries of a cache (length × places) that a hypothesis has not read."""
        places = self.writers.shape[1]
        kernel = pick("lineage_bias", self.writers)
        if kernel is not None:
            bias: Tensor = kernel(self.writers, _rounded(length), dtype)
            return bias[:, None, :, : length * places]
        some = torch.arange(places, dtype=self.writers.dtype, device=self.writers.device)
        # Computed for a rounded length and then cut, because kernels need aligned rows.
        read = (self.writers[..., : _rounded(length), None] == some).flatten(2)
        return additive(read, dtype)[:, None, :, : length * places]


@dataclass
class SharedCache(KvMemory):
    """Prepared keys and values of all positions that the `places` hypotheses of each source have written.

    The hypotheses of a source share one row, in which the places of each position are adjacent; the bias of a `Lineage`
    hides what a hypothesis has not read.
    """

    capacity: int
    places: int
    expected: int | None = None
    length: int = 0
    keys: Parts = EMPTY
    values: Parts = EMPTY

    @classmethod
    def of(cls, cache: KeyValueCache, places: int) -> "SharedCache":
        """The cache of `places` hypotheses for each row of a cache."""
        shared = cls(cache.capacity, places, cache.expected)
        if not cache.keys.is_empty:
            held = (rows.filled(cache.length).repeat_interleave(places, 0) for rows in (cache.keys, cache.values))
            shared.append(*held)
        shared.length = cache.length
        return shared

    def append(
        self, keys: Float[Tensor, "N Gk n D"], values: Float[Tensor, "N G n Dv"]
    ) -> tuple[Float[Tensor, "B Gk K D"], Float[Tensor, "B G K Dv"]]:
        """Appends n positions of each hypothesis; returns all keys and values of each source."""
        end = _end(self, keys.shape[-2])
        self.keys, self.values = self._grown(self.keys, keys, end), self._grown(self.values, values, end)
        write = pick("write_position", keys, values)
        if write is not None:
            # Keys and values may have parts of different sizes.
            write(keys, values, *self.keys.place(self.length), *self.values.place(self.length))
        else:
            for piece, parts in ((keys, self.keys), (values, self.values)):
                rows, heads, count, width = piece.shape
                places = piece.reshape(rows // self.places, self.places, heads, count, width)
                parts.write(places.permute(0, 2, 3, 1, 4), self.length)
        self.length = end
        return self.keys.filled(end).flatten(2, 3), self.values.filled(end).flatten(2, 3)

    def select(self, sources: Int[Tensor, " M"]) -> "SharedCache":
        """The cache of these sources; this one may be overwritten."""
        keys, values = (parts.map(lambda part: self._of(part, sources)) for parts in (self.keys, self.values))
        return replace(self, keys=keys, values=values)

    def apart(self, lineage: Lineage) -> KeyValueCache:
        """An unshared cache, with one row per hypothesis."""
        cache = KeyValueCache(self.capacity, self.expected)
        if self.keys.held:
            cache.append(*(self._read(parts, lineage) for parts in (self.keys, self.values)))
        return cache

    def copy(self) -> "SharedCache":
        """An independent cache with the same content."""
        return replace(self, keys=self.keys.map(torch.clone), values=self.values.map(torch.clone))

    def fold(self, rows: Float[Tensor, "N H 1 D"]) -> Float[Tensor, "B H places D"]:
        """Queries of hypotheses, as several queries in the row of their source."""
        _, heads, _, width = rows.shape
        return rows.reshape(-1, self.places, heads, width).transpose(1, 2)

    def unfold(self, folded: Float[Tensor, "B H places D"]) -> Float[Tensor, "N H 1 D"]:
        return folded.transpose(1, 2).flatten(0, 1).unsqueeze(2)

    def spread(self, bias: Float[Tensor, "*N H 1 K"]) -> Float[Tensor, "*B H places places_K"]:
        """A bias per position, as one per entry of this cache (position × place)."""
        if bias.ndim > 3 and len(bias) > 1:
            bias = self.fold(bias)
        return bias.repeat_interleave(self.places, -1)

    def _grown(self, parts: Parts, piece: Float[Tensor, "N G n D"], end: int) -> Parts:
        rows, heads, _, width = piece.shape
        sources = rows // self.places

        def make(room: int, most: int) -> Tensor:
            if not is_asynchronous(piece.device):
                # A hypothesis reads one place of each position: with adjacent heads that read is contiguous.
                memory = allocate_positions(piece, room, most, (sources,), (self.places, heads, width))
                return memory.permute(0, 3, 1, 2, 4)
            return allocate_positions(piece, room, most, (sources, heads), (self.places, width))

        return _with_room(parts, end, self, piece, make)

    def _of(self, part: Float[Tensor, "B G room places D"], sources: Int[Tensor, " M"]) -> Tensor:
        if len(sources) > len(part):
            return part.index_select(0, sources)
        if is_asynchronous(part.device):
            return _select_in_place(part, sources)
        # Most rows need not move; on an asynchronous device finding out which would cost more than moving all. Memory
        # of the others is freed with the whole batch.
        moved = (sources != torch.arange(len(sources))).nonzero()[:, 0]
        part[moved, :, : self.length] = part[sources[moved], :, : self.length]
        return part[: len(sources)]

    def _read(self, parts: Parts, lineage: Lineage) -> Float[Tensor, "N G K D"]:
        filled = parts.filled(self.length)
        index = lineage.writers[..., : self.length].long()  # "B places K", to "B 1 K places 1"
        index = index.transpose(1, 2)[:, None, :, :, None].expand(filled.shape)
        return filled.gather(3, index).permute(0, 3, 1, 2, 4).flatten(0, 1)


def _select_in_place(memory: Tensor, rows: Int[Tensor, " M"]) -> Tensor:
    """Moves some rows to the beginning of their memory, where captured steps read them."""
    chosen = memory[: len(rows)]
    return chosen.copy_(memory.index_select(0, rows))


def _with_place_axis(part: Float[Tensor, "N G room D"]) -> Float[Tensor, "N G room 1 D"]:
    return part.unsqueeze(3)


def _with_room(
    parts: Parts, end: int, cache: KeyValueCache | SharedCache, piece: Tensor, make: Callable[[int, int], Tensor]
) -> Parts:
    """The same memory, grown if need be to hold `end` positions."""
    if parts.room >= end:
        return parts
    if cache.expected is not None and grows_in_parts(piece):
        return parts.extended(end, cache.expected, cache.capacity, make)
    return parts.moved(end, cache.length, cache.capacity, make)


def _end(cache: KeyValueCache | SharedCache, count: int) -> int:
    end = cache.length + count
    if end > cache.capacity:
        raise UsageError(
            f"a cache of capacity {cache.capacity} cannot hold {end} positions; start with a capacity of at least {end}"
        )
    return end


def _rounded(length: int) -> int:
    return -(-length // 8) * 8
