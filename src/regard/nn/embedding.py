"""Vectors of tokens, for inputs and for outputs."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import UsageError
from regard.tap import Tap


class TokenVectors(nn.Module):
    """A vector for each of V tokens; they may be shared with another module.

    Tied weights are one parameter, saved once, under the name of the module that owns them. They are initialized with
    standard deviation E ** -0.5, so that normalized features give logits of variance one.
    """

    def __init__(self, size: int, width: int, *, shared: "TokenVectors | None" = None) -> None:
        super().__init__()
        self.size, self.width = size, width
        # In a tuple, so that torch does not register the owner as a submodule here.
        self._owner = () if shared is None else (shared,)
        if shared is None:
            self.vectors = nn.Parameter(torch.randn(size, width) * width**-0.5)
        elif (shared.size, shared.width) != (size, width):
            raise UsageError(
                f"vectors of {size} tokens × width {width} cannot be tied to those of {shared.size} tokens × width "
                f"{shared.width}; tie vectors of one vocabulary and one width, or do not tie them"
            )

    @property
    def weight(self) -> Float[Tensor, "V E"]:
        return self._owner[0].weight if self._owner else self.vectors

    def put(self, vectors: Float[Tensor, "V E"]) -> None:
        """Copies vectors into its own."""
        self.weight.copy_(vectors)

    @property
    def owns(self) -> bool:
        """Whether its vectors are not those of another module."""
        return not self._owner

    def own(self, vectors: nn.Parameter) -> None:
        """Replaces its vectors, which are then not shared."""
        self._owner, self.vectors = (), vectors


class TokenEmbedding(TokenVectors):
    """Looks up the vectors of tokens and multiplies them by `scale`.

    With scale = sqrt(E) features have variance one, which sinusoidal positions expect (Vaswani et al. 2017).
    """

    def __init__(self, size: int, width: int, *, scale: float = 1.0, shared: TokenVectors | None = None) -> None:
        super().__init__(size, width, shared=shared)
        self.scale = scale
        self.output = Tap("row", "step", "feature")

    def forward(self, tokens: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows E"]:
        vectors = self.look_up(tokens)
        scaled: Tensor = self.output(vectors if self.scale == 1.0 else vectors * self.scale)
        return scaled

    def look_up(self, tokens: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows E"]:
        return F.embedding(tokens, self.weight)
