"""What every model that writes has: `start`, `advance` and a `readout`.

Training is one `advance` over the whole target, decoding many of one token, scoring a prefix one of several.
However a sequence is cut into pieces, the log-probabilities are the same; the conformance tests hold every
model of `regard.models.MODELS` to that.
"""

from abc import ABC, abstractmethod
from typing import Protocol, Self, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.data.batch import Padded


@runtime_checkable
class State(Protocol):
    """What a generator remembers between two pieces of a sequence, for each of its N rows."""

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        """The state whose row i is row rows[i] of this one; this one is consumed."""
        ...

    def branch(self, rows: Int[Tensor, "M places"], sources: Int[Tensor, " M"] | None = None) -> Self:
        """The state whose row i × places + j is row rows[i, j] of this one; this one is consumed.

        Rows i × places … are all of one source, and may share what was read of it. `sources` says which one: the
        source of the rows that stand at i = sources[i] now; None says that every source stays where it is.
        """
        return self.select(rows.flatten())

    def copy(self) -> Self:
        """An independent state, for those who branch."""
        ...


class Readout(nn.Module, ABC):
    """Turns features into logits, or into log-probabilities of given targets without holding all logits."""

    width: int
    """Of the features it reads."""
    size: int
    """Tokens of the vocabulary it writes."""

    def select(self, rows: Int[Tensor, " M"]) -> "Readout":
        """The readout of these rows of features; only one that is bound to rows is not the same for all."""
        return self

    @abstractmethod
    def logits(self, features: Float[Tensor, "*rows E"]) -> Float[Tensor, "*rows V"]:
        """Unnormalized log-probabilities of every token, for decoding; whoever asked for them may write into them."""

    @abstractmethod
    def log_probs(
        self, features: Float[Tensor, "*rows E"], targets: Int[Tensor, "*rows"]
    ) -> tuple[Float[Tensor, "*rows"], Float[Tensor, "*rows"]]:
        """In float32: the log-probability of each target, and the mean log-probability over the vocabulary
        (what label smoothing needs), in memory that does not grow with rows × vocabulary."""

    def cost(
        self,
        features: Float[Tensor, "*rows E"],
        targets: Int[Tensor, "*rows"],
        keep: Bool[Tensor, "*rows"],
        label_smoothing: float,
    ) -> Float[Tensor, ""]:
        """In float32: what the targets that are kept cost, summed; with smoothing ε, each costs
        −(1 − ε) · log p(target) − ε · mean over V of log p."""
        of_target, of_all = self.log_probs(features, targets)
        # Where nothing is smoothed, nobody asks for the gradient of the mean over the vocabulary.
        costs = -torch.lerp(of_target, of_all, label_smoothing) if label_smoothing else -of_target
        return costs.masked_fill(~keep, 0.0).sum()

    def divergence(self, first: Float[Tensor, "*rows E"], second: Float[Tensor, "*rows E"]) -> Float[Tensor, "*rows"]:
        """In float32: KL(p ‖ q) + KL(q ‖ p) between what each two features predict, p and q.

        Here it is as it is defined, over all logits at once; a readout of many rows or words does it piece by piece."""
        p, q = (self.logits(features).float().log_softmax(-1) for features in (first, second))
        return ((p.exp() - q.exp()) * (p - q)).sum(-1)


class Generator(nn.Module, ABC):
    """A model that writes one token after another, given a source."""

    readout: Readout
    """What reads features, or the part of it that is the same for every row: see `readout_of`."""
    copies: bool = False
    """Whether it copies words of its source, which then must know its words (`regard.data.batch.Worded`)."""
    cross_taps: tuple[str, ...] = ()
    """Names of the taps that show where each target position looks in the source ("N H n S"), lowest layer first."""

    @abstractmethod
    def start(self, source: Padded, capacity: int) -> State:
        """Reads the source; `capacity` is the most tokens that will ever be advanced over (caches are that large)."""

    @abstractmethod
    def advance(self, tokens: Int[Tensor, "N n"], state: State) -> tuple[Float[Tensor, "N n E"], State]:
        """Reads n ≥ 1 more tokens in every row; features at i predict token i + 1. The given state is consumed."""

    def readout_of(self, state: State) -> Readout:
        """What turns features into words, given the state that came with them.

        A model that copies words of its context gives one that is bound to the rows of that state."""
        return self.readout

    def looked_again(self, state: State) -> Float[Tensor, "N n"] | None:
        """How much of the attention of each token that was read last went to where attention had been before; None
        from models that do not remember that."""
        return None
