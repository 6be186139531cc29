"""Counting n-grams of any order in bounded memory.

A piece of text is counted order by order. Given the number of the n-gram that ends at each position, the n+1-gram that
ends at the next position is that number and the next word. Positions are sorted by word once; distributing them in that
order over the preceding n-grams sorts the n+1-grams (a radix sort). Each order takes time proportional to the text,
independent of the vocabulary. Pieces of about equal size are merged in pairs, by walking both tries in parallel, so
memory grows only with the number of distinct n-grams.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Int32, Int64

from regard.errors import DataError, UsageError
from regard.loops import njit
from regard.models.ngram.table import MOST_NODES
from regard.tokens.vocabulary import BEGIN, END, SPECIAL_NAMES, UNKNOWN

MEBIBYTE = 2**20
PEAK = 60
"""Peak memory in bytes per distinct n-gram, reached when counts become probabilities; the final table takes 20."""
_REPORT_EVERY = 100_000

Tokens = Sequence[int] | np.ndarray


@dataclass(frozen=True)
class Level:
    """The n-grams of one length, sorted by their prefix (all words but the last), then by their last word."""

    first: Int32[np.ndarray, " ends"]
    """Start of the n-grams with each prefix, then the end of the last."""
    words: Int32[np.ndarray, " nodes"]
    """Last word of each."""
    counts: Int64[np.ndarray, " nodes"]


@dataclass(frozen=True)
class Counts:
    """Counts of words, and of n-grams from two words up to the order."""

    words: Int64[np.ndarray, " V"]
    levels: tuple[Level, ...]

    @property
    def order(self) -> int:
        return len(self.levels) + 1

    @property
    def nodes(self) -> int:
        return len(self.words) + sum(len(level.words) for level in self.levels)


def count_ngrams(
    texts: Iterable[Tokens],
    order: int,
    size: int,
    memory: int = 2048,
    on_progress: Callable[[int], None] | None = None,
) -> Counts:
    """Counts the n-grams of texts, each between BEGIN and END. `on_progress` gets the number of tokens read.

    `memory` is in mebibytes. A quarter of it is for the piece of text that is being counted; DataError if the n-grams
    do not fit into the rest.
    """
    largest = max(1, min(memory * MEBIBYTE // 4 // _bytes_per_position(order), MOST_NODES // 2))
    found: list[Counts] = []
    buffer, read, told = array("i"), 0, 0
    for text in texts:
        _append(buffer, text)
        if on_progress and read + len(buffer) - told >= _REPORT_EVERY:
            told = read + len(buffer)
            on_progress(told)
        if len(buffer) >= largest:
            read += len(buffer)
            _add(found, count_piece(np.frombuffer(buffer, np.int32), order, size), memory)
            buffer = array("i")
    if buffer or not found:
        _add(found, count_piece(np.frombuffer(buffer, np.int32), order, size), memory)
    while len(found) > 1:
        _merge_last(found, memory)
    if on_progress:
        on_progress(read + len(buffer))
    return found[0]


def count_piece(tokens: Int32[np.ndarray, " n"], order: int, size: int) -> Counts:
    """Counts the n-grams of concatenated texts, each between BEGIN and END."""
    begins, ends = tokens == BEGIN, tokens == END
    inside = np.flatnonzero(ends[:-1] != begins[1:])
    if len(inside):
        token, does = (END, "ends") if ends[inside[0]] else (BEGIN, "begins")
        raise UsageError(
            f"counting n-grams: {token} is inside a text, but it marks where one {does}; "
            "give each line as a separate text, without such marks"
        )
    inner = tokens[~(begins | ends)]
    wrong = inner[(inner >= size) | ((inner < len(SPECIAL_NAMES)) & (inner != UNKNOWN))]
    if len(wrong):
        raise UsageError(
            f"counting n-grams: {wrong[0]} is not a token of text; with a vocabulary of {size} those are {UNKNOWN} "
            f"(unknown) and {len(SPECIAL_NAMES)} to {size - 1}; encode the text with the tokenizer of this vocabulary"
        )
    words = np.bincount(tokens, minlength=size)
    by_word = _sorted_by_word(tokens, words)
    numbers, nodes, levels = tokens, size, []
    for _ in range(order - 1):
        numbers, *level = _extend(tokens, by_word, numbers, nodes)
        levels.append(Level(*level))
        nodes = len(level[1])
    return Counts(words, tuple(levels))


def merge(one: Counts, other: Counts) -> Counts:
    """The sum of both counts."""
    levels = []
    mine = theirs = np.arange(len(one.words), dtype=np.int32)
    for a, b in zip(one.levels, other.levels, strict=True):
        first, words, counts, mine, theirs = _merge_level(
            a.first, a.words, a.counts, b.first, b.words, b.counts, mine, theirs
        )
        levels.append(Level(first, words, counts))
    return Counts(one.words + other.words, tuple(levels))


def _append(buffer: "array[int]", text: Tokens) -> None:
    buffer.append(BEGIN)
    if isinstance(text, np.ndarray):
        buffer.frombytes(text.astype(np.int32).tobytes())
    else:
        buffer.extend(text)
    buffer.append(END)


def _bytes_per_position(order: int) -> int:
    """Upper bound while a piece is counted: 12 for tokens and their order, 12 for numbers and slots, 16 per level."""
    return 24 + 16 * order


def _add(found: list[Counts], piece: Counts, memory: int) -> None:
    """Merges only counts of about equal size, so that every n-gram is merged a few times only."""
    found.append(piece)
    while len(found) > 1 and found[-2].nodes < 2 * found[-1].nodes:
        _merge_last(found, memory)
    _check_room(found, memory)


def _merge_last(found: list[Counts], memory: int) -> None:
    last = found.pop()
    found[-1] = merge(found[-1], last)
    _check_room(found, memory)


def _check_room(found: list[Counts], memory: int) -> None:
    nodes, order = sum(counts.nodes for counts in found), found[0].order
    needed = -(-nodes * PEAK // MEBIBYTE)
    if needed > memory:
        raise DataError(
            f"counting n-grams: {nodes:,} distinct n-grams of up to {order} words need {needed} MiB, but "
            f"model.memory = {memory}; set it to {2 * needed} or more, lower model.order, or count less text"
        )
    if nodes > MOST_NODES:
        raise DataError(
            f"counting n-grams: {nodes:,} distinct n-grams, but a model holds {MOST_NODES:,} at most; "
            f"lower model.order (now {order}), or count less text"
        )


@njit(nogil=True, cache=True)
@no_type_check
def _sorted_by_word(tokens: Int32[np.ndarray, " n"], counts: Int64[np.ndarray, " V"]) -> Int32[np.ndarray, " m"]:
    """Positions of all tokens but BEGIN, by word, then by place."""
    slots = np.zeros(len(counts), np.int64)
    place = 0
    for word in range(len(counts)):
        slots[word] = place
        if word != BEGIN:
            place += counts[word]
    positions = np.empty(place, np.int32)
    for position in range(len(tokens)):
        word = tokens[position]
        if word != BEGIN:
            positions[slots[word]] = position
            slots[word] += 1
    return positions


@njit(nogil=True, cache=True)
@no_type_check
def _extend(
    tokens: Int32[np.ndarray, " n"], by_word: Int32[np.ndarray, " m"], numbers: Int32[np.ndarray, " n"], nodes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Extends n-grams by one word: returns the number of the longer n-gram that ends at each position (−1 if BEGIN
    would be inside it), and the arrays of their level."""
    slots = np.zeros(nodes + 1, np.int32)
    for position in by_word:
        before = numbers[position - 1]
        if before >= 0:
            slots[before + 1] += 1
    for node in range(nodes):
        slots[node + 1] += slots[node]
    grouped = np.empty(slots[nodes], np.int32)
    for position in by_word:
        before = numbers[position - 1]
        if before >= 0:
            grouped[slots[before]] = position
            slots[before] += 1  # in the end, this is the start of the next group
    longer = np.full(len(tokens), -1, np.int32)
    first = np.empty(nodes + 1, np.int32)
    words = np.empty(len(grouped), np.int32)
    counts = np.empty(len(grouped), np.int64)
    start, node = 0, -1
    for shorter in range(nodes):
        first[shorter] = node + 1
        last = -1
        for place in range(start, slots[shorter]):
            position = grouped[place]
            if tokens[position] != last:
                node += 1
                last = words[node] = tokens[position]
                counts[node] = 0
            counts[node] += 1
            longer[position] = node
        start = slots[shorter]
    first[nodes] = node + 1
    return longer, first, words[: node + 1].copy(), counts[: node + 1].copy()


@njit(nogil=True, cache=True)
@no_type_check
def _merge_level(
    a_first: Int32[np.ndarray, " a_ends"],
    a_words: Int32[np.ndarray, " A"],
    a_counts: Int64[np.ndarray, " A"],
    b_first: Int32[np.ndarray, " b_ends"],
    b_words: Int32[np.ndarray, " B"],
    b_counts: Int64[np.ndarray, " B"],
    a_shorter: Int32[np.ndarray, " nodes"],
    b_shorter: Int32[np.ndarray, " nodes"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Merges the children of each n-gram, which has number a_shorter[i] in one trie and b_shorter[i] in the other (−1
    if missing); returns the arrays of the level and the same two lists for it."""
    most = len(a_words) + len(b_words)
    first = np.empty(len(a_shorter) + 1, np.int32)
    words, counts = np.empty(most, np.int32), np.empty(most, np.int64)
    of_a, of_b = np.full(most, -1, np.int32), np.full(most, -1, np.int32)
    node = 0
    for shorter in range(len(a_shorter)):
        first[shorter] = node
        a = a_end = b = b_end = 0
        if a_shorter[shorter] >= 0:
            a, a_end = a_first[a_shorter[shorter]], a_first[a_shorter[shorter] + 1]
        if b_shorter[shorter] >= 0:
            b, b_end = b_first[b_shorter[shorter]], b_first[b_shorter[shorter] + 1]
        while a < a_end or b < b_end:
            word = min(a_words[a] if a < a_end else b_words[b], b_words[b] if b < b_end else a_words[a])
            words[node], counts[node] = word, 0
            if a < a_end and a_words[a] == word:
                counts[node] += a_counts[a]
                of_a[node] = a
                a += 1
            if b < b_end and b_words[b] == word:
                counts[node] += b_counts[b]
                of_b[node] = b
                b += 1
            node += 1
    first[len(a_shorter)] = node
    return first, words[:node].copy(), counts[:node].copy(), of_a[:node].copy(), of_b[:node].copy()
