"""A progress bar on a terminal, and nothing elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_of(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with how much is done of how much; the bar is on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
