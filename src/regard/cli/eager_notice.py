"""The line that says why decoding is not captured as CUDA graphs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer


@contextmanager
def told_if_eager(why_eager: Callable[[], str | None]) -> Iterator[None]:
    """Says on standard error why steps on a CUDA device are not captured, if they are not: before the block if that is
    known then, or after it if capturing failed."""
    known = why_eager()
    if known:
        typer.echo(known, err=True)
    yield
    if not known and (failure := why_eager()):
        typer.echo(failure, err=True)
