"""Scores of tagged sentences in percent: of tags as the script of the CoNLL shared tasks (conlleval) counts them.

    accuracy = words with the right tag / words
    precision = right spans / spans found,   recall = right spans / spans there,   F1 = 2 · right / (found + there)

    label accuracy = sentences with the right label / sentences
    exact = sentences with the right label and nothing but right tags / sentences

A span is right if its words and its type are. With no span there and none found, precision, recall and F1 are 0, as in
the script.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from regard.errors import UsageError
from regard.metrics.resampling import RESAMPLES, interval_of_mean
from regard.metrics.score import MetricScore
from regard.tokens.tag_schemes import spans

Tags = Sequence[Sequence[str]]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TagCounts:
    """The counts of each sentence."""

    right_words: Counts
    words: Counts
    right: Counts
    """Spans found that are there."""
    found: Counts
    there: Counts
    right_labels: Counts | None = None
    """1 for sentences with the right label, if they have labels."""

    def accuracy(self, *, margins: bool = False) -> MetricScore:
        """Percentage of words with the right tag."""
        return self._score("accuracy", self.right_words, self.words, margins)

    def precision(self, *, margins: bool = False) -> MetricScore:
        """Percentage of the spans found that are there."""
        return self._score("precision", self.right, self.found, margins)

    def recall(self, *, margins: bool = False) -> MetricScore:
        """Percentage of the spans there that are found."""
        return self._score("recall", self.right, self.there, margins)

    def f1(self, *, margins: bool = False) -> MetricScore:
        """Harmonic mean of both."""
        return self._score("F1", 2 * self.right, self.found + self.there, margins)

    def label_accuracy(self, *, margins: bool = False) -> MetricScore:
        """Percentage of sentences with the right label."""
        assert self.right_labels is not None
        return self._score("label accuracy", self.right_labels, np.ones_like(self.right_labels), margins)

    def exact(self, *, margins: bool = False) -> MetricScore:
        """Percentage of sentences of which all is right."""
        assert self.right_labels is not None
        right = self.right_labels * (self.right_words == self.words)
        return self._score("exact", right, np.ones_like(right), margins)

    def scores(self, *, spans: bool, margins: bool = False) -> tuple[MetricScore, ...]:
        """All of them, best known first; without spans, accuracy alone."""
        several = [self.f1, self.precision, self.recall, self.accuracy] if spans else [self.accuracy]
        several += [self.label_accuracy, self.exact] if self.right_labels is not None else []
        return tuple(each(margins=margins) for each in several)

    def _score(self, name: str, parts: Counts, wholes: Counts, margins: bool) -> MetricScore:
        value = 100 * float(parts.sum()) / max(int(wholes.sum()), 1)
        signature = f"sentences:{len(self.words)}|words:{self.words.sum()}"
        if name not in ("label accuracy", "exact"):  # which the script does not have
            signature = f"conlleval|{signature}"
        if name in ("precision", "recall", "F1"):
            signature += f"|spans:{self.there.sum()}"
        if not margins:
            return MetricScore(name, value, signature)
        low, high = interval_of_mean(parts, wholes)
        return MetricScore(name, value, f"{signature}|bootstrap:{RESAMPLES}", 50 * (high - low))


def count_tags(outputs: Tags, references: Tags, labels: tuple[Sequence[str], Sequence[str]] | None = None) -> TagCounts:
    """Counts of each sentence; both have a tag for each word. `labels` are those found, and those there."""
    if not references:
        raise UsageError("tags: there is nothing to score; give at least one sentence")
    lengths = [len(row) for row in references]
    if [len(row) for row in outputs] != lengths:
        raise UsageError(
            f"tags: {len(outputs)} sentences with {sum(map(len, outputs))} tags cannot be compared with "
            f"{len(references)} with {sum(lengths)}; give a tag for each word"
        )
    rows = []
    for output, reference in zip(outputs, references, strict=True):
        found, there = set(spans(output)), set(spans(reference))
        same = sum(one == other for one, other in zip(output, reference, strict=True))
        rows.append((same, len(reference), len(found & there), len(found), len(there)))
    right = None
    if labels is not None:
        right = np.array([found == there for found, there in zip(*labels, strict=True)], dtype=np.int64)
    return replace(TagCounts(*np.array(rows, dtype=np.int64).T), right_labels=right)
