"""The number format that a model computes in while it writes."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from weakref import WeakKeyDictionary

import torch

from regard.decode.copies import Copies, copy_of
from regard.decode.eight_bits import has_eight_bits, in_eight_bits
from regard.decode.layout import has_matrices, laid_out
from regard.decode.modules import weights_of
from regard.errors import ModelWarning
from regard.models.generator import Generator

_LAID_OUT = Copies(laid_out)
_NARROW = Copies(lambda model: laid_out(copy_of(model).to(torch.bfloat16)))
_ROUNDED = Copies(lambda model: laid_out(in_eight_bits(model)))
"""Copies for CPUs, kept until weights change."""

_COPIES: WeakKeyDictionary[Generator, Generator] = WeakKeyDictionary()
"""Copies in bfloat16 for other devices, kept even then: captured steps read their weights where they are."""


@contextmanager
def computing_in(precision: str, model: Generator, device: torch.device) -> Iterator[Generator]:
    """A model that computes in the format of `decode.precision` while the block runs, with the same taps.

    On a CPU, and in bfloat16, that is a copy, with the weights that the model has when it is asked for, as far as
    `copies.Version` can tell."""
    if device.type == "cpu":
        yield _on_cpu(precision, model)
    elif precision == "bfloat16" and device.type == "cuda":
        yield narrow(model)
    elif precision == "tf32" and device.type == "cuda":
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            yield model
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before
    else:
        yield model


def _on_cpu(precision: str, model: Generator) -> Generator:
    if precision == "bfloat16":
        return _NARROW.of(model)
    if precision == "int8" and _can_round():
        return _ROUNDED.of(model)
    # Whether weights of inference mode change nobody can tell, and a new copy for each text takes longer than it saves.
    is_fixed = not any(map(torch.is_inference, weights_of(model)))
    return _LAID_OUT.of(model) if is_fixed and has_matrices(model) else model


@cache
def _can_round() -> bool:
    """Whether the processor has what int8 needs; it is told once, if it has not."""
    if not has_eight_bits():
        warnings.warn(
            "decode.precision = 'int8': this processor, or torch on it, has no quick and exact products of such "
            "numbers, so float32 is used instead; set it to bfloat16 or float32",
            ModelWarning,
            stacklevel=2,
        )
    return has_eight_bits()


def formats_of(model: Generator) -> list[Generator]:
    """The model in all formats in which its steps may have been captured."""
    return [model, *filter(None, [_COPIES.get(model)])]


def settle(model: Generator, precision: str, device: torch.device) -> None:
    """Holds weights in the format that a model writes in, and in no other, for whoever asks nothing else of it. On a
    CUDA device, where memory is scarce, it would otherwise have a copy."""
    if precision == "bfloat16" and device.type == "cuda":
        _COPIES.pop(model, None)
        # By way of the host: beside the weights that go, those that come would lie scattered, and no memory be free.
        model.to("cpu", torch.bfloat16)
        torch.cuda.empty_cache()
        model.to(device)


@torch.no_grad()
def narrow(model: Generator) -> Generator:
    """The model in bfloat16."""
    if all(tensor.dtype == torch.bfloat16 for tensor in weights_of(model) if tensor.is_floating_point()):
        return model
    if model not in _COPIES:
        _COPIES[model] = copy_of(model).to(torch.bfloat16)
    copy = _COPIES[model]
    # Tables of positions grow in each by itself, and are no weights.
    mine, theirs = ([tensor for tensor in weights_of(each) if tensor.is_floating_point()] for each in (copy, model))
    torch._foreach_copy_(mine, theirs)
    return copy
