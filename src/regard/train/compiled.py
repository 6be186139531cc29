"""Parts of a model compiled by torch.compile, which joins small kernels into few.

What is compiled are the parts that a model repeats (blocks) and those that hold its largest tensors (the readout's
cost), not the model: a part is compiled once, for all layers and, with sizes left open, for all shapes. It is used in
training steps alone, while nobody looks: a tap that is watched wants the code as it is written. Numbers differ from
those of the code by rounding, and dropout draws others.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import Memory, Unprepared
from regard.data.packing import PackedBatch
from regard.device import lacks_compiler
from regard.models.readout import Apart, ApartSlopes, LogitSlopes, LogitTotals
from regard.nn.blocks import DecoderBlock, EncoderBlock
from regard.recipe import Training
from regard.tasks.task import Batch

PARTS: tuple[type[nn.Module], ...] = (EncoderBlock, DecoderBlock, LogitTotals, LogitSlopes, Apart, ApartSlopes)
"""Modules that are compiled where a model has them."""

PLAIN = "the model is not compiled"

WORTHWHILE = 50_000_000
"""Tokens of a run from which on it saves more time than compiling takes: about two minutes of steps that are only
captured, at the size where the gain was measured (6 + 6 layers of width 512)."""

MINUTES = 5
"""The same in minutes of a run, where they are all that is known of it."""


@dataclass(frozen=True)
class Decision:
    """Whether parts of a model are compiled, and the line that says why, or why not; none, if nobody has to be told."""

    compiles: bool
    line: str = ""


class CompiledParts:
    """The parts of a model that can be compiled; they are so when first used, and only within `used`.

    `varied` says that batches will have several shapes; otherwise kernels are made for that which nearly all have.
    """

    def __init__(self, model: nn.Module, parts: tuple[type[nn.Module], ...] = PARTS, *, varied: bool = True) -> None:
        self._varied = varied
        found = [module for module in model.modules() if type(module) in parts]
        compiled: dict[type[nn.Module], Callable[..., Any]] = {}
        for kind in {type(module) for module in found}:
            forward = torch.compile(kind.forward, fullgraph=True)
            compiled[kind] = _open(forward) if varied else forward
        self._forwards: list[tuple[nn.Module, Callable[..., Any]]] = [
            (module, partial(compiled[type(module)], module)) for module in found
        ]

    def __len__(self) -> int:
        return len(self._forwards)

    def fit(self, batch: Batch) -> bool:
        """Whether they are to be used for a batch. Where kernels are made for one shape, those of rare wider rows, for
        pairs that are too long for the others, would take longer to make than these batches take without them. It is
        for the batch to know that, not for those before it, since a resumed run has not seen them."""
        return self._varied or not (isinstance(batch, PackedBatch) and batch.wide)

    @contextmanager
    def used(self) -> Iterator[None]:
        """While the block runs, the parts are compiled ones."""
        for module, forward in self._forwards:
            # An attribute of the module itself goes before the method of its class.
            module.forward = forward
        try:
            with warnings.catch_warnings():
                # The compiler's advice is for those who write kernels.
                warnings.filterwarnings("ignore", module=r"torch\..*")
                yield
        finally:
            for module, _ in self._forwards:
                del module.forward


def _open(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The same with the numbers of rows and of places left open, so that one compilation serves them all."""

    def opened(module: nn.Module, *given: Any, **named: Any) -> Any:
        for value in (*given, *named.values()):
            for tensor in vars(value).values() if isinstance(value, Memory | Unprepared) else (value,):
                if isinstance(tensor, Tensor):
                    torch._dynamo.maybe_mark_dynamic(tensor, _open_axes(tensor))
        return forward(module, *given, **named)

    return opened


def _open_axes(tensor: Tensor) -> tuple[int, ...]:
    """Masks are "B 1 T S" or less, keys and values "B G S D", streams "B T E", all else begins with its rows."""
    if tensor.dtype == torch.bool:
        return tuple(axis for axis, size in enumerate(tensor.shape) if size > 1)
    return (0, tensor.ndim - 2) if tensor.ndim > 2 else (0,)


def decide(settings: Training, device: torch.device, tokens_in_pass: int, *, captured: bool) -> Decision:
    """Whether a model is compiled: as its recipe says or, where that leaves it open (`auto`), if steps are captured and
    the run is known to be so long that compiling pays, of translators and language models alike."""
    line = ""
    if settings.compile == "auto":
        if not captured:
            return Decision(False)
        pays, why = _worthwhile(settings, tokens_in_pass)
        if not pays:
            return Decision(False, f"{PLAIN}: {why}; train.compile = true compiles it all the same")
        line = f"parts of the model are compiled: {why}"
    elif not settings.compile:
        return Decision(False)
    if lacks_compiler(device):
        return Decision(False, f"{PLAIN}: triton is not installed")
    return Decision(True, line)


def _worthwhile(settings: Training, tokens_in_pass: int) -> tuple[bool, str]:
    """Whether a run is long enough for compiling to pay, by the nearest of its limits, and how long it is in words."""
    tokens = [settings.steps * settings.accumulate * settings.tokens_in_batch] if settings.steps else []
    if settings.epochs and tokens_in_pass:
        tokens.append(settings.epochs * tokens_in_pass)
    if settings.minutes and (settings.minutes < MINUTES or not tokens):
        said = f"the run takes {settings.minutes:g} minutes, and compiling pays from {MINUTES} on"
        return settings.minutes >= MINUTES, said
    if not tokens:
        return False, "how long the run will be is not known"
    millions = f"{min(tokens) / 1e6:,.1f} million tokens"
    said = f"the run goes through about {millions}, and compiling pays from {WORTHWHILE // 10**6} million on"
    return min(tokens) >= WORTHWHILE, said
