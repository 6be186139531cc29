"""`regard align`: word alignments of given translations."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.aligning import AlignerName, Aligners, HowToLoad, Reverse, Symmetrize, Threshold, UnitsName, joining_of
from regard.cli.arguments import Against, DecodingChanges, Device, Head, Pairs, Probabilities, Scores, To
from regard.cli.choosing_attention import choose_attention
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.data import Pair
    from regard.inspect import Alignment, GoldLinks, Joining, Links
    from regard.tokens.segmentation import UnitName

GoldFile = Annotated[
    Path | None,
    typer.Option("--gold", help="True links (i-j sure, ipj possible): prints error rate, precision, recall and F1."),
]
Agreement = Annotated[
    bool, typer.Option("--agreement", help="Print how far both directions agree, where there is no gold.")
]
Choose = Annotated[
    bool,
    typer.Option(
        "--choose",
        help="Choose the layer, heads and row of a translator's attention that links come from, without gold, and keep "
        "them in its folder.",
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(help="For a translator: name of the layer's tap. (default: the mean of all)", show_default=False),
]


def align(
    model: AlignerName,
    files: Pairs,
    gold: GoldFile = None,
    against: Against = None,
    agreement: Agreement = False,
    choose: Choose = False,
    symmetrize: Symmetrize = None,
    threshold: Threshold = None,
    reverse: Reverse = None,
    probabilities: Probabilities = False,
    scores: Scores = False,
    layer: Layer = None,
    head: Head = None,
    settings: DecodingChanges = None,
    units: UnitsName = "auto",
    to: To = None,
    device: Device = "auto",
) -> None:
    """Print word alignments i-j (source word - target word, from 0) of given translations: by an aligner, or by the
    attention of a translator. --probabilities writes i-j:p; the score of a pair is the mean log-probability of a word.

    [bold]Examples[/bold]

      regard align runs/mine test.de test.en > test.links

      regard align runs/mine test.de test.en --gold gold.links --against eflomal.links

      regard align runs/de-en test.de test.en --reverse runs/en-de --symmetrize intersection > test.links

      regard align runs/mine crawled.tsv --scores | cut -f 2 > crawled.scores

      regard align runs/de-en dev.de dev.en --reverse runs/en-de --choose

      regard align forward.links test.de test.en --reverse backward.links --agreement
    """
    from regard.cli.corpus import pieces_of, warn_if_swapped
    from regard.cli.evaluate import check_pairs
    from regard.inspect import read_gold
    from regard.tasks.translator import Translator
    from regard.tokens.segmentation import unit_name

    check_pairs(files)
    judged = "--gold" if gold is not None else "--agreement" if agreement else None
    _refuse_contradictions(judged or ("--choose" if choose else None), gold, agreement, against, probabilities, scores)
    counted_by, joined_by, how = unit_name(units), joining_of(symmetrize, threshold), HowToLoad(device, layer, head)
    forward = how.load(model, settings or [], to)
    backward = None if reverse is None else how.load(reverse, [], None, turned=True)
    if choose:
        asked = (layer, head, symmetrize, threshold, judged) != (None,) * 5
        choose_attention((model, forward), (reverse, backward), files, counted_by, asked=asked)
        return
    aligners = Aligners(model, forward, backward, joined_by)
    rival = None if against is None else Aligners(Path(against), how.load(Path(against), [], to), None, None)
    judging = _Judging(aligners, rival, counted_by, [] if gold is None else list(read_gold(gold)))
    for number, pairs in enumerate(pieces_of(files)):
        if not number and isinstance(forward, Translator):
            warn_if_swapped(forward, pairs)
        if judged:
            judging.take(pairs)
            continue
        for alignment in aligners.align(pairs, counted_by, scored=scores):
            typer.echo(_line(alignment, aligners.joining, probabilities))
    aligners.check_ended()
    for line in judging.told(gold) if gold is not None else judging.agreement() if agreement else []:
        typer.echo(line)


def _refuse_contradictions(
    judged: str | None, gold: Path | None, agreement: bool, against: str | None, probabilities: bool, scores: bool
) -> None:
    for option, given in (("--probabilities", probabilities), ("--scores", scores)):
        if given and judged:
            printed = {"--gold": "scores", "--agreement": "the agreement"}.get(judged, "what it chose")
            raise UsageError(f"{option} is for the links, and {judged} prints {printed} instead; choose one of them")
    if gold is not None and agreement:
        raise UsageError("--agreement is for text without gold, and --gold names it; leave --agreement out")
    if against is not None and gold is None:
        raise UsageError(f"--against {against} needs true links to compare with; name them with --gold FILE")


def _line(alignment: "Alignment", joining: "Joining", probabilities: bool) -> str:
    """What is printed of a pair."""
    from regard.inspect import pharaoh

    links, of = alignment.links(joining), alignment.probabilities
    told = pharaoh(links)
    if probabilities:
        told = " ".join(f"{source}-{target}:{of[target, source]:.4f}" for source, target in sorted(links))
    return told if alignment.score is None else f"{told}\t{alignment.score:.4f}"


class _Judging:
    """The links of a whole text, and of another system's, to be compared."""

    def __init__(
        self, aligners: Aligners, rival: Aligners | None, units: "UnitName", true: "Sequence[GoldLinks]"
    ) -> None:
        self._aligners, self._rival, self._units, self._true = aligners, rival, units, true
        self._links: list[Links] = []
        self._others: list[Links] = []
        self._directions: list[tuple[Links, Links]] = []
        self._texts: list[tuple[list[str], list[str]]] = []

    def take(self, pairs: "list[Pair]") -> None:
        from regard.tokens.segmentation import spans_of

        for alignment in self._aligners.align(pairs, self._units):
            self._links.append(alignment.links(self._aligners.joining))
            self._directions += [] if alignment.backward is None else [alignment.directions]
        if self._rival is not None:
            others = self._rival.align(pairs, self._units)
            self._others += [each.links(self._rival.joining) for each in others]
        for pair in pairs:
            source, target = (
                [text[start:end] for start, end in spans_of(text, self._units)] for text in (pair.source, pair.target)
            )
            self._texts.append((source, target))

    def told(self, path: Path) -> list[str]:
        """The scores against gold, each with its interval, and what there is to say of another system."""
        from regard.inspect.gold import gold_of
        from regard.metrics import alignment_scores, compare_alignments

        gold = gold_of(path, self._true, self._texts)
        if gold.note:
            typer.echo(gold.note, err=True)
        true = [row.sure for row in gold.rows], [row.possible for row in gold.rows]
        lines = [str(score) for score in alignment_scores(self._links, *true)]
        if self._rival is None:
            return lines
        self._rival.check_ended()
        found = compare_alignments(self._links, self._others, *true)
        heading = f"against {self._rival.name}, on the same {len(self._links):,} pairs:"
        return [*lines, "", heading, f"  {found.numbers()}", f"    {found.verdict()}", f"    ({found.signature})"]

    def agreement(self) -> list[str]:
        from regard.metrics import agreement

        if not self._directions:
            raise UsageError(
                f"--agreement: {self._aligners.name} aligns in one direction; name a model of the other by --reverse"
            )
        forward, backward = ([row[side] for row in self._directions] for side in (0, 1))
        return [str(agreement(forward, backward))]
