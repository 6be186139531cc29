"""The list of settings.

Every setting has one name, one default and one sentence, in one place: the table it belongs to.
`regard recipes --settings` prints them all.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from inspect import getsource
from itertools import pairwise
from textwrap import dedent
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from regard.recipe.kinds import TASKS
from regard.recipe.recipe import AnyRecipe
from regard.recipe.section import ChosenBy, IsPath, Named, Only


@dataclass(frozen=True)
class Setting:
    """One setting, for lists and messages."""

    name: str
    kind: str
    """A description of the values it takes."""
    default: Any
    """None if it has no default."""
    required: bool
    """Whether it must be given."""
    sentence: str
    only_for: str
    """The kind of its table that it belongs to; empty for all."""
    task: str = ""
    """The tasks it belongs to; empty for all that have its table."""
    is_path: bool = False
    """Whether it names files or folders."""
    used_if: str = ""
    """A description of when it is used; empty if it always is."""


FIRST, LAST = ("task", "seed", "data"), ("train", "decode", "evaluation")
"""The tables at the beginning and at the end of a recipe; those of a task's model are in between."""


def tables_in_order() -> list[str]:
    """The tables of all tasks, in the order in which recipes are written."""
    own: list[str] = []
    for kind in TASKS.values():
        new: list[str] = []
        for name in (each for each in kind.recipe.model_fields if each not in (*FIRST, *LAST)):
            if name not in own:
                new.append(name)
            else:
                place = own.index(name)
                own[place:place], new = new, []
        own += new
    return [*FIRST, *own, *LAST]


def settings(task: str = "") -> list[Setting]:
    """Every setting of recipes for a task, or for all tasks, in the order of the tables."""
    recipes = {name: TASKS[name].recipe for name in ([task] if task in TASKS else TASKS)}
    found = {name: settings_of(recipe) for name, recipe in recipes.items()}
    # Each recipe class allows only its own task; the list has all of them.
    first = next(setting for setting in settings_of(AnyRecipe) if setting.name == "task")
    every = {"": replace(first, kind=", ".join(TASKS))}
    known = {name: set(map(repr, those)) for name, those in found.items()}
    for those in found.values():
        for setting in (each for each in those if each.name != "task"):
            table = setting.name.split(".")[0]
            # A task without such a table (vectors have no [train]) does not make the table another.
            tasks = [other for other in found if table in recipes[other].model_fields]
            having = [other for other in tasks if repr(setting) in known[other]]
            if having != tasks:
                setting = replace(setting, task=" or ".join(having))
            every.setdefault(repr(setting), setting)
    order = tables_in_order()
    return sorted(every.values(), key=lambda setting: order.index(setting.name.split(".")[0]))


def settings_of(section: type[BaseModel]) -> list[Setting]:
    """The settings of a recipe or of a table of one, each once: models of several kinds have the same encoders."""
    return list({repr(setting): setting for setting in _settings(section, "", "")}.values())


def _settings(section: type[BaseModel], prefix: str, only_for: str) -> Iterator[Setting]:
    for name, field in section.model_fields.items():
        tables = tables_of(field)
        for variant, table in tables.items():
            yield from _settings(table, f"{prefix}{name}.", variant or only_for)
        if not tables:
            default = None if field.is_required() else field.get_default(call_default_factory=True)
            yield Setting(
                prefix + name,
                _kind(field),
                default,
                field.is_required(),
                _sentence(section, name),
                only_for,
                is_path=is_path(field),
                used_if="; ".join(_used_if(name, each) for each in field.metadata if isinstance(each, Only)),
            )


def _sentence(section: type[BaseModel], name: str) -> str:
    """The docstring of a setting."""
    owner = next(each for each in section.__mro__ if name in vars(each).get("__annotations__", {}))
    return _sentences(owner).get(name, "")


@cache
def _sentences(section: type[BaseModel]) -> dict[str, str]:
    """The docstrings of settings, read from the source on demand: pydantic would read them at every command."""
    (tree,) = ast.parse(dedent(getsource(section))).body
    assert isinstance(tree, ast.ClassDef)
    return {
        setting.target.id: " ".join(below.value.value.split())
        for setting, below in pairwise(tree.body)
        if isinstance(setting, ast.AnnAssign) and isinstance(setting.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }


def tables_of(field: FieldInfo) -> dict[str, type[BaseModel]]:
    """The tables that a setting may be, by kind (empty if there is only one); none if it is a value."""
    for chosen in (each for each in marks_of(field) if isinstance(each, ChosenBy)):
        return chosen.registry.tables()
    parts = get_args(field.annotation) or (field.annotation,)
    tables = [part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)]
    return {get_args(table.model_fields["kind"].annotation)[0] if len(tables) > 1 else "": table for table in tables}


def rebuild() -> None:
    """Rebuilds tables chosen by name, so that they know the names that other packages have registered."""
    done: set[type[BaseModel]] = set()

    def of(section: type[BaseModel]) -> None:
        for table in (table for field in section.model_fields.values() for table in tables_of(field).values()):
            if table not in done:
                of(table)
        section.model_rebuild(force=True)  # after its subtables, whose schemas it includes
        done.add(section)

    for name in TASKS:
        of(TASKS[name].recipe)


def marks_of(field: FieldInfo) -> Iterator[Any]:
    """The annotations of a setting and of the parts of its type."""
    yield from field.metadata
    for part in get_args(field.annotation):
        yield from getattr(part, "__metadata__", ())


def is_path(field: FieldInfo) -> bool:
    """Whether a setting names files or folders."""
    return any(isinstance(each, IsPath) for each in marks_of(field))


def holds(field: FieldInfo) -> type:
    """The type of a path setting: `str` for one path, `list` for several."""
    return list if get_origin(field.annotation) is list else str


def _used_if(name: str, only: Only) -> str:
    allowed = only.allowed(name)
    return f"{only.other} = {' or '.join(map(str, allowed))}" if allowed is not None else f"{only.other} is given"


def _kind(field: FieldInfo) -> str:
    def words(annotation: Any) -> str:
        if get_origin(annotation) is Literal:
            return ", ".join(map(str, get_args(annotation)))
        if get_origin(annotation) is list:
            return f"list of {words(get_args(annotation)[0])}s".replace("texts", "text")
        if hasattr(annotation, "__metadata__"):
            return words(annotation.__origin__)
        parts = [part for part in get_args(annotation) if part is not type(None)]
        if parts:
            return ", ".join(map(words, parts))
        names = {int: "whole number", float: "number", bool: "true, false", str: "text"}
        return names.get(annotation, getattr(annotation, "__name__", str(annotation)))

    for named in (each for each in field.metadata if isinstance(each, Named)):
        return ", ".join(named.names())
    return words(field.annotation)
