"""Which runner executes the steps of a run: eagerly, captured, and with compiled parts of the model."""

import torch
from torch import nn

from regard.device import captures
from regard.graphs import EAGER, CudaGraphs
from regard.recipe import Training
from regard.tasks.task import Task
from regard.train.averaging import Average
from regard.train.captured import CapturedRunner
from regard.train.compiled import CompiledParts, decide
from regard.train.optimizers import Optimizer
from regard.train.ranks import Ranks
from regard.train.runtime import StepRunner


def build_runner(
    task: Task,
    model: nn.Module,
    optimizer: Optimizer,
    average: Average | None,
    device: torch.device,
    ranks: Ranks,
) -> StepRunner:
    """The fastest runner that the recipe allows and the device supports."""
    settings = task.recipe.train
    obstacle = why_eager(settings, device, ranks)
    captured = settings.capture and obstacle is None
    if captured:
        graphs = CudaGraphs(device)
        graphs.allocate_workspaces()
        runner: StepRunner = CapturedRunner(task, model, optimizer, average, device, ranks, graphs)
    else:
        runner = StepRunner(task, model, optimizer, average, device, ranks)
        if settings.capture and obstacle:
            runner.news.append(obstacle)
    decision = decide(settings, device, task.tokens_in_pass, captured=captured)
    if decision.compiles:
        runner.parts = CompiledParts(model, varied=not settings.mostly_one_shape)
    if decision.line:
        runner.news.append(decision.line)
    return runner


def why_eager(settings: Training, device: torch.device, ranks: Ranks) -> str | None:
    """Why steps cannot be captured; None if they can, empty if that needs no explanation."""
    if not captures(device):
        return f"{EAGER}: on {device.type} there are none" if settings.few_shapes else ""
    if not settings.few_shapes:
        return "steps are executed eagerly; with train.shapes (16, say) they are captured as CUDA graphs"
    return f"{EAGER}: there are several processes" if ranks.world > 1 else None
