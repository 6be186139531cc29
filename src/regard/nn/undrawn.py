"""Models whose weights will be overwritten: built without drawing them first."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class Undrawn(TorchFunctionMode):
    """While the block runs, initial weights are neither drawn nor filled in: `with Undrawn(): model = build_model(…)`.
    Every weight is then to be put in."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if func in (Tensor.normal_, Tensor.uniform_):
            return args[0]
        if func in (torch.rand, torch.randn):
            return torch.empty(*args, **given)
        if getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else given["tensor"]
        if func is torch.linalg.qr:  # orthogonal weights are made of drawn ones
            rows, columns = args[0].shape
            return args[0], args[0].new_empty(min(rows, columns), columns)
        return func(*args, **given)
