"""`regard ladder`: its help names the rungs, and one that is stopped says how it goes on."""

import signal
from pathlib import Path

import pytest
import typer

from regard.cli.ladder import MINUTES, NAMES, ladder
from regard.study.ladder import Ladder
from regard.study.rungs import RUNGS
from regard.train import Ended


def test_the_help_names_all_rungs() -> None:
    assert NAMES.split(", ") == list(RUNGS)


def test_the_default_leaves_time_to_start_count_and_score_within_a_quarter_of_an_hour() -> None:
    assert MINUTES * sum(rung.trained for rung in RUNGS.values()) <= 13.5


def test_a_ladder_says_how_long_it_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Ladder, "climb", lambda self, say, resume: None)
    ladder("topics", out=tmp_path / "out")
    assert "minutes; training took 0.0\n" in capsys.readouterr().err


def test_a_ladder_that_is_stopped_says_how_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = Ended(3, "interrupted", "asked to stop", None, 0, 1.0, signal.SIGINT)
    monkeypatch.setattr(Ladder, "climb", lambda self, say, resume: stopped)
    with pytest.raises(typer.Exit) as left:
        ladder("topics", out=tmp_path / "out")
    assert left.value.exit_code == 128 + signal.SIGINT
    told = capsys.readouterr()
    assert "rungs are missing; continue with --resume" in told.err
    assert not told.out
