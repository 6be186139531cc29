"""Maximum likelihood: the objective of every generator."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import Padded, PairBatch
from regard.models.generator import Generator, Readout


def cross_entropy(
    model: Generator, batch: PairBatch, label_smoothing: float = 0.0, coverage: float = 0.0
) -> Float[Tensor, ""]:
    """The summed negative log-likelihood of the targets, in float32.

    With smoothing ε the target distribution is (1 − ε) · onehot + ε · uniform over the whole vocabulary (Szegedy et
    al. 2016), so a target costs −(1 − ε) · log p(target) − ε · mean over V of log p. `coverage` weighs the coverage
    loss of See et al. (2017), attention that goes where attention has been before.
    """
    return _cost(_read(model, batch), batch.wanted, label_smoothing, coverage)


def r_drop(
    model: Generator, batch: PairBatch, weight: float, label_smoothing: float = 0.0, coverage: float = 0.0
) -> Float[Tensor, ""]:
    """Cross entropy of two passes that differ in dropout, plus `weight` times their divergence (R-Drop, Liang et al.
    2021), summed over the targets, in float32.

    It is half of the paper's loss, ½ · (NLL₁ + NLL₂) + ½ · weight · ½ · (KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁)): the weight is the
    paper's, and without dropout this is the cross entropy of one pass. Both passes are computed as one batch.
    """
    read = _read(model, twice := batch.map(lambda tensor: torch.cat((tensor, tensor))))
    once = read.readout.select(torch.arange(len(read.features) // 2, device=read.features.device))
    divergence = once.divergence(*read.features.chunk(2)).masked_fill(~batch.wanted.keep, 0.0).sum()
    return (_cost(read, twice.wanted, label_smoothing, coverage) + weight / 2 * divergence) / 2


@dataclass(frozen=True)
class _Read:
    features: Float[Tensor, "B T E"]
    readout: Readout
    repeated: Float[Tensor, "B T"] | None
    """Each target's attention to positions that earlier targets attended to."""


def _read(model: Generator, batch: PairBatch) -> _Read:
    given = batch.given.tokens
    features, state = model.advance(given, model.start(batch.source, capacity=given.shape[1]))
    return _Read(features, model.readout_of(state), model.coverage_loss(state))


def _cost(read: _Read, wanted: Padded, label_smoothing: float, coverage: float) -> Float[Tensor, ""]:
    cost = read.readout.cost(read.features, wanted.tokens, wanted.keep, label_smoothing)
    if coverage and read.repeated is not None:
        cost = cost + coverage * read.repeated.masked_fill(~wanted.keep, 0.0).sum()
    return cost
