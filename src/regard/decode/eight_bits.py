"""Linear maps in whole numbers of eight bits, which newer processors multiply several times as fast as others.

Each row of a matrix is rounded to −127 … 127 times a scale of its own, once; so is each row that it is multiplied by,
whenever that is done. The sums of their products are exact.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import torch
from jaxtyping import Float, Int8
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._pytree import tree_map_only

from regard.decode.copies import copy_of
from regard.decode.modules import modules_of, weights_of
from regard.models.generator import Generator
from regard.models.readout import LinearReadout


class EightBits(Tensor):
    """A matrix whose rows are whole numbers times a scale. `F.linear` multiplies by these; all else that is done to it
    is done to the numbers that they stand for."""

    numbers: Int8[Tensor, "V E"]
    scales: Float[Tensor, " V"]

    @staticmethod
    def __new__(cls, numbers: Int8[Tensor, "V E"], scales: Float[Tensor, " V"]) -> "EightBits":
        made = Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=scales.dtype, device=numbers.device)
        made.numbers, made.scales = numbers, scales
        return made

    @classmethod
    def of(cls, matrix: Float[Tensor, "V E"]) -> "EightBits":
        """The nearest to a matrix. A row with something that is no number, or infinite, has no numbers at all."""
        from regard.decode.eight_bit_loops import rounded

        return cls(*rounded(matrix.float().contiguous()))

    def full(self) -> Float[Tensor, "V E"]:
        """What it stands for."""
        return self.numbers * self.scales[:, None]

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        # Products of one number each, torch gets wrong.
        if function is F.linear and len(args) > 1 and isinstance(args[1], EightBits) and args[1].shape[1] > 1:
            return linear(*args, **kwargs or {})
        if function is Tensor.__getitem__ and isinstance(args[1], slice):
            return cls(args[0].numbers[args[1]], args[0].scales[args[1]])
        if function is Tensor.detach:
            return cls(args[0].numbers, args[0].scales)
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **kwargs or {})

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls,
        function: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        args, kwargs = tree_map_only(EightBits, EightBits.full, (args, kwargs or {}))
        return function(*args, **kwargs)


def linear(
    features: Float[Tensor, "*rows E"], weight: EightBits, bias: Float[Tensor, " V"] | None = None
) -> Float[Tensor, "*rows V"]:
    """As `F.linear`, of features that are rounded too."""
    from regard.decode.eight_bit_loops import rounded, scaled_

    numbers, scales = rounded(features.reshape(-1, features.shape[-1]).float().contiguous())
    sums = torch._int_mm(numbers, weight.numbers.t())
    found = scaled_(sums, scales, weight.scales, bias)
    return found.view(*features.shape[:-1], len(weight.numbers)).to(features.dtype)


@cache
def is_exact() -> bool:
    """Whether the sums are exact here: some older processors let them overflow."""
    rows = torch.full((64, 256), 127, dtype=torch.int8)
    rows[::2] = -127
    wide = rows.long()
    return torch.equal(torch._int_mm(rows, rows.t()).long(), wide @ wide.t())


@cache
def has_eight_bits() -> bool:
    """Whether such products are quick and exact here; without oneDNN, torch multiplies such numbers one by one."""
    return torch.backends.mkldnn.is_available() and is_exact()  # type: ignore[no-untyped-call]


def in_eight_bits(model: Generator) -> Generator:
    """A model whose linear maps are rounded, and which shares everything else with this one, its taps too."""
    copy = copy_of(model, shared=weights_of(model))
    for module in dict.fromkeys(modules_of(copy)):  # each once: an ensemble has readouts in two places
        # What has one output is a gate: it would lose, and nothing would be won.
        if isinstance(module, nn.Linear) and module.out_features > 1:
            module.weight = _parameter(module.weight)
        elif isinstance(module, LinearReadout):
            module.own(_parameter(module.weight))
    return copy


def _parameter(matrix: Tensor) -> nn.Parameter:
    return nn.Parameter(EightBits.of(matrix), requires_grad=False)
