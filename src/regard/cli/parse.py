"""`regard parse`: sentences in, CoNLL-U out."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import DecodingChanges, Device, ModelFolder
from regard.cli.lines import STANDARD_INPUT, Line, pieces_of_lines
from regard.cli.loading import loading
from regard.errors import DataError, UsageError, one_of

if TYPE_CHECKING:
    from regard.data.conllu import Sentence

PROMPT = "Type sentences, a blank between words and punctuation; Ctrl-D ends."
FORMATS = ("auto", "conllu", "lines")

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        help="CoNLL-U, or a sentence a line with blanks between its words; may end in .gz. (default: standard input)",
        show_default=False,
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        help="conllu, lines (a sentence a line), or auto, which goes by the name of a file, or else by the first line.",
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

    Of CoNLL-U, heads and relations are replaced (or filled in), and everything else stays as it is. A line of text
    becomes a sentence with the comment `# text`; one without words becomes this comment alone, so that none is lost.

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
            trees = parser.parse([sentence.forms for sentence in piece])
            for sentence, tree in zip(piece, trees, strict=True):
                print(sentence.with_tree(tree.heads, tree.relations).text, end="")
            sys.stdout.flush()


def _sentences(file: Path, form: str) -> "Iterator[list[Sentence]]":
    """The sentences of a file, in pieces to be parsed together."""
    from regard.data.conllu import Sentence

    pieces = pieces_of_lines([file], PROMPT)
    first = next(pieces, [])
    if form == "auto":
        form = "conllu" if _is_conllu(file, first) else "lines"
    if form == "conllu":
        yield from _conllu(file, first, pieces)
        return
    while first:
        yield [Sentence((f"# text = {line.text.strip()}", *Sentence.of(line.text.split()).lines)) for line in first]
        first = next(pieces, [])


def _is_conllu(file: Path, lines: list[Line]) -> bool:
    """By the name of a file, or by the first line: ten columns, or a comment such as `# sent_id = 1`."""
    if str(file) != STANDARD_INPUT and file.name.removesuffix(".gz").endswith(".conllu"):
        return True
    text = next((line.text for line in lines if not line.is_blank), "")
    return text.count("\t") == 9 or re.match(r"#\s*(newdoc|newpar|\w+\s*=)", text) is not None


def _conllu(file: Path, first: list[Line], pieces: Iterator[list[Line]]) -> "Iterator[list[Sentence]]":
    """Sentences as soon as their blank line has come. One that cannot be read is named after those before it."""
    from regard.data.conllu import each_sentence

    name, waiting, number = "" if str(file) == STANDARD_INPUT else str(file), list[str](), 1
    while first or waiting:
        waiting += [line.text for line in first]
        # The last sentence may go on in the next piece, unless there is none.
        ends = [place for place, line in enumerate(waiting, start=1) if not line.strip()]
        cut = (ends[-1] if ends else 0) if first else len(waiting)
        sound = []
        for sentence in each_sentence(waiting[:cut], name, number):
            if problem := next(sentence.layout_problems(), None):
                yield sound
                raise DataError(str(problem) if name else f"standard input, {problem}")
            sound.append(sentence)
        yield sound
        waiting, number, first = waiting[cut:], number + cut, next(pieces, [])
