"""Scores of dependency trees, as the script of the CoNLL 2018 shared task counts them where words are given
(conll18_ud_eval.py, Zeman et al. 2018), in percent:

    UAS     words with the right head
    LAS     words with the right head and relation
    CLAS    the same for content words alone: F1, as the relation tells which words these are

Punctuation counts like other words in UAS and LAS. Of relations, subtypes are ignored: `nsubj:pass` is `nsubj`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from regard.errors import UsageError
from regard.metrics.resampling import RESAMPLES, interval_of_mean
from regard.metrics.score import MetricScore

# fmt: off
CONTENT = frozenset({
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl", "advmod",
    "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound", "list", "parataxis",
    "orphan", "goeswith", "reparandum", "root", "dep",
})
# fmt: on
"""Relations of content words: those of Universal Dependencies, without those of function words and `punct`."""


Counts = npt.NDArray[np.int64]


class Tree(Protocol):
    """Heads (0 for the root) and relations of a sentence's words."""

    @property
    def heads(self) -> Sequence[int]: ...

    @property
    def relations(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class AttachmentCounts:
    """The counts of each sentence."""

    words: Counts
    heads: Counts
    """Words with the right head."""
    arcs: Counts
    """Words with the right head and relation."""
    content: Counts
    """Content words, by the true relation."""
    found_content: Counts
    """Content words, by the relation found."""
    content_arcs: Counts
    """Content words, by the true relation, with the right head and relation."""

    def scores(self, *, margins: bool = False) -> tuple[MetricScore, MetricScore, MetricScore]:
        """LAS, UAS and CLAS."""
        return (
            self._score("LAS", self.arcs, self.words, margins),
            self._score("UAS", self.heads, self.words, margins),
            self._score("CLAS", 2 * self.content_arcs, self.content + self.found_content, margins),
        )

    def _score(self, name: str, parts: Counts, wholes: Counts, margins: bool) -> MetricScore:
        value = 100 * float(parts.sum()) / max(int(wholes.sum()), 1)
        sizes = f"sentences:{len(self.words)}|words:{self.words.sum()}"
        signature = f"conll18|{sizes}|subtypes:ignored|punctuation:counted"
        if not margins:
            return MetricScore(name, value, signature)
        low, high = interval_of_mean(parts, wholes)
        return MetricScore(name, value, f"{signature}|bootstrap:{RESAMPLES}", 50 * (high - low))


def count_attachments(found: Sequence[Tree], gold: Sequence[Tree]) -> AttachmentCounts:
    """Counts of each sentence."""
    if not gold or [len(tree.heads) for tree in found] != [len(tree.heads) for tree in gold]:
        raise UsageError(
            f"trees of {len(found)} sentences cannot be compared with {len(gold)} true ones; give at least one, and "
            "one for each sentence, over the same words"
        )
    return AttachmentCounts(*np.array(list(map(_counts, found, gold)), dtype=np.int64).T)


def _counts(found: Tree, gold: Tree) -> tuple[int, ...]:
    """The counts of one sentence, in the order of `AttachmentCounts`."""
    heads = [one == other for one, other in zip(found.heads, gold.heads, strict=True)]
    relations, wanted = (list(map(universal, tree.relations)) for tree in (found, gold))
    arcs = [same and one == other for same, one, other in zip(heads, relations, wanted, strict=True)]
    content, found_content = ([relation in CONTENT for relation in each] for each in (wanted, relations))
    content_arcs = sum(right for right, counts in zip(arcs, content, strict=True) if counts)
    return len(heads), sum(heads), sum(arcs), sum(content), sum(found_content), content_arcs


def universal(relation: str) -> str:
    """A relation without its subtype."""
    return relation.partition(":")[0]
