"""What attention remembers: keys and values of positions read so far, and of a source read once."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.kv_memory import NOTHING, KvMemory, Parts, grows_in_parts, has_places, taken, taken_for
from regard.attention.masks import additive
from regard.device import is_asynchronous
from regard.errors import UsageError
from regard.kernels import pick


@dataclass(frozen=True)
class Memory(KvMemory):
    """Prepared keys and values of a source. Scores with parameters for each head may prepare more heads of keys than
    there are of values.

    Several rows of queries, side by side, may look at one row of a memory: as many for each row.
    """

    keys: Float[Tensor, "N Gk S D"]
    values: Float[Tensor, "N G S Dv"]
    is_placed: bool = False
    """Whether it lies in a place that is its own; nobody ever writes into others."""

    def put(self) -> "Memory":
        """The same where somebody has a place for it; itself if nobody has."""
        if not has_places():
            return self
        keys, values = (taken(held, *held.shape).copy_(held) for held in (self.keys, self.values))
        return Memory(keys, values, is_placed=True)

    def select(self, rows: Int[Tensor, " M"]) -> "Memory":
        """The memory whose row i is row rows[i] of this one, which is consumed."""
        if self.is_placed and len(rows) < len(self.keys):
            return Memory(_fewer(self.keys, rows), _fewer(self.values, rows), is_placed=True)
        return Memory(self.keys.index_select(0, rows), self.values.index_select(0, rows))

    def copy(self) -> "Memory":
        """One that stays as it is, whatever becomes of this."""
        return Memory(self.keys.clone(), self.values.clone()) if self.is_placed else self

    def places(self, queries: Tensor) -> int:
        """How many rows of these queries look at each row."""
        return len(queries) // max(len(self.keys), 1)

    def repeat(self, places: int) -> "Memory":
        """The memory with each row so many times, side by side."""
        return Memory(self.keys.repeat_interleave(places, 0), self.values.repeat_interleave(places, 0))


@dataclass(frozen=True)
class Unprepared:
    """A source whose keys and values are made by whoever looks at it.

    In training, where it is looked at once, they are made where they are used: as one with what is done with them.
    """

    source: Float[Tensor, "N S E"]

    def select(self, rows: Int[Tensor, " M"]) -> "Unprepared":
        """The source whose row i is row rows[i] of this one."""
        return Unprepared(self.source.index_select(0, rows))

    def copy(self) -> "Unprepared":
        """Itself: nothing ever writes into a source."""
        return self


@dataclass
class KeyValueCache(KvMemory):
    """Prepared keys and values of the positions read so far, at most `capacity`.

    The first piece is kept as it is (training copies nothing); when others follow, all are written into memory that has
    room for more. Pieces that gradients must flow through are joined instead.
    """

    capacity: int
    expected: int | None = None
    """How many positions there will be, as far as one can tell."""
    length: int = 0
    keys: "Buffer" = field(default_factory=lambda: Buffer())
    values: "Buffer" = field(default_factory=lambda: Buffer())

    def append(
        self, keys: Float[Tensor, "N Gk n D"], values: Float[Tensor, "N G n Dv"]
    ) -> tuple[Float[Tensor, "N Gk K D"], Float[Tensor, "N G K Dv"]]:
        """Takes n more positions; gives keys and values of all K so far."""
        end = _end(self, keys.shape[-2])
        write = pick("write_position", keys, values)
        if write is not None and min(self.keys.kept.room, self.values.kept.room) >= end:
            held = (rows.kept.map(_alone).place(self.length) for rows in (self.keys, self.values))
            write(keys, values, *chain.from_iterable(held))
        else:
            self.keys, self.values = self.keys.join(keys, self), self.values.join(values, self)
        self.length = end
        return self.keys.filled(end), self.values.filled(end)

    def select(self, rows: Int[Tensor, " M"]) -> "KeyValueCache":
        """The cache whose row i is row rows[i] of this one; this one is consumed."""
        return replace(self, keys=self.keys.select(rows, self.length), values=self.values.select(rows, self.length))

    def copy(self) -> "KeyValueCache":
        """An independent cache with the same content."""
        return replace(self, keys=self.keys.copy(self.length), values=self.values.copy(self.length))


@dataclass(frozen=True)
class Buffer(KvMemory):
    """The keys or the values of a cache: the piece it was given first, as it is, or memory of its own; and memory that
    the next selection of rows may write into.

    A beam search selects at every step. Two pieces of memory that take turns spare it asking for a new one each time,
    which costs more than the copy: the system clears every page it gives.
    """

    piece: Float[Tensor, "N G K D"] | None = None
    kept: Parts = NOTHING
    spare: Float[Tensor, "M G room D"] | None = None

    @property
    def is_empty(self) -> bool:
        return self.piece is None and not self.kept.held

    def filled(self, length: int) -> Float[Tensor, "N G K D"]:
        return self.kept.filled(length) if self.piece is None else self.piece[:, :, :length]

    def join(self, piece: Float[Tensor, "N G n D"], cache: KeyValueCache) -> "Buffer":
        """With a piece more, behind what a cache has read so far."""
        length = cache.length
        if self.is_empty:
            return Buffer(piece)
        if torch.is_grad_enabled() and (piece.requires_grad or self.filled(length).requires_grad):
            return Buffer(torch.cat([self.filled(length), piece], dim=2))
        rows, heads, count, width = piece.shape

        def make(room: int, most: int) -> Tensor:
            return taken_for(piece, room, most, (rows, heads), (width,))

        kept = _roomy(self.kept, length + count, cache, piece, make)
        if self.piece is not None:
            kept.write(self.filled(length), 0)
        kept.write(piece, length)
        return Buffer(kept=kept) if kept is not self.kept else self

    def select(self, rows: Int[Tensor, " M"], length: int) -> "Buffer":
        if not self.kept.held:
            return self if self.is_empty else Buffer(self.filled(length).index_select(0, rows))
        if len(rows) < len(self.kept.held[0]) and is_asynchronous(self.kept.held[0].device):
            return Buffer(kept=self.kept.map(lambda part: _fewer(part, rows)))
        if len(self.kept.held) > 1:
            return Buffer(kept=self.kept.map(lambda part: part.index_select(0, rows)))
        (kept,) = self.kept.held
        room = self.spare
        if room is None or len(room) < len(rows):
            room = kept.new_empty(len(rows), *kept.shape[1:])
        # Whole rows, what is not filled included: they are one piece of memory each.
        chosen = torch.index_select(kept, 0, rows, out=room[: len(rows)])
        return Buffer(kept=Parts((chosen,)), spare=kept)

    def copy(self, length: int) -> "Buffer":
        return self if self.is_empty else Buffer(self.filled(length).clone())


@dataclass(frozen=True)
class Lineage:
    """Who wrote what the hypotheses of a beam have read.

    Hypotheses that continue the same ones have a common past. Each position was written once, by what stood at some
    place of the beam then; a new beam changes who reads what, and nothing that was written moves.
    """

    writers: Int[Tensor, "B places room"]
    """At which place stood what wrote each position that a hypothesis has read."""

    @classmethod
    def own(cls, sources: int, places: int, room: int, device: torch.device) -> "Lineage":
        """Of hypotheses each of which has written all it has read."""
        places_, room = torch.arange(places, dtype=torch.int16, device=device), _rounded(room)
        return cls(places_[:, None].expand(sources, places, room).clone())

    def branch(self, rows: Int[Tensor, "B places"], length: int) -> "Lineage":
        """After place j was given to what continues the hypothesis at place rows[i, j] modulo their number; all are
        `length` long. This lineage is consumed."""
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
        """What hides from each hypothesis those of the length × places positions in a cache that it has not read."""
        places = self.writers.shape[1]
        kernel = pick("lineage_bias", self.writers)
        if kernel is not None:
            # More of it than is asked for, as below.
            bias: Tensor = kernel(self.writers, _rounded(length), dtype)
            return bias[:, None, :, : length * places]
        some = torch.arange(places, dtype=self.writers.dtype, device=self.writers.device)
        # More of it than is asked for, and then cut: kernels want rows that begin at round addresses.
        read = (self.writers[..., : _rounded(length), None] == some).flatten(2)
        return additive(read, dtype)[:, None, :, : length * places]


@dataclass
class SharedCache(KvMemory):
    """Prepared keys and values of the positions that `places` hypotheses of each source have written.

    Everything that was written for a source lies there for all its hypotheses to see, position by position, the places
    side by side; the bias of a `Lineage` hides what a hypothesis has not read.
    """

    capacity: int
    places: int
    expected: int | None = None
    length: int = 0
    keys: Parts = NOTHING
    values: Parts = NOTHING

    @classmethod
    def of(cls, cache: KeyValueCache, places: int) -> "SharedCache":
        """Of hypotheses that have read what is in a row of a cache, `places` of them each."""
        shared = cls(cache.capacity, places, cache.expected)
        if not cache.keys.is_empty:
            held = (rows.filled(cache.length).repeat_interleave(places, 0) for rows in (cache.keys, cache.values))
            shared.append(*held)
        shared.length = cache.length
        return shared

    def append(
        self, keys: Float[Tensor, "N Gk n D"], values: Float[Tensor, "N G n Dv"]
    ) -> tuple[Float[Tensor, "B Gk K D"], Float[Tensor, "B G K Dv"]]:
        """Takes n more positions of each hypothesis; gives all keys and values of each source."""
        end = _end(self, keys.shape[-2])
        self.keys, self.values = self._grown(self.keys, keys, end), self._grown(self.values, values, end)
        write = pick("write_position", keys, values)
        if write is not None:
            # There may be room for more of one than of the other, and their parts end elsewhere then.
            write(keys, values, *self.keys.place(self.length), *self.values.place(self.length))
        else:
            for piece, kept in ((keys, self.keys), (values, self.values)):
                rows, heads, count, width = piece.shape
                places = piece.reshape(rows // self.places, self.places, heads, count, width)
                kept.write(places.permute(0, 2, 3, 1, 4), self.length)
        self.length = end
        return self.keys.filled(end).flatten(2, 3), self.values.filled(end).flatten(2, 3)

    def select(self, sources: Int[Tensor, " M"]) -> "SharedCache":
        """The cache of these sources; this one is consumed."""
        keys, values = (kept.map(lambda part: self._of(part, sources)) for kept in (self.keys, self.values))
        return replace(self, keys=keys, values=values)

    def apart(self, lineage: Lineage) -> KeyValueCache:
        """A cache in which each hypothesis has a row of its own, with all that it has read."""
        cache = KeyValueCache(self.capacity, self.expected)
        if self.keys.held:
            cache.append(*(self._read(kept, lineage) for kept in (self.keys, self.values)))
        return cache

    def copy(self) -> "SharedCache":
        """An independent cache with the same content."""
        return replace(self, keys=self.keys.map(torch.clone), values=self.values.map(torch.clone))

    def fold(self, rows: Float[Tensor, "N H 1 D"]) -> Float[Tensor, "B H places D"]:
        """The hypotheses of a source as queries of one row."""
        _, heads, _, width = rows.shape
        return rows.reshape(-1, self.places, heads, width).transpose(1, 2)

    def unfold(self, folded: Float[Tensor, "B H places D"]) -> Float[Tensor, "N H 1 D"]:
        return folded.transpose(1, 2).flatten(0, 1).unsqueeze(2)

    def spread(self, bias: Float[Tensor, "*N H 1 K"]) -> Float[Tensor, "*B H places places_K"]:
        """A bias between hypotheses and positions as one between hypotheses and all that lies here."""
        if bias.ndim > 3 and len(bias) > 1:
            bias = self.fold(bias)
        return bias.repeat_interleave(self.places, -1)

    def _grown(self, kept: Parts, piece: Float[Tensor, "N G n D"], end: int) -> Parts:
        """What is kept, with room for so many positions."""
        rows, heads, _, width = piece.shape
        sources = rows // self.places

        def make(room: int, most: int) -> Tensor:
            if not is_asynchronous(piece.device):
                # The heads of a position lie side by side: of all that is kept, a hypothesis reads one place for each,
                # and a processor is quick only with what it finds in one piece.
                return taken_for(piece, room, most, (sources,), (self.places, heads, width)).permute(0, 3, 1, 2, 4)
            return taken_for(piece, room, most, (sources, heads), (self.places, width))

        return _roomy(kept, end, self, piece, make)

    def _of(self, kept: Float[Tensor, "B G room places D"], sources: Int[Tensor, " M"]) -> Tensor:
        if len(sources) > len(kept):
            return kept.index_select(0, sources)
        if is_asynchronous(kept.device):
            return _fewer(kept, sources)
        # Most of those that stay may stay where they are; elsewhere it would take longer to ask which. The memory of
        # those that leave is kept until the whole batch is done.
        moved = (sources != torch.arange(len(sources))).nonzero()[:, 0]
        kept[moved, :, : self.length] = kept[sources[moved], :, : self.length]
        return kept[: len(sources)]

    def _read(self, kept: Parts, lineage: Lineage) -> Float[Tensor, "N G K D"]:
        filled = kept.filled(self.length)
        index = lineage.writers[..., : self.length].long()  # "B places K", to "B 1 K places 1"
        index = index.transpose(1, 2)[:, None, :, :, None].expand(filled.shape)
        return filled.gather(3, index).permute(0, 3, 1, 2, 4).flatten(0, 1)


def _fewer(kept: Tensor, rows: Int[Tensor, " M"]) -> Tensor:
    """Some rows of what is kept, in the same memory: there captured steps have a place for them."""
    chosen = kept[: len(rows)]
    return chosen.copy_(kept.index_select(0, rows))


def _alone(part: Float[Tensor, "N G room D"]) -> Float[Tensor, "N G room 1 D"]:
    """Memory of rows as that of sources with one hypothesis each."""
    return part.unsqueeze(3)


def _roomy(
    kept: Parts, end: int, cache: KeyValueCache | SharedCache, piece: Tensor, make: Callable[[int, int], Tensor]
) -> Parts:
    """What is kept, with room for so many positions."""
    if kept.room >= end:
        return kept
    if cache.expected is not None and grows_in_parts(piece):
        return kept.extended(end, cache.expected, cache.capacity, make)
    return kept.moved(end, cache.length, cache.capacity, make)


def _end(cache: KeyValueCache | SharedCache, count: int) -> int:
    """How many positions there will be with so many more."""
    end = cache.length + count
    if end > cache.capacity:
        raise UsageError(
            f"a cache of capacity {cache.capacity} cannot hold {end} positions; start with a capacity of at least {end}"
        )
    return end


def _rounded(length: int) -> int:
    return -(-length // 8) * 8
