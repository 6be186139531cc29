"""`regard tag`: files or standard input to standard output, line for line."""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import Device, ModelFolder, Probabilities, SentenceFiles
from regard.cli.lines import Line, pieces_of_lines
from regard.cli.loading import loading
from regard.cli.sentences import print_lines, up_to_too_long, warn_of_tabs
from regard.errors import DataError, RegardError

if TYPE_CHECKING:
    from regard.tasks.tagger import Tagger

Columns = Annotated[
    bool, typer.Option("--columns", help="Read columns, one word per line, and add a column with the tags.")
]


def tag(
    model: ModelFolder,
    files: SentenceFiles = None,
    columns: Columns = False,
    probabilities: Probabilities = False,
    device: Device = "auto",
) -> None:
    """Tag the words in files or standard input, line by line.

    Each line is a sentence, with spaces between words and punctuation; the output is a line with its tags
    and, if sentences have a label, a tab and the label. An empty line stays empty. With --columns, each line is a
    word with its columns, as in the training text, and a blank line ends a sentence: every line is repeated with its
    tag as an additional column, so that the script conlleval can read it; in CoNLL-U, the tag goes into its own column.
    Lines without a word are unchanged. If the training text has one sentence per line, so must the input, and
    tags and label are additional columns.

    [bold]Examples[/bold]

      echo "EU rejects German call" | regard tag runs/ner

      regard tag runs/ner sentences.txt --probabilities > sentences.tags

      regard tag runs/ner --columns < test.conll > tagged.conll
    """
    with loading():
        from regard.tasks.tagger import load_tagger

        tagger = load_tagger(model, device=device)
    by_word = columns and tagger.recipe.data.format == "columns"
    prompt = "a word and its columns a line" if by_word else "one sentence a line"
    answer, rest = (_in_columns if by_word else partial(_in_lines, repeat=columns)), list[Line]()
    told = columns
    for piece in pieces_of_lines(files or [], f"{prompt}; Ctrl-D ends"):
        told = told or warn_of_tabs(piece, "of a file with columns, --columns reads the words alone")
        rest += piece
        # In columns, a piece may end inside a sentence.
        ends = (place + 1 for place in reversed(range(len(rest))) if rest[place].is_blank)
        whole = next(ends, 0) if by_word else len(rest)
        print_lines(answer(tagger, rest[:whole], probabilities))
        rest = rest[whole:]
    print_lines(answer(tagger, rest, probabilities))


def _in_lines(tagger: "Tagger", lines: list[Line], probabilities: bool, *, repeat: bool) -> Iterator[str]:
    """The tags and the label of each line; with `repeat` after its own columns."""
    from regard.data.columns import column_of

    column = tagger.recipe.data.word_column
    sentences = [(column_of(line.text.split("\t"), column) if repeat else line.text).split() for line in lines]
    whole, refusal = up_to_too_long(tagger, sentences, [line.place for line in lines])
    for line, found in zip(lines, tagger.tag(sentences[:whole], probabilities=probabilities), strict=False):
        shares = [" ".join(f"{share:.4f}" for share in found.probabilities)] if probabilities else []
        labels = [found.label] if found.label else []
        if labels and probabilities:
            shares.append(f"{found.label_probabilities[found.label]:.4f}")
        columns = [*([line.text] if repeat else []), " ".join(found.tags), *labels, *shares]
        yield "\t".join(columns) if found.words else line.text if repeat else ""
    if refusal is not None:
        raise refusal


def _in_columns(tagger: "Tagger", lines: list[Line], probabilities: bool) -> Iterator[str]:
    """Lines of columns with the tags of their words."""
    from regard.data.columns import WordLine, word_lines

    data, read = tagger.recipe.data, list[WordLine]()
    problem: RegardError | None = None
    try:
        for line in word_lines(data, [(line.text, line.place) for line in lines]):
            read.append(line)
    except DataError as error:
        # The sentences before that line are tagged.
        blank = (place for place in reversed(range(len(read))) if read[place].is_blank)
        problem, lines = error, lines[: next(blank, 0)]
    # A blank line is the first of a part, so that every line belongs to one.
    ends = [place for place, line in enumerate(lines) if line.is_blank] + [len(lines)]
    bounds = list(pairwise([0, *ends]))
    parts = [read[start:end] for start, end in bounds]
    sentences = [[line.word for line in part if line.word] for part in parts]
    places = [next((lines[place].place for place in range(*each) if read[place].word), "") for each in bounds]
    whole, refusal = up_to_too_long(tagger, sentences, places)
    answers = tagger.tag(sentences[:whole], probabilities=probabilities)
    for part, found in zip(parts, answers, strict=False):
        tags = iter(found.tags)
        shares = (f"\t{share:.4f}" for share in found.probabilities)
        for line in part:
            yield line.tagged(next(tags), data) + next(shares, "") if line.word else line.text
    if problem := refusal or problem:
        raise problem
