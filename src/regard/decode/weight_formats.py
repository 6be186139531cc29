"""Weight tensors that bring their own `F.linear` (packed, int8), and models that use them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._pytree import tree_map_only

from regard.decode.copies import copy_of
from regard.decode.modules import modules_of, weights_of
from regard.models.generator import Generator
from regard.models.readout import LinearReadout


class WeightFormat(Tensor):
    """A weight matrix with its own `F.linear`; every other operation falls back to the full matrix.

    A tensor cannot also be an `ABC`: subclasses implement the first three methods."""

    def full(self) -> Float[Tensor, "V E"]:
        """The plain matrix."""
        raise NotImplementedError

    def part(self, rows: slice) -> Self:
        """Some of its rows, in the same format."""
        raise NotImplementedError

    def linear(
        self, features: Float[Tensor, "*rows E"], bias: Float[Tensor, " V"] | None = None
    ) -> Float[Tensor, "*rows V"]:
        raise NotImplementedError

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if function is F.linear and len(args) > 1 and isinstance(args[1], WeightFormat):
            return args[1].linear(args[0], *args[2:], **kwargs or {})
        if function is Tensor.__getitem__ and isinstance(args[1], slice):
            return args[0].part(args[1])
        if function is Tensor.detach:
            return args[0].part(slice(None))
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
        args, kwargs = tree_map_only(WeightFormat, lambda matrix: matrix.full(), (args, kwargs or {}))
        return function(*args, **kwargs)


def with_weights_as(model: Generator, convert: Callable[[Tensor], Tensor]) -> Generator:
    """A copy of the model with the weights of its linear layers converted; everything else, taps included, is shared.
    Weights already in a `WeightFormat` are left alone."""
    copy = copy_of(model, shared=weights_of(model))
    for module in modules_of(copy):
        if isinstance(module, nn.Linear) and not isinstance(module.weight, WeightFormat):
            module.weight = nn.Parameter(convert(module.weight), requires_grad=False)
        elif isinstance(module, LinearReadout) and not isinstance(module.weight, WeightFormat):
            module.own(nn.Parameter(convert(module.weight), requires_grad=False))
    return copy
