"""Pages as one HTML file that fetches nothing: style, scripts and numbers are inside.

The page of inspections is that of the explorer, without a model behind it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from regard.errors import UsageError
from regard.inspect.figure import write_text
from regard.inspect.heads import head_statistics, over_layers
from regard.inspect.inspection import Inspection
from regard.inspect.shown import shown
from regard.inspect.units import over_units

HERE = files("regard.inspect")
EXPLORER = HERE.joinpath("explorer")
"""The explorer's page, some of whose modules other pages share."""
MOST_CHARACTERS = 20_000_000
STYLES = ("look.css", "views.css", "style.css")
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
DERIVED = {"heads": head_statistics, "layers": over_layers, "units": over_units}
"""Derived inspections that the page requests if there are heads, or gates and states."""

IMPORT = re.compile(r'^import (?:\{ ([^}]*) \}|\* as (\w+)) from "\./([\w.]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:const|function|class) (\w+))", re.MULTILINE)


def save_page(inspections: Sequence[Inspection], path: str | Path, *, title: str = "Inside the model") -> None:
    """Writes the page into a file."""
    write_text(page(inspections, title=title), path)


def page(inspections: Sequence[Inspection], *, title: str = "Inside the model") -> str:
    """The page: alignment, layers and heads, and everything else recorded; several inspections also side by side."""
    if not inspections:
        raise UsageError("there is nothing to show; give at least one inspection")
    for place, other in enumerate(inspections):
        if list(other) != list(inspections[0]):
            raise UsageError(
                f"inspections of one page must come from one model: the first has {sorted(inspections[0])}, number "
                f"{place + 1} has {sorted(other)}"
            )
    names = list(_apart(inspection.heading or f"Example {place + 1}" for place, inspection in enumerate(inspections)))
    card = {
        "name": title,
        "about": {},
        "task": "",
        "reads": True,
        "explains": False,
        "goes_on": False,
        "vectors": [],
        "tours": [],
        "languages": [],
        "examples": names,
        "places": [],
    }
    recording = Recording([card | {"writes": _is_translation(inspections[0]), "recorded": {"only": True}}])
    for name, inspection in zip(names, inspections, strict=True):
        recording.add("inspect", title, {"texts": [name]}, inspection)
    return recording.page(title)


def _apart(names: Iterator[str]) -> Iterator[str]:
    """The names, with a number appended to repeated ones."""
    known: dict[str, int] = {}
    for name in names:
        known[name] = known.get(name, 0) + 1
        yield name if known[name] == 1 else f"{name} ({known[name]})"


def _is_translation(inspection: Inspection) -> bool:
    return {"source", "target"} <= set(inspection.labels) and {"probabilities", "candidates"} <= set(inspection)


@dataclass
class Recording:
    """The recorded responses of a page: its models, responses by request, and the inspections among these."""

    models: list[dict[str, Any]]
    answers: dict[str, Any] = field(default_factory=dict)
    inspections: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(
        self,
        verb: str,
        model: str,
        asked: Mapping[str, Any],
        answer: Inspection | Mapping[str, Any],
        texts: Sequence[str] = (),
        python: str = "",
    ) -> None:
        """Adds the response to a request; for an inspection, also those that the page may request of it."""
        request = f"{verb} {model} {_canonical(asked)}"
        if not isinstance(answer, Inspection):
            self.answers[request] = answer
            return
        self.answers[request] = name = self._keep(answer, texts, python)
        for kind, derive in DERIVED.items() if verb == "inspect" else ():
            try:
                self.answers[f"{kind} {name}"] = self._keep(derive(answer))
            except UsageError:  # it has no heads, or layers of several sizes, or no units
                continue

    def _keep(self, inspection: Inspection, texts: Sequence[str] = (), python: str = "") -> str:
        name = str(len(self.inspections))
        self.inspections[name] = shown(name, inspection, [*texts], python, packed=True)
        return name

    def page(self, title: str) -> str:
        """The page; refused if it would be too large to be opened."""
        data = {"models": {"models": self.models}, "answers": self.answers, "inspections": self.inspections}
        style = "\n".join(EXPLORER.joinpath(name).read_text(encoding="utf-8") for name in STYLES)
        made = _without_server(
            title,
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n<link rel="icon" href="data:,">\n'
            f"<style>\n{style}</style>\n",
            f'<script type="application/json" id="recorded">{_safe_json(data)}</script>\n'
            f"<script>\n{bundled('main.js')}</script>\n",
        )
        if len(made) > MOST_CHARACTERS:
            raise UsageError(
                f"the page would have {len(made) / 1e6:,.0f} MB, and at most {MOST_CHARACTERS / 1e6:,.0f} are shown "
                "well; choose arrays (--show, by name or pattern) and one of their heads (--head), or open "
                "`regard explore`"
            )
        return made


def _without_server(title: str, head: str, end: str) -> str:
    """The explorer's page with `head` and `end` in place of the files that the server would send."""
    template = EXPLORER.joinpath("index.html").read_text(encoding="utf-8")
    template = template.replace("<title>Regard explorer<", f"<title>{escape(title)}<").replace(
        "<h1>Regard<", f"<h1>{escape(title)}<"
    )
    before, _, rest = template.partition("<!-- from the server -->\n")
    _, _, body = rest.partition("<!-- end -->\n")
    body, _, after = body.partition("</body>")
    return f"{before}{head}{body}{end}</body>{after}"


def assembled(name: str, title: str, data: object) -> str:
    """A page of another kind as one text: its HTML, style and script, with the data that the script shows."""
    parts = {
        "title": escape(title),
        "style": HERE.joinpath(f"{name}.css").read_text(encoding="utf-8"),
        "script": bundled(f"{name}.js"),
        "data": _safe_json(data),
    }
    # In one pass, so that no text inside a part is taken for a placeholder.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], HERE.joinpath(f"{name}.html").read_text("utf-8"))


def bundled(entry: str) -> str:
    """A module and its imports bundled as one script, each import in a function that returns its exports."""
    every: dict[str, str] = {}
    _collect(entry, every)
    own = every.pop(entry)
    made = ["const modules = {};\n"] if every else []
    for name, code in every.items():
        exports = ", ".join(EXPORT.findall(code))
        made.append(f'modules["{name}"] = (() => {{\n{EXPORT.sub("", code)}return {{ {exports} }};\n}})();\n')
    return "".join(made) + own


def _collect(name: str, into: dict[str, str]) -> None:
    """Adds the code of a module after that of its imports, which it then reads from `modules`."""
    folder = EXPLORER if EXPLORER.joinpath(name).is_file() else HERE
    code = folder.joinpath(name).read_text(encoding="utf-8")
    for *_, other in IMPORT.findall(code):
        if other not in into:
            _collect(other, into)

    def taken(found: re.Match[str]) -> str:
        names, whole, other = found.groups()
        what = whole or "{ " + names.replace(" as ", ": ") + " }"
        return f'const {what} = modules["{other}"];\n'

    into[name] = IMPORT.sub(taken, code)


def _canonical(value: Any) -> str:
    """A request in canonical form, as the page writes it: sorted keys, without empty values."""
    if isinstance(value, Mapping):
        said = [(name, each) for name, each in sorted(value.items()) if each not in (None, "") and each is not False]
        return "{" + ",".join(f"{json.dumps(name)}:{_canonical(each)}" for name, each in said) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_canonical, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _safe_json(value: object) -> str:
    """JSON that cannot end or change the enclosing script element, whatever the labels contain."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
