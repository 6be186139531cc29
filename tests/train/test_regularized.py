"""Steps with R-Drop, word dropout and layer drop: resumed and captured they give the same bits."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from captured_tasks import assert_same_bits, outcomes, steps_of, translation

from regard.checkpoint import Progress
from regard.recipe import change_section
from regard.tasks.translation import TranslationTask
from regard.train.learner import Learner
from regard.train.ranks import Ranks

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
KINDS = {
    "transformer": {"dropout": 0.2, "word_dropout": 0.1, "layer_drop": 0.3},
    "recurrent": {"dropout": {"embedding": 0.1, "output": 0.2}},
}


def regularized(kind: str, **train: Any) -> TranslationTask:
    task = translation(kind, r_drop=5.0, **train)
    model = change_section(task.recipe.model, KINDS[kind])
    task.recipe = task.recipe.model_copy(update={"model": model})
    return task


@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_ends_in_the_same_bits(kind: str, tmp_path: Path) -> None:
    task = regularized(kind)
    steps = steps_of(task, 6)
    through, stopped, resumed = (Learner(regularized(kind), CPU, Ranks()) for _ in range(3))
    outcomes(through, steps)
    outcomes(stopped, steps[:3])
    captured = stopped.capture(Progress())
    copied = {name: value.clone() for name, value in captured.optimizer.items()}
    resumed.restore(replace(captured, optimizer=copied), tmp_path)
    torch.manual_seed(99)
    outcomes(resumed, steps[3:])
    assert_same_bits(resumed, through)


def test_r_drop_is_part_of_the_loss_that_is_learned_from_and_not_of_the_validated_one() -> None:
    task, plain = regularized("transformer"), translation("transformer")
    (batch,), _ = steps_of(task, 1)[0]
    model = task.build_model()
    torch.manual_seed(1)
    with_it, _ = task.objective(model, batch, None)
    torch.manual_seed(1)
    without, _ = plain.objective(model, batch, None)
    assert with_it > without
    model.eval()
    (with_it, _), (without, _) = (one.objective(model, batch, None) for one in (task, plain))
    torch.testing.assert_close(with_it, without)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_captured_equals_eager_bit_for_bit(kind: str, precision: str) -> None:
    task = regularized(kind, precision=precision)
    captured = Learner(task, CUDA, Ranks())
    eager = Learner(regularized(kind, precision=precision, capture=False), CUDA, Ranks())
    steps = steps_of(task, 12)
    for one, other in zip(outcomes(captured, steps), outcomes(eager, steps), strict=True):
        assert torch.equal(one, other)
        assert one.isfinite().all()
    assert_same_bits(captured, eager)
    assert captured.runner.sum_up().startswith("2 shapes of batches captured as CUDA graphs, in ")
    assert captured.runner.news == []
