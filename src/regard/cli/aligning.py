"""Aligners as named on the command line: a model, two models, or files of links."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import existing
from regard.errors import ModelError, UsageError

if TYPE_CHECKING:
    from regard.data import Pair
    from regard.inspect import Alignment, Joining
    from regard.tasks.trained import Aligner
    from regard.tokens.segmentation import UnitName

AlignerName = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="Folder of a trained model, or a file of links i-j, line for line.",
        show_default=False,
        callback=existing,
    ),
]
Symmetrize = Annotated[
    str | None,
    typer.Option(
        metavar="METHOD",
        help="How to combine the links of two directions: intersection, union, grow-diag, grow-diag-final-and, or "
        "by-probability. (default: the model's)",
        show_default=False,
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(help="Minimum probability of a link, from 0 to 1. (default: the model's)", show_default=False),
]
Reverse = Annotated[
    Path | None,
    typer.Option(help="The same for the other direction, if MODEL has only one.", show_default=False),
]
UnitsName = Annotated[
    str,
    typer.Option(
        help="What is counted: words between blanks, characters where a script has no blanks (Japanese, Chinese, "
        "Thai …), or auto: either, by line."
    ),
]


def joining_of(symmetrize: str | None, threshold: float | None) -> "Joining | float | None":
    """The options as a method (perhaps with a threshold), a threshold alone, or None."""
    from regard.inspect import Joining, symmetrization_named

    if threshold is not None and not 0 <= threshold <= 1:
        raise UsageError(f"--threshold {threshold}: probabilities lie between 0 and 1; choose one in between")
    return threshold if symmetrize is None else Joining(symmetrization_named(symmetrize), threshold)


@dataclass(frozen=True)
class HowToLoad:
    """The options for loading a model that aligns."""

    device: str
    layer: str | None = None
    head: int | None = None

    def load(self, path: Path, changes: list[str], to: str | None, *, turned: bool = False) -> "Aligner":
        """The model in a folder, or the links in a file, ready to align."""
        from regard.tasks import load, task_of
        from regard.tasks.attention_choice import AttentionChoice
        from regard.tasks.given_links import GivenLinks
        from regard.tasks.trained import Aligner
        from regard.tasks.translator import Translator

        is_file = path.is_file()
        trained = GivenLinks(path, turned=turned) if is_file else load(path, device=self.device, changes=changes)
        if not isinstance(trained, Aligner):
            raise ModelError(
                f"{path}: this model is for {task_of(path)}, which aligns nothing; name an aligner or a translator"
            )
        if isinstance(trained, Translator):
            told, asked = trained.into(to), self.layer is not None or self.head is not None
            return told.looking_at(AttentionChoice.named(self.layer, self.head)) if asked else told
        for option, given in (("--to", to), ("--layer", self.layer), ("--head", self.head)):
            if given is not None:
                raise UsageError(f"{option} {given}: is for translators, and {path} is not one; leave it out")
        return trained


@dataclass(frozen=True)
class Aligners:
    """The named aligner, and perhaps one of the other direction."""

    name: Path
    forward: "Aligner"
    backward: "Aligner | None"
    asked: "Joining | float | None"

    @property
    def joining(self) -> "Joining":
        """How the directions are joined: as the options say, or else the model."""
        from regard.inspect import Joining

        if isinstance(self.asked, Joining):
            return self.asked
        return self.forward.joining if self.asked is None else Joining(self.forward.joining.method, self.asked)

    def align(self, pairs: "list[Pair]", units: "UnitName", *, scored: bool = False) -> "Iterator[Alignment]":
        """The alignments of the next pairs."""
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        there = self.forward.alignments(sources, targets, units=units, scored=scored)
        back: Iterator[Alignment | None] = repeat(None)
        if self.backward is not None:
            back = self.backward.alignments(targets, sources, units=units, scored=scored)
        for one, other in zip(there, back, strict=False):
            if other is not None and one.backward is not None:
                raise UsageError(f"--reverse: {self.name} aligns both directions by itself; leave --reverse out")
            if other is None and one.backward is None and not isinstance(self.asked, float | None):
                raise UsageError(
                    f"--symmetrize {self.asked.method}: {self.name} aligns in one direction; name a model of the "
                    "other by --reverse"
                )
            yield one if other is None else one.joined(other)

    def check_count(self, pairs: int) -> None:
        """Refuses files of links that do not have one line per pair, before any pair is aligned."""
        from regard.tasks.given_links import GivenLinks

        for each in (self.forward, self.backward):
            if isinstance(each, GivenLinks):
                each.check_count(pairs)

    def check_ended(self) -> None:
        """Refuses files of links that have more lines than the text."""
        from regard.tasks.given_links import GivenLinks

        for each in (self.forward, self.backward):
            if isinstance(each, GivenLinks):
                each.check_ended()
