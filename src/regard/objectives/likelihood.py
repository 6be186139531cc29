"""Maximum likelihood: the objective of every model that writes."""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import Padded, PairBatch
from regard.models.generator import Generator, Readout


def cross_entropy(model: Generator, batch: PairBatch, label_smoothing: float = 0.0) -> Float[Tensor, ""]:
    """The summed negative log-likelihood of the wanted targets, in float32.

    With smoothing ε the target distribution is (1 − ε) · onehot + ε · uniform over the whole vocabulary (Szegedy et
    al. 2016), so a target costs −(1 − ε) · log p(target) − ε · mean over V of log p.
    """
    features, readout = _features(model, batch)
    return _cost(readout, features, batch.wanted, label_smoothing)


def r_drop(model: Generator, batch: PairBatch, weight: float, label_smoothing: float = 0.0) -> Float[Tensor, ""]:
    """Cross entropy of two passes that differ in dropout, and `weight` times how far they are apart (R-Drop, Liang et
    al. 2021), summed over the wanted targets, in float32.

    It is half of what the paper writes, ½ · (NLL₁ + NLL₂) + ½ · weight · ½ · (KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁)): so the weight
    is the paper's, and without dropout this is the cross entropy of one pass. Both passes are one, over twice the rows.
    """
    features, readout = _features(model, twice := batch.map(lambda tensor: torch.cat((tensor, tensor))))
    once = readout.select(torch.arange(len(features) // 2, device=features.device))
    apart = once.divergence(*features.chunk(2)).masked_fill(~batch.wanted.keep, 0.0).sum()
    return (_cost(readout, features, twice.wanted, label_smoothing) + weight / 2 * apart) / 2


def _features(model: Generator, batch: PairBatch) -> tuple[Float[Tensor, "B T E"], Readout]:
    given = batch.given.tokens
    features, state = model.advance(given, model.start(batch.source, capacity=given.shape[1]))
    return features, model.readout_of(state)


def _cost(
    readout: Readout, features: Float[Tensor, "B T E"], wanted: Padded, label_smoothing: float
) -> Float[Tensor, ""]:
    of_target, of_all = readout.log_probs(features, wanted.tokens)
    costs = -torch.lerp(of_target, of_all, label_smoothing)
    return costs.masked_fill(~wanted.keep, 0.0).sum()
