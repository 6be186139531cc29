"""The commands by name: our own, and the verbs of every task. None is imported before it is called."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from regard.cli.help import PlainGroup, PlainHelp
from regard.errors import UsageError
from regard.recipe.kinds import TASKS, Verb, default_task
from regard.registry import locate

OWN = (
    Verb("demo", "Train a model on built-in data, in about a minute, and show its attention.", "regard.cli.demo:demo"),
    Verb("recipes", "List the built-in recipes, print one, or list every setting.", "regard.cli.recipes:recipes"),
    Verb("check", "Report what is wrong with a corpus, by file and line.", "regard.cli.check:check"),
    Verb(
        "train", "Train a model by a recipe; --resume continues as if nothing had happened.", "regard.cli.train:train"
    ),
    Verb("repeat", "Train a recipe once for each seed: mean, deviation, and range.", "regard.cli.repeat:repeat"),
    Verb("evaluate", "Evaluate a model; every number has its signature.", "regard.cli.evaluate_split:evaluate"),
    Verb("look", "Show attention, gates, states, and candidates in a model.", "regard.cli.look:look"),
    Verb("explore", "Serve a local page that shows and changes what models attend to.", "regard.cli.explore:explore"),
    Verb("lexicon", "Make a bilingual dictionary from aligned text.", "regard.cli.lexicon:lexicon"),
    Verb("faithful", "Test whether attention explains the outputs of a model.", "regard.cli.faithful:faithful"),
    Verb("ladder", "Train language models from n-grams to Transformers on one text.", "regard.cli.ladder:ladder"),
)
"""Commands that do not depend on a task; a task may have one of the same name for its own models."""

OPTIONS = {
    "no_args_is_help": False,
    "add_completion": False,
    "rich_markup_mode": "rich",
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


@dataclass
class Command:
    """A command, and its function for models of each task; that of the empty task is for all others."""

    help: str
    of_task: dict[str, str]

    def choose(self, task: str | None) -> str:
        """The location of its function for a task."""
        return self.of_task.get(task or "") or self.of_task.get("") or next(iter(self.of_task.values()))


def commands() -> dict[str, Command]:
    """All commands, in the order of the help."""
    found: dict[str, Command] = {}
    for task, verbs in (("", OWN), *((name, TASKS[name].verbs) for name in TASKS)):
        for verb in verbs:
            found.setdefault(verb.name, Command(verb.help, {})).of_task[task] = verb.command
    return found


class Commands(PlainGroup):
    """`regard` with all its commands."""

    # Some releases of typer have their own copy of click, so its types cannot be named here.
    def list_commands(self, ctx: Any) -> list[str]:
        return list(commands())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command for the list of commands; `resolve_command` makes one that can be called."""
        known = commands()
        return TyperCommand(cmd_name, help=known[cmd_name].help) if cmd_name in known else None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        assert name is not None  # or it would have been refused
        command = commands()[name]
        model, task = _model_in(rest) if len(command.of_task) > 1 else (None, None)
        if model is None and len(command.of_task) > 1 and {"-h", "--help"} & set(rest):
            _show_all(name, command)
            raise typer.Exit
        chosen = made(command.choose(task) if model else _knowing(command, rest))
        for other, target in command.of_task.items():
            _refuse_options_of(other, target, chosen, model, rest)
        return name, chosen, rest


def made(target: str) -> Any:
    """The click command of a function, or of a typer group."""
    function = locate(target)
    if isinstance(function, typer.Typer):
        return typer.main.get_command(function)
    app = typer.Typer(**OPTIONS)  # type: ignore[arg-type]
    app.command(cls=PlainHelp)(function)
    return typer.main.get_command(app)


def _model_in(arguments: Sequence[str]) -> tuple[str | None, str | None]:
    """The model folder among arguments, and its task; one that is not the value of an option is preferred. A recipe
    that cannot be read is refused where it is needed."""
    found: list[tuple[bool, str, str]] = []
    for before, argument in zip(["", *arguments], arguments, strict=False):
        try:
            recipe = tomllib.loads((Path(argument) / "recipe.toml").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        task = recipe.get("task", default_task())
        found += [(before.startswith("-"), argument, task)] if isinstance(task, str) else []
    return min(found, key=lambda each: each[0])[1:] if found else (None, None)


def _knowing(command: Command, arguments: Sequence[str]) -> str:
    """The function to call if there is no model: the first that has all the options."""
    given = set(_given(arguments))
    targets = list(command.of_task.values())
    return next((target for target in targets if given <= _options(made(target))), targets[0])


def _given(arguments: Sequence[str]) -> list[str]:
    """The long options among arguments."""
    return [argument.partition("=")[0] for argument in arguments if argument.startswith("--") and argument != "--"]


def _show_all(name: str, command: Command) -> None:
    """The help of each function once, with the tasks that it is for if there are several."""
    targets = list(dict.fromkeys(command.of_task.values()))
    for target in targets:
        tasks = [task for task, each in command.of_task.items() if each == target]
        if len(targets) > 1:
            kinds = " ".join(f"For models of task {task!r}. {TASKS[task].help}" for task in tasks if task)
            typer.echo(kinds if all(tasks) else "For all other models:")
        made(target).main(["--help"], prog_name=f"regard {name}", standalone_mode=False)


def _refuse_options_of(task: str, target: str, chosen: Any, model: str | None, arguments: Sequence[str]) -> None:
    """Refuses options of another task's command of the same name, and says whose they are."""
    unknown = [option for option in _given(arguments) if option not in _options(chosen)]
    if unknown and model is not None and task and unknown[0] in _options(made(target)):
        raise UsageError(f"{unknown[0]}: is for models of task {task!r}, and {model} is not one; leave it out")


def _options(command: Any) -> set[str]:
    return {"--help", *(option for each in command.params for option in (*each.opts, *each.secondary_opts))}
