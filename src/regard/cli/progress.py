"""A progress bar on a terminal, and nothing elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_of(what: str, *, while_printing: bool = False) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on standard error, as a function of the amount done and the total (None if unknown). A command
    that prints all the time shows none if its output is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    is_in_the_way = while_printing and sys.stdout is not None and sys.stdout.isatty()
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    disabled = is_in_the_way or not console.is_terminal
    # If rich redirected the output, it would end up on standard error.
    with Progress(*columns, console=console, transient=True, disable=disabled, redirect_stdout=False) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
