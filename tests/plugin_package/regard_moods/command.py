"""`regard judge`: a verb of one's own."""

import sys

import typer

from regard.cli.arguments import ModelFolder


def judge(model: ModelFolder) -> None:
    """Tell the mood of each line of standard input.

    [bold]Examples[/bold]

      echo "it is spring" | regard judge runs/moods
    """
    from regard_moods.judge import load_judge

    trained = load_judge(model)
    for line in sys.stdin:
        typer.echo(trained.judge(line)[0])
