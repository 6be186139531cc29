"""Labels for display."""

from collections.abc import Sequence
from unicodedata import bidirectional, category

BEGIN_LABEL, END_LABEL = "▸", "∎"
"""Labels of the begin and the end of a sentence: narrow, so that they fit above a column."""

ISOLATE, END_ISOLATE, LEFT_TO_RIGHT = "\u2068", "\u2069", "\u200e"
"""Unicode's directional isolates, and the left-to-right mark, an invisible strong character. It helps where isolates
are not supported, and makes HTML treat the whole text as left-to-right."""


def readable(label: str) -> str:
    """A label in which nothing is invisible: white space as `␣`, other control characters as `�`, empty text as `∅`; a
    combining mark without its letter is placed on `◌`."""
    alone = "◌" if category(label[:1] or " ")[0] == "M" else ""
    return alone + "".join(_visible(character) for character in label) or "∅"


def _visible(character: str) -> str:
    if character.isspace():
        return "␣"
    return "�" if category(character) in {"Cc", "Cs"} else character


def arrow_between(source: str, target: str) -> str:
    """`source → target`, in this order from left to right. Where either has letters that run from right to left,
    invisible characters keep each in its own direction, so that neither turns the other or the arrow around."""
    if any(bidirectional(character) in {"R", "AL", "AN"} for character in source + target):
        sides = (f"{LEFT_TO_RIGHT}{ISOLATE}{side}{END_ISOLATE}{LEFT_TO_RIGHT}" for side in (source, target))
        return " → ".join(sides)
    return f"{source} → {target}"


def runs_right_to_left(labels: Sequence[str]) -> bool:
    """Whether most of the letters are of a script that is written from right to left."""
    directions = [bidirectional(character) for label in labels for character in label]
    leftward = sum(direction in {"R", "AL"} for direction in directions)
    return leftward > directions.count("L")
