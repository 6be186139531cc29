"""A hundred malformed inputs: each ends with exit code 2 and one message that says where and what, without a
traceback, and leaves models that are there byte for byte as they were."""

import shlex
import shutil
from pathlib import Path

import pytest
from command_line import Outcome, Trained, regard, untouched
from malformed_models import MODELS, Damaged, with_one_checkpoint
from malformed_texts import ARGUMENTS, RECIPES, TEXTS, Malformed


def refused(outcome: Outcome, says: tuple[str, ...]) -> None:
    assert outcome.code == 2, outcome.err
    assert "Traceback" not in outcome.err
    messages = [line for line in outcome.err.splitlines() if line.startswith(("regard: ", "Usage: regard "))]
    assert len(messages) == 1, outcome.err
    assert [fragment for fragment in says if fragment not in outcome.err] == [], outcome.err


def lay_out(malformed: Malformed, place: Path) -> None:
    for name, content in malformed.files.items():
        if content is None:
            (place / name).mkdir()
        else:
            (place / name).write_bytes(content)


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in TEXTS.items()])
def test_text(case: Malformed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(case, tmp_path)
    monkeypatch.chdir(tmp_path)
    refused(regard(*shlex.split(case.command)), case.says)


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in RECIPES.items()])
def test_recipe(case: Malformed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(case, tmp_path)
    monkeypatch.chdir(tmp_path)
    refused(regard(*shlex.split(case.command)), case.says)
    assert list(tmp_path.glob("*/recipe.toml")) == []


@pytest.mark.spread(24)
@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in MODELS.items()])
def test_model(case: Damaged, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "MODEL"
    shutil.copytree(trained.folder, folder)
    monkeypatch.chdir(tmp_path)
    with_one_checkpoint(folder)
    case.spoil(folder)
    with untouched(folder):
        command = shlex.split(case.command.replace("RECIPE", str(trained.recipe)))
        refused(regard(*command, stdin=b"eins zwei\n"), case.says)


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in ARGUMENTS.items()])
def test_argument(case: Malformed, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(case, tmp_path)
    monkeypatch.chdir(tmp_path)
    with untouched(trained.folder):
        command = shlex.split(case.command.replace("MODEL", str(trained.folder)))
        refused(regard(*command, stdin=b"eins zwei\n"), case.says)


def test_there_are_a_hundred() -> None:
    assert len(TEXTS) + len(RECIPES) + len(MODELS) + len(ARGUMENTS) >= 100
