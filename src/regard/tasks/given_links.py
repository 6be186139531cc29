"""Links in a file, from any source, used like a model that aligns."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from regard.errors import DataError, UsageError, counted
from regard.inspect import Alignment, Joining, Links, WordWeights, read_pharaoh, reverse
from regard.inspect.pharaoh import lines_of, links_end, links_go_on
from regard.tasks.long_pairs import is_too_long, no_links
from regard.tokens.segmentation import Units, spans_of


class GivenLinks:
    """The links of a file in the format of Pharaoh, one line after another. Both directions of other aligners are
    written as source-target; `turned` ones are those of the direction that writes the source."""

    def __init__(self, path: Path, *, turned: bool = False) -> None:
        self._path, self._turned, self._line = path, turned, 0
        self._rows = read_pharaoh(path)
        self._has_zero, self._fits_from_one, self._fits_turned = False, True, True

    @property
    def joining(self) -> Joining:
        return Joining()

    def alignments(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        units: Units | tuple[Units, Units] = "auto",
        scored: bool = False,
    ) -> Iterator[Alignment]:
        """The next lines, as weights of 1 and 0."""
        if scored:
            raise UsageError(f"--scores: {self._path} holds links, which have no score; name a model")
        read, written = units if isinstance(units, tuple) else (units, units)
        for source, target in zip(sources, targets, strict=True):
            links, sizes = self._next(), (len(spans_of(source, read)), len(spans_of(target, written)))
            if is_too_long(*sizes):
                yield no_links(source, *sizes, both=False)
            else:
                yield Alignment(self._weights(reverse(links) if self._turned else links, *sizes))

    def _next(self) -> Links:
        """The links of the next line, as written."""
        written = next(self._rows, None)
        if written is None:
            raise links_end(self._path, self._line)
        self._line += 1
        return written

    def _weights(self, links: Links, columns: int, rows: int) -> WordWeights:
        weights = np.zeros((rows, columns))
        self._compare(links, columns, rows)
        for source, target in sorted(links):
            if source >= columns or target >= rows:
                raise self._outside((source, target), (columns, rows))
            weights[target, source] = 1.0
        return WordWeights(weights, np.where(weights.any(axis=1), 0.0, 1.0), chosen=links)

    def _compare(self, links: Links, columns: int, rows: int) -> None:
        """Tracks other readings of all links so far: counted from 1, or turned."""
        for source, target in links:
            self._has_zero |= source == 0 or target == 0
            self._fits_from_one &= 0 < source <= columns and 0 < target <= rows
            self._fits_turned &= source < rows and target < columns

    def _outside(self, link: tuple[int, int], sizes: tuple[int, int]) -> DataError:
        (one, other), (ours, theirs) = (link[::-1], sizes[::-1]) if self._turned else (link, sizes)
        advice = "name the links of this text, as source-target"
        if self._fits_from_one:
            advice = "all links up to here fit if they count from 1: subtract 1 from all numbers"
        elif self._fits_turned:
            advice = "all links up to here fit as target-source: give them as source-target, or the files exchanged"
        elif not self._has_zero:
            advice = f"no link up to here has a 0, so they seem to count from 1: {advice}, counted from 0"
        return DataError(
            f"{self._path}:{self._line}: the link {one}-{other} is outside of this pair, which has "
            f"{counted(ours, 'source word')} and {counted(theirs, 'target word')}, counted from 0; {advice}"
        )

    def check_count(self, pairs: int) -> None:
        """Refuses a file without exactly one line for each pair, before any of them is read."""
        lines = sum(1 for _ in lines_of(self._path))
        if lines < pairs:
            raise links_end(self._path, lines, pairs)
        if lines > pairs:
            raise links_go_on(self._path, pairs + 1, pairs)

    def check_ended(self) -> None:
        """Refuses a file with more lines than there were pairs, which were not counted before."""
        if next(self._rows, None) is not None:
            raise links_go_on(self._path, self._line + 1, self._line)
