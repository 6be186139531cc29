"""Compiled parts of a model: when they are used, what they give, and what is said if they cannot be had."""

import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from captured_tasks import translation
from torch import Tensor, nn
from train_tasks import Classify, recipe_for

from regard.data.batches import CorpusPosition, evaluation_batches
from regard.data.bin_packing import WIDTH, Packing
from regard.tap import Tap, record
from regard.train.compiled import CompiledParts, Decision, decide
from regard.train.learner import Learner
from regard.train.ranks import Ranks
from regard.train.runners import why_eager
from regard.train.runtime import Plan

CPU = torch.device("cpu")
SCRIPT = Path(__file__).parents[1] / "compiled_steps.py"


class Part(nn.Module):
    """Something to compile."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.output = nn.Linear(3, 3), Tap()

    def forward(self, x: Tensor) -> Tensor:
        shown: Tensor = self.output(self.linear(x))
        return shown


class Compiler:
    """Stands for torch.compile: counts what is compiled and what then is called."""

    def __init__(self, fails: bool = False) -> None:
        self.made: list[Any] = []
        self.called, self.fails = 0, fails

    def __call__(self, function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        self.made.append((function, options))

        def compiled(*given: Any, **named: Any) -> Any:
            self.called += 1
            if self.fails:
                raise RuntimeError("no working compiler was found\nset CXX")
            return function(*given, **named)

        return compiled


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    compiler = Compiler()
    monkeypatch.setattr(torch, "compile", compiler)
    return compiler


def test_a_part_is_compiled_once_for_all_layers_and_used_within_the_block_alone(compiler: Compiler) -> None:
    model = nn.Sequential(Part(), nn.ReLU(), Part())
    parts = CompiledParts(model, (Part,))
    x = torch.randn(2, 3)
    with parts.used():
        inside = model(x)
    assert torch.equal(model(x), inside)
    assert compiler.made == [(Part.forward, {"fullgraph": True})]
    assert compiler.called == len(parts) == 2
    with pytest.raises(ZeroDivisionError), parts.used():
        raise ZeroDivisionError
    model(x)
    assert compiler.called == 2


class Layered(Classify):
    """The same task with a model that has something to compile."""

    def build_model(self) -> nn.Module:
        return nn.Sequential(nn.Linear(4, 3), Part())

    def objective(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Tensor, Any]:
        return nn.functional.cross_entropy(model(batch.features), batch.classes, reduction="sum"), carry


def learner_and_batch() -> tuple[Learner, Any]:
    task = Layered(recipe_for())
    learner = Learner(task, CPU, Ranks())
    learner.runner.parts = CompiledParts(learner.model, (Part,))
    return learner, task.batch_at(CorpusPosition())


def step(learner: Learner, batch: Any) -> Tensor:
    return learner.runner.run([batch], Plan(1, batch.count, 0.1, interrupted=False, seconds=0.0), None)[0]


def test_a_watched_model_is_executed_as_it_is_written(compiler: Compiler) -> None:
    learner, batch = learner_and_batch()
    step(learner, batch)
    with record(learner.model) as seen:
        step(learner, batch)
    assert [len(tensors) for tensors in seen.values()] == [1]
    assert compiler.called == 1
    step(learner, batch)
    assert compiler.called == 2


def test_rare_wide_rows_are_not_worth_kernels_of_their_own(compiler: Compiler) -> None:
    task = translation(shapes=0, pack=True, batch_tokens=512)
    learner = Learner(task, CPU, Ranks())
    long, short = (
        next(evaluation_batches([[5] * length], [[6] * length], 512, packing=Packing(512))) for length in (WIDTH + 1, 3)
    )
    for varied, used in ((True, [True, True, True]), (False, [False, True, False])):
        learner.runner.parts = CompiledParts(learner.model, varied=varied)
        found = []
        for batch in (long, short, long):
            before = compiler.called
            step(learner, batch)
            found.append(compiler.called > before)
        assert found == used


def test_a_compiler_that_fails_is_left_and_one_line_says_why(compiler: Compiler) -> None:
    compiler.fails = True
    learner, batch = learner_and_batch()
    other, _ = learner_and_batch()
    other.runner.parts = None
    for _ in range(2):
        assert torch.equal(step(learner, batch), step(other, batch))
    assert compiler.called == 1
    assert learner.runner.news == ["the model is not compiled: no working compiler was found"]


def test_what_is_wrong_with_the_model_itself_is_raised(compiler: Compiler) -> None:
    learner, batch = learner_and_batch()
    learner.model[1].linear = nn.Linear(5, 3)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        step(learner, batch)


CUDA = torch.device("cuda")
LESS = ", and compiling pays from 50 million on; train.compile = true compiles it anyway"


def decided(device: torch.device, tokens_in_pass: int = 0, processes: int = 1, **train: Any) -> Decision:
    settings = recipe_for(**train).train
    obstacle = why_eager(settings, device, cast(Ranks, Namespace(world=processes)))
    return decide(settings, device, tokens_in_pass, captured=settings.capture and obstacle is None)


@pytest.fixture
def with_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.device.find_spec", lambda name: object())


@pytest.mark.usefixtures("with_triton")
def test_what_the_recipe_says_of_compiling_is_done_without_a_word() -> None:
    for device in (CPU, CUDA):
        for compile in (True, False):
            assert decided(device, compile=compile, steps=1) == Decision(compile)
            assert decided(device, 10**9, compile=compile, shapes=2, steps=10_000) == Decision(compile)


@pytest.mark.usefixtures("with_triton")
def test_by_itself_a_model_is_compiled_if_steps_are_captured_and_many() -> None:
    many = {"steps": 10_000, "batch_tokens": 5_000}
    why = "the run goes through about 50.0 million tokens, and compiling pays from 50 million on"
    assert decided(CUDA, shapes=2, **many) == Decision(True, f"parts of the model are compiled: {why}")
    assert decided(CUDA, shapes=2, **many | {"steps": 5_000}, accumulate=2).compiles
    assert not decided(CUDA, shapes=2, **many | {"batch_tokens": 4_999}).compiles
    packed = translation(shapes=0, pack=True, compile="auto", **many)
    assert decide(packed.recipe.train, CUDA, 0, captured=True).compiles
    few = decided(CUDA, shapes=2, **many | {"batch_tokens": 250})
    assert few == Decision(False, f"the model is not compiled: the run goes through about 2.5 million tokens{LESS}")
    # No message: compilation is not expected here.
    for train in ({"shapes": 0}, {"shapes": 2, "capture": False}):
        assert decided(CUDA, **train, **many) == Decision(False)
    assert decided(CPU, shapes=2, **many) == Decision(False)
    assert decided(CUDA, shapes=2, processes=2, **many) == Decision(False)


@pytest.mark.usefixtures("with_triton")
def test_a_run_that_ends_by_epochs_is_as_long_as_its_text() -> None:
    epochs = {"shapes": 2, "steps": 0, "epochs": 40}
    assert decided(CUDA, 1_250_000, **epochs).compiles
    assert not decided(CUDA, 1_249_999, **epochs).compiles
    said = "the model is not compiled: the run goes through about 40.0 million tokens" + LESS
    assert decided(CUDA, 1_000_000, **epochs) == Decision(False, said)
    # The first of several limits ends a run.
    assert not decided(CUDA, 2_000_000, **epochs | {"steps": 10, "batch_tokens": 1_000}).compiles
    assert not decided(CUDA, 1_000_000, **epochs | {"steps": 100_000, "batch_tokens": 1_000}).compiles
    assert not decided(CUDA, 2_000_000, **epochs, minutes=4.0).compiles
    assert decided(CUDA, 2_000_000, **epochs, minutes=5.0).compiles
    assert not decided(CUDA, 1_000_000, **epochs, minutes=60.0).compiles


@pytest.mark.usefixtures("with_triton")
def test_where_only_time_ends_a_run_minutes_count() -> None:
    timed = {"shapes": 2, "steps": 0}
    why = "the run takes 5 minutes, and compiling pays from 5 on"
    assert decided(CUDA, 10**9, minutes=5.0, **timed) == Decision(True, f"parts of the model are compiled: {why}")
    short = "the model is not compiled: the run takes 4.5 minutes, and compiling pays from 5 on; train.compile = true"
    assert decided(CUDA, 10**9, minutes=4.5, **timed).line.startswith(short)
    for open_end in ({"epochs": 9}, {"validation": {"patience": 3}}):
        found = decided(CUDA, **timed, **open_end)
        assert not found.compiles
        assert found.line.startswith("the model is not compiled: the length of the run is unknown; train.compile")


def test_without_triton_a_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.device.find_spec", lambda name: None)
    missing = Decision(False, "the model is not compiled: triton is not installed")
    assert decided(CUDA, shapes=2, steps=10_000, batch_tokens=5_000) == missing
    assert decided(CUDA, compile=True) == missing
    assert decided(CPU, compile=True) == Decision(True)
    assert decided(CUDA, compile=False) == Decision(False)


@pytest.mark.parametrize("compiles", [True, False])
def test_a_learner_asks_its_task_how_long_a_pass_is(compiles: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def note(settings: Any, device: Any, tokens: int, *, captured: bool) -> Decision:
        asked.append(tokens)
        assert not captured
        return Decision(compiles, "a line")

    monkeypatch.setattr("regard.train.runners.decide", note)
    task = translation(capture=False)
    runner = Learner(task, CPU, Ranks()).runner
    assert (runner.parts is not None, runner.news) == (compiles, ["a line"])
    assert asked == [task.tokens_in_pass]


def compiled_steps(*arguments: str) -> dict[str, Any]:
    paths = os.pathsep.join([str(SCRIPT.parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(found: dict[str, Any], tolerance: float) -> None:
    assert found["apart at first"] < tolerance
    assert found["losses apart"] < 100 * tolerance
    # Four blocks, and what the readout computes of logits.
    assert found["parts"] == 8
    assert found["left"] == []
    assert found["recorded"] == [1]


@pytest.mark.long
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_steps_agree_with_eager_ones(backend: str) -> None:
    found = compiled_steps("cpu", backend)
    check(found, 1e-5)
    assert found["news"] == ["steps are executed eagerly, not as captured CUDA graphs: on cpu there are none"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_cuda_they_agree_too_and_captured_ones_are_compiled_ones() -> None:
    found = compiled_steps("cuda")
    check(found, 1e-4)
    assert found["bits"] == []
    assert found["news"] == ["while a tap is watched, steps are executed eagerly, not as captured CUDA graphs"]
