"""The interface of every generative model: `start`, `advance` and a `readout`.

Training is one `advance` over the whole target, decoding many of one token, scoring a prefix one of several tokens. The
log-probabilities do not depend on how a sequence is divided; the conformance tests check every model of
`regard.models.MODELS`.
"""

from abc import ABC, abstractmethod
from typing import Protocol, Self, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.data.batch import Padded


@runtime_checkable
class State(Protocol):
    """The state of a generator between two calls of `advance`, for each of its N rows."""

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        """The state whose row i is row rows[i] of this one; this one is consumed."""
        ...

    def branch(self, rows: Int[Tensor, "M places"], sources: Int[Tensor, " M"] | None = None) -> Self:
        """The state whose row i × places + j is row rows[i, j] of this one; this one is consumed.

        Rows i × places … have the same source and may share its encoding. Their source is that of group sources[i] of
        this state; None means that the sources are unchanged.
        """
        return self.select(rows.flatten())

    def copy(self) -> Self:
        """An independent copy."""
        ...


class Readout(nn.Module, ABC):
    """Turns features into logits, or into log-probabilities of given targets without holding all logits in memory."""

    width: int
    """Width of the features."""
    size: int
    """Size of the vocabulary."""

    def select(self, rows: Int[Tensor, " M"]) -> "Readout":
        """The readout of these rows; the same readout unless it is bound to rows."""
        return self

    @abstractmethod
    def logits(self, features: Float[Tensor, "*rows E"]) -> Float[Tensor, "*rows V"]:
        """Unnormalized log-probabilities of every token, for decoding; the caller may change them in place."""

    @abstractmethod
    def log_probs(
        self, features: Float[Tensor, "*rows E"], targets: Int[Tensor, "*rows"]
    ) -> tuple[Float[Tensor, "*rows"], Float[Tensor, "*rows"]]:
        """In float32: the log-probability of each target, and the mean log-probability over the vocabulary (for label
        smoothing), in memory that does not grow with rows × vocabulary."""

    def cost(
        self,
        features: Float[Tensor, "*rows E"],
        targets: Int[Tensor, "*rows"],
        keep: Bool[Tensor, "*rows"],
        label_smoothing: float,
    ) -> Float[Tensor, ""]:
        """In float32: the summed cost of the targets where `keep` is true; with smoothing ε, each costs
        −(1 − ε) · log p(target) − ε · mean over V of log p."""
        of_target, of_all = self.log_probs(features, targets)
        # Without smoothing, the gradient of the mean over the vocabulary is not needed.
        costs = -torch.lerp(of_target, of_all, label_smoothing) if label_smoothing else -of_target
        return costs.masked_fill(~keep, 0.0).sum()

    def divergence(self, first: Float[Tensor, "*rows E"], second: Float[Tensor, "*rows E"]) -> Float[Tensor, "*rows"]:
        """In float32: KL(p ‖ q) + KL(q ‖ p) between the predictions of each pair of features, p and q.

        This is the definition, over all logits at once; readouts of many rows or words work in chunks."""
        p, q = (self.logits(features).float().log_softmax(-1) for features in (first, second))
        return ((p.exp() - q.exp()) * (p - q)).sum(-1)


class Generator(nn.Module, ABC):
    """A model that generates one token after another, given a source."""

    readout: Readout
    """The readout, or the part of it that is the same for every row: see `readout_of`."""
    copies: bool = False
    """Whether it copies words of its source, which then must be a `regard.data.batch.Worded`."""
    has_fixed_shapes: bool = True
    """Whether shapes depend on those of inputs alone, so that a step can be captured."""
    cross_taps: tuple[str, ...] = ()
    """Names of the taps of attention to the source ("N H n S"), lowest layer first."""

    @abstractmethod
    def start(self, source: Padded, capacity: int) -> State:
        """Encodes the source; `capacity` is the maximum number of tokens to `advance` over (the size of caches)."""

    @abstractmethod
    def advance(self, tokens: Int[Tensor, "N n"], state: State) -> tuple[Float[Tensor, "N n E"], State]:
        """Reads n ≥ 1 more tokens in every row; features at i predict token i + 1. The given state is consumed."""

    def readout_of(self, state: State) -> Readout:
        """The readout of features that came with a state; a model that copies words binds it to the state's rows."""
        return self.readout

    def coverage_loss(self, state: State) -> Float[Tensor, "N n"] | None:
        """The coverage loss (See et al. 2017) of each of the last tokens: how much of its attention went to positions
        already attended to; None for models without coverage."""
        return None
