"""`regard align`: word alignments of given translations."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.aligning import AlignerName, Aligners, HowToLoad, Reverse, Symmetrize, Threshold, UnitsName, joining_of
from regard.cli.arguments import Against, DecodingChanges, Device, Head, LeastScore, Pairs, Probabilities, Scores, To
from regard.cli.choosing_attention import choose_attention
from regard.cli.evaluate import check_pairs
from regard.cli.progress import progress_of
from regard.errors import UsageError, counted

if TYPE_CHECKING:
    from regard.data import Pair
    from regard.inspect import Alignment, GoldLinks, Joining

GoldFile = Annotated[
    Path | None,
    typer.Option("--gold", help="Gold links (i-j sure, ipj possible): print error rate, precision, recall, and F1."),
]
Agreement = Annotated[
    bool, typer.Option("--agreement", help="Print the agreement (F1) of both directions, without gold links.")
]
Choose = Annotated[
    bool,
    typer.Option(
        "--choose",
        help="Choose the layer, heads, and step of a translator's attention to take links from, without gold links, "
        "and save the choice in its folder.",
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Write a page that shows the links of up to 1,000 pairs, with --gold compared with the gold links.",
        show_default=False,
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(help="Name of the layer's tap. (default: the mean of all)", show_default=False),
]


PRINTED = {
    "--gold": "scores",
    "--agreement": "the agreement",
    "--choose": "what it chose",
    "--html": "the name of the page",
}
"""The output of options that replaces the links."""


def align(
    model: AlignerName,
    files: Pairs = None,
    gold: GoldFile = None,
    against: Against = None,
    agreement: Agreement = False,
    choose: Choose = False,
    html: Html = None,
    symmetrize: Symmetrize = None,
    threshold: Threshold = None,
    reverse: Reverse = None,
    probabilities: Probabilities = False,
    scores: Scores = False,
    least_score: LeastScore = None,
    layer: Layer = None,
    head: Head = None,
    settings: DecodingChanges = None,
    units: UnitsName = "auto",
    to: To = None,
    device: Device = "auto",
) -> None:
    """Print word alignments i-j (source word - target word, from 0) of given translations, from an aligner or from the
    attention of a translator. --probabilities writes i-j:p; the score of a pair is the mean log-probability per word.

    [bold]Examples[/bold]

      regard align runs/mine test.de test.en > test.links

      regard align runs/mine test.de test.en --gold gold.links --against eflomal.links

      regard align runs/de-en test.de test.en --reverse runs/en-de --symmetrize intersection > test.links

      regard align runs/mine crawled.tsv --scores | cut -f 2 > crawled.scores

      regard align runs/mine crawled.tsv --least-score -4 > clean.tsv

      paste new.de new.en | regard align runs/mine --probabilities

      regard align runs/de-en dev.de dev.en --reverse runs/en-de --choose

      regard align runs/mine test.de test.en --gold gold.links --html test.html

      regard align forward.links test.de test.en --reverse backward.links --agreement
    """
    from regard.cli.gathered_links import Gathered
    from regard.tokens.segmentation import unit_name

    check_pairs(files := files or [])
    given = {"--gold": gold, "--agreement": agreement, "--choose": choose, "--html": html}
    instead = next((option for option, value in given.items() if value), None)
    _refuse_contradictions(instead, gold, agreement, against, probabilities, scores, least_score, html)
    counted_by, joined_by, how = unit_name(units), joining_of(symmetrize, threshold), HowToLoad(device, layer, head)
    forward = how.load(model, settings or [], to)
    backward = None if reverse is None else how.load(reverse, [], None, turned=True)
    if choose:
        asked = (layer, head, symmetrize, threshold, html) != (None,) * 5 or instead != "--choose"
        choose_attention((model, forward), (reverse, backward), files, counted_by, asked=asked)
        return
    aligners = Aligners(model, forward, backward, joined_by)
    rival = None if against is None else Aligners(Path(against), how.load(Path(against), [], to), None, None)
    true = _true_links(gold, files, aligners, rival)
    gathered = Gathered(aligners, rival, counted_by, true, html, agreement=agreement)
    count, kept, scored = 0, 0, scores or least_score is not None
    with progress_of("pairs", while_printing=instead is None) as show:
        for pairs in _pieces(files, forward):
            count += len(pairs)
            if instead:
                gathered.take(pairs, scored=scores)
            else:
                found = aligners.align(pairs, counted_by, scored=scored)
                kept += _print(pairs, found, aligners.joining, probabilities, least_score)
            show(count, None)
            if gathered.has_enough:
                break
        else:
            aligners.check_ended()
    if least_score is not None:
        typer.echo(f"kept {kept:,} of {counted(count, 'pair')}", err=True)
    for line in gathered.told(gold):
        typer.echo(line)


def _true_links(
    gold: Path | None, files: list[str], aligners: Aligners, rival: Aligners | None
) -> "list[GoldLinks] | None":
    """The gold links. Refuses files of links whose length is not that of the text, before any pair is aligned."""
    from regard.cli.corpus import count_pairs
    from regard.inspect import read_gold
    from regard.inspect.gold import check_gold_count

    true = None if gold is None else list(read_gold(gold))
    if (pairs := count_pairs(files)) is not None:
        for each in filter(None, (aligners, rival)):
            each.check_count(pairs)
        if gold is not None and true is not None:
            check_gold_count(gold, true, pairs)
    return true


def _refuse_contradictions(
    judged: str | None,
    gold: Path | None,
    agreement: bool,
    against: str | None,
    probabilities: bool,
    scores: bool,
    least_score: float | None,
    html: Path | None,
) -> None:
    from regard.cli.gathered_links import check_page_name

    if least_score is not None and (judged or probabilities or scores):
        other = judged or ("--probabilities" if probabilities else "--scores")
        raise UsageError(f"--least-score prints pairs, and {other} something else; choose one of them")
    # A page shows the scores of pairs.
    for option, given in (("--probabilities", probabilities), ("--scores", scores and judged != "--html")):
        if given and judged:
            printed = PRINTED[judged]
            raise UsageError(f"{option} is for the links, and {judged} prints {printed} instead; choose one of them")
    if gold is not None and agreement:
        raise UsageError("--agreement is for text without gold, and --gold names it; leave --agreement out")
    if against is not None and gold is None:
        raise UsageError(f"--against {against} needs true links to compare with; name them with --gold FILE")
    if html:
        check_page_name(html)


def _pieces(files: list[str], model: object) -> "Iterator[list[Pair]]":
    """The pairs, with a warning if a translator reads the other side."""
    from regard.cli.corpus import pieces_of, warn_if_swapped
    from regard.tasks.translator import Translator

    for number, pairs in enumerate(pieces_of(files)):
        if not number and isinstance(model, Translator):
            warn_if_swapped(model, pairs)
        yield pairs


def _print(
    pairs: "Sequence[Pair]",
    alignments: "Iterable[Alignment]",
    joining: "Joining",
    probabilities: bool,
    least_score: float | None,
) -> int:
    """Prints the links of pairs, or the pairs whose score is high enough; returns the number of the latter."""
    kept = 0
    for pair, alignment in zip(pairs, alignments, strict=True):
        if least_score is None:
            typer.echo(_line(alignment, joining, probabilities))
        elif alignment.score is not None and alignment.score >= least_score:
            kept += 1
            typer.echo(tab_separated(pair))
    return kept


def tab_separated(pair: "Pair") -> str:
    """A pair as a line of a .tsv; tabs within its texts become spaces."""
    return "\t".join(text.replace("\t", " ") for text in (pair.source, pair.target))


def _line(alignment: "Alignment", joining: "Joining", probabilities: bool) -> str:
    """The output line of a pair."""
    from regard.inspect import pharaoh

    links, of = alignment.links(joining), alignment.probabilities
    told = pharaoh(links)
    if probabilities:
        told = " ".join(f"{source}-{target}:{of[target, source]:.4f}" for source, target in sorted(links))
    return told if alignment.score is None else f"{told}\t{alignment.score:.4f}"
