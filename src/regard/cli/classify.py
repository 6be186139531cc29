"""`regard classify`: files or standard input to standard output, line for line."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import Device, ModelFolder, Probabilities
from regard.cli.lines import Line, pieces_of_lines
from regard.cli.loading import loading
from regard.cli.sentences import print_lines, up_to_too_long

if TYPE_CHECKING:
    from regard.tasks.classifier import Classifier

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        help="Texts, one a line with blanks between words; may end in .gz. (default: standard input)",
        show_default=False,
    ),
]


def classify(
    model: ModelFolder, files: Files = None, probabilities: Probabilities = False, device: Device = "auto"
) -> None:
    """Label the texts of files or of standard input, line for line.

    Each line is a text, its words (and punctuation) separated by blanks as in the training text; the answer is a line
    with its label. Where a text may have several labels, they are separated by tabs, and a line is empty if there are
    none. An empty line is a text too, without a word. With --probabilities a line has all labels instead, likeliest
    first, each with its probability and tabs between.

    [bold]Examples[/bold]

      echo "a lovely film" | regard classify runs/sentiment

      regard classify runs/sentiment reviews.txt --probabilities > reviews.tsv
    """
    with loading():
        from regard.tasks.classifier import load_classifier

        classifier = load_classifier(model, device=device)
    for piece in pieces_of_lines(files or [], "one text a line; Ctrl-D ends"):
        print_lines(_labelled(classifier, piece, probabilities))


def _labelled(classifier: "Classifier", lines: list[Line], probabilities: bool) -> Iterator[str]:
    """The labels of each line."""
    texts = [line.text.split() for line in lines]
    whole, refusal = up_to_too_long(classifier, texts, [line.place for line in lines])
    for found in classifier.classify(texts[:whole]):
        shares = (f"{label} {share:.4f}" for label, share in found.probabilities.items())
        yield "\t".join(shares if probabilities else found.labels)
    if refusal is not None:
        raise refusal
