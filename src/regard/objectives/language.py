"""Maximum likelihood of running text, segment by segment, with the state carried over."""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import SegmentBatch
from regard.models.language import Carry, LanguageModel, Reading, cleared
from regard.recipe import Penalty


def segment_loss(
    model: LanguageModel,
    batch: SegmentBatch,
    carry: Carry | None = None,
    *,
    label_smoothing: float = 0.0,
    penalty: Penalty | None = None,
) -> tuple[Float[Tensor, ""], Carry | None]:
    """The summed negative log-likelihood of a segment's target tokens, in float32, plus the penalties; and the state to
    carry into the next segment."""
    reading = read_segment(model, batch, carry)
    readout, wanted = model.readout_of(reading.state), batch.wanted
    loss = readout.cost(reading.features, wanted.tokens, wanted.keep, label_smoothing)
    if penalty is not None:
        loss = loss + _penalties(reading, batch, penalty)
    return loss, model.carried(reading.state) or None


def read_segment(model: LanguageModel, batch: SegmentBatch, carry: Carry | None) -> Reading:
    """Reads a segment, starting from the carried state.

    Rows that begin another text start from a blank state; so do all, if the number of rows has changed."""
    given = batch.given.tokens
    before = model.blank(len(given))
    if carry is not None and all(len(carry[name]) == len(given) for name in before):
        before = cleared(carry, batch.fresh)
    return model.read(given, model.resume(before, given.shape[1]))


def _penalties(reading: Reading, batch: SegmentBatch, penalty: Penalty) -> Float[Tensor, ""]:
    """Activation regularization (of outputs) and temporal activation regularization (of their changes; Merity, McCann
    and Socher 2017): mean squares over features, summed over the target tokens."""
    keep, wide = batch.wanted.keep, torch.promote_types(reading.raw.dtype, torch.float32)
    loss = reading.raw.new_zeros((), dtype=wide)
    if penalty.activation:
        loss = loss + penalty.activation * reading.dropped.to(wide).square().mean(-1).masked_fill(~keep, 0.0).sum()
    if penalty.change:
        raw = reading.raw.to(wide)
        change = raw[:, 1:] - raw[:, :-1]
        loss = loss + penalty.change * change.square().mean(-1).masked_fill(~keep[:, 1:], 0.0).sum()
    return loss
