"""Sentences of words as commands read them, and the lines they print."""

import sys
from collections.abc import Iterable, Sequence
from typing import Protocol

import typer

from regard.cli.lines import Line
from regard.errors import UsageError


class RefusesLong(Protocol):
    """A model that may have a maximum length, because of learned positions."""

    def refuse_long(self, words: int, where: str = "") -> None: ...


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines one by one, also those before one that fails."""
    try:
        for line in lines:
            print(line)
    finally:
        sys.stdout.flush()


def up_to_too_long(
    model: RefusesLong, sentences: Sequence[Sequence[str]], places: Sequence[str]
) -> tuple[int, UsageError | None]:
    """The number of sentences before one that is too long for the model, and the error for that one."""
    for number, (sentence, place) in enumerate(zip(sentences, places, strict=True)):
        try:
            model.refuse_long(len(sentence), f"{place}: ")
        except UsageError as refusal:
            return number, refusal
    return len(sentences), None


def warn_of_tabs(lines: Sequence[Line], advice: str) -> bool:
    """Warns if lines of plain text have tabs, as files with labels do: labels would be read as words."""
    first = next((line for line in lines if "\t" in line.text.strip()), None)
    if first is not None:
        typer.echo(f"{first.place}: has tabs, and all of the line is read as words; {advice}", err=True)
    return first is not None
