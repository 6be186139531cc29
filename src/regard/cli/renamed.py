"""Old names of options: a command that gets one says what the new name is."""

from collections.abc import Sequence

from regard.errors import UsageError

ENGINE = "was removed: translation is by Regard itself; `regard export MODEL OUT` writes a folder for CTranslate2"
OLD = {
    ("score", "--tokens"): "is --per-token now",
    ("repeat", "--test"): "is --on-test now",
    ("vectors convert", "--to"): "is --form now",
    ("vectors map", "--top"): "is --most-frequent now",
    ("vectors map", "--method"): "is --projection now",
    ("translate", "--engine"): ENGINE,
    ("evaluate", "--engine"): ENGINE,
    ("back-translate", "--engine"): ENGINE,
}
"""A command and an option, and what to say of it."""


def refuse_renamed(arguments: Sequence[str]) -> None:
    """Refuses options of a command line that have other names now."""
    words = [argument for argument in arguments if not argument.startswith("-")]
    commands = [*words[:1], " ".join(words[:2])]
    given = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for option in (argument.partition("=")[0] for argument in given):
        for command in commands:
            if (command, option) in OLD:
                raise UsageError(f"{option} {OLD[command, option]}")
