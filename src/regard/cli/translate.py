"""`regard translate`: standard input to standard output, line for line."""

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from regard.cli.arguments import (
    Beam,
    DecodingChanges,
    Device,
    Ensemble,
    ModelFolder,
    To,
    refuse_less_than_one,
)
from regard.cli.corpus import CONVERT
from regard.cli.eager_notice import told_if_eager
from regard.errors import DataError, UsageError

if TYPE_CHECKING:
    from regard.tasks import Translation, Translator
    from regard.tasks.glossary import GlossaryUse
    from regard.tasks.rescoring import Rescoring

LINES_AT_ONCE = 1000
"""Lines that are translated together: many enough to sort by length, few enough to see progress."""


NBest = Annotated[
    int | None,
    typer.Option(
        help="Outputs for each line, best first, each after the number of its input. A beam gives each text once, so "
        "there may be fewer."
    ),
]
Alignments = Annotated[bool, typer.Option("--alignments", help="Add a column with word alignments i-j.")]
Scores = Annotated[bool, typer.Option("--scores", help="Add a column with the score.")]
Rescore = Annotated[
    Path | None,
    typer.Option(metavar="MODEL", help="Another model, to rank the outputs of --n-best anew.", show_default=False),
]
Weight = Annotated[
    float | None, typer.Option(help="With --rescore: the other model's share of the score. (default: 0.5)")
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option(help="File of tab-separated terms, source and target: the output has them.", show_default=False),
]
IgnoreCase = Annotated[bool, typer.Option("--ignore-case", help="Find terms of --glossary in any case.")]
Markup = Annotated[
    bool, typer.Option("--markup", help="Carry tags such as <b> and placeholders such as {name} through.")
]


def translate(
    model: ModelFolder,
    beam: Beam = None,
    n_best: NBest = None,
    alignments: Alignments = False,
    scores: Scores = False,
    settings: DecodingChanges = None,
    ensemble: Ensemble = None,
    rescore: Rescore = None,
    weight: Weight = None,
    glossary: GlossaryFile = None,
    ignore_case: IgnoreCase = False,
    markup: Markup = False,
    to: To = None,
    device: Device = "auto",
) -> None:
    """Translate standard input to standard output, line for line.

    Columns are separated by tabs: with --n-best the number of the input line from 0, then the text, then the score
    (--scores), then the alignment (--alignments). An empty line stays empty; a line end inside an output is a space.

    [bold]Examples[/bold]

      regard translate runs/mine < new.de > new.en

      echo "3. März 2021" | regard translate runs/dates --beam 5 --n-best 3 --scores

      regard translate runs/mine --alignments < new.de | cut -f 2 > new.links

      regard translate runs/mine --set decode.precision=int8 < new.de > new.en

      regard translate runs/mine --set decode.risk=chrf --set decode.candidates=16 < new.de

      regard translate runs/a --ensemble runs/b --ensemble runs/c < new.de > new.en

      regard translate runs/mine --n-best 10 --rescore runs/other < new.de

      regard translate runs/mine --glossary terms.tsv < new.de > new.en

      echo "Klick <b>hier</b>, {name}!" | regard translate runs/mine --markup

      regard translate runs/many --to fr < new.en > new.fr
    """
    from regard.tasks import load_translator

    refuse_less_than_one({"--beam": beam, "--n-best": n_best})
    _refuse_contradictions(markup, alignments, rescore, weight)
    terms = _terms(glossary, ignore_case)
    translator = load_translator(model, *ensemble or [], device=device, changes=settings or []).into(to)
    if not (alignments or markup):  # which look at the attention
        translator.only_writing()
    rescoring = None if rescore is None else _rescoring(translator, rescore, weight, n_best, device, to)
    with told_if_eager(translator, terms=terms is not None):
        for piece in _pieces():
            texts = [line for _, line in piece if line.strip()]
            found = _translated(translator, texts, markup, terms, rescoring, beam, n_best)
            answers = _answers(translator, found, scores, alignments)
            for number, line in piece:
                for columns in next(answers) if line.strip() else [[""] * (1 + scores + alignments)]:
                    print("\t".join([str(number), *columns] if n_best is not None else columns))
            sys.stdout.flush()
    if terms is not None:
        typer.echo(terms.line(), err=True)


def _pieces() -> Iterator[list[tuple[int, str]]]:
    """Lines of standard input that are translated together, with their numbers from 0."""
    # A person at a terminal wants each line answered; a file is faster in large pieces.
    at_once = 1 if sys.stdin.isatty() else LINES_AT_ONCE
    lines = enumerate(read_lines(sys.stdin.buffer))
    while piece := list(islice(lines, at_once)):
        yield piece


def _terms(glossary: Path | None, ignore_case: bool) -> "GlossaryUse | None":
    from regard.tasks.glossary import Glossary, GlossaryUse

    if ignore_case and glossary is None:
        raise UsageError("--ignore-case needs --glossary FILE")
    return None if glossary is None else GlossaryUse(Glossary.read(glossary, ignore_case=ignore_case))


def _translated(
    translator: "Translator",
    texts: list[str],
    markup: bool,
    terms: "GlossaryUse | None",
    rescoring: "Rescoring | None",
    beam: int | None,
    n_best: int | None,
) -> "list[Translation]":
    """The translations of texts, with all that was wished for."""
    from regard.tasks.markup import MarkedTexts

    marked = MarkedTexts(texts) if markup else None
    plain = texts if marked is None else marked.plain
    forced = None if terms is None else [[entry.target for entry in terms.find(text)] for text in plain]
    found = translator.translate(plain, beam=beam, n_best=n_best, terms=forced)
    found = rescoring.rank(found) if rescoring else found
    return found if marked is None else marked.restored(found)


def read_lines(stream: BinaryIO) -> Iterator[str]:
    """The lines of standard input, without their ends; only a line feed ends a line."""
    for number, line in enumerate(stream, start=1):
        if (place := line.find(b"\0")) >= 0:
            raise DataError(
                f"standard input, line {number}: contains a NUL byte (byte {place + 1}), so this is not a text file; "
                f"{CONVERT} (is it UTF-16?)"
            )
        try:
            yield line.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise DataError(
                f"standard input, line {number}: not valid UTF-8 (byte {error.start + 1} of the line); {CONVERT}"
            ) from None


def one_line(text: str) -> str:
    """A model of characters or bytes may write line ends too; here they are spaces, because a line is an output."""
    return text.replace("\n", " ").replace("\r", " ")


def _refuse_contradictions(markup: bool, alignments: bool, rescore: Path | None, weight: float | None) -> None:
    if markup and alignments:
        raise UsageError("--alignments are of words alone, --markup gives text with tags; choose one of them")
    if weight is None:
        return
    if rescore is None:
        raise UsageError("--weight needs --rescore MODEL")
    if not 0 <= weight <= 1:
        raise UsageError(f"--weight {weight:g}: the other model's share of the score; give a number from 0 to 1")


def _rescoring(
    translator: "Translator", other: Path, weight: float | None, n_best: int | None, device: str, to: str | None
) -> "Rescoring":
    from regard.tasks import load_translator
    from regard.tasks.rescoring import SHARE, Rescoring

    decoding = translator.recipe.decode
    if max(n_best or 1, decoding.n_best) == 1:
        raise UsageError("--rescore ranks several outputs anew, but there is one for each line; ask for --n-best 10")
    if decoding.risk != "none":
        raise UsageError(f"--rescore ranks by probability, decode.risk = {decoding.risk!r} by likeness; choose one")
    second = load_translator(other, device=device)
    judge = second.into(to) if second.tags else second
    return Rescoring(judge, SHARE if weight is None else weight, decoding.length_penalty)


def _answers(
    translator: "Translator", translations: "list[Translation]", scores: bool, alignments: bool
) -> "Iterator[list[list[str]]]":
    """For each input the columns of its outputs, best first."""
    from regard.inspect import pharaoh

    found = [[best, *best.others] for best in translations]
    every = [output for outputs in found for output in outputs]
    # All at once, because attention is read in batches.
    links = translator.align([o.source for o in every], [o.text for o in every]) if alignments else []
    columns: Iterator[str | None] = iter(map(pharaoh, links) if alignments else [None] * len(every))
    for outputs in found:
        yield [_columns(output, scores, next(columns)) for output in outputs]


def _columns(output: "Translation", scores: bool, links: str | None) -> list[str]:
    text = one_line(output.text)
    several = scores or links is not None
    # A tab inside an output would shift the columns after it.
    columns = [text.replace("\t", " ") if several else text]
    if scores:
        columns.append(f"{output.score:.4f}")
    if links is not None:
        columns.append(links)
    return columns
