"""The pages of the reference, made of the code: each function here fills the place of its name on a page of docs."""

import json
import re
from collections.abc import Callable, Iterator
from html import escape
from itertools import groupby
from typing import Any

import surface

from regard.cli.commands import commands, made
from regard.recipe import TASKS, Setting, built_in_recipes, settings, toml

PLACE = re.compile(r"^<!-- built: (\w+) -->$", re.M)


def filled(page: str) -> str:
    """A page with everything that is made of the code in its places."""
    return PLACE.sub(lambda place: PARTS[place[1]](), page)


def python() -> str:
    """Every public name. What is told of each is written by mkdocstrings, from the sources."""
    return "\n\n".join(_public(name, thing) for name, thing in surface.things().items())


def registries() -> str:
    """What other packages may add to, and what is there."""
    rows = [
        f"| `{name}` | {registry.noun} | {', '.join(f'`{each}`' for each in registry)} |"
        for name, registry in surface.registries().items()
    ]
    return "\n".join(["| registry | holds each | built in |", "|---|---|---|", *rows])


def _public(name: str, thing: Any) -> str:
    if name == "regard.attend":
        return "## regard.attend\n\nThe same as `regard.attention.attend`, below."
    shown = surface.fields(thing) + [member for member, _ in surface.members(name, thing)]
    options = {"heading": name, "toc_label": name, "members": shown, "inherited_members": bool(shown)}
    options["merge_init_into_class"] = "attention" in name
    lines = [f"      {option}: {json.dumps(value)}" for option, value in options.items()]
    return "\n".join([f"::: {thing.__module__}.{thing.__qualname__}", "    options:", *lines])


def command_line() -> str:
    """Every command with its arguments and options; for each kind of model, where they differ."""
    return "\n\n".join(part for name in commands() for part in _command(name))


def _command(name: str) -> Iterator[str]:
    command = commands()[name]
    targets = list(dict.fromkeys(command.of_task.values()))
    yield f"## regard {name}"
    for target in targets:
        if len(targets) > 1:
            tasks = [task for task, each in command.of_task.items() if each == target]
            title = f"models of task {', '.join(tasks)}" if all(tasks) else "other models"
            yield f"### {name}: {title} {{ #regard-{name}-{tasks[0] or 'others'} }}"
        one = made(target)
        parts = getattr(one, "commands", {})
        yield _told(f"regard {name}", one) if not parts else one.help
        for part, each in parts.items():
            yield f"### regard {name} {part}"
            yield _told(f"regard {name} {part}", each)


def _told(name: str, command: Any) -> str:
    """What the help of a command says."""
    # The types of click are typer's own in some of its releases, so that none of them can be named here.
    context = command.context_class(command, info_name=name)
    about, _, examples = command.help.partition("[bold]Examples[/bold]")
    pieces = [piece.replace("{", "").replace("}", "") for piece in command.collect_usage_pieces(context)]
    usage = " ".join([name, *pieces])
    lines = [line.strip() for line in examples.strip().splitlines() if line.strip()]
    shown = ["```", *lines, "```"] if lines else []
    rows = [each.get_help_record(context) for each in command.get_params(context)]
    cells = [f"| {_code(given)} | {_cell(told)} |" for given, told in rows]
    table = ["| argument or option | what it does |", "|---|---|", *cells]
    return "\n".join([f"`{usage}`", "", escape(about.strip(), quote=False), "", *shown, "", *table])


def _code(given: str) -> str:
    """The name of an option, and what it takes where that says something."""
    return f"`{re.sub(r' <(int|str|float|path|Path|list.*?|.* range)>', '', given)}`"


def _cell(text: str) -> str:
    """Text in a table, where only what stands in backquotes is marked up."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else re.sub(r"([*_|<\[])", r"\\\1", part) for part in parts)


def recipe_settings() -> str:
    """Every setting by its table and its kind, with its default and its sentence."""
    parts = []
    for (_, table, kind), some in groupby(sorted(settings(), key=_table_of), key=_table_of):
        title = f"[{table}]{f', kind {kind}' if kind else ''}" if table else "At the top of a recipe"
        rows = [_setting(each) for each in some]
        parts.append("\n".join([f"## {title}", "", "| setting | default | what it does |", "|---|---|---|", *rows]))
    return "\n\n".join(parts)


ORDER = {table: place for place, table in enumerate(dict.fromkeys(each.name.rpartition(".")[0] for each in settings()))}


def _table_of(setting: Setting) -> tuple[int, str, str]:
    """The place of its table among all, its table, and the kind that it is for."""
    table = setting.name.rpartition(".")[0]
    return ORDER[table], table, setting.only_for


def _setting(setting: Setting) -> str:
    none = "must be given" if setting.required else "not set"
    default = none if setting.default is None else f"`{toml(setting.default)}`"
    tasks = f"Task {setting.task}: " if setting.task else ""
    when = f" Used if {setting.used_if}." if setting.used_if else ""
    return f"| `{setting.name}` | {default} | {_cell(tasks + setting.sentence + when)} *{_cell(setting.kind)}* |"


def recipes() -> str:
    """The built-in recipes, each with its first sentence."""
    rows = [f"| `{name}` | {_cell(told)} |" for name, told in built_in_recipes().items()]
    return "\n".join(["| recipe | what it trains |", "|---|---|", *rows])


def tasks() -> str:
    """What models are for."""
    return "\n".join(["| task | its models |", "|---|---|", *(f"| `{name}` | {TASKS[name].help} |" for name in TASKS)])


PARTS: dict[str, Callable[[], str]] = {
    "python": python,
    "registries": registries,
    "commands": command_line,
    "settings": recipe_settings,
    "recipes": recipes,
    "tasks": tasks,
}
"""What may stand between `<!-- built: ` and ` -->`."""
