"""Quality by the length of the source, in words; characters, where a script has no blanks between words."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import UsageError
from regard.metrics.score import MetricScore
from regard.metrics.text import bleu, bleu_tokenizer, chrf
from regard.tokens.segmentation import has_no_blanks, spans_of

EDGES = (3, 6, 9, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100)
"""Upper bound, in words, of each bucket but the last, which takes all longer sources."""
LEAST = 20
"""A bucket with fewer lines is merged with its neighbor, as its scores would be meaningless."""


@dataclass(frozen=True)
class Bucket:
    """The lines whose sources have from `shortest` to `longest` words."""

    shortest: int
    longest: int
    lines: tuple[int, ...]
    """Their numbers, from 0."""


@dataclass(frozen=True)
class LengthQuality:
    """How good the outputs of one bucket are."""

    shortest: int
    longest: int
    lines: int
    """Number of lines."""
    bleu: MetricScore
    chrf: MetricScore
    unit: str = "words"
    """The unit of lengths."""

    @property
    def label(self) -> str:
        return f"{self.shortest}" if self.shortest == self.longest else f"{self.shortest}–{self.longest}"


def length_buckets(lengths: Sequence[int]) -> list[Bucket]:
    """Buckets by increasing length that cover every line; none has fewer than LEAST lines unless it is the only one."""
    lowest = [0, *(edge + 1 for edge in EDGES)]
    found: list[Bucket] = []
    shortest, waiting = min(lengths, default=0), list[int]()
    for low, high in zip(lowest, [*EDGES, max(lengths, default=0)], strict=True):
        waiting += [line for line, length in enumerate(lengths) if low <= length <= high]
        if len(waiting) >= LEAST:
            found.append(Bucket(shortest, min(high, max(lengths)), tuple(sorted(waiting))))
            shortest, waiting = high + 1, []
    if waiting:
        last = found.pop() if found else Bucket(shortest, 0, ())
        found.append(Bucket(last.shortest, max(lengths), tuple(sorted([*last.lines, *waiting]))))
    return found


def quality_by_length(
    sources: Sequence[str],
    outputs: Sequence[str],
    references: Sequence[str],
    resamples: int = 0,
    tokenizer: str = "auto",
) -> tuple[LengthQuality, ...]:
    """BLEU and chrF of each bucket of source lengths, with margins if `resamples` is given; all buckets have the same
    BLEU tokenizer."""
    if not len(sources) == len(outputs) == len(references):
        raise UsageError(
            f"{len(sources)} sources, {len(outputs)} outputs and {len(references)} references do not belong together; "
            "give as many of each"
        )

    tokenizer = bleu_tokenizer(references, tokenizer)
    unit = "characters" if 2 * sum(map(has_no_blanks, sources)) > len(sources) else "words"

    def quality(bucket: Bucket) -> LengthQuality:
        ours, theirs = ([texts[line] for line in bucket.lines] for texts in (outputs, references))
        scores = bleu(ours, theirs, resamples, tokenizer), chrf(ours, theirs, resamples)
        return LengthQuality(bucket.shortest, bucket.longest, len(bucket.lines), *scores, unit)

    return tuple(map(quality, length_buckets([len(spans_of(source)) for source in sources])))
