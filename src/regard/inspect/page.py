"""Pages as one HTML file that fetches nothing: style, script and numbers are inside; and the page of inspections."""

import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from regard.errors import UsageError
from regard.inspect.figure import write_text
from regard.inspect.inspection import Inspection
from regard.inspect.labels import readable, runs_right_to_left
from regard.inspect.panel import MEANINGS

DIGITS = 4
"""Decimals of the numbers in the page; it shows three."""


def save_page(inspections: Sequence[Inspection], path: str | Path, *, title: str = "Inside the model") -> None:
    """Writes the page into a file."""
    write_text(page(inspections, title=title), path)


def page(inspections: Sequence[Inspection], *, title: str = "Inside the model") -> str:
    """The page: an interactive heat map for each inspection; array and head are chosen for all of them together."""
    if not inspections:
        raise UsageError("there is nothing to show; give at least one inspection")
    for place, other in enumerate(inspections):
        if list(other) != list(inspections[0]):
            raise UsageError(
                f"inspections of one page must come from one model: the first has {sorted(inspections[0])}, number "
                f"{place + 1} has {sorted(other)}"
            )
    return assembled("page", title, [_shown(one) for one in inspections])


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


def _part(name: str) -> str:
    return files("regard.inspect").joinpath(name).read_text(encoding="utf-8")


def _shown(inspection: Inspection) -> dict[str, object]:
    """What the script is given: an inspection with labels that can be read, for every axis that has some."""
    axes = {axis for array in inspection.values() for axis in array.axes}
    labels = {axis: inspection.labels_of(axis) for axis in axes}
    known = {axis: [readable(label) for label in each] for axis, each in labels.items() if each is not None}
    plain = inspection.plain(DIGITS)
    for array in plain["arrays"].values():
        if "texts" in array:
            array["texts"] = [readable(text) for text in array["texts"]]
    return plain | {
        "title": inspection.heading,
        "labels": known,
        "meanings": {axis: MEANINGS.get(axis.partition("+")[0], axis) for axis in axes},
        "leftward": [axis for axis, each in known.items() if runs_right_to_left(each)],
    }


def _safe_json(value: object) -> str:
    """JSON that cannot end or change the script element it stands in, whatever the labels contain."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
