"""Perplexity and bits per character of a language model, with what each was normalized by."""

import math
from dataclasses import dataclass

from regard.errors import UsageError
from regard.metrics.score import MetricScore


@dataclass(frozen=True)
class Likelihood:
    """The log-probability of a text, and the counts to normalize it by.

    `ends` tells whether ends of lines were predicted too. If so, each counts as a token, a word and a character, so
    that all units normalize the same sum.
    """

    log_prob: float
    """Natural logarithm of the probability of the whole text."""
    tokens: int
    """Predicted tokens, including ends of lines if those were predicted."""
    words: int
    """White-space words."""
    characters: int
    lines: int
    unknown: int
    """Unknown tokens; a model predicts every unknown word as the same token."""
    ends: bool
    conditions: str
    """Everything else the numbers depend on: the vocabulary, the context, the cache."""

    def scores(self) -> tuple[MetricScore, MetricScore, MetricScore]:
        """Perplexity per token, perplexity per word, and bits per character."""
        if not self.tokens:
            raise UsageError("there is nothing to score: the text has no token")
        nats, ends = -self.log_prob, self.lines if self.ends else 0
        words, characters = self.words + ends, self.characters + ends
        return (
            MetricScore("perplexity per token", _exp(nats / self.tokens), self.signature(f"tokens:{self.tokens}")),
            MetricScore("perplexity per word", _exp(nats / max(1, words)), self.signature(f"words:{words}")),
            MetricScore(
                "bits per character",
                nats / math.log(2) / max(1, characters),
                self.signature(f"characters:{characters}"),
            ),
        )

    def signature(self, counted: str) -> str:
        ends = f"ends of lines:{self.lines if self.ends else 'no'}"
        return f"{counted}|{ends}|unknown:{self.unknown} as one|{self.conditions}"


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
