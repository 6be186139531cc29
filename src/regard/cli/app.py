"""The `regard` command: its list of commands, and how failures are reported."""

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from regard.cli.commands import OPTIONS, Commands
from regard.cli.renamed import refuse_renamed
from regard.cli.streams import standard_streams
from regard.errors import RegardError, RegardWarning, with_short_paths
from regard.loops import when_compiling

app = typer.Typer(
    cls=Commands,
    epilog="Every command has its own help with examples: regard train --help",
    **{**OPTIONS, "no_args_is_help": True},  # type: ignore[arg-type]
)


def _version(wanted: bool) -> None:
    if wanted:
        from regard.versions import version_of

        typer.echo(f"regard {version_of('regard')}")
        raise typer.Exit


@app.callback()
def regard(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error, after any command.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Train attention-based sequence models from scratch on your own data, run them, and look inside."""


@contextmanager
def _warnings_in_words() -> Iterator[None]:
    """Shows our own warnings once, on a line of standard error, whatever Python's filters are."""
    with warnings.catch_warnings():
        plainly = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, RegardWarning):
                print(f"regard: warning: {message}", file=sys.stderr)
            else:
                plainly(message, category, *where, **more)

        warnings.filterwarnings("default", category=RegardWarning)
        warnings.showwarning = show
        yield


def main() -> None:
    """Runs a command. A user's error ends with exit code 2 and one message; a bug keeps its traceback."""
    # Spinning threads are no faster here, and many times slower when other programs use the cores too.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    arguments = sys.argv[1:]
    # `--debug` is understood after a command too, where people add it when something has just gone wrong.
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    debug = "--debug" in options
    if debug:
        arguments.remove("--debug")
    try:
        refuse_renamed(arguments)
        if sys.stderr is not None and sys.stderr.isatty():
            when_compiling(lambda: print("compiling loops, which is done once …", file=sys.stderr, flush=True))
        with standard_streams(), _warnings_in_words():
            app(arguments, prog_name="regard")
    except RegardError as error:
        if debug:
            traceback.print_exc()
        else:
            print(with_short_paths(f"regard: {error}"), file=sys.stderr)
        sys.exit(2)
