"""What a person sees of a run."""

import io
import re
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from train_tasks import recipe_for

from regard.train import Averaged, Ended, Event, Saved, Started, Step, Validated, WentBack
from regard.train.durations import duration
from regard.train.report import BarReport, LineReport, TensorBoardReport, in_a_line, reporting
from regard.train.throughput import share_done

PATH = Path("runs/mine")


def step(number: int) -> Step:
    return Step(number, 2.0, 0.5, 1e-3, 50, 0, 10.0 * number, skipped=number == 3)


RUN: list[Event] = [
    Started(0, 1234, "cpu", 1, "starting with new weights"),
    *map(step, range(1, 5)),
    Validated(4, {"loss": 1.5, "bleu": 20.0}, True, 41.0),
    Saved(4, PATH),
    Ended(4, "steps", "reached train.steps = 4", 1.5, 1, 42.0),
]


def lines_of(report: type[LineReport] | type[BarReport], *, terminal: bool, width: int = 100) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=width, color_system=None, highlight=False)
    reporter = report(recipe_for(steps=8, log_every=2).train, console)
    with reporter if isinstance(reporter, BarReport) else nullcontext(reporter) as tell:
        for event in RUN:
            tell(event)
    return out.getvalue().splitlines()


def test_lines_say_everything_once() -> None:
    assert lines_of(LineReport, terminal=False) == [
        "starting with new weights; 1,234 parameters on cpu",
        "step 2: loss 2.0000, rate 1.00e-03, 5 tokens/s, 1:00 min left",
        "step 4: loss 2.0000, rate 1.00e-03, 5 tokens/s, 1 skipped, 40 s left",
        "step 4: validation: loss 1.5, bleu 20, best so far",
        "training ended after 42 s: reached train.steps = 4; 1 non-finite steps were skipped",
    ]


def test_the_bar_shows_loss_rate_speed_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.train.report.SHOWN_APART", 0.0)
    shown = "\n".join(lines_of(BarReport, terminal=True))
    assert "step 4: loss 2.0000, rate 1.00e-03, 5 tokens/s " in shown
    assert re.search("━ +50% (40|39) s left", shown)
    assert "training ended after 42 s: reached train.steps = 4" in shown


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_bar_percent_and_time_left_fit_whatever_the_width(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """The rate is left out first, then the speed, then the loss."""
    monkeypatch.setattr("regard.train.report.SHOWN_APART", 0.0)
    monkeypatch.setitem(globals(), "RUN", [RUN[0], *(replace(step(n), step=10_000 + n) for n in (1, 2))])
    lines = [re.sub("\x1b[^A-Za-z]*[A-Za-z]", "", line) for line in lines_of(BarReport, terminal=True, width=width)]
    shown = [line for line in lines if "step 10002" in line][-1]
    assert re.search("━+ 100% 0 s left *$", shown)
    assert len(shown.rstrip()) <= width
    assert ("rate" in shown, "tokens/s" in shown, "loss 2.0000" in shown) == (width > 80, width > 60, width > 40)


def test_numbers_beside_the_bar_are_renewed_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many steps the recipe logs at a time."""
    now = 100.0
    monkeypatch.setattr("regard.train.report.time.monotonic", lambda: now)
    report = BarReport(recipe_for(steps=800, log_every=1000).train, Console(file=io.StringIO()))
    said = []
    for number in range(1, 5):
        report(step(number))
        said.append(report.bar.tasks[0].description.partition(":")[0])
        now += 0.3
    assert said == ["step 1", "step 1", "step 3", "step 3"]


def test_lines_come_each_minute_where_steps_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    now, out = 100.0, io.StringIO()
    monkeypatch.setattr("regard.train.report.time.monotonic", lambda: now)
    report = LineReport(recipe_for(steps=800, log_every=1000).train, Console(file=out, width=100))
    for number in range(1, 5):
        now += 40.0
        report(step(number))
    assert [line.partition(":")[0] for line in out.getvalue().splitlines()] == ["step 2", "step 4"]


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            WentBack(9, 4, 0.5, PATH / "bad-batches/step-8.json"),
            "step 9: loss or gradient stayed non-finite; went back to step 4 with 0.5 of the rate; "
            "the batch it began with is in runs/mine/bad-batches/step-8.json",
        ),
        (
            Started(3, 9, "cuda:0", 2, "goes on from step-00000003, after step 3"),
            "goes on from step-00000003, after step 3; 9 parameters on cuda:0 in 2 processes",
        ),
        (Averaged(9, 3, {"loss": 1.25}, PATH), "step 9: average of the last 3 checkpoints: loss 1.25"),
        (Averaged(9, 3, {}, PATH), "step 9: average of the last 3 checkpoints: no development text"),
        (Validated(9, {"loss": 1.25}, False, 1.0), "step 9: validation: loss 1.25"),
        (Saved(9, PATH), None),
    ],
)
def test_every_event_has_its_sentence(event: Event, line: str | None) -> None:
    assert in_a_line(event) == line


@pytest.mark.parametrize(
    ("seconds", "text"), [(6.7, "7 s"), (59.4, "59 s"), (59.6, "1:00 min"), (3599, "59:59 min"), (7625, "2:07 h")]
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_share_done_is_that_of_the_nearest_limit() -> None:
    settings = recipe_for(steps=100, epochs=4, minutes=1.0).train
    assert share_done(settings, step=10, epoch=2, seconds=6.0) == 0.5
    assert share_done(settings, step=10, epoch=0, seconds=90.0) == 1.0
    endless = recipe_for(steps=0, validation={"patience": 3}).train
    assert share_done(endless, step=10, epoch=2, seconds=6.0) == 0.0


def test_time_left_is_right_within_the_first_pass() -> None:
    """Ten steps a pass, a second each, and two passes: 20 seconds in all."""
    out = io.StringIO()
    report = LineReport(recipe_for(steps=0, epochs=2, log_every=1).train, Console(file=out, width=100))
    for number in range(1, 16):
        report(Step(number, 2.0, 0.5, 1e-3, 50, number / 10, float(number), skipped=False))
    left = [line.rpartition(", ")[2] for line in out.getvalue().splitlines()]
    assert left == [f"{20 - number} s left" for number in range(1, 16)]


def test_an_end_that_cannot_be_foreseen_is_not_invented() -> None:
    out = io.StringIO()
    report = LineReport(recipe_for(steps=0, validation={"patience": 3}).train, Console(file=out, width=100))
    report(step(1))
    assert out.getvalue().endswith("tokens/s, no end in sight yet\n")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_gets_curves_where_it_is_installed(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with TensorBoardReport(recipe_for(log_every=2).train, tmp_path) as report:
        for event in [*RUN, Averaged(4, 2, {"loss": 1.25}, PATH)]:
            report(event)
    curves = EventAccumulator(str(tmp_path)).Reload()
    assert [point.value for point in curves.Scalars("dev/bleu")] == [20.0]
    assert [point.step for point in curves.Scalars("train/loss")] == [2, 4]
    assert [(point.step, point.value) for point in curves.Scalars("average/loss")] == [(4, 1.25)]


def test_a_bar_that_is_left_in_the_middle_gives_the_cursor_back(tmp_path: Path) -> None:
    out = io.StringIO()
    show = "\x1b[?25h"
    console = Console(file=out, force_terminal=True, width=100)
    with suppress(KeyboardInterrupt), reporting(recipe_for(), tmp_path, console) as tell:
        tell(RUN[0])
        assert show not in out.getvalue()
        raise KeyboardInterrupt
    assert show in out.getvalue()


@pytest.mark.parametrize("installed", [True, False])
def test_a_reporter_is_found_for_terminal_and_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    monkeypatch.setattr("regard.train.report.find_spec", lambda name: object() if installed else None)
    monkeypatch.setattr("regard.train.report.TensorBoardReport", lambda *_: nullcontext(curves.append))
    curves: list[Event] = []
    out = io.StringIO()
    with reporting(recipe_for(), tmp_path, Console(file=out, width=100)) as tell:
        tell(RUN[0])
    assert out.getvalue() == "starting with new weights; 1,234 parameters on cpu\n"
    assert curves == ([RUN[0]] if installed else [])
