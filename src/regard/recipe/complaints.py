"""Turns pydantic's errors into sentences about the user's settings."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from pydantic import BaseModel, ValidationError

from regard.errors import one_of
from regard.plugins import failures
from regard.recipe.settings import Setting, settings_of


def complaints(error: ValidationError, where: str, section: type[BaseModel], changes: Sequence[str] = ()) -> str:
    """All errors in a recipe or one of its tables, one line per setting. `where` names the source of settings that no
    `key=value` change made."""
    known = settings_of(section)
    return "\n".join(_in_words(where, known, detail, changes) for detail in _details(error))


def broken_plugins() -> str:
    """A note for errors about unknown names: the packages that failed to load and may define them."""
    broken = [f"{package} ({reason})" for package, reason in failures().items()]
    return f"; not loaded: {', '.join(broken)}" if broken else ""


def blamed(where: str, dotted: str, changes: Sequence[str]) -> str:
    """The source of a setting: the last change that made it, or else the recipe."""
    for change in reversed(changes):
        if f"{dotted}.".startswith(f"{change.partition('=')[0].strip()}."):
            return f"--set {change!r}"
    return where


def _blamed_by_name(where: str, table: str, message: str, changes: Sequence[str]) -> str:
    """The same for contradicting settings, which only the message names: the last change of one of them."""
    inside = f"{table}." if table else ""
    for change in reversed(changes):
        name = change.partition("=")[0].strip()
        if name.startswith(inside) and re.search(rf"\b{re.escape(name.removeprefix(inside))}\b", message):
            return f"--set {change!r}"
    return where


def _details(error: ValidationError) -> Iterator[Any]:
    """Pydantic's errors, one per setting: it reports each branch of a union with names separately."""
    found = error.errors()
    places = [detail["loc"] for detail in found]
    several = {place[:-1] for place in places if place and str(place[-1]).startswith("literal[")}
    for place, those in groupby(found, lambda detail: detail["loc"][:-1]):
        if place not in several:
            yield from those
            continue
        branches = list(those)
        expected = [_KINDS.get(branch["type"], branch.get("ctx", {}).get("expected", "")) for branch in branches]
        ctx = {"expected": ", ".join(expected)}
        yield {"type": "literal_error", "loc": place, "input": branches[0]["input"], "ctx": ctx}


def location_of(known: Sequence[Setting], detail: Any) -> tuple[list[str], str]:
    """The tables and the setting that an error is about, and the kind of the innermost table that has kinds."""
    location: list[str] = []
    only_for = ""
    for part in map(str, detail["loc"]):
        # The kind of a model ("model.transformer.heads") is how pydantic names its table, not what the user wrote.
        if location and part in _kinds(known, ".".join(location)):
            only_for = part
        else:
            location.append(part)
    if detail["type"] == "unused_setting":
        location += detail["ctx"]["setting"].split(".")
    return location, only_for


def _in_words(where: str, known: Sequence[Setting], detail: Any, changes: Sequence[str] = ()) -> str:
    location, only_for = location_of(known, detail)
    dotted = ".".join(location)
    given = detail.get("input")
    where = blamed(where, f"{dotted}.kind" if detail["type"] == "union_tag_invalid" else dotted, changes)
    if detail["type"] == "value_error":
        where = _blamed_by_name(where, dotted, str(detail["ctx"]["error"]), changes)
    match detail["type"]:
        case "extra_forbidden":
            here = one_of(_siblings(known, location[:-1], only_for), location[-1])
            elsewhere = [name for name in namesakes(location[-1], known) if name != dotted]
            there = f"; there is {one_of(elsewhere)}" if elsewhere else ""
            if kinds := [setting.only_for for setting in known if setting.name == dotted]:
                table = ".".join(location[:-1])
                there = f"; it is for {table}.kind = {one_of(kinds)}, not {only_for!r}"
            return f"{where}: unknown setting {dotted!r}; known here, nearest first: {here}{there}"
        case "missing":
            return f"{where}: {dotted!r} is missing" + ("" if "." in dotted else f"; add a [{dotted}] table")
        case "union_tag_not_found":
            return f"{where}: '{dotted}.kind' is missing; allowed are {one_of(_kinds(known, dotted))}"
        case "union_tag_invalid":
            kind = given.get("kind")
            allowed = one_of(_kinds(known, dotted), str(kind))
            return f"{where}: {dotted}.kind = {kind!r} is not allowed; allowed are {allowed}{broken_plugins()}"
        case "unknown_name":
            allowed = one_of(detail["ctx"]["known"], str(given))
            return f"{where}: {dotted} = {given!r} is not allowed; allowed are {allowed}{broken_plugins()}"
        case "unused_setting":
            ctx, table = detail["ctx"], dotted.removesuffix(detail["ctx"]["setting"])
            used = f"; it is for {one_of(map(str, ctx['used']))}" if ctx["used"] else ""
            chosen = f"{table}{ctx['other']} = {ctx['chosen']!r}"
            return f"{where}: {dotted} = {ctx['given']!r} is not used with {chosen}{used}; leave it out"
        case "value_error":
            return f"{where}: {f'[{dotted}] ' if dotted else ''}{detail['ctx']['error']}"
        case "literal_error":
            expected = [part.strip(" '") for part in detail["ctx"]["expected"].replace(" or ", ", ").split(",")]
            allowed = re.sub("'(true|false)'", r"\1", one_of(expected, str(given)))
            return f"{where}: {dotted} = {given!r} is not allowed; allowed are {allowed}"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"{where}: {dotted} = {given!r} is not a table; write its settings below a line [{dotted}]"
        case kind:
            message = f"must be {_KINDS[kind]}" if kind in _KINDS else detail["msg"].replace("Input should", "must")
            return f"{where}: {dotted} = {given!r}: {message}"


_KINDS = {
    "bool_type": "true or false",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": 'a list in brackets, such as ["one", "two"]',
    "string_type": "text in quotes",
}
"""What a value must be, by pydantic's error type."""


def namesakes(name: str, known: Sequence[Setting]) -> list[str]:
    """Settings with this name in any table: `seed`, if the user writes `train.seed`."""
    return list(dict.fromkeys(setting.name for setting in known if setting.name.split(".")[-1] == name))


def _siblings(known: Sequence[Setting], table: list[str], only_for: str) -> list[str]:
    """Names a table may hold, in the order they are documented."""
    depth = len(table)
    return list(
        dict.fromkeys(
            setting.name.split(".")[depth]
            for setting in known
            if setting.name.split(".")[:depth] == table and (not only_for or setting.only_for in ("", only_for))
        )
    )


def _kinds(known: Sequence[Setting], table: str) -> list[str]:
    """The kinds a table may have."""
    of_table = (setting.only_for for setting in known if setting.name == f"{table}.kind")
    return list(dict.fromkeys(filter(None, of_table)))
