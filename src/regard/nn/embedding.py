"""Vectors of tokens, on the way in and on the way out."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import UsageError
from regard.tap import Tap


class TokenVectors(nn.Module):
    """A vector for each of V tokens: its own, or those of another module.

    Tied weights are thus one parameter, saved once, under the name of the module that owns them. Own vectors
    start from a normal distribution of standard deviation E ** -0.5: read out from normalized features they give
    logits of variance one.
    """

    def __init__(self, size: int, width: int, *, shared: "TokenVectors | None" = None) -> None:
        super().__init__()
        self.size, self.width = size, width
        # In a tuple, where torch does not look for submodules: the lender is registered where it belongs alone.
        self._lender = () if shared is None else (shared,)
        if shared is None:
            self.vectors = nn.Parameter(torch.randn(size, width) * width**-0.5)
        elif (shared.size, shared.width) != (size, width):
            raise UsageError(
                f"vectors of {size} tokens × width {width} cannot be tied to those of {shared.size} tokens × width "
                f"{shared.width}; tie vectors of one vocabulary and one width, or do not tie them"
            )

    @property
    def weight(self) -> Float[Tensor, "V E"]:
        return self._lender[0].weight if self._lender else self.vectors

    @property
    def owns(self) -> bool:
        """Whether its vectors are its own."""
        return not self._lender

    def own(self, vectors: nn.Parameter) -> None:
        """Takes these for its own, and lends no others."""
        self._lender, self.vectors = (), vectors


class TokenEmbedding(TokenVectors):
    """Looks up the vectors of tokens and multiplies them by `scale`.

    With scale = sqrt(E) features have variance one, as sinusoidal positions expect (Vaswani et al. 2017).
    """

    def __init__(self, size: int, width: int, *, scale: float = 1.0, shared: TokenVectors | None = None) -> None:
        super().__init__(size, width, shared=shared)
        self.scale = scale
        self.output = Tap("row", "step", "feature")

    def forward(self, tokens: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows E"]:
        vectors = F.embedding(tokens, self.weight)
        scaled: Tensor = self.output(vectors if self.scale == 1.0 else vectors * self.scale)
        return scaled
