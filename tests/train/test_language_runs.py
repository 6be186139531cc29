"""Runs of language models: state that is carried from step to step survives being stopped."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from language_runs import language_recipe
from train_processes import train_together

from regard.checkpoint import ModelFolder, load_checkpoint, load_weights
from regard.models import LANGUAGE_MODELS
from regard.tasks.language import LanguageTask
from regard.train import Event, Saved, Step, run, run_task, train

TRAINED = [kind for kind in LANGUAGE_MODELS if kind != "ngram"]


def run_to(folder: Path, recipe: Any, **options: bool) -> None:
    run(recipe, folder, reporter=lambda event: None, **options)


@pytest.mark.spread(6)
@pytest.mark.parametrize("kind", TRAINED)
@pytest.mark.parametrize("context", ["stream", "documents", "lines"])
def test_stopped_and_resumed_equals_never_stopped(tmp_path: Path, kind: str, context: str) -> None:
    recipes = [
        language_recipe(tmp_path, kind, data={"context": context, "vary": context == "stream"}, train={"steps": steps})
        for steps in (8, 4)
    ]
    run_to(tmp_path / "whole", recipes[0])
    run_to(tmp_path / "pieces", recipes[1])
    run_to(tmp_path / "pieces", recipes[0], resume=True)
    whole, pieces = (load_weights(tmp_path / name, "current") for name in ("whole", "pieces"))
    assert all(torch.equal(whole[name], pieces[name]) for name in whole)


@pytest.mark.spread(2)
@pytest.mark.parametrize("kind", TRAINED)
def test_what_is_carried_is_saved(tmp_path: Path, kind: str) -> None:
    recipe = language_recipe(tmp_path, kind, train={"steps": 3})
    run_to(tmp_path / "model", recipe)
    folder = ModelFolder(tmp_path / "model")
    name = folder.current()
    assert name is not None
    carry = load_checkpoint(folder, name).carry
    assert carry
    assert {key.split("/")[0] for key in carry} == {"0"}
    assert all(len(value) == 4 for value in carry.values())
    assert any(value.any() for value in carry.values())


def test_steps_count_what_they_read(tmp_path: Path) -> None:
    recipe = language_recipe(tmp_path, train={"steps": 1000, "epochs": 1, "accumulate": 2})
    task = LanguageTask.prepare(recipe, tmp_path / "model", lambda line: None)
    events: list[Event] = list(train(task, ModelFolder(tmp_path / "model")))
    steps = [event for event in events if isinstance(event, Step)]
    assert sum(step.count for step in steps) == len(task._train)
    assert steps[-1].epoch == 1.0
    assert any(isinstance(event, Saved) for event in events)


def test_a_step_that_was_killed_after_is_done_again(tmp_path: Path) -> None:
    """What is saved at step 4 is all that steps 5 to 8 need, whatever came after it was lost."""
    recipe = language_recipe(tmp_path, train={"steps": 8})
    task = LanguageTask.prepare(recipe, tmp_path / "pieces", lambda line: None)
    killed = train(task, ModelFolder(tmp_path / "pieces"))
    seen = [event for event in islice(killed, 12) if isinstance(event, Step)]
    assert seen[-1].step > 4
    del killed
    task.save(tmp_path / "pieces")
    again = [event for event in train(task, ModelFolder(tmp_path / "pieces")) if isinstance(event, Step)]
    assert again[0].step == 5
    run_to(tmp_path / "whole", recipe)
    whole, pieces = (load_weights(tmp_path / name, "current") for name in ("whole", "pieces"))
    assert all(torch.equal(whole[name], pieces[name]) for name in whole)


@pytest.mark.spread(1)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("context", ["stream", "lines"])
def test_two_processes_train_the_model_that_one_trains(tmp_path: Path, context: str) -> None:
    recipe = language_recipe(tmp_path, model={"dropout": {}}, data={"context": context}, train={"steps": 6})

    def prepared() -> LanguageTask:
        return LanguageTask.prepare(recipe, tmp_path / "cache", lambda line: None)

    assert train_together(tmp_path / "two", prepared) == [0, 0]
    run_task(lambda *_: prepared(), tmp_path / "one", reporter=lambda event: None)
    alone, together = load_weights(tmp_path / "one", "current"), load_weights(tmp_path / "two", "current")
    for name in alone:
        torch.testing.assert_close(together[name], alone[name], rtol=1e-3, atol=1e-4)
