"""The feed-forward layer of a Transformer block."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.kernels import pick
from regard.tap import Tap


class FeedForward(nn.Module):
    """Two linear layers around an activation, position by position.

    `swiglu` multiplies the activation by a third linear layer of the input (Shazeer 2020), computed in one product with
    the first. The tap `activation` shows the hidden features "… hidden" after the activation.
    """

    def __init__(self, width: int, hidden: int, activation: Literal["relu", "gelu", "swiglu"] = "relu") -> None:
        super().__init__()
        self.kind = activation
        self.inward = nn.Linear(width, 2 * hidden if activation == "swiglu" else hidden)
        self.outward = nn.Linear(hidden, width)
        self.activation = Tap("row", "step", "feature")
        for linear in (self.inward, self.outward):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, features: Float[Tensor, "*rows E"]) -> Float[Tensor, "*rows E"]:
        match self.kind:
            case "relu" if (linear_relu := pick("linear_relu", features)) is not None:
                hidden = linear_relu(features, self.inward.weight, self.inward.bias)
            case "relu":
                hidden = F.relu(self.inward(features), inplace=not torch.is_grad_enabled())
            case "gelu":
                hidden = F.gelu(self.inward(features))
            case "swiglu":
                gate, value = self.inward(features).chunk(2, dim=-1)
                hidden = F.silu(gate) * value
        result: Tensor = self.outward(self.activation(hidden))
        return result
