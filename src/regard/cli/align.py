"""`regard align`: word alignments of given translations."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import DecodingChanges, Device, Head, ModelFolder, Pairs, Probabilities, Scores, To
from regard.errors import DataError, ModelError, UsageError, counted

if TYPE_CHECKING:
    from regard.data import Pair
    from regard.inspect import Alignment, Joining
    from regard.tasks.trained import Aligner
    from regard.tokens.segmentation import UnitName

Gold = Annotated[
    Path | None, typer.Option(help="True alignments (i-j sure, ipj possible): prints the error rate instead.")
]
Symmetrize = Annotated[
    str | None,
    typer.Option(
        metavar="METHOD",
        help="How the links of two directions are joined: intersection, union, grow-diag, grow-diag-final-and or "
        "by-probability. (default: the model's)",
        show_default=False,
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(help="Least probability of a link, from 0 to 1. (default: the model's)", show_default=False),
]
Reverse = Annotated[
    Path | None, typer.Option(help="Model of the other direction, if MODEL has but one.", show_default=False)
]
Layer = Annotated[
    str | None,
    typer.Option(help="For a translator: name of the layer's tap. (default: the mean of all)", show_default=False),
]
UnitsName = Annotated[
    str,
    typer.Option(
        help="What is counted: words between blanks, characters where a script has no blanks (Japanese, Chinese, "
        "Thai …), or auto: either, by line."
    ),
]


def align(
    model: ModelFolder,
    files: Pairs,
    gold: Gold = None,
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

      regard align runs/mine test.de test.en --gold gold.links

      regard align runs/de-en test.de test.en --reverse runs/en-de --symmetrize intersection > test.links

      regard align runs/mine crawled.tsv --scores | cut -f 2 > crawled.scores
    """
    from regard.cli.corpus import pieces_of, warn_if_swapped
    from regard.cli.evaluate import check_pairs
    from regard.inspect import pharaoh, read_gold
    from regard.metrics import alignment_error_rate
    from regard.tasks.translator import Translator
    from regard.tokens.segmentation import unit_name

    check_pairs(files)
    for option, given in (("--probabilities", probabilities), ("--scores", scores)):
        if given and gold is not None:
            raise UsageError(f"{option} is for the links, and --gold prints the error rate instead; choose one of them")
    counted_by, joined_by = unit_name(units), joining_of(symmetrize, threshold)
    true = list(read_gold(gold)) if gold is not None else []
    forward = load_aligner(model, device, settings or [], to, layer, head)
    backward = None if reverse is None else load_aligner(reverse, device, [], None, layer, head)
    models = Models(model, forward, backward, joined_by)
    found = []
    for number, pairs in enumerate(pieces_of(files)):
        if not number and isinstance(forward, Translator):
            warn_if_swapped(forward, pairs)
        for alignment in models.align(pairs, counted_by, scored=scores):
            links = alignment.links(models.joining)
            if gold is not None:
                found.append(links)
                continue
            of = alignment.probabilities
            told = (f"{i}-{j}:{of[j, i]:.4f}" for i, j in sorted(links)) if probabilities else [pharaoh(links)]
            typer.echo(" ".join(told) + ("" if alignment.score is None else f"\t{alignment.score:.4f}"))
    if gold is None:
        return
    if len(true) != len(found):
        raise DataError(
            f"{gold}: {counted(len(true), 'line')} of links for {counted(len(found), 'sentence pair')}; "
            "give a line for each pair, an empty one where there are no links"
        )
    typer.echo(alignment_error_rate(found, [row.sure for row in true], [row.possible for row in true]))


def joining_of(symmetrize: str | None, threshold: float | None) -> "Joining | float | None":
    """What was asked for: a method, perhaps with a threshold, a threshold alone, or nothing."""
    from regard.inspect import Joining, symmetrization_named

    if threshold is not None and not 0 <= threshold <= 1:
        raise UsageError(f"threshold = {threshold}: attention weights lie between 0 and 1; choose one in between")
    return threshold if symmetrize is None else Joining(symmetrization_named(symmetrize), threshold)


def load_aligner(
    folder: Path, device: str, changes: list[str], to: str | None, layer: str | None, head: int | None
) -> "Aligner":
    """The model in a folder, ready to align."""
    from regard.tasks import load, task_of
    from regard.tasks.trained import Aligner
    from regard.tasks.translator import Translator

    trained = load(folder, device=device, changes=changes)
    if not isinstance(trained, Aligner):
        raise ModelError(f"{folder}: this model is for {task_of(folder)}, which aligns nothing; name a translator")
    if isinstance(trained, Translator):
        return trained.into(to).looking_at(layer, head)
    for option, given in (("--to", to), ("--layer", layer), ("--head", head)):
        if given is not None:
            raise UsageError(f"{option} {given}: is for translators, and {folder} is not one; leave it out")
    return trained


@dataclass(frozen=True)
class Models:
    """The model that was named, and perhaps one of the other direction."""

    folder: Path
    forward: "Aligner"
    backward: "Aligner | None"
    asked: "Joining | float | None"

    @property
    def joining(self) -> "Joining":
        """How the directions are joined: as it was asked for, or as the model has it."""
        from regard.inspect import Joining

        if isinstance(self.asked, Joining):
            return self.asked
        return self.forward.joining if self.asked is None else Joining(self.forward.joining.method, self.asked)

    def align(self, pairs: "list[Pair]", units: "UnitName", *, scored: bool) -> "Iterator[Alignment]":
        """What is known of the links of pairs."""
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        there = self.forward.alignments(sources, targets, units=units, scored=scored)
        back: Iterator[Alignment | None] = repeat(None)
        if self.backward is not None:
            back = self.backward.alignments(targets, sources, units=units, scored=scored)
        for one, other in zip(there, back, strict=False):
            if other is not None and one.backward is not None:
                raise UsageError(f"--reverse: {self.folder} aligns both directions by itself; leave --reverse out")
            if other is None and one.backward is None and not isinstance(self.asked, float | None):
                raise UsageError(
                    f"--symmetrize {self.asked.method}: {self.folder} aligns in one direction; name a model of the "
                    "other by --reverse"
                )
            yield one if other is None else one.joined(other)
