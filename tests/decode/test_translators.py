"""Decoding with a tiny untrained model of every kind, in float32: what is written is what the model scores."""

import pytest
import torch
from decoding_toys import decoding_by
from model_strategies import SOURCE_SIZE, TARGET_SIZE, TINY, every_model

from regard.decode import decode_all, score_all
from regard.models import Generator, build_model

SOURCES = [[4, 5, 6, 4], [], [6, 6], [5, 4, 4], [6]]
WORDS = [[9, 5, 10, 9], [], [9, 9], [5, 4, 4], [9]]
"""For those who copy: some are unknown."""


def model_of(name: str) -> Generator:
    model = build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # further from uniform, so that rounding does not decide
    return model


@pytest.mark.spread(8)
@every_model
def test_outputs_are_scored_alike_and_do_not_depend_on_the_batch(name: str) -> None:
    model = model_of(name)
    method = "sample" if len(name) % 3 == 0 else "beam"
    limits = {"longest_factor": 1.0, "longest_extra": 2, "no_repeat": 2}
    coverage_penalty = 0.3 if model.cross_taps else 0.0
    how = {"n_best": 2, "coverage_penalty": coverage_penalty, **limits}
    words = WORDS if model.copies else None
    prefixes = [[], [5], [], [4, 8], []] if words is None else [[10], [5], [], [4, 8], []]
    found = decode_all(model, SOURCES, decoding_by(method, **how), prefixes=prefixes, words=words)
    one_by_one = decoding_by(method, **how, batch_tokens=1)
    alone = decode_all(model, SOURCES, one_by_one, prefixes=prefixes, words=words)
    best = [hypotheses[0] for hypotheses in found]
    assert [one.tokens for one in best] == [hypotheses[0].tokens for hypotheses in alone]
    assert [one.score for one in best] == pytest.approx([hypotheses[0].score for hypotheses in alone], abs=1e-4)
    scores = score_all(model, SOURCES, [one.tokens for one in best], words=words)
    for one, log_probs in zip(best, scores, strict=True):
        counted = log_probs if one.finished else log_probs[:-1]
        # Weights as large as these make rounding larger: rotary attention in float32 is off by 3e-4 from float64.
        assert one.log_prob == pytest.approx(sum(counted), abs=1e-3 if "rotary" in name else 1e-4)
