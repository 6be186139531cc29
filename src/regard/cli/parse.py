"""`regard parse`: sentences in, CoNLL-U out."""

import re
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import DecodingChanges, Device, ModelFolder
from regard.cli.lines import STANDARD_INPUT, Line, pieces_of_lines
from regard.cli.loading import loading
from regard.errors import DataError, RegardError, UsageError, one_of

if TYPE_CHECKING:
    from regard.data.conllu import Sentence
    from regard.tasks.parser import Parser

PROMPT = "Type sentences, a blank between words and punctuation; Ctrl-D ends."
FORMATS = ("auto", "conllu", "lines")

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        help="CoNLL-U, or one sentence per line with spaces between words; may end in .gz. (default: standard input)",
        show_default=False,
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        help="conllu, lines (one sentence per line), or auto: by the name of the file, or else by its first line.",
    ),
]


def parse(
    model: ModelFolder,
    files: Files = None,
    form: Format = "auto",
    settings: DecodingChanges = None,
    device: Device = "auto",
) -> None:
    """Find the dependency trees of sentences in files or standard input, and print them as CoNLL-U.

    In CoNLL-U input, heads and relations are replaced (or filled in), and everything else is unchanged. A line of text
    becomes a sentence with the comment `# text`; a line without words becomes only this comment, so no line is lost.

    [bold]Examples[/bold]

      echo "The dog barks ." | regard parse runs/mine

      regard parse runs/mine new.conllu > parsed.conllu

      regard parse runs/mine --set decode.projective=true < sentences.txt
    """
    if form not in FORMATS:
        raise UsageError(f"--format {form!r} is not known; known are {one_of(FORMATS, form)}")
    with loading():
        from regard.tasks.parser import load_parser

        parser = load_parser(model, device=device, changes=settings or [])
    for file in files or [Path(STANDARD_INPUT)]:
        for piece in _sentences(file, form):
            _print(parser, file, piece)


def _print(parser: "Parser", file: Path, sentences: "list[Sentence]") -> None:
    """Parses sentences and prints them, up to one that cannot be parsed, which is then named."""
    whole, refusal = _up_to_refused(parser, file, sentences)
    trees = parser.parse([sentence.forms for sentence in sentences[:whole]])
    for sentence, tree in zip(sentences, trees, strict=False):
        print(sentence.with_tree(tree.heads, tree.relations).text, end="")
    sys.stdout.flush()
    if refusal is not None:
        raise refusal


def _up_to_refused(parser: "Parser", file: Path, sentences: "list[Sentence]") -> tuple[int, RegardError | None]:
    """The number of sentences before one that cannot be read or is too long for the model, and the error for it."""
    where = "standard input, " if str(file) == STANDARD_INPUT else ""
    for number, sentence in enumerate(sentences):
        if problem := next(sentence.layout_problems(), None):
            return number, DataError(f"{where}{problem}")
        try:
            parser.refuse_long(len(sentence), f"{where}{sentence.place()}: ")
        except UsageError as refusal:
            return number, refusal
    return len(sentences), None


def _sentences(file: Path, form: str) -> "Iterator[list[Sentence]]":
    """The sentences of a file, in pieces to be parsed together."""
    pieces = pieces_of_lines([file], PROMPT)
    first = next(pieces, [])
    name = "" if str(file) == STANDARD_INPUT else str(file)
    if form == "auto":
        form = "conllu" if _is_conllu(name, first) else "lines"
    return (_in_conllu if form == "conllu" else _in_lines)(name, chain([first], pieces))


def _is_conllu(name: str, lines: list[Line]) -> bool:
    """By the name of a file, or by the first line: ten columns, or a comment such as `# sent_id = 1`."""
    if name.removesuffix(".gz").endswith(".conllu"):
        return True
    text = next((line.text for line in lines if not line.is_blank), "")
    return text.count("\t") == 9 or re.match(r"#\s*(newdoc|newpar|\w+\s*=)", text) is not None


def _in_lines(name: str, pieces: Iterator[list[Line]]) -> "Iterator[list[Sentence]]":
    """A sentence for each line."""
    from regard.data.conllu import Sentence

    number = 1
    for piece in pieces:
        rows = ((line.text.strip(), Sentence.of(line.text.split()).lines) for line in piece)
        yield [Sentence((f"# text = {text}", *words), name, number + place) for place, (text, words) in enumerate(rows)]
        number += len(piece)


def _in_conllu(name: str, pieces: Iterator[list[Line]]) -> "Iterator[list[Sentence]]":
    """Sentences, each as soon as its blank line has arrived."""
    from regard.data.conllu import each_sentence

    waiting, number = list[str](), 1
    for piece in pieces:
        waiting += [line.text for line in piece]
        # The last sentence may continue in the next piece.
        whole = next((end for end in range(len(waiting), 0, -1) if not waiting[end - 1].strip()), 0)
        yield list(each_sentence(waiting[:whole], name, number))
        waiting, number = waiting[whole:], number + whole
    yield list(each_sentence(waiting, name, number))
