"""Reading, changing and writing recipes, with errors in the user's own words."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, get_args, overload

from pydantic import BaseModel, ValidationError

from regard.errors import RecipeError, UsageError, nearest, one_of
from regard.format_version import FILE as FORMAT_FILE
from regard.format_version import written_elsewhere
from regard.misuse import explained
from regard.recipe.complaints import blamed, broken_plugins, complaints, location_of
from regard.recipe.kinds import TASKS, default_task
from regard.recipe.recipe import AnyRecipe, Recipe
from regard.recipe.section import Section
from regard.recipe.settings import Setting, holds, is_path, settings, settings_of, tables_in_order, tables_of

S = TypeVar("S", bound=Section)
R = TypeVar("R", bound=AnyRecipe)

BUILT_IN = resources.files("regard.recipe") / "builtin"


def built_in_recipes() -> dict[str, str]:
    """Names of the recipes that come with Regard, each with the first comment line of its file."""
    files = {path.name.removesuffix(".toml"): path for path in BUILT_IN.iterdir() if path.name.endswith(".toml")}
    return {name: files[name].read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ") for name in sorted(files)}


@overload
def read_recipe(name: str | Path | None, changes: Sequence[str] = (), *, saved: bool = False) -> Recipe: ...
@overload
def read_recipe(name: str | Path | None, changes: Sequence[str] = (), *, kind: type[R], saved: bool = False) -> R: ...
@explained
def read_recipe(
    name: str | Path | None, changes: Sequence[str] = (), *, kind: type[AnyRecipe] = Recipe, saved: bool = False
) -> AnyRecipe:
    """The recipe in a TOML file, or a built-in one by its name, or an empty one, with `key=value` changes applied.

    Its class is that of its task; one that is not of the `kind` asked for is refused, unless that kind is a part of it.

    Relative paths in a recipe file start from the folder of that file, so that a recipe means the same wherever it is
    run from; those in a change start from where the command is run. The recipe that is returned has absolute paths.

    One that was `saved` with a model spells out every setting; unused ones are not an error.
    """
    if isinstance(changes, str):
        raise UsageError(
            f"changes = {changes!r} is a single text, but a list of texts is needed; put brackets around it"
        )
    tables, where, folder = _tables(name)
    _anchor_paths(tables, folder)
    for change in changes:
        _apply(tables, change)
    _anchor_paths(tables, Path())
    saved = saved or (name is not None and (folder / FORMAT_FILE).exists())
    return _parsed(tables, where, kind, changes, saved=saved)


@overload
def parse_recipe(tables: Mapping[str, Any], where: str = "recipe", *, folder: str | Path = "") -> Recipe: ...
@overload
def parse_recipe(tables: Mapping[str, Any], where: str = "recipe", *, kind: type[R], folder: str | Path = "") -> R: ...
@explained
def parse_recipe(
    tables: Mapping[str, Any], where: str = "recipe", *, kind: type[AnyRecipe] = Recipe, folder: str | Path = ""
) -> AnyRecipe:
    """A checked recipe from plain dictionaries, of the class of its task; `where` is its name in errors.

    Relative paths start from `folder`, by default the current one. The recipe that is returned has absolute paths.
    """
    given = deepcopy(dict(tables))
    _anchor_paths(given, Path(folder))
    return _parsed(given, where, kind)


def _parsed(
    tables: Mapping[str, Any], where: str, kind: type[AnyRecipe], changes: Sequence[str] = (), *, saved: bool = False
) -> AnyRecipe:
    task = _task_of(tables)
    if not isinstance(task, str) or task not in TASKS:
        said = f"task = {task!r} is not known; known are {one_of(TASKS, str(task))}{broken_plugins()}"
        raise RecipeError(f"{blamed(where, 'task', changes)}: {said}")
    recipe = TASKS[task].recipe
    if not issubclass(recipe, kind):
        wanted = one_of([name for name in TASKS if issubclass(TASKS[name].recipe, kind)])
        said = f"task = {task!r}, but a recipe with task = {wanted} is needed here"
        raise RecipeError(f"{blamed(where, 'task', changes)}: {said}")
    changed = [change.partition("=")[0].strip() for change in changes]
    try:
        return _validated(recipe, {"task": task, **tables}, changed, saved=saved)
    except ValidationError as error:
        raise RecipeError(complaints(error, where, recipe, changes)) from None


def _validated(section: type[S], tables: dict[str, Any], changed: Sequence[str], *, saved: bool = False) -> S:
    """The section, without settings that are unused since the changes."""
    tables = deepcopy(tables)
    while True:
        try:
            return section.model_validate(tables)
        except ValidationError as error:
            if not _drop_unused(tables, settings_of(section), error, changed, saved):
                raise


OF_OTHER_TASKS = ("train.pack", "train.r_drop", "train.coverage")
"""Settings that 0.1 wrote into every recipe and that now only translators have."""


def _drop_unused(
    tables: dict[str, Any], known: Sequence[Setting], error: ValidationError, changed: Sequence[str], saved: bool
) -> bool:
    """Removes unused settings that the user did not ask for: those that a change of another setting left unused (of the
    beam, with `decode.method=sample`) and, in a saved recipe, which spells out every setting, all unused ones. Those
    that a change names stay and are refused. Returns whether any were removed."""
    dropped = False
    for detail in error.errors():
        location, _ = location_of(known, detail)
        dotted = ".".join(location)
        if detail["type"] == "unused_setting":
            table = dotted.removesuffix(detail["ctx"]["setting"])
            is_left_over = saved or f"{table}{detail['ctx']['other']}" in changed
        else:
            is_left_over = saved and detail["type"] == "extra_forbidden" and dotted in OF_OTHER_TASKS
        if is_left_over and dotted not in changed:
            of_it: Any = tables
            for name in location[:-1]:
                of_it = of_it[name]
            dropped = of_it.pop(location[-1], None) is not None or dropped
    return dropped


def parse_corpus(corpus: type[R], tables: Mapping[str, Any], changes: Sequence[str] = ()) -> R:
    """The settings for reading data of a task (`TaskKind.corpus`), from plain dictionaries with `key=value` changes: a
    recipe without a model."""
    (task,) = get_args(corpus.model_fields["task"].annotation)
    given = {"task": task, **tables}
    for change in changes:
        _apply(given, change)
    _anchor_paths(given, Path())
    try:
        return corpus.model_validate(given)
    except ValidationError as error:
        raise RecipeError(complaints(error, "settings", corpus, changes)) from None


def _task_of(tables: Mapping[str, Any]) -> Any:
    return tables["task"] if "task" in tables else default_task()


def change_section(section: S, changes: Mapping[str, Any]) -> S:
    """A section of a recipe with some of its settings changed, validated again."""
    try:
        return _validated(type(section), section.model_dump() | dict(changes), list(changes))
    except ValidationError as error:
        raise RecipeError(complaints(error, type(section).title(), type(section))) from None


def spelled_out(name: str | Path) -> str:
    """A recipe as TOML with every setting and its paths as written, so that it can be shared."""
    tables, where, _ = _tables(name)
    return write_recipe(_parsed(tables, where, AnyRecipe))


@explained
def write_recipe(recipe: AnyRecipe) -> str:
    """The recipe as TOML, every setting spelled out."""
    lines: list[str] = []
    tables = recipe.model_dump(exclude_none=True)
    _write_table(lines, "", {name: tables[name] for name in sorted(tables, key=tables_in_order().index)})
    return "\n".join(lines).lstrip("\n") + "\n"


def _tables(name: str | Path | None) -> tuple[dict[str, Any], str, Path]:
    """The tables of a recipe as written, its name in messages, and the folder its paths are relative to."""
    text, where, folder = ("", "settings", Path()) if name is None else _find(str(name))
    try:
        return _parsed_toml(text), where, folder
    except tomllib.TOMLDecodeError as error:
        hint = "Strings need quotes, lists brackets, tables a [header]."
        if Path(str(name)).suffix != ".toml":
            hint = "A recipe is a TOML file; a text to train on is named in one, as data.train."
        raise RecipeError(f"{where}: not valid TOML: {error}. {hint}") from None


def _parsed_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text. Refuses keys of very many parts, for which Python's parser needs too much memory."""
    if TOO_DEEP.search(text):
        raise tomllib.TOMLDecodeError("a key has too many parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None


TOO_DEEP = re.compile(r"""(?:\.\s*["']?[\w-]*["']?\s*){100}""")
"""Keys of more parts than any table has."""


def _find(name: str) -> tuple[str, str, Path]:
    """The text of a recipe, its name in messages, and the folder its paths are relative to."""
    path = Path(name)
    if path.suffix != ".toml" and name in built_in_recipes():
        return (BUILT_IN / f"{name}.toml").read_text(encoding="utf-8"), f"built-in recipe {name!r}", Path()
    try:
        return path.read_text(encoding="utf-8"), f"{path}{written_elsewhere(path.parent)}", path.parent
    except FileNotFoundError:
        near = sorted(file.name for file in path.parent.glob("*.toml")) if path.suffix else []
        there = f"; recipe files there are {one_of(nearest(path.name, near)[:3])}" if near else ""
        known = one_of(built_in_recipes(), name)
        raise RecipeError(f"{name}: neither a recipe file nor a built-in recipe{there}; built in: {known}") from None
    except UnicodeDecodeError as error:
        raise RecipeError(f"{name}: not UTF-8 text (byte {error.start}); a recipe is a TOML file") from None
    except IsADirectoryError:
        raise RecipeError(_folder_in_words(path)) from None
    except OSError as error:
        raise RecipeError(f"{name}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # a name that no file can have
        raise RecipeError(f"{name!r}: cannot be read: {error}") from None


def _folder_in_words(path: Path) -> str:
    """The message for a folder named as a recipe: users name a model's folder to resume its training."""
    if (own := path / "recipe.toml").is_file():
        return (
            f"{path}: this is the folder of a model, not a recipe; its recipe is {own}: train by that one, with "
            f"--out {path} --resume to go on with the model, or with another --out for a new one"
        )
    there = sorted(file.name for file in path.glob("*.toml"))
    found = f"name a recipe in it: {one_of(there)}" if there else "name a recipe file, or a built-in recipe"
    return f"{path}: this is a folder, not a recipe; {found}"


def _anchor_paths(tables: dict[str, Any], folder: Path) -> None:
    """Makes the paths in tables absolute; the types of settings tell which ones are paths."""

    def anchored(path: Any) -> Any:
        if isinstance(path, list):
            return [anchored(each) for each in path]
        return str((folder / path).absolute()) if isinstance(path, str) and path else path

    def anchor(section: type[BaseModel], table: dict[str, Any]) -> None:
        # Only given settings are checked, because most are not given.
        for name, field in section.model_fields.items():
            value = table.get(name)
            if isinstance(value, dict):
                for each in tables_of(field).values():
                    anchor(each, value)
            elif value is not None and is_path(field) and isinstance(value, holds(field)):
                table[name] = anchored(value)

    task = _task_of(tables)
    if isinstance(task, str) and task in TASKS:
        anchor(TASKS[task].recipe, tables)


def _apply(tables: dict[str, Any], change: str) -> None:
    dotted, equals, text = change.partition("=")
    *path, last = dotted.strip().split(".")
    if not equals or not last or not all(path):
        raise RecipeError(f"--set {change!r}: expected key=value, for example train.steps=1000")
    known = {setting.name: None for setting in settings(str(_task_of(tables)))}
    if dotted.strip() not in known:
        namesakes = [name for name in known if name.split(".")[-1] == last]
        nearest_known = one_of(namesakes or list(known), dotted.strip(), most=3)
        raise RecipeError(f"--set {change!r}: unknown setting {dotted.strip()!r}; nearest known: {nearest_known}")
    table = tables
    for name in path:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise RecipeError(f"--set {change!r}: {name!r} is not a table in this recipe")
    table[last] = _value(text.strip())


def _value(text: str) -> Any:
    """TOML if it parses as TOML, else the bare text, so that shells need no second pair of quotes."""
    try:
        return _parsed_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _write_table(lines: list[str], prefix: str, table: Mapping[str, Any]) -> None:
    plain = {name: value for name, value in table.items() if not isinstance(value, dict)}
    if prefix and plain:
        lines += ["", f"[{prefix}]"]
    lines += [f"{name} = {toml(value)}" for name, value in plain.items()]
    for name, value in table.items():
        if isinstance(value, dict):
            _write_table(lines, f"{prefix}.{name}" if prefix else name, value)


def toml(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # TOML's escapes are JSON's, except that DEL must be escaped too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return repr(value)
