"""Scores of texts with labels, as scikit-learn counts them, in percent.

    accuracy = texts with exactly the right labels / texts
    F1 of a label = 2 · right / (found + there)
    macro F1 = mean over labels,   micro F1 = 2 · right / (found + there) over all labels together

The labels are those that are found or there. Where each text has one label, micro F1 is the accuracy. The texts of a
conversation are not independent, so intervals resample whole conversations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from regard.errors import UsageError
from regard.metrics.resampling import RESAMPLES, interval
from regard.metrics.score import MetricScore

Labels = Sequence[Sequence[str]]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabelCounts:
    """Every label that a text has or was given."""

    exact: Numbers
    """1 for texts whose labels are right, 0 for the others."""
    texts: Numbers
    """Of each pair of a text and a label, the number of the text."""
    labels: Numbers
    """The number of the label."""
    right: Numbers
    """1 if the label is found and there."""
    marks: Numbers
    """1 if it is found or there, 2 if both."""
    groups: Numbers | None = None
    """Of each text, the number of its conversation, if there are conversations."""

    def accuracy(self, *, margins: bool = False) -> MetricScore:
        """Percentage of texts with exactly the right labels."""
        return self._score("accuracy", margins)

    def macro_f1(self, *, margins: bool = False) -> MetricScore:
        """Mean F1 of the labels."""
        return self._score("macro F1", margins)

    def micro_f1(self, *, margins: bool = False) -> MetricScore:
        """F1 of all labels together."""
        return self._score("micro F1", margins)

    def scores(self, *, margins: bool = False) -> tuple[MetricScore, ...]:
        """All of them."""
        return tuple(each(margins=margins) for each in (self.accuracy, self.macro_f1, self.micro_f1))

    def _score(self, name: str, margins: bool) -> MetricScore:
        value = self._value(name, np.arange(len(self.exact)))
        signature = f"texts:{len(self.exact)}|labels:{len(np.unique(self.labels))}"
        count = len(self.exact)
        if self.groups is not None:
            members = np.split(np.arange(count), np.flatnonzero(np.diff(self.groups)) + 1)
            count = len(members)
            signature += f"|conversations:{count}"
        if not margins:
            return MetricScore(name, value, signature)

        def value_of(drawn: Numbers) -> float:
            return self._value(
                name, drawn if self.groups is None else np.concatenate([members[each] for each in drawn])
            )

        low, high = interval(value_of, count)
        return MetricScore(name, value, f"{signature}|bootstrap:{RESAMPLES}", (high - low) / 2)

    def _value(self, name: str, drawn: Numbers) -> float:
        """A score of a bootstrap sample of texts."""
        if name == "accuracy":
            return 100 * float(self.exact[drawn].mean())
        times = np.bincount(drawn, minlength=len(self.exact))[self.texts]
        if name == "micro F1":
            return 200 * float((times * self.right).sum()) / max(int((times * self.marks).sum()), 1)
        right, marks = (np.bincount(self.labels, times * each) for each in (self.right, self.marks))
        there = marks > 0
        return 200 * float((right[there] / marks[there]).mean()) if there.any() else 0.0


def count_labels(outputs: Labels, references: Labels, groups: Sequence[int] | None = None) -> LabelCounts:
    """Counts of each text; `groups` are the numbers of the conversations that texts belong to, one after another."""
    if not references:
        raise UsageError("labels: there is nothing to score; give at least one text")
    if len(outputs) != len(references):
        raise UsageError(
            f"labels: {len(outputs)} outputs cannot be compared with {len(references)} references; give as many"
        )
    numbers: dict[str, int] = {}
    rows = []
    for text, (output, reference) in enumerate(zip(outputs, references, strict=True)):
        found, there = set(output), set(reference)
        for label in sorted(found | there):
            number = numbers.setdefault(label, len(numbers))
            rows.append((text, number, label in found & there, (label in found) + (label in there)))
    exact = [set(output) == set(reference) for output, reference in zip(outputs, references, strict=True)]
    counts = LabelCounts(np.array(exact, dtype=np.int64), *np.array(rows, dtype=np.int64).reshape(-1, 4).T)
    return replace(counts, groups=None if groups is None else np.array(groups, dtype=np.int64))
