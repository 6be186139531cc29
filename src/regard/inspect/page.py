"""Pages as one HTML file that fetches nothing: style, script and numbers are inside; and the page of inspections."""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from regard.errors import UsageError
from regard.inspect.figure import write_text
from regard.inspect.inspection import Inspection
from regard.inspect.labels import readable, runs_right_to_left
from regard.inspect.panel import MEANINGS
from regard.inspect.units import over_units, states_in

VIEWS = ("chart", "labels", "arcs", "reading", "map", "gradients", "states", "views")
SHARED = (
    *("look.css", "dom.js", "drawing.js", "shades.js", "seen.js", "bars.js", "matrix.js", "views/views.css"),
    *(f"views/{name}.js" for name in VIEWS),
)
"""What pages have in common with the explorer: each file after those that it needs."""
IMPORT = re.compile(r'^import (\{.*?\}) from "\./(.*?)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:const|function|class) (\w+))", re.MULTILINE)
MOST_CHARACTERS = 20_000_000
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
    made = assembled("page", title, [_shown(one) for one in inspections], SHARED)
    if len(made) > MOST_CHARACTERS:
        raise UsageError(
            f"the page would have {len(made) / 1e6:,.0f} MB, and at most {MOST_CHARACTERS / 1e6:,.0f} are shown well; "
            "choose arrays (--show, by name or pattern) and one of their heads (--head), or open `regard explore`"
        )
    return made


def assembled(name: str, title: str, data: object, shared: Sequence[str] = ()) -> str:
    """A page of a kind as one text: its HTML, style and script, with the data that the script shows; `shared` are parts
    that its own build on."""
    files = (*shared, f"{name}.css", f"{name}.js")
    parts = {
        "title": escape(title),
        "style": "\n".join(_part(file) for file in files if file.endswith(".css")),
        "script": joined({Path(file).name: _part(file) for file in files if file.endswith(".js")}),
        "data": _safe_json(data),
    }
    # In one pass, so that nothing inside of a part is taken for the place of another.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _part(f"{name}.html"))


def joined(modules: Mapping[str, str]) -> str:
    """Modules by the names of their files, each after those that it needs, as one script: each is a function that gives
    what it exports. The last one is the script's own, outside of any function."""
    *needed, last = (IMPORT.sub(r'const \1 = modules["\2"];\n', text) for text in modules.values())
    made = ["const modules = {};"]
    for name, text in zip(modules, needed, strict=False):
        given = ", ".join(EXPORT.findall(text))
        made.append(f'modules["{name}"] = (() => {{\n{EXPORT.sub("", text)}\nreturn {{ {given} }};\n}})();')
    return "\n".join([*made, last])


def _part(name: str) -> str:
    return files("regard.inspect").joinpath(name).read_text(encoding="utf-8")


def _shown(inspection: Inspection, *, derived: bool = False) -> dict[str, object]:
    """What the script is given: an inspection with labels that can be read, for every axis that has some, and what is
    derived from it."""
    axes = {axis for array in inspection.values() for axis in array.axes}
    labels = {axis: inspection.labels_of(axis) for axis in axes}
    known = {axis: [readable(label) for label in each] for axis, each in labels.items() if each is not None}
    plain = inspection.plain(DIGITS)
    for array in plain["arrays"].values():
        if "texts" in array:
            array["texts"] = [readable(text) for text in array["texts"]]
    parts = {"units": _shown(over_units(inspection), derived=True)} if states_in(inspection) and not derived else {}
    return plain | {
        "title": inspection.heading,
        "labels": known,
        "meanings": {axis: MEANINGS.get(axis.partition("+")[0], axis) for axis in axes},
        "leftward": [axis for axis, each in known.items() if runs_right_to_left(each)],
        "parts": parts,
    }


def _safe_json(value: object) -> str:
    """JSON that cannot end or change the script element it stands in, whatever the labels contain."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
