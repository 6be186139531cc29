"""`regard translate`: standard input to standard output, line for line."""

import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from regard.cli.arguments import Beam, Device, ModelFolder
from regard.errors import DataError

if TYPE_CHECKING:
    from regard.tasks import Translation

LINES_AT_ONCE = 1000
"""Lines that are translated together: many enough to sort by length, few enough to see progress."""


def translate(
    model: ModelFolder,
    beam: Beam = None,
    n_best: Annotated[
        int | None, typer.Option(help="Outputs for each line, best first, each after the number of its input.")
    ] = None,
    alignments: Annotated[bool, typer.Option("--alignments", help="Add a column with word alignments i-j.")] = False,
    scores: Annotated[bool, typer.Option("--scores", help="Add a column with the score.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change how the model decodes, such as decode.method=sample."),
    ] = None,
    device: Device = "auto",
) -> None:
    """Translate standard input to standard output, line for line.

    Columns are separated by tabs: with --n-best the number of the input line from 0, then the text, then the score
    (--scores), then the alignment (--alignments). An empty line stays empty.

    [bold]Examples[/bold]

      regard translate runs/mine < new.de > new.en

      echo "3. März 2021" | regard translate runs/dates --beam 5 --n-best 3 --scores

      regard translate runs/mine --alignments < new.de | cut -f 2 > new.links

      regard translate runs/mine --set decode.method=sample --set decode.top_p=0.9 < new.de
    """
    from regard.tasks import load

    translator = load(model, device=device, changes=settings or [])
    # A person at a terminal wants each line answered; a file is faster in large pieces.
    at_once = 1 if sys.stdin.isatty() else LINES_AT_ONCE
    lines = read_lines(sys.stdin.buffer)
    count = 0
    while piece := list(islice(lines, at_once)):
        texts = [line for line in piece if line.strip()]
        found = iter(translator.translate(texts, beam=beam, n_best=n_best))
        for number, line in enumerate(piece, start=count):
            for output in _outputs(next(found)) if line.strip() else [None]:
                number_column = [str(number)] if n_best is not None else []
                print("\t".join([*number_column, *_columns(output, scores, alignments)]))
        sys.stdout.flush()
        count += len(piece)


def read_lines(stream: BinaryIO) -> Iterator[str]:
    """The lines of standard input, without their ends; only a line feed ends a line."""
    for number, line in enumerate(stream, start=1):
        try:
            yield line.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise DataError(
                f"standard input, line {number}: not valid UTF-8 (byte {error.start + 1} of the line); "
                "convert the text first, for example with iconv"
            ) from None


def _outputs(best: "Translation") -> list["Translation | None"]:
    return [best, *best.others]


def _columns(output: "Translation | None", scores: bool, alignments: bool) -> Iterator[str]:
    from regard.inspect import pharaoh

    # A tab inside an output would shift the columns after it.
    yield output.text.replace("\t", " ") if output and (scores or alignments) else output.text if output else ""
    if scores:
        yield f"{output.score:.4f}" if output else ""
    if alignments:
        yield pharaoh(output.alignment) if output else ""
