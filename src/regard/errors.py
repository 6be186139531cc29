"""Errors that a user can cause.

    RegardError                 exit code 2 on the command line, one message, no traceback
    ├── RecipeError             a setting is unknown, missing, of the wrong kind, or contradicts another
    ├── DataError               a corpus is missing, malformed or not what the recipe says
    │   └── EncodingError       a line is not valid UTF-8, and the recipe refuses such lines
    ├── ModelError              a model on disk is missing, damaged, or not of the kind a command needs
    ├── UsageError              a command or a function was called in a way that cannot work
    └── TrainingError           training cannot continue (the loss stays non-finite, the disk is full)

    RegardWarning               one line on standard error, and the command continues
        ModelWarning            a model that can be used, but may give different results
        PictureWarning          a picture that does not show some text correctly

An error says: where; what is wrong, with the value; what is allowed, nearest first; what to do.
Any other exception is a bug in Regard and keeps its traceback.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


class RegardError(Exception):
    """An error that a user can cause and fix."""


class RecipeError(RegardError):
    """A recipe that cannot be run."""


class DataError(RegardError):
    """A corpus that cannot be used."""


class EncodingError(DataError):
    """A line that is not valid UTF-8. A recipe may set how to handle it (`otherwise`)."""

    def __init__(self, where: str, advice: str, otherwise: str = "") -> None:
        super().__init__(where, advice, otherwise)  # all three, so that it can be pickled
        self.where, self.advice, self.otherwise = where, advice, otherwise

    def __str__(self) -> str:
        return f"{self.where}: not valid UTF-8; {self.advice}{', or ' * bool(self.otherwise)}{self.otherwise}"


class ModelError(RegardError):
    """A model folder that cannot be loaded or does not fit the command."""


class RegardWarning(UserWarning):
    """Something a user should know, though the command continues."""


class ModelWarning(RegardWarning):
    """A model folder that can be used, but may give different results."""


class PictureWarning(RegardWarning):
    """A picture that does not show some text correctly."""


class UsageError(RegardError):
    """A call that cannot work with any data."""


class TrainingError(RegardError):
    """A training run that cannot continue."""


def counted(count: int, noun: str) -> str:
    """`1 pair`, `2,000 pairs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def with_short_paths(text: str) -> str:
    """A message with paths as seen from the current folder, where that is shorter: recipes hold absolute ones."""
    here = Path.cwd()
    for folder, short in ((here, ""), (here.parent, "../")):
        if len(folder.parts) > 1:
            text = re.sub(rf"(?<![\w./-]){re.escape(str(folder))}/(?=[^\s/])", short, text)
    return text


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The known names, those most similar to `name` first."""
    known = list(known)
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    return close + [other for other in known if other not in close]


def one_of(known: Iterable[str], name: str = "", most: int = 8) -> str:
    """`'a', 'b' or 'c'` for a message, nearest to `name` first."""
    names = [repr(other) for other in nearest(name, known)]
    if len(names) > most:
        return ", ".join(names[:most]) + f" and {len(names) - most} more"
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1] if names else ""]))
