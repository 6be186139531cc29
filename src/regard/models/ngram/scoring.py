"""Scoring whole texts on the CPU, one token after another, as fast as memory allows."""

from collections.abc import Iterable
from typing import no_type_check

import numpy as np
from jaxtyping import Float32, Int32, Int64
from numba import njit

from regard.errors import DataError, UsageError
from regard.models.ngram.counting import Tokens, joined
from regard.models.ngram.table import NgramTable
from regard.tokens.vocabulary import BEGIN, END


def log10_probs(table: NgramTable, tokens: Int32[np.ndarray, " n"]) -> Float32[np.ndarray, " n"]:
    """log10 of the probability of every token after those before it.

    What stands before BEGIN, or ends with END, is forgotten; BEGIN itself is given, not predicted: its log10 is 0.
    """
    if len(tokens) and not 0 <= tokens.min() <= tokens.max() < table.size:
        wrong = tokens.min() if tokens.min() < 0 else tokens.max()
        raise UsageError(
            f"scoring: {wrong} is not a token of this model; they are 0 to {table.size - 1}; "
            "encode the text with the model's own tokenizer"
        )
    arrays = table.keys, table.first, table.links, table.log_probs, table.back_offs
    return _score(tokens, table.size, *arrays)  # type: ignore[no-any-return]


def perplexity(table: NgramTable, texts: Iterable[Tokens]) -> float:
    """Per token, of texts each on its own between BEGIN and END, where END counts as a token."""
    if not table.sums_to_one:
        raise UsageError(
            f"perplexity: what this model says of the next word sums to {np.exp(table.totals).max():.4g} after some "
            "contexts, not to 1, as with stupid back-off; scores have no perplexity: choose another smoothing, or "
            "score with NgramLanguageModel, which divides by the sum"
        )
    tokens = joined(texts)
    if not len(tokens):
        raise DataError("perplexity: there is no text; give at least one line, which may be empty")
    return float(10 ** -log10_probs(table, tokens).mean(dtype=float, where=tokens != BEGIN))


@njit(nogil=True, cache=True)
@no_type_check
def _score(
    tokens: Int32[np.ndarray, " n"],
    size: int,
    keys: Int64[np.ndarray, " keys"],
    first: Int32[np.ndarray, " ends"],
    links: Int32[np.ndarray, " nodes"],
    log_probs: Float32[np.ndarray, " nodes"],
    back_offs: Float32[np.ndarray, " contexts"],
) -> Float32[np.ndarray, " n"]:
    """Goes from context to context: to the child that was read, or by links to shorter ones until there is one."""
    found = np.zeros(len(tokens), np.float32)
    context = -1
    for position in range(len(tokens)):
        word = tokens[position]
        if word == BEGIN:
            context = BEGIN
            continue
        total, node = np.float32(0), -1
        while context >= 0:
            low, high, wanted = first[context] - size, first[context + 1] - size, np.int64(context) * size + word
            end = high
            while low < high:
                middle = (low + high) // 2
                if keys[middle] < wanted:
                    low = middle + 1
                else:
                    high = middle
            if low < end and keys[low] == wanted:
                node = low + size
                break
            total += back_offs[context]
            context = links[context]
        if node < 0:
            node = word
        found[position] = total + log_probs[node]
        context = BEGIN if word == END else node if node < len(back_offs) else links[node]
    return found
