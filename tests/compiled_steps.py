"""Compiled steps beside eager ones, in a process of its own: shapes are not checked here, which no compiler can read.

python tests/compiled_steps.py cpu aot_eager
"""

import json
import sys
from functools import partial
from typing import Any

import torch
from captured_tasks import outcomes, state_of, steps_of, translation
from torch import Tensor

from regard.recipe import change_section
from regard.tap import record
from regard.tasks.translation import TranslationTask
from regard.train.learner import Learner
from regard.train.ranks import Ranks


def task_with(model: dict[str, Any], device: torch.device, **train: Any) -> TranslationTask:
    """On the CPU with several shapes, on a GPU, where compiling takes longer, with one."""
    shapes = {"pack": True, "batch_tokens": 256} if device.type == "cuda" else {"shapes": 4}
    task = translation(average={"decay": 0.0}, **shapes, **train)
    changed = change_section(task.recipe.model, model)
    task.recipe = task.recipe.model_copy(update={"model": changed})
    return task


def apart(ours: Learner, theirs: Learner) -> float:
    """The largest difference of two gradients, as a share of the largest number in them."""
    mine, other = (learner.runner.gradients.flat for learner in (ours, theirs))
    return float((mine - other).abs().max() / other.abs().max())


def main(device: torch.device) -> dict[str, Any]:
    still = {"dropout": 0.0}
    task = task_with(still, device, compile=True)
    compiled, eager = Learner(task, device, Ranks()), Learner(task_with(still, device, capture=False), device, Ranks())
    steps, found = steps_of(task, 8), {}
    for learner in (compiled, eager):
        outcomes(learner, steps[:1])
    found["apart at first"] = apart(compiled, eager)
    pairs = zip(outcomes(compiled, steps[1:]), outcomes(eager, steps[1:]), strict=True)
    found["losses apart"] = max(float((mine[0] - theirs[0]).abs()) for mine, theirs in pairs)
    assert compiled.runner.parts is not None
    found["parts"] = len(compiled.runner.parts)
    found["left"] = [name for name, module in compiled.model.named_modules() if "forward" in vars(module)]
    with record(compiled.model, "decoder.*.cross.weights") as seen:
        outcomes(compiled, steps[:1])
    found["recorded"] = sorted({len(tensors) for tensors in seen.values()})
    found["news"] = compiled.runner.news
    if device.type == "cuda":
        found["bits"] = bits(device)
    return found


def bits(device: torch.device) -> list[str]:
    """What a captured run and one that is compiled alone differ in, with dropout."""
    task = task_with({"dropout": 0.2}, device, compile=True, precision="bfloat16")
    plain = task_with({"dropout": 0.2}, device, compile=True, precision="bfloat16", capture=False)
    ends: list[dict[str, Tensor]] = []
    for learner in (Learner(task, device, Ranks()), Learner(plain, device, Ranks())):
        outcomes(learner, steps_of(task, 16))
        ends.append(state_of(learner))
    return [name for name in ends[0] if not torch.equal(ends[0][name], ends[1][name])]


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[2:]:
        torch.compile = partial(torch.compile, backend=sys.argv[2])
    print(json.dumps(main(torch.device(sys.argv[1]))))
