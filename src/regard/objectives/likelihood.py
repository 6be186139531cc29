"""Maximum likelihood: the objective of every model that writes."""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import PairBatch
from regard.models.generator import Generator


def cross_entropy(model: Generator, batch: PairBatch, label_smoothing: float = 0.0) -> Float[Tensor, ""]:
    """The summed negative log-likelihood of the wanted targets, in float32.

    With smoothing ε the target distribution is (1 − ε) · onehot + ε · uniform over the whole vocabulary (Szegedy et
    al. 2016), so a target costs −(1 − ε) · log p(target) − ε · mean over V of log p.
    """
    given, wanted = batch.given.tokens, batch.wanted
    features, _ = model.advance(given, model.start(batch.source, capacity=given.shape[1]))
    of_target, of_all = model.readout.log_probs(features, wanted.tokens)
    costs = -torch.lerp(of_target, of_all, label_smoothing)
    return costs.masked_fill(~wanted.keep, 0.0).sum()
