"""Outputs of one model reranked with another's scores; as that one reads text, it may tokenize differently."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.errors import UsageError
from regard.tasks.translations import Translation
from regard.tasks.translator import Translator

SHARE = 0.5
"""The other model's share of the score, unless it is given."""


@dataclass(frozen=True)
class Rescoring:
    """(1 − weight) × an output's score + weight × log P / length ** length_penalty, by the other model's P and tokens.

    With the length penalty of the search, both scores are comparable.
    """

    other: Translator
    weight: float = SHARE
    length_penalty: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise UsageError(f"weight = {self.weight}: the other model's share of the score must be between 0 and 1")

    def rank(self, found: Sequence[Translation]) -> list[Translation]:
        """Each translation and its `others` with their new scores, best first; equals stay in order."""
        lists = [[best, *best.others] for best in found]
        every = [output for outputs in lists for output in outputs]
        scored = self.other.score([output.source for output in every], [output.text for output in every])
        theirs = (one.log_prob / len(one.log_probs) ** self.length_penalty for one in scored)
        ranked = []
        for outputs in lists:
            scores = [(1 - self.weight) * output.score + self.weight * next(theirs) for output in outputs]
            new = [replace(output, score=score, others=()) for output, score in zip(outputs, scores, strict=True)]
            first, *rest = sorted(new, key=lambda output: -output.score)
            ranked.append(replace(first, others=tuple(rest)))
        return ranked
