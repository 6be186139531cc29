"""A step: however the data are cut, the gradient is that of the one big batch."""

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F
from train_tasks import Classify, Points, recipe_for

from regard.train.gradients import Gradients
from regard.train.learner import Learner
from regard.train.ranks import Ranks
from regard.train.runtime import Plan, precision, seed_step

CPU = torch.device("cpu")


def points(rows: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Points:
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(rows, 4, generator=generator, dtype=dtype)
    return Points(features, features[:, :3].argmax(-1))


def pieces(batch: Points, sizes: list[int]) -> list[Points]:
    return [
        Points(features, classes)
        for features, classes in zip(batch.features.split(sizes), batch.classes.split(sizes), strict=True)
    ]


def learner_for(dtype: torch.dtype = torch.float64, ranks: Ranks | None = None, **train: Any) -> Learner:
    return Learner(Classify(recipe_for(**train), dropout=0.0, dtype=dtype), CPU, ranks or Ranks())


def plan_for(micro_batches: list[Points], rate: float = 0.1, step: int = 1) -> Plan:
    return Plan(step, sum(batch.count for batch in micro_batches), rate, interrupted=False, seconds=1.5)


def by_autograd(model: nn.Module, batch: Points) -> tuple[Tensor, list[Tensor]]:
    """Loss and gradients of the mean over a batch, the plain way."""
    loss = F.cross_entropy(model(batch.features), batch.classes)
    return loss.detach(), list(torch.autograd.grad(loss, list(model.parameters())))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_micro_batches_give_the_gradient_of_one_batch(sizes: list[int]) -> None:
    learner, batch = learner_for(clip=0.0), points(sum(sizes))
    loss, gradients = by_autograd(learner.model, batch)
    micro_batches = pieces(batch, sizes)
    outcome, _ = learner.runner.run(micro_batches, plan_for(micro_batches), None)
    for parameter, gradient in zip(learner.model.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-10, atol=1e-12)
    norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
    torch.testing.assert_close(outcome, torch.stack([loss, *torch.tensor([0.0, 1.5]).double(), norm, norm * 0]))


class Alone(Ranks):
    """One rank of several, without collective sums; the test adds them up."""

    def sum(self, tensor: Tensor) -> None:
        pass


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.integers(1, 4))
def test_ranks_times_micro_batches_give_the_gradient_of_one_batch(sizes: list[int], world: int) -> None:
    batch = points(sum(sizes))
    micro_batches = pieces(batch, sizes)
    total = None
    for rank in range(world):
        learner = learner_for(ranks=Alone(rank, world), clip=0.0)
        loss, expected = by_autograd(learner.model, batch)
        learner.runner.run(micro_batches, plan_for(micro_batches), None)
        mine = learner.runner.gradients.everything
        total = mine.clone() if total is None else total + mine
    assert total is not None
    whole = Gradients(list(learner_for().model.parameters()), extras=3)
    whole.everything.copy_(total)
    for parameter, gradient in zip(whole.parameters, expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(whole.extras, torch.tensor([loss, 0.0, 1.5], dtype=torch.float64))


@given(st.floats(0.01, 3.0))
def test_clipping_is_that_of_torch(clip: float) -> None:
    learner, batch = learner_for(clip=clip), points(7)
    _, gradients = by_autograd(learner.model, batch)
    parameters = [nn.Parameter(torch.zeros_like(gradient)) for gradient in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    nn.utils.clip_grad_norm_(parameters, clip)
    learner.runner.run([batch], plan_for([batch]), None)
    for mine, theirs in zip(learner.model.parameters(), parameters, strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-9, atol=1e-12)


def test_the_norm_of_millions_of_gradients_is_exact_but_for_rounding() -> None:
    gradients = Gradients([nn.Parameter(torch.zeros(6_000_001)), nn.Parameter(torch.zeros(5))], extras=3)
    gradients.everything.fill_(7.0)  # of what is not a gradient, nothing may count but what pads them, which is zero
    gradients.flat.zero_()
    for place in gradients.places:
        place.copy_(torch.randn(place.shape, generator=torch.Generator().manual_seed(1)))
    exact = torch.linalg.vector_norm(gradients.flat.double())
    torch.testing.assert_close(gradients.norm().double(), exact, rtol=1e-6, atol=0.0)


def test_a_gradient_that_is_not_finite_under_a_finite_loss_is_skipped_too() -> None:
    learner, batch = learner_for(torch.float32), points(4, dtype=torch.float32)
    learner.model.hidden.weight.register_hook(lambda gradient: gradient * torch.inf)
    before = learner.model.output.weight.clone()
    outcome, _ = learner.runner.run([batch], plan_for([batch]), None)
    assert outcome[0].isfinite()
    assert outcome[-1] == 1
    assert torch.equal(learner.model.output.weight, before)


def test_a_carry_goes_from_batch_to_batch_and_starts_anew_after_a_bad_step() -> None:
    task = Classify(recipe_for(), dropout=0.0, carries=True)
    learner, batch = Learner(task, CPU, Ranks()), points(3, dtype=torch.float32)
    _, once = learner.runner.run([batch], plan_for([batch], rate=1e-9), None)
    _, twice = learner.runner.run([batch, batch], plan_for([batch, batch], rate=1e-9), None)
    _, again = learner.runner.run([batch], plan_for([batch], rate=1e-9), once)
    assert once is not None
    assert twice is not None
    assert again is not None
    torch.testing.assert_close(twice["memory"], again["memory"])
    assert not torch.equal(once["memory"], again["memory"])
    batch.features.fill_(torch.nan)
    _, after = learner.runner.run([batch], plan_for([batch]), again)
    assert after is not None
    assert torch.equal(after["memory"], torch.zeros(3))


def test_bfloat16_computes_in_bfloat16_and_keeps_weights_and_sums_in_float32() -> None:
    task = Classify(recipe_for(precision="bfloat16"), dropout=0.0)
    learner, batch = Learner(task, CPU, Ranks()), points(5, dtype=torch.float32)
    seen = []
    learner.model.hidden.register_forward_hook(lambda module, given, found: seen.append(found.dtype))
    outcome, _ = learner.runner.run([batch], plan_for([batch]), None)
    assert seen == [torch.bfloat16]
    assert outcome.dtype == torch.float32
    assert {parameter.dtype for parameter in learner.model.parameters()} == {torch.float32}
    assert {parameter.grad.dtype for parameter in learner.model.parameters()} == {torch.float32}


def test_precision_is_mixed_by_itself_on_cuda_alone() -> None:
    with precision(recipe_for(precision="auto").train, CPU):
        assert not torch.is_autocast_enabled("cpu")
    with precision(recipe_for(precision="bfloat16").train, CPU):
        assert torch.is_autocast_enabled("cpu")


@given(st.integers(0, 2**40), st.integers(0, 10**6), st.integers(0, 64))
def test_what_is_random_is_a_function_of_seed_step_and_rank(seed: int, step: int, rank: int) -> None:
    seed_step(seed, step, rank)
    here = torch.rand(4)
    for other in ((seed + 1, step, rank), (seed, step + 1, rank), (seed, step, rank + 1)):
        seed_step(*other)
        assert not torch.equal(torch.rand(4), here)
    seed_step(seed, step, rank)
    assert torch.equal(torch.rand(4), here)
    torch.manual_seed(torch.initial_seed())
    assert torch.equal(torch.rand(4), here)
