"""`regard classify`: files or standard input to standard output, line for line."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import Device, ModelFolder, Probabilities
from regard.cli.lines import Line, pieces_of_lines
from regard.cli.loading import loading
from regard.cli.sentences import print_lines, up_to_too_long, warn_of_tabs
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.tasks.classifier import Classified, Classifier

Said = list[tuple[str, str] | str]
"""The turns of a conversation: texts, or pairs of a speaker and a text."""

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        help="Texts, one per line, with spaces between words; may end in .gz. (default: standard input)",
        show_default=False,
    ),
]


def classify(
    model: ModelFolder, files: Files = None, probabilities: Probabilities = False, device: Device = "auto"
) -> None:
    """Label texts from files or standard input, line by line.

    Each line is a text, with spaces between words and punctuation as in the training text; the output is a line
    with its label. If texts may have several labels, these are separated by tabs, and the line is empty if there are
    none. With --probabilities, a line instead has all labels, most likely first, each with its probability, separated
    by tabs. An empty line stays empty.

    A model of conversations labels each text given those before it, as soon as its line arrives. An empty line ends a
    conversation and is answered by an empty line. If the training text has speakers, each line has the speaker, a tab,
    and the text; further columns are ignored.

    [bold]Examples[/bold]

      echo "a lovely film" | regard classify runs/sentiment

      regard classify runs/sentiment reviews.txt --probabilities > reviews.tsv
    """
    with loading():
        from regard.tasks.classifier import load_classifier

        classifier = load_classifier(model, device=device)
    data = classifier.recipe.data
    if not data.conversations:
        told = False
        for piece in pieces_of_lines(files or [], "one text a line; Ctrl-D ends"):
            told = told or warn_of_tabs(piece, "give texts without their labels, for example by `cut -f 2`")
            print_lines(_labelled(classifier, piece, probabilities))
        return
    prompt = "a speaker, a tab and a text a line" if data.speaker_column else "one text a line"
    for each in [[file] for file in files or []] or [[]]:
        before = Said()  # each file begins a new conversation
        for piece in pieces_of_lines(each, f"{prompt}, an empty line between conversations; Ctrl-D ends"):
            print_lines(_conversed(classifier, piece, before, probabilities))


def _labelled(classifier: "Classifier", lines: list[Line], probabilities: bool) -> Iterator[str]:
    """The labels of each line."""
    texts = [line.text.split() for line in lines]
    whole, refusal = up_to_too_long(classifier, texts, [line.place for line in lines])
    for found in classifier.classify(texts[:whole]):
        yield _told(found, probabilities) if found.words else ""
    if refusal is not None:
        raise refusal


def _conversed(classifier: "Classifier", lines: list[Line], before: Said, probabilities: bool) -> Iterator[str]:
    """The labels of lines of conversations. `before` has the last turns of the current one, and is updated."""
    for is_blank, group in groupby(lines, lambda line: line.is_blank):
        if is_blank:
            before.clear()
            yield from ("" for _ in group)
            continue
        said, problem = Said(), None
        for line in group:
            try:
                said.append(classifier.utterance(line.text, line.place))
            except RegardError as error:
                problem = error
                break
        for found in classifier.classify_conversation(said, before):
            yield _told(found, probabilities)
        if problem is not None:
            raise problem
        before += said
        del before[: max(len(before) - classifier.recipe.model.context.texts_before, 0)]


def _told(found: "Classified", probabilities: bool) -> str:
    shares = (f"{label} {share:.4f}" for label, share in found.probabilities.items())
    return "\t".join(shares if probabilities else found.labels)
