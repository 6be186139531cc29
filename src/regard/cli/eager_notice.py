"""The line that says why decoding is not captured as CUDA graphs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from regard.tasks import Translator


@contextmanager
def told_if_eager(translator: "Translator", *, terms: bool = False) -> Iterator[None]:
    """Says on standard error why steps on a CUDA device are not captured, if they are not: before the block where that
    is known, and after it where capturing turned out to fail."""
    known = translator.why_eager(terms=terms)
    if known:
        typer.echo(known, err=True)
    yield
    if not known and (failure := translator.why_eager(terms=terms)):
        typer.echo(failure, err=True)
