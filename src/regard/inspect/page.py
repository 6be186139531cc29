"""Pages as one HTML file that fetches nothing: style, script and numbers are inside; and the page of looks."""

import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from regard.errors import UsageError
from regard.inspect.look import Look, readable, runs_right_to_left

DIGITS = 4
"""Decimals of the weights in the page; it shows three."""


def save_page(looks: Sequence[Look], path: Path, *, title: str = "Where the model looks") -> None:
    """Writes the page into a file."""
    write_page(page(looks, title=title), path)


def page(looks: Sequence[Look], *, title: str = "Where the model looks") -> str:
    """The page: an interactive heat map for each look; layer and head are chosen for all of them together."""
    if not looks:
        raise UsageError("there is nothing to show; give at least one look")
    first = _heads(looks[0])
    for place, look in enumerate(looks):
        if _heads(look) != first:
            raise UsageError(
                f"looks of one page must come from one model: look 0 has heads {first}, look {place} has {_heads(look)}"
            )
    return assembled("page", title, [_plain(look) for look in looks])


def assembled(name: str, title: str, data: object) -> str:
    """A page of a kind as one text: its HTML, style and script, with the data that the script shows."""
    parts = {
        "title": escape(title),
        "style": _part(f"{name}.css"),
        "script": _part(f"{name}.js"),
        "data": _safe_json(data),
    }
    # In one pass, so that nothing inside of a part is taken for the place of another.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _part(f"{name}.html"))


def write_page(text: str, path: Path) -> None:
    """Writes a page into a file."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); choose a folder that exists") from None


def _part(name: str) -> str:
    return files("regard.inspect").joinpath(name).read_text(encoding="utf-8")


def _heads(look: Look) -> dict[str, int]:
    return {name: len(heads) for name, heads in look.weights.items()}


def _plain(look: Look) -> dict[str, object]:
    return {
        "title": look.heading,
        "source": [readable(label) for label in look.source],
        "target": [readable(label) for label in look.target],
        "leftward": runs_right_to_left(look.source),
        "gold": sorted(look.gold or ()),
        "weights": {name: heads.astype(float).round(DIGITS).tolist() for name, heads in look.weights.items()},
    }


def _safe_json(value: object) -> str:
    """JSON that cannot end or change the script element it stands in, whatever the labels contain."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
