"""What a laptop can do in ten minutes: one command a row and seed, its time, and its scores."""

import json
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from language_runs import write_text

from regard.recipe import AnyRecipe, read_recipe
from regard.train import run


@pytest.fixture
def laptop(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("laptop")


def test_every_row_is_a_command(laptop: ModuleType) -> None:
    rows = (*laptop.ROWS, *laptop.HOUR)
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        recipe = read_recipe(row.recipe, row.changes, kind=AnyRecipe)
        verb = ["vectors", "train"] if recipe.task == "vectors" else ["train"]
        assert row.command[: len(verb) + 1] == [*verb, row.recipe]


def test_rows_are_timed_scored_and_not_repeated(
    laptop: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "text"
    text.mkdir()
    files = write_text(text)
    changes = ["model.order=2", *(f"data.{part}={json.dumps(names)}" for part, names in files.items())]
    calls: list[list[str]] = []

    def trained(command: list[str], **told: Any) -> None:
        assert told["cwd"] == tmp_path / "text"
        calls.append(command[3:])
        given = dict(pairwise(command))
        run(read_recipe("ptb-ngram", changes), Path(given["--out"]), reporter=lambda event: None)

    monkeypatch.setattr(laptop, "HOUR", (laptop.Row("an hour", "text", "ptb-lstm"),))  # run only if it is named
    monkeypatch.setattr(laptop, "ROWS", (laptop.Row("a model, soon", "text", "ptb-ngram"),))
    monkeypatch.setattr(laptop.subprocess, "run", trained)
    monkeypatch.setattr(laptop, "conditions", lambda packages: {"processor": "one", "command": "laptop.py"})
    out = tmp_path / "laptop.json"

    def found(*options: str) -> Any:
        given = ["--data", str(tmp_path), "--work", str(tmp_path / "work"), "--out", str(out), "--seeds", "1,2"]
        monkeypatch.setattr(sys, "argv", ["laptop.py", *given, *options])
        laptop.main()
        (row,) = json.loads(out.read_text(encoding="utf-8"))["rows"]
        return row

    row = found()
    assert [command[:4] for command in calls] == [
        ["train", "ptb-ngram", "--set", "seed=1"],
        ["train", "ptb-ngram", "--set", "seed=2"],
    ]
    assert list(row["scores"]) == ["dev"]
    assert all(each["seconds"] > 0 and each["processor_seconds"] is not None for each in row["runs"])
    row = found("--test")
    assert len(calls) == 2
    assert list(row["scores"]) == ["dev", "test"]
    assert len(row["scores"]["test"]["perplexity per token"]["values"]) == 2
    assert row["made"]["processor"] == "one"


def test_times_of_a_busy_machine_and_of_runs_that_go_on_are_left_out(
    laptop: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(laptop.subprocess, "run", lambda *_, **__: None)
    row = laptop.ROWS[0]
    assert laptop.trained(row, 1, tmp_path / "new", tmp_path)["seconds"] is not None
    assert laptop.trained(row, 1, tmp_path, tmp_path) == {"seconds": None, "processor_seconds": None}
