"""Models whose weights will be overwritten: built without drawing them first."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

DRAWING = {Tensor.normal_, Tensor.uniform_}


class Undrawn(TorchFunctionMode):
    """While the block runs, random numbers are not drawn: `with Undrawn(): model = build_model(…)`. Every weight is
    then to be put in."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func in DRAWING:
            return args[0]
        if func is torch.linalg.qr:  # orthogonal weights are made of drawn ones
            rows, columns = args[0].shape
            return args[0], args[0].new_empty(min(rows, columns), columns)
        return func(*args, **(kwargs or {}))
