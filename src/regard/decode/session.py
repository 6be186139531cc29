"""A model prepared for decoding: copies of its weights in other formats, and captured steps.

They belong to the session and are dropped with it. A trained model owns one session; a function that gets a plain model
makes one for a single use.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Self

import torch

from regard.decode.captured import FAILURES, CapturedStepping, why_not
from regard.decode.copies import Version, copy_of
from regard.decode.cpu_weights import has_matrices, laid_out
from regard.decode.int8 import has_int8, in_int8
from regard.decode.modules import evaluating, is_watched, weights_of
from regard.decode.stepping import Stepping
from regard.decode.workers import workers_on
from regard.device import (
    captures,
    device_of,
    has_scarce_memory,
    has_tf32,
    is_host,
    on_device,
    prefers_bfloat16,
    release_memory,
)
from regard.errors import ModelWarning
from regard.graphs import EAGER, CudaGraphs
from regard.models.generator import Generator
from regard.recipe import Drawing


class Session:
    """What decoding caches for a model between calls."""

    def __init__(self, model: Generator) -> None:
        self.model = model
        self._copies: dict[str, tuple[Version, Generator]] = {}
        self._narrow: Generator | None = None
        """The bfloat16 copy on CUDA; its weights are updated in place, because captured steps read them there."""
        self._captured: dict[tuple[tuple[int, ...], str, bool], CapturedStepping] = {}
        self._lock = Lock()

    def __getstate__(self) -> Generator:
        # Caches are made again where they are needed, so that trained models can be copied and pickled.
        return self.model

    def __setstate__(self, model: Generator) -> None:
        self.__init__(model)  # type: ignore[misc]

    @classmethod
    def of(cls, model: "Generator | Session") -> Self:
        """The session itself, or a new one for a model."""
        return model if isinstance(model, cls) else cls(model)  # type: ignore[arg-type]

    @property
    def device(self) -> torch.device:
        return device_of(self.model)

    def refresh(self) -> None:
        """Drops copies of the weights. Call it after training steps: fused optimizers change weights without bumping
        their version, so that `Version` cannot tell."""
        self._copies.clear()

    @contextmanager
    def writing(self, settings: Drawing) -> Iterator[Generator]:
        """The model in the dtype of `decode.precision`, laid out for speed, in evaluation mode; it shares the model's
        taps."""
        with on_device(self.device), self._computing_in(settings.precision) as writer, evaluating(writer):
            yield writer

    def drop(self) -> None:
        """Releases the copies and captured steps; they are made again when they are needed."""
        self._copies.clear()
        self._captured.clear()
        self._narrow = None
        release_memory(self.device)

    def hold_only(self, precision: str) -> None:
        """Keeps the weights in `decode.precision` only, for programs that only decode: on a CUDA device there would
        otherwise be two copies."""
        device = self.device
        if precision == "bfloat16" and has_scarce_memory(device):
            self.drop()
            # Through the host: on the device, new weights would be interleaved with old ones and no memory freed.
            self.model.to("cpu", torch.bfloat16)
            release_memory(device)
            self.model.to(device)

    def steppings(self, writer: Generator, settings: Drawing, *, forced: bool) -> Sequence[Stepping]:
        """The fastest stepping for a model from `writing`: one for each worker."""
        device, watched = self.device, is_watched(writer)
        if why_not(settings, device, forced=forced, watched=watched) is not None:
            # Recordings of several threads would be mixed.
            workers = 1 if watched or settings.reads_attention else workers_on(device)
            return [Stepping(device)] * workers
        return [self._capturing(writer, settings)]

    def stepping_of_text(self, writer: Generator, settings: Drawing) -> Stepping:
        """The fastest stepping for a text that a model from `writing` writes token by token, alone in its batch."""
        reason = why_not(settings, self.device, forced=False, watched=is_watched(writer))
        if reason is not None or not self.model.has_fixed_shapes:
            return Stepping(self.device)
        return self._capturing(writer, settings, patient=True)

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether the block is the only one. Texts that are written in turns cannot share captured steps, which have
        one state."""
        is_alone = self._lock.acquire(blocking=False)
        try:
            yield is_alone
        finally:
            if is_alone:
                self._lock.release()

    def _capturing(self, writer: Generator, settings: Drawing, *, patient: bool = False) -> CapturedStepping:
        # Graphs are tied to the addresses of the weights and to the settings.
        weights = tuple(tensor.data_ptr() for tensor in weights_of(writer))
        how = settings.model_dump_json(exclude={"batch_tokens", "seed"})
        key = weights, how, torch.backends.cuda.matmul.allow_tf32
        if key not in self._captured:
            self._drop_graphs_of_moved_weights()
            graphs = CudaGraphs(self.device)
            self._captured[key] = CapturedStepping(self.device, graphs, warm_up=graphs.warm_up, patient=patient)
        return self._captured[key]

    def why_eager(self, settings: Drawing, *, terms: bool = False) -> str | None:
        """One line that tells the user why steps on a CUDA device are not captured; None if they are. Failures of
        captures are known only after they were tried."""
        if not captures(self.device) or not self.model.has_fixed_shapes:
            return None
        watched = is_watched(self.model)
        failed = (one.reason for one in self._captured.values() if one.failures >= FAILURES)
        reason = why_not(settings, self.device, forced=False, terms=terms, watched=watched) or next(failed, None)
        return reason and f"decoding {EAGER}: {reason}"

    def _drop_graphs_of_moved_weights(self) -> None:
        formats = [self.model, *([self._narrow] if self._narrow is not None else [])]
        present_ones = {tuple(tensor.data_ptr() for tensor in weights_of(each)) for each in formats}
        self._captured = {key: stepping for key, stepping in self._captured.items() if key[0] in present_ones}

    @contextmanager
    def _computing_in(self, precision: str) -> Iterator[Generator]:
        device = self.device
        if is_host(device):
            yield self._on_cpu(precision)
        elif precision == "bfloat16" and prefers_bfloat16(device):
            yield self._in_bfloat16()
        elif precision == "tf32" and has_tf32(device):
            before = torch.backends.cuda.matmul.allow_tf32
            torch.backends.cuda.matmul.allow_tf32 = True
            try:
                yield self.model
            finally:
                torch.backends.cuda.matmul.allow_tf32 = before
        else:
            yield self.model

    @torch.no_grad()
    def _on_cpu(self, precision: str) -> Generator:
        """An up-to-date copy, as far as `Version` can tell; the model itself where a copy would not be faster."""
        if precision == "tf32" or (precision == "int8" and not _int8_available()):
            precision = "float32"
        weights = weights_of(self.model)
        # Inference tensors have no version, and in float32 a new copy for each text costs more than it saves.
        unversioned = any(map(torch.is_inference, weights))
        if not has_matrices(self.model) or (precision == "float32" and unversioned):
            return self.model
        if unversioned:
            return _copied(self.model, precision)
        known = self._copies.get(precision)
        if known is None or not known[0].is_of(weights):
            known = self._copies[precision] = Version(weights), _copied(self.model, precision)
        return known[1]

    @torch.no_grad()
    def _in_bfloat16(self) -> Generator:
        if not has_matrices(self.model):
            return self.model
        if all(tensor.dtype == torch.bfloat16 for tensor in weights_of(self.model) if tensor.is_floating_point()):
            return self.model
        if self._narrow is None:
            self._narrow = copy_of(self.model).to(torch.bfloat16)
        # Position tables grow in each model separately, and are not weights.
        formats = self._narrow, self.model
        narrow, wide = ([tensor for tensor in weights_of(each) if tensor.is_floating_point()] for each in formats)
        torch._foreach_copy_(narrow, wide)
        return self._narrow


def _copied(model: Generator, precision: str) -> Generator:
    if precision == "bfloat16":
        return laid_out(copy_of(model).to(torch.bfloat16))
    return laid_out(in_int8(model) if precision == "int8" else model)


@cache
def _int8_available() -> bool:
    """`has_int8`, with one warning if it is False."""
    if not has_int8():
        warnings.warn(
            "decode.precision = 'int8': this processor, or torch on it, has no fast and exact int8 products, so "
            "float32 is used instead; set it to bfloat16 or float32",
            ModelWarning,
            stacklevel=2,
        )
    return has_int8()
