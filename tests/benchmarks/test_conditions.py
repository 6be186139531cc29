"""What is said about a measurement."""

from importlib import import_module
from pathlib import Path

import pytest


def test_commands_do_not_say_where_files_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(__file__).parents[2] / "benchmarks"
    monkeypatch.syspath_prepend(str(folder))
    conditions = import_module("conditions")
    given = [str(folder / "language.py"), "ptb-lstm", "--folder", "/home/me/ptb", "--out", "a/b.json", "--set"]
    given += ['data.dev=["/home/me/a.txt","~/b.txt"]', "--runs=/home/me/runs", "--seeds=1,2"]
    said = "python benchmarks/language.py ptb-lstm --folder ptb --out b.json "
    said += '--set \'data.dev=["a.txt","b.txt"]\' --runs=runs --seeds=1,2'
    assert conditions.command(given) == said
    given = [given[0], "--systems", "MarianMT, eager", "regard"]
    assert conditions.command(given) == "python benchmarks/language.py --systems 'MarianMT, eager' regard"


def test_where_the_commit_is_given_no_repository_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    conditions = import_module("conditions")
    monkeypatch.setattr(conditions, "_git", lambda *arguments: "something\n")
    asked, told = conditions.conditions(()), conditions.conditions((), "0123456789")
    assert [asked["commit"], asked["uncommitted_changes"]] == ["something", True]
    assert [told["commit"], told["uncommitted_changes"]] == ["0123456789", False]
