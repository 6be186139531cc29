"""Parts of a model compiled by torch.compile, which fuses small kernels.

Only the parts that a model repeats (blocks) and those with its largest tensors (the readout's cost) are compiled: once
for all layers and, with dynamic sizes, for all shapes. They are used in training steps without watched taps, which need
the original code. Results differ from eager ones by rounding, and dropout draws other masks.
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
from regard.device import lacks_compiler
from regard.models.readout import KLGradient, LogitGradient, LogitTotals, SymmetricKL
from regard.nn.blocks import DecoderBlock, EncoderBlock
from regard.recipe import Training
from regard.tasks.task import Batch

PARTS: tuple[type[nn.Module], ...] = (EncoderBlock, DecoderBlock, LogitTotals, LogitGradient, SymmetricKL, KLGradient)
"""Modules that are compiled."""

PLAIN = "the model is not compiled"

WORTHWHILE = 50_000_000
"""Tokens of a run from which on compiling saves more time than it takes: about two minutes of steps that are only
captured, at the size where the gain was measured (6 + 6 layers of width 512)."""

MINUTES = 5
"""The same in minutes, for runs limited by time only."""


@dataclass(frozen=True)
class Decision:
    """Whether parts of a model are compiled, and a line for the user that says why or why not; may be empty."""

    compiles: bool
    line: str = ""


class CompiledParts:
    """The compiled parts of a model; compiled on first use, and active only within `used`.

    `varied` means that batches have several shapes; otherwise kernels are specialized for the most frequent one.
    """

    def __init__(self, model: nn.Module, parts: tuple[type[nn.Module], ...] = PARTS, *, varied: bool = True) -> None:
        self._varied = varied
        found = [module for module in model.modules() if type(module) in parts]
        compiled: dict[type[nn.Module], Callable[..., Any]] = {}
        for kind in {type(module) for module in found}:
            forward = torch.compile(kind.forward, fullgraph=True)
            compiled[kind] = _dynamic(forward) if varied else forward
        self._forwards: list[tuple[nn.Module, Callable[..., Any]]] = [
            (module, partial(compiled[type(module)], module)) for module in found
        ]

    def __len__(self) -> int:
        return len(self._forwards)

    def fit(self, batch: Batch) -> bool:
        """Whether to use them for a batch. Not for the rare wider rows of packed batches if kernels are specialized:
        compiling for these would take longer than running them eagerly. This depends on the batch alone, not on earlier
        ones, which a resumed run has not seen."""
        return self._varied or not getattr(batch, "wide", False)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Replaces the forward methods of the parts by the compiled ones."""
        for module, forward in self._forwards:
            # An attribute of the instance takes precedence over the method of its class.
            module.forward = forward
        try:
            with warnings.catch_warnings():
                # The compiler's hints are for authors of kernels.
                warnings.filterwarnings("ignore", module=r"torch\..*")
                yield
        finally:
            for module, _ in self._forwards:
                del module.forward


def _dynamic(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Marks the numbers of rows and positions as dynamic, so that one compilation serves all shapes."""

    def marked(module: nn.Module, *given: Any, **named: Any) -> Any:
        for value in (*given, *named.values()):
            for tensor in vars(value).values() if isinstance(value, Memory | Unprepared) else (value,):
                if isinstance(tensor, Tensor):
                    torch._dynamo.maybe_mark_dynamic(tensor, _dynamic_axes(tensor))
        return forward(module, *given, **named)

    return marked


def _dynamic_axes(tensor: Tensor) -> tuple[int, ...]:
    """Masks are "B 1 T S" or less, keys and values "B G S D", streams "B T E", all else begins with its rows."""
    if tensor.dtype == torch.bool:
        return tuple(axis for axis, size in enumerate(tensor.shape) if size > 1)
    return (0, tensor.ndim - 2) if tensor.ndim > 2 else (0,)


def decide(settings: Training, device: torch.device, tokens_in_pass: int, *, captured: bool) -> Decision:
    """Whether to compile a model: as its recipe says or, with `auto`, if steps are captured and the run is known to be
    long enough for compiling to pay."""
    line = ""
    if settings.compile == "auto":
        if not captured:
            return Decision(False)
        pays, why = _worthwhile(settings, tokens_in_pass)
        if not pays:
            return Decision(False, f"{PLAIN}: {why}; train.compile = true compiles it anyway")
        line = f"parts of the model are compiled: {why}"
    elif not settings.compile:
        return Decision(False)
    if lacks_compiler(device):
        return Decision(False, f"{PLAIN}: triton is not installed")
    return Decision(True, line)


def _worthwhile(settings: Training, tokens_in_pass: int) -> tuple[bool, str]:
    """Whether a run is long enough for compiling to pay, by the first of its limits, and the reason as text."""
    tokens = [settings.steps * settings.accumulate * settings.tokens_in_batch] if settings.steps else []
    if settings.epochs and tokens_in_pass:
        tokens.append(settings.epochs * tokens_in_pass)
    if settings.minutes and (settings.minutes < MINUTES or not tokens):
        said = f"the run takes {settings.minutes:g} minutes, and compiling pays from {MINUTES} on"
        return settings.minutes >= MINUTES, said
    if not tokens:
        return False, "the length of the run is unknown"
    millions = f"{min(tokens) / 1e6:,.1f} million tokens"
    said = f"the run goes through about {millions}, and compiling pays from {WORTHWHILE // 10**6} million on"
    return min(tokens) >= WORTHWHILE, said
