"""Labels as a reader sees them."""

from collections.abc import Sequence
from unicodedata import bidirectional, category

BEGIN_LABEL, END_LABEL = "▸", "∎"
"""Labels of the begin and the end of a sentence: narrow, so that they fit above a column."""


def readable(label: str) -> str:
    """A label in which nothing is invisible: white space as `␣`, other control characters as `�`, no text as `∅`."""
    return "".join(_visible(character) for character in label) or "∅"


def _visible(character: str) -> str:
    if character.isspace():
        return "␣"
    return "�" if category(character) in {"Cc", "Cs"} else character


def runs_right_to_left(labels: Sequence[str]) -> bool:
    """Whether most of the letters are of a script that is written from right to left."""
    directions = [bidirectional(character) for label in labels for character in label]
    leftward = sum(direction in {"R", "AL"} for direction in directions)
    return leftward > directions.count("L")
