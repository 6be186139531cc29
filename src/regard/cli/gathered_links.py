"""The links of a whole text, to be scored or shown on a page."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer

from regard.cli.aligning import Aligners
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.data import Pair
    from regard.inspect import GoldLinks, Links
    from regard.inspect.alignments_page import ShownPair
    from regard.metrics.alignment import LinkTable
    from regard.tokens.segmentation import UnitName


def check_page_name(path: Path) -> None:
    """Refuses the name of a page that cannot be written, before minutes are spent on it."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--html {path}: give the name of a file to write that ends in .html")
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"--html {path}: cannot be written; name a file in a folder that exists")


class Gathered:
    """Collects the links of a text piece by piece, and those of another system, if there is one."""

    def __init__(
        self,
        aligners: Aligners,
        rival: Aligners | None,
        units: "UnitName",
        true: "Sequence[GoldLinks] | None",
        page: Path | None,
        *,
        agreement: bool,
    ) -> None:
        self._aligners, self._rival, self._units, self._true, self._page = aligners, rival, units, true, page
        self._needs_both = agreement
        self._links: list[Links] = []
        self._others: list[Links] = []
        self._texts: list[tuple[list[str], list[str]]] = []
        self._agreeing: list[LinkTable] = []
        self._shown: list[ShownPair] = []
        self.has_enough = False
        """Whether more pairs would change nothing."""

    def take(self, pairs: "list[Pair]", *, scored: bool) -> None:
        from regard.inspect.alignments_page import MOST_PAIRS, ShownPair
        from regard.metrics.alignment import link_table
        from regard.tokens.segmentation import pieces_of

        for pair, alignment in zip(pairs, self._aligners.align(pairs, self._units, scored=scored), strict=True):
            if self._needs_both:
                if alignment.backward is None:
                    raise UsageError(
                        f"--agreement: {self._aligners.name} aligns in one direction; name a model of the other by "
                        "--reverse"
                    )
                forward, backward = alignment.directions
                self._agreeing.append(link_table([forward], [backward]))
            if self._true is None and (self._page is None or len(self._shown) == MOST_PAIRS):
                continue
            words = pieces_of(pair.source, self._units), pieces_of(pair.target, self._units)
            links = alignment.links(self._aligners.joining)
            if self._true is not None:
                self._texts.append(words)
                self._links.append(links)
            if self._page is not None and len(self._shown) < MOST_PAIRS:
                self._shown.append(ShownPair(*words, alignment, links))
        self.has_enough = self._true is None and not self._needs_both and len(self._shown) == MOST_PAIRS
        if self._rival is not None:
            others = self._rival.align(pairs, self._units)
            self._others += [each.links(self._rival.joining) for each in others]

    def told(self, gold: Path | None) -> list[str]:
        """Writes the page, and returns the lines to print."""
        lines, rows = self._judged(gold) if gold is not None else ([], None)
        lines += [self._agreement()] if self._needs_both else []
        if self._page is None:
            return lines
        from regard.inspect.alignments_page import MOST_PAIRS, save_alignments_page

        save_alignments_page(self._shown, self._page, gold=rows, title=f"Word alignments by {self._aligners.name}")
        if len(self._shown) == MOST_PAIRS:
            typer.echo(f"{self._page}: shows the first {MOST_PAIRS:,} pairs", err=True)
        return [*lines, str(self._page)]

    def _judged(self, path: Path) -> "tuple[list[str], Sequence[GoldLinks]]":
        """The scores against gold, each with its interval, and the comparison with another system, if there is one."""
        from regard.inspect.gold import gold_of
        from regard.metrics import alignment_scores, compare_alignments
        from regard.metrics.alignment import read_otherwise

        assert self._true is not None
        gold = gold_of(path, self._true, self._texts)
        if gold.note:
            typer.echo(gold.note, err=True)
        true = [row.sure for row in gold.rows], [row.possible for row in gold.rows]
        for name, links in [(self._aligners.name, self._links), *self._of_rival()]:
            if told := read_otherwise(links, *true):
                typer.echo(f"{name}, {path}: {told}", err=True)
        lines = [str(score) for score in alignment_scores(self._links, *true)]
        if self._rival is not None:
            self._rival.check_ended()
            found = compare_alignments(self._links, self._others, *true)
            lines += ["", f"against {self._rival.name}, on the same {len(self._links):,} pairs:"]
            lines += [f"  {found.numbers()}", f"    {found.verdict()}", f"    ({found.signature})"]
        return lines, gold.rows

    def _of_rival(self) -> "list[tuple[Path, list[Links]]]":
        return [] if self._rival is None else [(self._rival.name, self._others)]

    def _agreement(self) -> str:
        from regard.metrics.alignment import agreement_of

        return str(agreement_of(np.concatenate(self._agreeing)))
