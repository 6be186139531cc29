"""Minimum Bayes risk: the output with the highest expected utility, each candidate in turn taken as the reference.

Candidates from a search (Kumar and Byrne 2004) are weighted by their normalized probabilities. Samples (Eikema and
Aziz 2020) count equally, because likelier ones are drawn more often.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import exp

import numpy as np

from regard.decode.ranking import Hypothesis


def least_risk(
    hypotheses: Sequence[Hypothesis], texts: Sequence[str], utility: str, *, drawn: bool, tokenizer: str = "auto"
) -> list[Hypothesis]:
    """The hypotheses sorted by expected utility, which becomes their score (0 to 100). `tokenizer` is BLEU's.

    Of hypotheses with the same text the first is kept, with the probability of all of them.
    """
    from regard.metrics.pairwise import pairwise  # and sacreBLEU, which few commands need

    likeliest = max((one.log_prob for one in hypotheses), default=0.0)
    kept: dict[str, Hypothesis] = {}
    shares: dict[str, float] = {}
    for one, text in zip(hypotheses, texts, strict=True):
        kept.setdefault(text, one)
        shares[text] = shares.get(text, 0.0) + (1.0 if drawn else exp(one.log_prob - likeliest))
    weights = np.array(list(shares.values()))
    expected = pairwise(utility, list(kept), tokenizer) @ (weights / weights.sum())
    scored = [replace(one, score=float(score)) for one, score in zip(kept.values(), expected, strict=True)]
    return sorted(scored, key=lambda one: -one.score)
