"""Progress reports: a bar on a terminal, plain lines elsewhere, curves in TensorBoard if it is installed."""

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn
from rich.progress import Task as ProgressTask
from rich.text import Text

from regard.recipe import Recipe, Training
from regard.train.durations import duration
from regard.train.events import Averaged, Ended, Event, Noted, Prepared, Started, Step, Validated, WentBack
from regard.train.forecast import Forecast
from regard.train.throughput import Summary, Throughput, share_done

Reporter = Callable[[Event], None]
"""Gets every event, in order."""

SHOWN_APART, LINES_APART = 0.5, 60.0
"""Seconds between updates of the numbers beside a bar, and maximum seconds between plain lines."""
NARROW, WIDE, BESIDE = 10, 40, 22
"""Minimum and maximum width of a bar; width of percent, time left and the spaces between."""


@contextmanager
def reporting(
    recipe: Recipe, out: Path, console: Console | None = None, told: set[str] | None = None
) -> Iterator[Reporter]:
    """Yields a reporter that shows a bar if the console (standard error, unless given) is a terminal, and lines if not;
    and that draws curves if TensorBoard is installed. The terminal is restored however the block ends. Messages about
    the data that `told` already has are left out: several runs on one text share the set."""
    console = console or Console(file=sys.stderr, highlight=False)
    with ExitStack() as stack:
        reporters: list[Reporter] = []
        if console.is_terminal:
            reporters.append(stack.enter_context(BarReport(recipe.train, console)))
        else:
            reporters.append(LineReport(recipe.train, console))
        reporters.append(Forecast(recipe, lambda line: console.print(line, soft_wrap=True, markup=False)))
        if find_spec("tensorboard") is not None:
            reporters.append(stack.enter_context(TensorBoardReport(recipe.train, out / "tensorboard")))

        def tell(event: Event) -> None:
            if isinstance(event, Prepared) and told is not None:
                if event.message in told:
                    return
                told.add(event.message)
            for reporter in reporters:
                reporter(event)

        yield tell


def in_a_line(event: Event) -> str | None:
    """An event as a line; None for those that need none."""
    match event:
        case Prepared():
            return event.message
        case Started():
            processes = f" in {event.processes} processes" if event.processes > 1 else ""
            return f"{event.message}; {event.parameters:,} parameters on {event.device}{processes}"
        case Validated():
            best = ", best so far" if event.improved else ""
            return f"step {event.step}: validation: {_metrics(event.metrics)}{best}"
        case WentBack():
            return (
                f"step {event.step}: loss or gradient stayed non-finite; went back to step {event.to} with "
                f"{event.rate_factor:g} of the rate; the batch it began with is in {event.batch}"
            )
        case Noted():
            return f"step {event.step}: {event.message}"
        case Averaged():
            return f"step {event.step}: average of the last {event.checkpoints} checkpoints: {_metrics(event.metrics)}"
        case Ended():
            skipped = f"; {event.skipped} non-finite steps were skipped" if event.skipped else ""
            return f"training ended after {duration(event.seconds)}: {event.message}{skipped}"
        case _:
            return None


class LineReport:
    """Plain lines, one for every `train.log_every` steps, or each minute if these take longer, and one for everything
    else that matters."""

    def __init__(self, settings: Training, console: Console) -> None:
        self.settings, self.console, self.pace = settings, console, Throughput()
        self._told = time.monotonic()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Step):
            self.pace.add(event)
            if event.step % self.settings.log_every == 0 or time.monotonic() - self._told >= LINES_APART:
                self._told, summary = time.monotonic(), self.pace.sum_up()
                self._print(f"step {event.step}: {', '.join(_numbers(summary))}, {_left(self.settings, summary)}")
        elif line := in_a_line(event):
            self._print(line)

    def _print(self, line: str) -> None:
        self.console.print(line, soft_wrap=True, markup=False)


class BarReport:
    """A bar with loss, rate, tokens a second and time left, as far as there is room for them, and lines above it for
    what matters."""

    def __init__(self, settings: Training, console: Console) -> None:
        self.settings, self.pace = settings, Throughput()
        self._column = BarColumn(bar_width=NARROW)
        columns = TextColumn("{task.description}"), self._column, TaskProgressColumn(), _TimeLeft()
        self.bar = Progress(*columns, console=console, transient=True)
        self.task = self.bar.add_task("the first step", total=1.0, left="")
        self._shown = -math.inf

    def __call__(self, event: Event) -> None:
        if isinstance(event, Step):
            self.pace.add(event)
        # By time: steps may take milliseconds or minutes.
        if self.pace.has_steps and not (isinstance(event, Step) and time.monotonic() - self._shown < SHOWN_APART):
            self._show(self.pace.sum_up())
        if line := in_a_line(event):
            self.bar.console.print(line, soft_wrap=True, markup=False)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def _show(self, summary: Summary) -> None:
        self._shown = time.monotonic()
        done = share_done(self.settings, summary.step, summary.epoch, summary.seconds)
        left = self._shown + summary.seconds * (1 - done) / done if done else "no end in sight yet"
        numbers, room = _numbers(summary), self.bar.console.width - NARROW - BESIDE
        while len(text := ": ".join(filter(None, [f"step {summary.step}", ", ".join(numbers)]))) > room and numbers:
            del numbers[min(1, len(numbers) - 1)]  # the rate first, then the speed; the loss last
        self._column.bar_width = min(max(NARROW, self.bar.console.width - BESIDE - len(text)), WIDE)
        self.bar.update(self.task, completed=done, description=text, left=left)


class _TimeLeft(ProgressColumn):
    """Counts down to the estimated end, also between steps; or shows a text."""

    def render(self, task: ProgressTask) -> Text:
        left = task.fields["left"]
        return Text(left if isinstance(left, str) else f"{duration(max(0.0, left - time.monotonic()))} left")


class TensorBoardReport:
    """Curves of losses, rates and metrics."""

    def __init__(self, settings: Training, folder: Path) -> None:
        self.settings, self.folder, self.pace = settings, folder, Throughput()
        self.writer: Any = None

    def __call__(self, event: Event) -> None:
        match event:
            case Started():
                self.writer = _writer(self.folder, event.step)
            case Step():
                self.pace.add(event)
                if event.step % self.settings.log_every == 0:
                    summary = self.pace.sum_up()
                    for name in ("loss", "norm", "rate", "targets_per_second"):
                        self.writer.add_scalar(f"train/{name}", getattr(summary, name), event.step)
            case Validated() | Averaged():
                group = "dev" if isinstance(event, Validated) else "average"
                for name, value in event.metrics.items():
                    self.writer.add_scalar(f"{group}/{name}", value, event.step)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.writer is not None:
            self.writer.close()


def _writer(folder: Path, step: int) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=step + 1)


def _metrics(metrics: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in metrics.items()) or "no development text"


def _numbers(summary: Summary) -> list[str]:
    return [
        f"loss {summary.loss:.4f}",
        f"rate {summary.rate:.2e}",
        f"{summary.targets_per_second:,.0f} tokens/s",
        *([f"{summary.skipped} skipped"] if summary.skipped else []),
    ]


def _left(settings: Training, summary: Summary) -> str:
    done = share_done(settings, summary.step, summary.epoch, summary.seconds)
    return f"{duration(summary.seconds * (1 - done) / done)} left" if done else "no end in sight yet"
