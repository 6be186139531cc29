"""Links that stand in a file, whoever found them, used as a model that aligns."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from regard.errors import DataError, UsageError, counted
from regard.inspect import Alignment, Joining, Links, WordWeights, read_pharaoh, reverse
from regard.tasks.long_pairs import is_too_long, no_links
from regard.tokens.segmentation import Units, spans_of


class GivenLinks:
    """The links of a file in the format of Pharaoh, one line after another. Both directions of other aligners are
    written as source-target; `turned` ones are those of the direction that writes the source."""

    def __init__(self, path: Path, *, turned: bool = False) -> None:
        self._path, self._turned, self._line = path, turned, 0
        self._rows = read_pharaoh(path)

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
                yield Alignment(self._weights(links, *sizes))

    def _next(self) -> Links:
        """The links of the next line, as they stand there."""
        written = next(self._rows, None)
        if written is None:
            raise DataError(f"{self._path}: {counted(self._line, 'line')} of links, and there are more sentence pairs")
        self._line += 1
        return written

    def _weights(self, written: Links, columns: int, rows: int) -> WordWeights:
        links = reverse(written) if self._turned else written
        weights = np.zeros((rows, columns))
        for source, target in sorted(links):
            if source >= columns or target >= rows:
                link, sizes = (source, target), (columns, rows)
                (one, other), sizes = (link[::-1], sizes[::-1]) if self._turned else (link, sizes)
                raise DataError(
                    f"{self._path}:{self._line}: the link {one}-{other} is outside of this pair, which has "
                    f"{counted(sizes[0], 'source word')} and {counted(sizes[1], 'target word')}, counted from 0; "
                    "name the links of this text, as source-target"
                )
            weights[target, source] = 1.0
        return WordWeights(weights, np.where(weights.any(axis=1), 0.0, 1.0), chosen=links)

    def check_ended(self) -> None:
        """Refuses a file that has more lines than there were pairs."""
        if next(self._rows, None) is not None:
            raise DataError(
                f"{self._path}: more lines of links than {counted(self._line, 'sentence pair')}; give a line for each"
            )
