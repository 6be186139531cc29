"""Several models as one: its probabilities are the mean of theirs. That it is held to the laws of every model stands in
test_generator_laws.py."""

from copy import deepcopy

import pytest
import torch
from decoding_toys import decoding_by
from hypothesis import given, settings
from hypothesis import strategies as st
from model_strategies import ENSEMBLE, SOURCE_SIZE, TARGET_SIZE, TINY, Case, cases, tiny_model
from torch import Tensor

from regard.data.batch import Padded
from regard.decode import decode_all, score_all
from regard.errors import UsageError
from regard.models import Ensemble, Generator, build_model
from regard.models.ensemble import EnsembleReadout
from regard.recipe import Decoding

RECURRENT, TRANSFORMER = ENSEMBLE
SOURCES = [[4, 5, 6, 4], [], [6, 6], [5, 4, 4], [6]]
few = settings(max_examples=max(4, settings().max_examples // 8))


def features_of(model: Generator, case: Case) -> Tensor:
    return model.advance(case.target, model.start(case.source, case.target.shape[1]))[0]


def log_probs_of(model: Generator, case: Case) -> Tensor:
    return model.readout.logits(features_of(model, case)).log_softmax(-1)


@few
@given(case=cases())
def test_its_probabilities_are_the_mean_of_its_members(case: Case) -> None:
    model = tiny_model("ensemble")
    one, other = (log_probs_of(tiny_model(name), case).exp() for name in ENSEMBLE)
    torch.testing.assert_close(model.readout.logits(features_of(model, case)).exp(), (one + other) / 2)


@few
@given(case=cases(), largest=st.sampled_from([1, 2 * TARGET_SIZE, 2**20]))
def test_log_probs_of_targets_are_those_of_the_logits(case: Case, largest: int) -> None:
    model = tiny_model("ensemble")
    features = features_of(model, case)
    readout = EnsembleReadout([tiny_model(name).readout for name in ENSEMBLE], largest=largest)
    chosen, mean = readout.log_probs(features, case.target)
    every = model.readout.logits(features)
    torch.testing.assert_close(chosen, every.gather(-1, case.target[..., None])[..., 0])
    torch.testing.assert_close(mean, every.mean(-1))


@pytest.mark.parametrize(("name", "count"), [(RECURRENT, 1), (RECURRENT, 2), (TRANSFORMER, 1), (TRANSFORMER, 3)])
@few
@given(case=cases())
def test_a_model_with_itself_is_that_model(name: str, count: int, case: Case) -> None:
    model = tiny_model(name)
    same = Ensemble([deepcopy(model) for _ in range(count)])
    torch.testing.assert_close(log_probs_of(same, case), log_probs_of(model, case))


def test_it_looks_where_its_members_look() -> None:
    blind = tiny_model("recurrent-none-before")
    names = [f"members.2.{tap}" for tap in tiny_model(TRANSFORMER).cross_taps]
    looking = Ensemble([blind, tiny_model(RECURRENT), tiny_model(TRANSFORMER)])
    assert looking.cross_taps == ("members.1.decoder.attention.weights", *names)
    assert Ensemble([blind]).cross_taps == ()


def in_float32(name: str) -> Generator:
    model = build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # further from uniform, so that rounding does not decide
    return model


@pytest.mark.spread(1)
@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
def test_every_search_works_and_what_is_written_is_what_is_scored(method: str) -> None:
    model = Ensemble([in_float32(RECURRENT), in_float32(TRANSFORMER)])
    n_best = 1 if method == "greedy" else 2
    limits = {"longest_factor": 1.0, "longest_extra": 2, "coverage_penalty": 0.3}
    settings = decoding_by(method, n_best=n_best, **limits)
    found = decode_all(model, SOURCES, settings, prefixes=[[], [5], [], [4, 8], []])
    best = [hypotheses[0] for hypotheses in found]
    for one, log_probs in zip(best, score_all(model, SOURCES, [one.tokens for one in best]), strict=True):
        # Rotary attention with weights as large as these is off by 3e-4 from float64 in float32.
        assert one.log_prob == pytest.approx(sum(log_probs if one.finished else log_probs[:-1]), abs=1e-3)


def test_a_beam_over_a_model_and_itself_writes_what_the_model_writes() -> None:
    model, settings = in_float32(TRANSFORMER), Decoding(beam=3, n_best=3, longest_factor=1.0, longest_extra=2)
    same = decode_all(Ensemble([model, deepcopy(model)]), SOURCES, settings)
    for ours, theirs in zip(same, decode_all(model, SOURCES, settings), strict=True):
        assert [one.tokens for one in ours] == [one.tokens for one in theirs]
        assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], abs=1e-5)


def test_half_precision_is_averaged_in_float32() -> None:
    model = Ensemble([in_float32(RECURRENT), in_float32(TRANSFORMER)]).bfloat16()
    features = features_of(model, Case(Padded.of([[4, 3]]), torch.tensor([[2, 5]])))
    assert (features.dtype, model.readout.logits(features).dtype) == (torch.bfloat16, torch.float32)


def test_members_that_do_not_fit_are_refused() -> None:
    larger = build_model(TINY[RECURRENT], SOURCE_SIZE, TARGET_SIZE + 3)
    with pytest.raises(
        UsageError, match=r"^the models of an ensemble must write the same vocabulary, but theirs have 9, 9 and 12 tok"
    ):
        Ensemble([tiny_model(RECURRENT), tiny_model(TRANSFORMER), larger])
    with pytest.raises(UsageError, match=r"^an ensemble needs at least one model$"):
        Ensemble([])
