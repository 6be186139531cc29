"""The best dependency tree of a sentence, by the scores of its arcs.

    heads = best_tree(scores)                      # any tree: Chu and Liu (1965), Edmonds (1967), Tarjan (1977)
    heads = best_tree(scores, projective=True)     # one without crossing arcs: Eisner (1996)

`scores[word, head]` is for a word (from 0) and its head, where head 0 is the root and head n the n-th word, as in
CoNLL-U; the score of a tree is the sum over its words. Scores of a word as its own head are ignored.

Arborescences take quadratic time, projective trees cubic; the latter are only searched for if the best tree of all is
not projective and the sentence has at most `LONGEST_PROJECTIVE` words.
"""

import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Int
from numpy.lib.stride_tricks import as_strided

from regard.data.projective import is_projective
from regard.errors import RegardWarning

Scores = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

LONGEST_PROJECTIVE = 1000
"""Maximum length in words of a sentence for which projective trees are searched; that takes seconds."""


def best_tree(
    scores: Float[np.ndarray, "W heads"], *, projective: bool = False, single_root: bool = True
) -> Int[np.ndarray, " W"]:
    """The heads of the words in a tree of the highest score: 0 for the root, n for the n-th word. With `single_root`,
    exactly one word has the head 0. Warns if a sentence is too long to search for a projective tree."""
    if not len(scores):
        return np.empty(0, np.int64)
    # There is a tree even for NaN and infinity.
    arcs = np.nan_to_num(scores.astype(np.float64), nan=-1e9, posinf=1e9, neginf=-1e9)
    rows = np.arange(len(arcs))
    arcs[rows, rows + 1] = -np.inf
    heads: Int[np.ndarray, " W"] = arcs.argmax(1)
    if not _is_tree(heads.tolist()) or (single_root and (heads == 0).sum() != 1):
        heads = _arborescence(_one_root(arcs) if single_root else arcs)
    if not projective or is_projective(heads):
        return heads
    if len(arcs) > LONGEST_PROJECTIVE:
        warnings.warn(
            f"the best tree of a sentence of {len(arcs):,} words has crossing arcs, and one without is searched for in "
            f"at most {LONGEST_PROJECTIVE:,} words (decode.projective): this one keeps them; split the sentence",
            RegardWarning,
            stacklevel=2,
        )
        return heads
    return _eisner(arcs, single_root)


def _is_tree(heads: Sequence[int]) -> bool:
    """Whether every word leads to the root."""
    walk = [0] * (len(heads) + 1)
    for start in range(1, len(heads) + 1):
        word = start
        while word and not walk[word]:
            walk[word] = start
            word = heads[word - 1]
        if word and walk[word] == start:
            return False
    return True


def _one_root(arcs: Scores) -> Scores:
    """Lowers the scores of the root so much that any tree with one word attached to it beats any with more; the order
    of such trees is unchanged."""
    finite = arcs[np.isfinite(arcs)]
    lowered = arcs.copy()
    lowered[:, 0] -= len(arcs) * (finite.max() - finite.min()) + 1
    return lowered


def _arborescence(arcs: Scores) -> Numbers:
    """The best arborescence: from each word, the best arcs are followed until one reaches a node connected to the root;
    a cycle on the way is contracted into one node."""
    graph = _Graph(arcs)
    joined = {0}
    for start in range(1, len(arcs) + 1):
        if not graph.is_slot[start]:
            continue
        path = [start]
        while path[-1] not in joined:
            head = graph.follow(path[-1])
            if head in path:
                cycle = path[path.index(head) :]
                del path[-len(cycle) :]
                graph.contract(cycle)
            path.append(head)
        joined |= set(path)
    return graph.expanded()


class _Graph:
    """The root and the words, some of them contracted. A node is a word or a contraction of several nodes; each node
    that is not inside another has a slot: a row and a column of the scores."""

    def __init__(self, arcs: Scores) -> None:
        self.words = count = len(arcs) + 1
        self.scores = np.vstack([np.full(count, -np.inf), arcs])
        """Score of the best arc into a slot (row) from another (column)."""
        self.above = np.tile(np.arange(count, dtype=np.int32), (count, 1))
        self.below = self.above.T.copy()
        """The words that this arc joins."""
        self.is_slot = np.ones(count, np.bool_)
        self.node_of = list(range(count))
        self.outer: list[int] = [-1] * count
        """By node: the node that it was contracted into."""
        self.entry: list[tuple[int, int]] = [(0, 0)] * count
        """By node: the words (head, dependent) that its best arc joins."""

    def follow(self, slot: int) -> int:
        """The slot from which the best arc comes."""
        head = int(self.scores[slot].argmax())
        self.entry[self.node_of[slot]] = (int(self.above[slot, head]), int(self.below[slot, head]))
        return head

    def contract(self, cycle: list[int]) -> None:
        """Contracts a cycle of slots, each with its best arc from the next, into one node in the first slot. The score
        of an arc into it is the gain over the arc of the cycle that it replaces."""
        first, members = cycle[0], np.array(cycle)
        lost = self.scores[members, np.roll(members, -1)]
        self.is_slot[members] = False
        others = np.flatnonzero(self.is_slot)
        gains = self.scores[np.ix_(members, others)] - lost[:, None]
        entered, left = members[gains.argmax(0)], members[self.scores[np.ix_(others, members)].argmax(1)]
        for table in (self.above, self.below):
            table[first, others], table[others, first] = table[entered, others], table[others, left]
        self.scores[others, first] = self.scores[others, left]
        self.scores[first, others] = gains.max(0)
        self.scores[first, first] = -np.inf
        self.scores[:, members[1:]] = -np.inf
        self.is_slot[first] = True
        for member in cycle:
            self.outer[self.node_of[member]] = len(self.outer)
        self.node_of[first] = len(self.outer)
        self.outer.append(-1)
        self.entry.append((0, 0))

    def expanded(self) -> Numbers:
        """The heads of the words: the arc into a contraction replaces one arc inside it, and so on down."""
        for node in range(len(self.outer) - 1, self.words - 1, -1):
            member = self.entry[node][1]
            while self.outer[member] != node:
                member = self.outer[member]
            self.entry[member] = self.entry[node]
        return np.array([head for head, _ in self.entry[1 : self.words]])


LEFT, RIGHT = 0, 1
"""Position of the head of a span: at its right end, or at its left end."""


def _eisner(arcs: Scores, single_root: bool) -> Numbers:
    """The best projective tree, by spans of growing width, all of one width at a time. A span is complete if its head
    has all its dependents in it, and incomplete if an arc joins its two ends."""
    count = len(arcs) + 1
    into = np.vstack([np.full(count, -np.inf), arcs])
    complete, incomplete = np.full((2, 2, count, count), -np.inf)
    complete[:, range(count), range(count)] = 0.0
    halves, splits = np.zeros((count, count), np.int64), np.zeros((2, count, count), np.int64)
    for width in range(1, count):
        starts = np.arange(count - width)
        ends = starts + width
        # Two adjacent complete spans, split at any point, and the arc over both.
        found = _rows(complete[RIGHT], 0, 0, width) + _columns(complete[LEFT], 1, width, width)
        best = found.max(1)
        halves[starts, ends] = starts + found.argmax(1)
        incomplete[LEFT, starts, ends] = best + into[starts, ends]
        incomplete[RIGHT, starts, ends] = best + into[ends, starts]
        if single_root:  # the spans that begin with the root are joined at the end
            incomplete[RIGHT, 0, width] = -np.inf
        found = _rows(complete[LEFT], 0, 0, width) + _columns(incomplete[LEFT], 0, width, width)
        complete[LEFT, starts, ends], splits[LEFT, starts, ends] = found.max(1), starts + found.argmax(1)
        found = _rows(incomplete[RIGHT], 0, 1, width) + _columns(complete[RIGHT], 1, width, width)
        complete[RIGHT, starts, ends], splits[RIGHT, starts, ends] = found.max(1), starts + 1 + found.argmax(1)
    if not single_root:
        return _heads(splits, halves, [(RIGHT, 0, count - 1)])
    root = 1 + int((complete[LEFT, 1, 1:] + complete[RIGHT, 1:, -1] + arcs[:, 0]).argmax())
    return _heads(splits, halves, [(LEFT, 1, root), (RIGHT, root, count - 1)])


def _rows(table: Scores, row: int, column: int, width: int) -> Scores:
    """For each start s: `width` entries of row s + `row`, from column s + `column` on."""
    down, across = table.strides
    return as_strided(table[row:, column:], (len(table) - width, width), (down + across, across), writeable=False)


def _columns(table: Scores, row: int, column: int, width: int) -> Scores:
    """For each start s: `width` entries of column s + `column`, from row s + `row` on."""
    down, across = table.strides
    return as_strided(table[row:, column:], (len(table) - width, width), (down + across, down), writeable=False)


def _heads(splits: Numbers, halves: Numbers, spans: list[tuple[int, int, int]]) -> Numbers:
    """The heads of the words, from the best split of each span."""
    heads = np.zeros(len(halves), np.int64)
    while spans:
        side, start, end = spans.pop()
        if start == end:
            continue
        middle = int(splits[side, start, end])
        left, right = (middle, end) if side == LEFT else (start, middle)
        heads[left if side == LEFT else right] = right if side == LEFT else left
        half = int(halves[left, right])
        rest = (LEFT, start, middle) if side == LEFT else (RIGHT, middle, end)
        spans += [rest, (RIGHT, left, half), (LEFT, half + 1, right)]
    return heads[1:]
