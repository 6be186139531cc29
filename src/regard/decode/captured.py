"""Searches whose steps are captured as CUDA graphs.

A step of a small model is bound by kernel launches; a graph launches all of them at once. Each graph is for one output
length, so that it runs the same kernels as an eager step, with the same results, and for one shape. To have few shapes,
sources are padded to round widths, batches of searches to powers of two, and searches that are over stay in the batch
until only a quarter is running.

A graph reads and writes fixed buffers. Its inputs may be any dataclasses, lists, tuples and dictionaries of tensors:
each tensor is copied into its buffer, unless it is already there.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import accumulate, count
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from regard.attention.kv_memory import Allocator, KvMemory, allocating_with
from regard.decode.stepping import Given, Made, Stepping
from regard.device import captures
from regard.graphs import Work
from regard.recipe import Drawing

WIDTH, QUARTER = 16, 4
"""Widths are multiples of WIDTH tokens; a batch shrinks to a QUARTER when no more searches are running."""
ALIGNED, PIECE = 256, 20 * 2**20
"""Buffers are aligned to multiples of ALIGNED elements and allocated together in pieces of up to PIECE bytes: torch's
allocator wastes a large part of pieces under half that size."""
MOST = 4096
"""Maximum number of graphs of a model. When there are more, all are dropped, as the texts have changed."""

FAILURES = 3
"""After this many failed captures all steps are eager."""

Structure = TypeVar("Structure")
Place = tuple[str, torch.Size, torch.dtype]
"""A tensor's path within its structure, its shape and dtype."""


class Signature:
    """The key of a graph; hashed once, because it is looked up at every step."""

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
    """Its result, in fixed buffers."""
    signature: Signature


class KvBuffers:
    """Buffers of `KvMemory`, which is large. Searches have one shape at a time, so that all shapes share a buffer: its
    key is the function that allocates and how many allocations of that function came before."""

    def __init__(self) -> None:
        self._sizes: dict[str, list[int]] = {}
        self._buffers: dict[tuple[str, int, torch.dtype], list[Tensor]] = {}
        self._by_address: dict[int, Tensor] = {}

    def measuring(self, name: str) -> Allocator:
        """Allocates fresh memory and records the sizes that a function asks for."""
        sizes = self._sizes[name] = []

        def allocate(like: Tensor, size: int) -> Tensor:
            sizes.append(_rounded(size))
            return like.new_empty(size)

        return allocate

    def of(self, name: str, given: object) -> Allocator:
        """Allocates a function's buffers, none of which holds its inputs."""
        busy = {tensor.untyped_storage().data_ptr() for tensor in tensors_of(given)}
        numbers = count()

        def allocate(like: Tensor, size: int) -> Tensor:
            number = next(numbers)
            buffers = self._buffers.setdefault((name, number, like.dtype), [])
            fitting = (buffer for buffer in buffers if buffer.numel() >= size)
            buffer = next((buffer for buffer in fitting if buffer.untyped_storage().data_ptr() not in busy), None)
            if buffer is None:
                # The first request gets the measured sizes; a later one finds the buffers too small or in use.
                sizes = [] if buffers else self._sizes.get(name, [])[number:]
                if not sizes or sizes[0] < size:
                    sizes = [size]
                together = sum(total * like.itemsize <= PIECE for total in accumulate(sizes))
                sizes = sizes[: max(together, 1)]
                parts = torch.split(like.new_empty(sum(sizes)), sizes)
                for index, part in enumerate(parts, start=number):
                    self._buffers.setdefault((name, index, like.dtype), []).append(part)
                    self._by_address[part.data_ptr()] = part
                buffer = parts[0]
            return buffer

        return allocate

    def holding(self, tensor: Tensor) -> Tensor | None:
        """The buffer at whose beginning a tensor lies, if any."""
        return self._by_address.get(tensor.data_ptr())


class CapturedStepping(Stepping):
    """Captures each step of a new shape and replays it from then on.

    `capture` records some work as a graph, without running it, and returns the function that replays it. Without
    `capture` steps run eagerly in the same shapes. `warm_up` runs some work eagerly before its first capture. With
    `patient` a step is captured when its shape comes a second time: in a long text each step may have a new shape, and
    capturing them all costs more than it saves if no other text follows.
    """

    def __init__(
        self,
        device: torch.device,
        capture: Callable[[Work], Work] | None,
        every: int = 8,
        warm_up: Callable[[Work], object] = lambda work: work(),
        patient: bool = False,
    ) -> None:
        super().__init__(device)
        self.every = every
        self.memory: dict[Place, Tensor] = {}
        self._kv_buffers = KvBuffers()
        self._buffers: dict[tuple[str, torch.dtype], Tensor] = {}
        self._owners: dict[int, str] = {}
        self._capture, self._warm_up = capture, warm_up
        self._captured: dict[tuple[str, Signature], Captured] = {}
        self._last: Captured | None = None
        self._warm: set[str] = set()
        self._seen: set[tuple[str, Signature]] | None = set() if patient else None
        self.failures = 0
        self.reason = ""
        """Error of the last capture that failed."""

    @property
    def count(self) -> int:
        """Number of graphs."""
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
        if captured is None and self.failures < FAILURES and self._is_due(name, signature):
            captured = self._make(name, function, given)
        if captured is None:
            self._last = None
            # In the same buffers, so that later steps can still be captured.
            with allocating_with(self._kv_buffers.of(name, given)):
                return function(rebuilt(given, lambda _, tensor: tensor))
        self._captured[name, signature] = self._last = captured
        captured.replay()
        return cast(Made, captured.made)

    def _is_due(self, name: str, signature: Signature) -> bool:
        """Whether a step that is not captured should be."""
        if self._seen is None or (name, signature) in self._seen:
            return True
        if len(self._seen) >= MOST:
            self._seen.clear()
        self._seen.add((name, signature))
        return False

    def _place(self, given: Structure) -> tuple[Structure, Signature]:
        """Copies the tensors of a structure into their buffers."""
        placed = rebuilt(given, self._place_of, self._place_of_kv)
        _copy(list(tensors_of(given)), list(tensors_of(placed)))
        return placed, signature_of(placed)

    def _place_of(self, path: str, tensor: Tensor) -> Tensor:
        place = path, tensor.shape, tensor.dtype
        if place not in self.memory:
            # Searches have one shape at a time, so that all shapes share a buffer. If it is too small, graphs captured
            # earlier keep the old one.
            buffer = self._buffers.get((path, tensor.dtype))
            if buffer is None or buffer.numel() < tensor.numel():
                buffer = self._buffers[path, tensor.dtype] = tensor.new_empty(tensor.numel())
            self.memory[place] = buffer[: tensor.numel()].view(tensor.shape)
        return self.memory[place]

    def _place_of_kv(self, path: str, tensor: Tensor) -> Tensor:
        """Like `_place_of` for `KvMemory`, which stays where it is if a buffer was allocated for it."""
        place, buffer = (path, tensor.shape, tensor.dtype), self._kv_buffers.holding(tensor)
        is_own = buffer is not None and self._owners.setdefault(buffer.data_ptr(), path) == path
        if buffer is not None and is_own and place not in self.memory:
            before = self._buffers.get((path, tensor.dtype))
            if before is None or before.numel() < buffer.numel():
                self._buffers[path, tensor.dtype] = buffer
            self.memory[place] = tensor
        return self._place_of(path, tensor)

    def _make(self, name: str, function: Callable[[Given], Made], given: Given) -> Captured | None:
        """Captures a function of inputs that are in their buffers; None if that fails."""
        if len(self._captured) >= MOST:
            self._captured.clear()
        assert self._capture is not None
        made: Any = None

        def work() -> None:
            nonlocal made
            # A function may change the structure it is given, so it gets a new one each time.
            with allocating_with(self._kv_buffers.of(name, given)):
                result = function(rebuilt(given, lambda _, tensor: tensor))
            made = rebuilt(result, self._place_of, self._place_of_kv)
            _copy(list(tensors_of(result)), list(tensors_of(made)))

        if name not in self._warm:
            # Creates what is created on first use (tables, library handles). On clones of the inputs, except for
            # `KvMemory`, to which steps write idempotently.
            with allocating_with(self._kv_buffers.measuring(name)):
                self._warm_up(
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
    return -(-size // ALIGNED) * ALIGNED


def rebuilt(
    structure: Structure,
    function: Callable[[str, Tensor], Tensor],
    kv_function: Callable[[str, Tensor], Tensor] | None = None,
    path: str = "",
) -> Structure:
    """The same structure with every tensor replaced by `function`, or by `kv_function` within a `KvMemory`."""
    made: Any = structure
    if isinstance(structure, KvMemory):
        function = kv_function or function
    if isinstance(structure, Tensor):
        made = function(path, structure)
    elif is_dataclass(structure) and not isinstance(structure, type):
        parts = {field.name: getattr(structure, field.name) for field in fields(structure) if field.init}
        others = {name: rebuilt(part, function, kv_function, f"{path}.{name}") for name, part in parts.items()}
        made = replace(structure, **others)
    elif isinstance(structure, list | tuple):
        made = type(structure)(rebuilt(part, function, kv_function, f"{path}.{i}") for i, part in enumerate(structure))
    elif isinstance(structure, dict):
        made = {name: rebuilt(part, function, kv_function, f"{path}.{name}") for name, part in structure.items()}
    return cast(Structure, made)


def tensors_of(structure: object) -> Iterator[Tensor]:
    """All tensors of a structure, in order."""
    for part in _leaves(structure):
        if isinstance(part, Tensor):
            yield part


def signature_of(structure: object) -> Signature:
    """Shapes and dtypes of a structure's tensors, and everything in it that is not a tensor."""
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
    both = zip(given, places, strict=True)
    moved = [(tensor, place) for tensor, place in both if _where(tensor) != _where(place)]
    storages = {place.untyped_storage().data_ptr() for place in places}
    # A view of a buffer could be overwritten before it is read.
    sources = [tensor.clone() if tensor.untyped_storage().data_ptr() in storages else tensor for tensor, _ in moved]
    for source, (_, place) in zip(sources, moved, strict=True):
        place.copy_(source)


def _where(tensor: Tensor) -> tuple[int, tuple[int, ...]]:
    return tensor.data_ptr(), tensor.stride()


def why_not(settings: Drawing, device: torch.device, *, forced: bool, watched: bool, terms: bool = False) -> str | None:
    """Why steps are not captured; None if they are. `forced` means that outputs begin with given tokens, `terms` that
    they must contain some."""
    if not captures(device):
        return f"{device.type} has no CUDA graphs"
    if settings.reads_attention:
        return "the coverage penalty reads attention weights"
    if forced:
        return "outputs begin with forced tokens"
    if terms:
        return "forced terms are searched for on the host"
    return "a tap is watched" if watched else None
