"""`regard vectors similar`, `analogy` and `odd-one-out`: similar words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.table import table
from regard.cli.vectors.arguments import KeepGiven, Method, Top, VectorsPath

if TYPE_CHECKING:
    from regard.vectors import Neighbor, Vectors

RARE = 20
"""Occurrences below which the neighbors of a word are mostly chance."""


def similar(
    vectors: VectorsPath,
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="A word, or several to combine.")],
    away: Annotated[
        list[str] | None, typer.Option("--away", metavar="WORD", help="A word to move away from; repeatable.")
    ] = None,
    top: Top = 10,
    method: Method = "additive",
    keep_given: KeepGiven = False,
) -> None:
    """Show the words nearest to a word, or to several combined.

    [bold]Examples[/bold]

      regard vectors similar runs/wiki hotel

      regard vectors similar glove.6B.50d.txt.gz apple --away fruit
    """
    from regard.vectors import Vectors

    away, known = away or [], Vectors.load(vectors)
    found = known.most_similar(words, away, top=top, method=method, keep_given=keep_given)
    _show(found, [*words, *away], known)


def analogy(
    vectors: VectorsPath,
    first: Annotated[str, typer.Argument(metavar="A", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="B", show_default=False)],
    third: Annotated[str, typer.Argument(metavar="C", show_default=False)],
    top: Top = 5,
    method: Method = "additive",
    keep_given: KeepGiven = False,
) -> None:
    """Find the word that is to C as B is to A. The three given words are excluded.

    [bold]Examples[/bold]

      regard vectors analogy runs/wiki man woman king

      regard vectors analogy runs/wiki man woman king --method multiplicative

      regard vectors analogy runs/wiki man woman king --keep-given
    """
    from regard.vectors import Vectors

    known = Vectors.load(vectors)
    found = known.analogy(first, second, third, top=top, method=method, keep_given=keep_given)
    _show(found, [first, second, third], known)


def odd_one_out(
    vectors: VectorsPath,
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Three or more words.")],
) -> None:
    """Find the word that does not fit: the one least similar to the mean of all.

    [bold]Examples[/bold]

      regard vectors odd-one-out runs/wiki breakfast lunch cereal dinner
    """
    from regard.vectors import Vectors

    typer.echo(Vectors.load(vectors).odd_one_out(words))


def _show(found: "Sequence[Neighbor]", given: Sequence[str], vectors: "Vectors") -> None:
    rows = [(word + ("  (given)" if word in given else ""), f"{score:.4f}") for word, score in found]
    for line in table(rows):
        typer.echo(line)
    for word in given:
        count = vectors.occurrences(word)
        if count is not None and count < RARE:
            often = "once" if count == 1 else f"{count} times"
            typer.echo(
                f"{word!r} occurred {often} in the training text: too rarely for its neighbors to mean much", err=True
            )
