"""Pairwise similarity: each text of a list scored with each as its reference.

The scores are sacreBLEU's sentence scores, by its own formulas. The slow part, counting the n-grams that two texts
share, is one matrix product over all pairs: the k-th occurrence of an n-gram in one text matches the k-th in another,
so texts are sets, and the number of matches is an inner product.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from jaxtyping import Float
from sacrebleu.metrics.chrf import CHRF

from regard.metrics.text import bleu_metric, bleu_tokenizer
from regard.recipe.names import UTILITIES

Grams = Counter[str] | Counter[tuple[str, ...]]
"""N-grams of a text; the length of each is its order."""


def pairwise(metric: str, texts: Sequence[str], tokenizer: str = "auto") -> Float[np.ndarray, "K K"]:
    """The score, from 0 to 100, of each text (row) with each text (column) as its reference. `tokenizer` is BLEU's;
    `auto` goes by the script of the texts."""
    table: Float[np.ndarray, "K K"] = UTILITIES[metric](texts, tokenizer)
    return table


def pairwise_bleu(texts: Sequence[str], tokenizer: str) -> Float[np.ndarray, "K K"]:
    """Sentence BLEU with sacreBLEU's effective order: orders that a text is too short for do not count."""
    metric = bleu_metric(bleu_tokenizer(texts, tokenizer), effective_order=True)
    rows = [metric._extract_reference_info([metric._preprocess_segment(text)]) for text in texts]
    matches = _matches([[row["ref_ngrams"]] for row in rows], metric.max_ngram_order)
    lengths = [row["ref_lens"][0] for row in rows]

    def score(text: int, reference: int) -> float:
        own = matches[:, text, text].tolist()
        shared = matches[:, text, reference].tolist()
        return float(metric._compute_score_from_stats([lengths[text], lengths[reference], *shared, *own]).score)

    return _table(score, len(texts))


def pairwise_chrf(texts: Sequence[str], _: str) -> Float[np.ndarray, "K K"]:
    """chrF2 of sentences, which needs no tokenizer."""
    metric = CHRF()
    rows = [metric._extract_reference_info([metric._preprocess_segment(text)]) for text in texts]
    matches = _matches([row["ref_ngrams"][0] for row in rows], metric.order)

    def score(text: int, reference: int) -> float:
        own, its, shared = (matches[:, *pair].tolist() for pair in ((text, text), (reference,) * 2, (text, reference)))
        # An order that the reference is too short for does not count.
        counts = [[mine if theirs else 0, theirs, both] for mine, theirs, both in zip(own, its, shared, strict=True)]
        return float(metric._compute_score_from_stats([count for order in counts for count in order]).score)

    return _table(score, len(texts))


def _matches(texts: Sequence[Sequence[Grams]], orders: int) -> Float[np.ndarray, "orders K K"]:
    """The number of n-grams of each order that two texts share; the diagonal counts all of a text's."""
    places: list[dict[object, int]] = [{} for _ in range(orders)]
    members: list[list[tuple[int, int]]] = [[] for _ in range(orders)]
    for row, counters in enumerate(texts):
        for gram, count in chain.from_iterable(grams.items() for grams in counters):
            order = len(gram) - 1
            for occurrence in range(count):
                place = places[order].setdefault((gram, occurrence), len(places[order]))
                members[order].append((row, place))
    shared = np.zeros((orders, len(texts), len(texts)))
    for order, (known, found) in enumerate(zip(places, members, strict=True)):
        sets = np.zeros((len(texts), len(known)), dtype=np.float32)
        sets[tuple(np.array(found, dtype=np.intp).reshape(-1, 2).T)] = 1.0
        shared[order] = sets @ sets.T
    return shared


def _table(score: Callable[[int, int], float], count: int) -> Float[np.ndarray, "K K"]:
    return np.array([[score(row, column) for column in range(count)] for row in range(count)]).reshape(count, count)
