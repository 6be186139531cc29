"""`regard tag`: files or standard input to standard output, line for line."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import Device, ModelFolder
from regard.cli.lines import Line, pieces_of_lines
from regard.cli.loading import loading

if TYPE_CHECKING:
    from regard.tasks.tagger import Tagged, Tagger

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        help="Sentences, one a line with blanks between words; may end in .gz. (default: standard input)",
        show_default=False,
    ),
]
Columns = Annotated[
    bool, typer.Option("--columns", help="Read columns, a word a line, and add a column with the tags.")
]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Add a column with the probabilities of the tags.")
]


def tag(
    model: ModelFolder,
    files: Files = None,
    columns: Columns = False,
    probabilities: Probabilities = False,
    device: Device = "auto",
) -> None:
    """Tag the words of files or of standard input, line for line.

    Each line is a sentence, its words (and punctuation) separated by blanks; the answer is a line with as many tags. An
    empty line stays empty. With --columns each line is a word with its columns, as in the training text, and a blank
    line ends a sentence: every line is repeated with its tag as one column more, so that the script conlleval can read
    it; of CoNLL-U the tag is put into its own column. Lines that are no words stay as they are.

    [bold]Examples[/bold]

      echo "EU rejects German call" | regard tag runs/ner

      regard tag runs/ner sentences.txt --probabilities > sentences.tags

      regard tag runs/ner --columns < test.conll > tagged.conll
    """
    with loading():
        from regard.tasks.tagger import load_tagger

        tagger = load_tagger(model, device=device)
    prompt = "a word and its columns a line" if columns else "one sentence a line"
    rest: list[Line] = []
    for piece in pieces_of_lines(files or [], f"{prompt}; Ctrl-D ends"):
        if not columns:
            _print(_line(found, probabilities) for found in tagger.tag([line.text for line in piece]))
            continue
        # A piece may end inside a sentence.
        rest += piece
        whole = next((place + 1 for place in reversed(range(len(rest))) if rest[place].is_blank), 0)
        _print(_in_columns(tagger, rest[:whole], probabilities))
        rest = rest[whole:]
    _print(_in_columns(tagger, rest, probabilities))


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        print(line)
    sys.stdout.flush()


def _line(found: "Tagged", probabilities: bool) -> str:
    tags = " ".join(found.tags)
    return f"{tags}\t{' '.join(f'{share:.4f}' for share in found.probabilities)}" if probabilities else tags


def _in_columns(tagger: "Tagger", lines: list[Line], probabilities: bool) -> Iterator[str]:
    """Lines of columns with the tags of their words."""
    from regard.data.columns import WordLine, word_lines

    read = word_lines(tagger.recipe.data, [(line.text, line.place) for line in lines])
    sentences: list[list[WordLine]] = [[]]
    for each in read:
        if each.is_blank:
            sentences.append([])
        elif each.word:
            sentences[-1].append(each)
    found = iter(tagger.tag([[each.word for each in sentence] for sentence in sentences if sentence]))
    answers = (answer for each in found for answer in zip(each.tags, each.probabilities, strict=True))
    for each in read:
        if not each.word:
            yield each.text
        else:
            name, share = next(answers)
            yield each.tagged(name, tagger.recipe.data) + (f"\t{share:.4f}" if probabilities else "")
