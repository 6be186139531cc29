"""Parts of a model that are frozen at first, or learn at a rate of their own: laws of the weights after some steps."""

from typing import Any

import pytest
import torch
from captured_tasks import CPU, Remembered, assert_same_bits, learner_with, outcomes, state_of, steps_of, translation
from torch import Tensor

from regard.checkpoint import Progress, names_in, weights_of
from regard.errors import RecipeError
from regard.recipe import OptimizerSettings
from regard.train.learner import Learner
from regard.train.optimizers import factors_by_name, optimizer_state
from regard.train.ranks import Ranks
from regard.train.runtime import StepRunner

FROZEN = {"model": "elsewhere", "parts": ["encoder"], "frozen_steps": 4}
KINDS = {
    "adamw": {"kind": "adamw", "weight_decay": 0.1},
    "adam": {"kind": "adam", "weight_decay": 0.1},
    "sgd": {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.1},
}


def learner(**train: Any) -> Learner:
    return Learner(translation("recurrent", **train), CPU, Ranks())


def copied(one: Learner) -> dict[str, Tensor]:
    return {name: weight.clone() for name, weight in weights_of(one.model).items()}


def changed(one: Learner, before: dict[str, Tensor]) -> set[str]:
    return {name for name, weight in weights_of(one.model).items() if not torch.equal(weight, before[name])}


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_parts_stay_bit_for_bit_and_all_else_learns_as_if_they_were_never_trained(kind: str) -> None:
    task = translation("recurrent", start=FROZEN, optimizer=KINDS[kind])
    one, steps = Learner(task, CPU, Ranks()), steps_of(task, 6)
    before = copied(one)
    outcomes(one, steps[:4])
    encoder = set(names_in(before, "encoder"))
    assert changed(one, before) == set(before) - encoder
    # A model whose encoder is never trained ends in the same weights: neither gradients nor their norm count.
    other = learner(optimizer={**KINDS[kind], "part_rates": ["encoder=0"]})
    outcomes(other, steps[:4])
    theirs = weights_of(other.model)
    assert all(torch.equal(weight, theirs[name]) for name, weight in weights_of(one.model).items())
    one.runner.news.clear()
    outcomes(one, steps[4:])
    assert changed(one, before) == set(before)
    assert one.runner.news == ["encoder begins to learn"]


@pytest.mark.parametrize("kind", KINDS)
def test_thawed_captured_steps_equal_eager_ones(kind: str) -> None:
    train = {"start": FROZEN, "optimizer": {**KINDS[kind], "part_rates": ["encoder=0.5", "decoder=0.25"]}}
    task, graphs = translation("recurrent", **train), Remembered()
    eager, captured = Learner(task, CPU, Ranks()), learner_with(task, graphs)
    steps = steps_of(task, 12)
    for one, other in zip(outcomes(eager, steps), outcomes(captured, steps), strict=True):
        assert torch.equal(one, other)
    assert_same_bits(captured, eager)
    # Whatever was captured while the encoder was frozen is captured again.
    assert graphs.made > 3
    assert graphs.replayed > 0


@pytest.mark.spread(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stop", [2, 4, 5])
def test_resumed_before_at_and_after_the_thaw_it_ends_in_the_same_bits(kind: str, stop: int) -> None:
    task = translation("recurrent", start=FROZEN, optimizer=KINDS[kind])
    whole, steps = Learner(task, CPU, Ranks()), steps_of(task, 7)
    outcomes(whole, steps[:stop])
    checkpoint = whole.capture(Progress(step=stop)).copy()
    outcomes(whole, steps[stop:])
    resumed = Learner(task, CPU, Ranks())
    # Of another run, which had thawed, as after a rollback.
    outcomes(resumed, steps)
    resumed.restore(checkpoint, "here")  # type: ignore[arg-type]
    outcomes(resumed, steps[stop:])
    fresh = Learner(task, CPU, Ranks())
    fresh.restore(checkpoint, "here")  # type: ignore[arg-type]
    outcomes(fresh, steps[stop:])
    for one in (resumed, fresh):
        assert_same_bits(one, whole)


def test_a_rate_scales_the_update_of_its_part_exactly() -> None:
    """Of plain gradient descent, one step from the same weights."""
    table = {"kind": "sgd", "rate": 0.5}
    rates = ["encoder=0.25", "encoder.input=0.5", "readout=2"]
    plain, scaled = learner(optimizer=table, clip=0.0), learner(optimizer={**table, "part_rates": rates}, clip=0.0)
    before = copied(plain)
    steps = steps_of(translation("recurrent"), 1)
    for one in (plain, scaled):
        outcomes(one, steps)
    found = factors_by_name(scaled.model, OptimizerSettings(part_rates=rates))
    assert set(found.values()) == {0.25, 0.5, 1.0, 2.0}
    ours, theirs = weights_of(scaled.model), weights_of(plain.model)
    for name, factor in found.items():
        torch.testing.assert_close(ours[name] - before[name], factor * (theirs[name] - before[name]))
    assert state_of(plain).keys() == state_of(scaled).keys()


def test_of_several_parts_the_longest_counts_and_zero_keeps_one_as_it_is() -> None:
    one = learner(optimizer={"part_rates": ["encoder.stack=0.5", "encoder=0", "decoder=0.1"]})
    before = copied(one)
    outcomes(one, steps_of(translation("recurrent"), 3))
    moved = changed(one, before)
    assert not [name for name in moved if name.startswith("encoder.") and not name.startswith("encoder.stack.")]
    assert [name for name in moved if name.startswith("encoder.stack.")]
    state = {name.rpartition("/")[0] for name in optimizer_state(one.model, one.optimizer)}
    assert not [name for name in state if name.startswith("encoder.input")]


def test_a_factor_of_one_changes_nothing() -> None:
    plain, ones = learner(), learner(optimizer={"part_rates": ["encoder=1", "decoder=1.0"]})
    steps = steps_of(translation("recurrent"), 3)
    for one in (plain, ones):
        outcomes(one, steps)
    assert_same_bits(plain, ones)


def test_rates_read_from_the_device_are_those_of_the_groups() -> None:
    """As on CUDA, where a captured update reads its rates from memory that never moves."""
    one = learner(optimizer={"part_rates": ["encoder=0.5"]})
    assert type(one.runner) is StepRunner
    outcomes(one, steps_of(translation("recurrent"), 1))
    rates = [group["lr"] for group in one.optimizer.param_groups]
    assert one.runner.known[3:].tolist() == pytest.approx(rates)
    assert sorted(set(rates)) == pytest.approx([0.5e-3, 1e-3])


@pytest.mark.parametrize(
    ("train", "line"),
    [
        ({"optimizer": {"part_rates": ["encoder"]}}, "'encoder' is not a part and a factor of at least 0, such as"),
        ({"optimizer": {"part_rates": ["encoder=-1"]}}, "'encoder=-1' is not a part and a factor of at least 0"),
        ({"optimizer": {"part_rates": ["encoder=nan"]}}, "'encoder=nan' is not a part and a factor of at least 0"),
        ({"optimizer": {"part_rates": ["encoder=1", "encoder=2"]}}, "a part has two factors; leave one of them out"),
        (
            {"start": {"frozen_steps": 3}},
            r"frozen_steps = 3 is for parts of another model; name them \(model and parts",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(train: dict[str, Any], line: str) -> None:
    with pytest.raises(RecipeError, match=line):
        translation("recurrent", **train)
