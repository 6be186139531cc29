"""Mismatched pairs, whose texts are not translations of each other, by an aligner's score.

Scores of different models and texts are not comparable, so the threshold comes from the text itself: sources are also
scored with targets of other pairs, and a pair that fits no better than most of those is doubtful.
"""

import heapq
from array import array
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import numpy as np

from regard.data.check import PLACES
from regard.data.corpora import place, records
from regard.data.examples import Examples
from regard.data.pair_files import Record
from regard.data.report import Finding, Report
from regard.errors import UsageError
from regard.tasks.trained import Aligner

AT_ONCE = 1000
MISMATCHED = 3000
"""Most mismatched pairs that are scored."""
FEWEST = 50
"""Least number of pairs to estimate their scores from."""
REACHED_BY = 95
"""Percentile of their scores below which a pair is doubtful."""
MOST_WORDS = 1000
"""Words of a side from which a line is not a sentence, and is not scored."""
SAY_EVERY = 100_000


def with_unfit_pairs(
    report: Report,
    aligner: Aligner,
    name: str,
    parts: Mapping[str, Examples],
    least: float | None,
    say: Callable[[str], None] = lambda line: None,
) -> Report:
    """The report with the pairs of each part that score less than `least`, by default estimated on the first part."""
    scored = {part: _scores(aligner, examples, say) for part, examples in parts.items()}
    as_unrelated = ""
    if least is None:
        least = _unrelated(aligner, next(iter(parts.values())))
        as_unrelated = ", as texts have that do not belong together"
    found, notes = [], []
    for part, (scores, lines) in scored.items():
        if not len(scores):
            continue
        notes.append(f"{part}: the median score by {name} is {np.median(scores):.2f}, the limit {least:.2f}")
        low = np.flatnonzero(np.frombuffer(scores) < least)
        worst = heapq.nsmallest(PLACES, low.tolist(), key=scores.__getitem__)
        places = tuple(f"{place(parts[part], lines[each])} ({scores[each]:.2f})" for each in worst)
        what = f"pairs with a score of less than {least:.2f} by {name}{as_unrelated}"
        remedy = f"look at them; `regard align {name} … --least-score {least:.2f}` writes the others"
        if 2 * len(low) > len(scores):
            remedy = "these are most: the files do not belong together, or the model knows too little of such text"
        if len(low):
            found.append(Finding("score", part, len(low), what, "kept", places=places, remedy=remedy))
    return report.extended(found, notes)


def _scores(aligner: Aligner, examples: Examples, say: Callable[[str], None]) -> "tuple[array[float], array[int]]":
    """The score and the line of every pair that can be scored."""
    scores, lines = array("d"), array("q")
    every = _scorable(examples)
    while piece := list(islice(every, AT_ONCE)):
        found = aligner.alignments([each.source for each in piece], [each.target for each in piece], scored=True)
        scores.extend(each.score or 0.0 for each in found)
        lines.extend(each.line for each in piece)
        if len(scores) % SAY_EVERY == 0:
            say(f"scored {len(scores):,} pairs")
    return scores, lines


def _unrelated(aligner: Aligner, examples: Examples) -> float:
    """The score that hardly any source reaches with the target of another pair."""
    some = list(islice(_scorable(examples), MISMATCHED))
    if len(some) < FEWEST:
        raise UsageError(
            f"--aligner: {len(some)} pairs are too few to tell what texts score that do not belong together; name a "
            "score with --least-score"
        )
    # Half the text away, so that no missing or repeated line makes them match again.
    apart = len(some) // 2
    targets = [each.target for each in (*some[apart:], *some[:apart])]
    found = aligner.alignments([each.source for each in some], targets, scored=True)
    return float(np.percentile([each.score for each in found if each.score is not None], REACHED_BY))


def _scorable(examples: Examples) -> Iterator[Record]:
    """Pairs of sentences; empty lines and lines without text are found without scores."""
    for record in records(examples):
        if not record.invalid and all(0 < len(side.split()) <= MOST_WORDS for side in (record.source, record.target)):
            yield record
