"""Searches whose steps are captured as CUDA graphs.

A step of a small model is bound by the time it takes to launch its kernels; a graph launches them all at once. It is
made for one length of what is written, so that attention sees exactly what is there and the kernels are those of a step
that is not captured, with the same numbers; and for one shape, so that shapes are kept few: sources are padded to round
widths, searches are filled up to round numbers, and leave only when a quarter of them is left.

What a graph reads and writes lies at fixed places. Whatever is made of tensors in dataclasses, lists, tuples and
dictionaries can be given to it: all tensors are copied to where they belong, unless they are there already.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import accumulate, count
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from regard.attention.kv_memory import KvMemory, Taker, taking
from regard.decode.stepping import Given, Made, Stepping
from regard.device import captures
from regard.graphs import Work
from regard.recipe import Decoding

WIDTH, QUARTER = 16, 4
"""Sources are padded to a multiple of so many tokens, and outputs have room for such; and …"""
ALIGNED, PIECE = 256, 20 * 2**20
"""What is kept begins at multiples of so many numbers, and is taken in pieces of so many bytes: of those that torch's
allocator takes from the device for less than half as much, a large part would be lost."""
MOST = 4096
"""Graphs that are kept for a model. When there are more, all are made anew: the texts have changed their nature."""

FAILURES = 3
"""After so many captures that failed nothing is captured any more."""

Structure = TypeVar("Structure")
Place = tuple[str, torch.Size, torch.dtype]


class Signature:
    """What must be the same for a graph to serve; looked up at every step, and therefore hashed once."""

    def __init__(self, parts: tuple[Hashable, ...]) -> None:
        self._parts, self._hash = parts, hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Signature) and self._parts == other._parts)


@dataclass
class Captured:
    """A function's graph for one shape."""

    replay: Work
    made: Any
    """What it makes, at fixed places."""
    signature: Signature


class Rooms:
    """Memory for what is kept, which is large. Searches have one shape at a time, so that all shapes of a thing lie in
    the same memory: things are told apart by which function asks for memory, and how often it has done so before."""

    def __init__(self) -> None:
        self._sizes: dict[str, list[int]] = {}
        self._rooms: dict[tuple[str, int, torch.dtype], list[Tensor]] = {}
        self._by_address: dict[int, Tensor] = {}

    def planning(self, name: str) -> Taker:
        """Gives a function other memory, and notes how much it asks for."""
        sizes = self._sizes[name] = []

        def take(like: Tensor, size: int) -> Tensor:
            sizes.append(_rounded(size))
            return like.new_empty(size)

        return take

    def of(self, name: str, given: object) -> Taker:
        """Gives memory to a function; not where that lies which it is given."""
        busy = {tensor.untyped_storage().data_ptr() for tensor in tensors_of(given)}
        numbers = count()

        def take(like: Tensor, size: int) -> Tensor:
            number = next(numbers)
            rooms = self._rooms.setdefault((name, number, like.dtype), [])
            fitting = (room for room in rooms if room.numel() >= size)
            room = next((room for room in fitting if room.untyped_storage().data_ptr() not in busy), None)
            if room is None:
                # What was planned is the first that is asked for; later, what there is is too small, or has grown full.
                sizes = [] if rooms else self._sizes.get(name, [])[number:]
                if not sizes or sizes[0] < size:
                    sizes = [size]
                together = sum(total * like.itemsize <= PIECE for total in accumulate(sizes))
                sizes = sizes[: max(together, 1)]
                parts = torch.split(like.new_empty(sum(sizes)), sizes)
                for place, part in enumerate(parts, start=number):
                    self._rooms.setdefault((name, place, like.dtype), []).append(part)
                    self._by_address[part.data_ptr()] = part
                room = parts[0]
            return room

        return take

    def around(self, tensor: Tensor) -> Tensor | None:
        """The memory that was given for a tensor, if there was."""
        return self._by_address.get(tensor.data_ptr())


class CapturedStepping(Stepping):
    """Replays what it has done in the same shape before, and captures it otherwise.

    `capture` makes a graph of some work without doing it, and gives what does it. Without it, all is done in the same
    shapes, one call after another. `trial` does some work before it is captured for the first time.
    """

    def __init__(
        self,
        device: torch.device,
        capture: Callable[[Work], Work] | None,
        every: int = 8,
        trial: Callable[[Work], object] = lambda work: work(),
    ) -> None:
        super().__init__(device)
        self.every = every
        self.memory: dict[Place, Tensor] = {}
        self._kept = Rooms()
        self._rooms: dict[tuple[str, torch.dtype], Tensor] = {}
        self._owners: dict[int, str] = {}
        self._capture, self._trial = capture, trial
        self._captured: dict[tuple[str, Signature], Captured] = {}
        self._last: Captured | None = None
        self._warm: set[str] = set()
        self.failures = 0
        self.reason = ""
        """Why the last capture that failed did."""

    @property
    def count(self) -> int:
        """How many graphs there are."""
        return len(self._captured)

    def width(self, tokens: int) -> int:
        return -(-tokens // WIDTH) * WIDTH

    def room(self, positions: int) -> int:
        return self.width(positions)

    def fit(self, rows: int, sources: int, workers: int) -> int:
        return 1 << (rows.bit_length() - 1)

    def rows(self, searches: int) -> int:
        return 1 << (searches - 1).bit_length()

    def smaller(self, searches: int, left: int) -> int:
        return searches // QUARTER if left * QUARTER <= searches else searches

    def __call__(self, name: str, function: Callable[[Given], Made], given: Given) -> Made:
        if self._capture is None:
            return function(given)
        if self._last is not None and self._last.made is given:
            signature = self._last.signature
        else:
            given, signature = self._place(given)
        captured = self._captured.get((name, signature))
        if captured is None and self.failures < FAILURES:
            captured = self._make(name, function, given)
        if captured is None:
            self._last = None
            # What follows is captured as if this had been.
            with taking(self._kept.of(name, given)):
                return function(rebuilt(given, lambda _, tensor: tensor))
        self._captured[name, signature] = self._last = captured
        captured.replay()
        return cast(Made, captured.made)

    def _place(self, given: Structure) -> tuple[Structure, Signature]:
        """The same, copied to its places."""
        placed = rebuilt(given, self._place_of, self._place_kept)
        _copy(list(tensors_of(given)), list(tensors_of(placed)))
        return placed, signature_of(placed)

    def _place_of(self, path: str, tensor: Tensor) -> Tensor:
        place = path, tensor.shape, tensor.dtype
        if place not in self.memory:
            # Searches have one shape at a time, so that all shapes of a thing lie in the same memory. Where there is
            # not enough of it, graphs that were made before keep theirs.
            room = self._rooms.get((path, tensor.dtype))
            if room is None or room.numel() < tensor.numel():
                room = self._rooms[path, tensor.dtype] = tensor.new_empty(tensor.numel())
            self.memory[place] = room[: tensor.numel()].view(tensor.shape)
        return self.memory[place]

    def _place_kept(self, path: str, tensor: Tensor) -> Tensor:
        """The same of what is kept: there where it is, if that is memory that was taken for it."""
        place, room = (path, tensor.shape, tensor.dtype), self._kept.around(tensor)
        is_own = room is not None and self._owners.setdefault(room.data_ptr(), path) == path
        if room is not None and is_own and place not in self.memory:
            before = self._rooms.get((path, tensor.dtype))
            if before is None or before.numel() < room.numel():
                self._rooms[path, tensor.dtype] = room
            self.memory[place] = tensor
        return self._place_of(path, tensor)

    def _make(self, name: str, function: Callable[[Given], Made], given: Given) -> Captured | None:
        """Captures a function of what is at its places; None if that fails."""
        if len(self._captured) >= MOST:
            self._captured.clear()
        assert self._capture is not None
        made: Any = None

        def work() -> None:
            nonlocal made
            # A function may consume what it is given: a structure of its own each time.
            with taking(self._kept.of(name, given)):
                result = function(rebuilt(given, lambda _, tensor: tensor))
            made = rebuilt(result, self._place_of, self._place_kept)
            _copy(list(tensors_of(result)), list(tensors_of(made)))

        if name not in self._warm:
            # Whatever is made on first use (tables, handles of libraries) is made of what is given up afterwards; and
            # of what is kept, to which the same is added again.
            with taking(self._kept.planning(name)):
                self._trial(
                    lambda: function(rebuilt(given, lambda _, tensor: tensor.clone(), lambda _, tensor: tensor))
                )
            self._warm.add(name)
        try:
            replay = self._capture(work)
        except RuntimeError as error:
            self.failures += 1
            self._last = None
            self.reason = str(error).strip().partition("\n")[0]
            return None
        return Captured(replay, made, signature_of(made))


def _rounded(size: int) -> int:
    """Numbers that kernels read quickly begin at round addresses."""
    return -(-size // ALIGNED) * ALIGNED


def rebuilt(
    structure: Structure,
    function: Callable[[str, Tensor], Tensor],
    kept: Callable[[str, Tensor], Tensor] | None = None,
    path: str = "",
) -> Structure:
    """The same structure with every tensor replaced; those of a `KvMemory` may be made by another
    function."""
    made: Any = structure
    if isinstance(structure, KvMemory):
        function = kept or function
    if isinstance(structure, Tensor):
        made = function(path, structure)
    elif is_dataclass(structure) and not isinstance(structure, type):
        parts = {field.name: getattr(structure, field.name) for field in fields(structure) if field.init}
        others = {name: rebuilt(part, function, kept, f"{path}.{name}") for name, part in parts.items()}
        made = replace(structure, **others)
    elif isinstance(structure, list | tuple):
        made = type(structure)(rebuilt(part, function, kept, f"{path}.{i}") for i, part in enumerate(structure))
    elif isinstance(structure, dict):
        made = {name: rebuilt(part, function, kept, f"{path}.{name}") for name, part in structure.items()}
    return cast(Structure, made)


def tensors_of(structure: object) -> Iterator[Tensor]:
    """All tensors of a structure, in order."""
    for part in _leaves(structure):
        if isinstance(part, Tensor):
            yield part


def signature_of(structure: object) -> Signature:
    """All that is no tensor, and the shapes of those."""
    return Signature(
        tuple(
            (part.shape, part.dtype) if isinstance(part, Tensor) else part if isinstance(part, Hashable) else repr(part)
            for part in _leaves(structure)
        )
    )


def _leaves(structure: object) -> Iterator[object]:
    if is_dataclass(structure) and not isinstance(structure, type):
        for field in fields(structure):
            yield from _leaves(getattr(structure, field.name))
    elif isinstance(structure, list | tuple):
        yield len(structure)
        for part in structure:
            yield from _leaves(part)
    elif isinstance(structure, dict):
        yield tuple(structure)
        for part in structure.values():
            yield from _leaves(part)
    else:
        yield structure


def _copy(given: list[Tensor], places: list[Tensor]) -> None:
    """Copies tensors to their places."""
    both = zip(given, places, strict=True)
    moved = [(tensor, place) for tensor, place in both if _where(tensor) != _where(place)]
    storages = {place.untyped_storage().data_ptr() for place in places}
    # What is a view of a place may be written over before it is read.
    sources = [tensor.clone() if tensor.untyped_storage().data_ptr() in storages else tensor for tensor, _ in moved]
    for source, (_, place) in zip(sources, moved, strict=True):
        place.copy_(source)


def _where(tensor: Tensor) -> tuple[int, tuple[int, ...]]:
    return tensor.data_ptr(), tensor.stride()


def why_not(
    settings: Decoding, device: torch.device, *, forced: bool, watched: bool, terms: bool = False
) -> str | None:
    """Why steps are not captured; None if they are. `forced` says that outputs begin with given tokens, `terms` that
    they must contain some."""
    if not captures(device):
        return f"on {device.type} there are no CUDA graphs"
    if settings.coverage_penalty:
        return "the coverage penalty looks at the attention"
    if forced:
        return "outputs begin with forced tokens"
    if terms:
        return "outputs that must contain terms are searched for by the processor"
    return "a tap is watched" if watched else None
