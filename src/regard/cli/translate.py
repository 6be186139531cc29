"""`regard translate`: files or standard input to standard output, line for line."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import (
    Beam,
    DecodingChanges,
    Device,
    Ensemble,
    ModelFolder,
    Scores,
    To,
    refuse_less_than_one,
)
from regard.cli.eager_notice import told_if_eager
from regard.cli.lines import Line, pieces_of_lines
from regard.cli.loading import loading
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.tasks import Translation, Translator
    from regard.tasks.glossary import GlossaryUse
    from regard.tasks.markup import MarkedTexts
    from regard.tasks.rescoring import Rescoring

PROMPT = "one sentence a line; Ctrl-D ends"

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        help="Text, one sentence per line; may end in .gz. (default: standard input)",
        show_default=False,
    ),
]
NBest = Annotated[
    int | None,
    typer.Option(
        help="Outputs for each line, best first, each after the number of its input. Beam search gives each text "
        "once, so there may be fewer."
    ),
]
Alignments = Annotated[bool, typer.Option("--alignments", help="Add a column with word alignments i-j.")]
Rescore = Annotated[
    Path | None,
    typer.Option(metavar="MODEL", help="Another model, to rerank the outputs of --n-best.", show_default=False),
]
Weight = Annotated[
    float | None, typer.Option(help="With --rescore: the other model's share of the score. (default: 0.5)")
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option(help="File of tab-separated terms, source and target, that the output must use.", show_default=False),
]
IgnoreCase = Annotated[bool, typer.Option("--ignore-case", help="Find terms of --glossary regardless of case.")]
Markup = Annotated[bool, typer.Option("--markup", help="Preserve tags such as <b> and placeholders such as {name}.")]


def translate(
    model: ModelFolder,
    files: Files = None,
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
    """Translate files or standard input to standard output, line by line.

    A line is answered as soon as no further line arrives for a moment, so programs and people can wait for answers.
    Columns are separated by tabs: with --n-best, the number of the input line from 0, then the text, then the score
    (--scores), then the alignment (--alignments). An empty line stays empty; a line break in an output becomes a space.

    [bold]Examples[/bold]

      regard translate runs/mine new.de > new.en

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
    refuse_less_than_one({"--beam": beam, "--n-best": n_best})
    _refuse_contradictions(markup, alignments, rescore, weight)
    with loading():
        from regard.tasks import load_translator

        terms = _terms(glossary, ignore_case)
        translator = load_translator(model, *ensemble or [], device=device, changes=settings or []).into(to)
    if not (alignments or markup or glossary):  # which look at the attention
        translator.only_writing()
    rescoring = None if rescore is None else _rescoring(translator, rescore, weight, n_best, device, to)
    with told_if_eager(partial(translator.why_eager, terms=terms is not None)):
        number = texts_before = 0
        for piece in pieces_of_lines(files or [], PROMPT):
            piece, refusal = _up_to_too_long(translator, piece)
            lines = [line for line in piece if not line.is_blank]
            # Sampling depends on the number of a text, wherever its piece begins.
            numbered = translator.counting_from(texts_before)
            found = _translated(numbered, [line.text for line in lines], markup, terms, rescoring, beam, n_best)
            texts_before += len(lines)
            answers = _answers(translator, found, scores, alignments)
            for line in piece:
                for columns in [[""] * (1 + scores + alignments)] if line.is_blank else next(answers):
                    print("\t".join([str(number), *columns] if n_best is not None else columns))
                number += 1
            sys.stdout.flush()
            if refusal is not None:
                raise refusal
    if terms is not None:
        typer.echo(terms.line(), err=True)


def _up_to_too_long(translator: "Translator", lines: list[Line]) -> tuple[list[Line], UsageError | None]:
    """The lines before one that is too long (it would take hours, or too much memory), and the error for that one, if
    any."""
    most = translator.most_tokens
    for place, line in enumerate(lines):
        # A character has at most four bytes, and no tokenizer makes more tokens than there are bytes.
        if len(line.text) * 4 > most and (count := translator.count_tokens(line.text)) > most:
            return lines[:place], UsageError(
                f"{line.place}: {count:,} tokens, but at most {most:,} are translated at a time; this model was "
                f"trained on texts of at most {translator.recipe.data.longest:,} (data.longest): put each sentence on "
                "a line of its own"
            )
    return lines, None


def _terms(glossary: Path | None, ignore_case: bool) -> "GlossaryUse | None":
    if ignore_case and glossary is None:
        raise UsageError("--ignore-case needs --glossary FILE")
    if glossary is None:
        return None
    from regard.tasks.glossary import Glossary, GlossaryUse

    return GlossaryUse(Glossary.read(glossary, ignore_case=ignore_case))


def _translated(
    translator: "Translator",
    texts: list[str],
    markup: bool,
    terms: "GlossaryUse | None",
    rescoring: "Rescoring | None",
    beam: int | None,
    n_best: int | None,
) -> "list[Translation]":
    """The translations of texts, with all requested options."""
    marked = _marked(texts) if markup else None
    plain = texts if marked is None else marked.plain

    def write(some: Sequence[str], forced: Sequence[Sequence[str]] | None) -> "list[Translation]":
        found = translator.translate(some, beam=beam, n_best=n_best, terms=forced)
        return rescoring.rank(found) if rescoring else found

    if terms is None:
        found = write(plain, None)
    else:
        from regard.tasks.placed_terms import translate_with_terms

        found = translate_with_terms(translator, plain, list(map(terms.find, plain)), write)
    return found if marked is None else marked.restored(found)


def _marked(texts: list[str]) -> "MarkedTexts":
    from regard.tasks.markup import MarkedTexts

    return MarkedTexts(texts)


def one_line(text: str) -> str:
    """Replaces line ends, which models of characters or bytes may write, by spaces, because each output is one line."""
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
        raise UsageError("--rescore reranks several outputs, but there is one for each line; ask for --n-best 10")
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
