"""`regard vectors`: word vectors, one thin command a file."""

import typer

from regard.cli.help import PlainGroup, PlainHelp
from regard.cli.vectors.convert import convert, info
from regard.cli.vectors.evaluate import evaluate
from regard.cli.vectors.map import draw_map
from regard.cli.vectors.neighbors import analogy, odd_one_out, similar
from regard.cli.vectors.train import train

vectors = typer.Typer(
    cls=PlainGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Train, compare, evaluate, draw, and convert word vectors.",
)

for command in (train, similar, analogy, odd_one_out, evaluate, info, convert):
    vectors.command(cls=PlainHelp)(command)
vectors.command("map", cls=PlainHelp)(draw_map)
