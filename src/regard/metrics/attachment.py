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

from regard.errors import UsageError
from regard.metrics.score import MetricScore

# fmt: off
CONTENT = frozenset({
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl", "advmod",
    "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound", "list", "parataxis",
    "orphan", "goeswith", "reparandum", "root", "dep",
})
# fmt: on
"""Relations of content words: those of Universal Dependencies, without those of function words and `punct`."""


class Tree(Protocol):
    """Heads (0 for the root) and relations of a sentence's words."""

    @property
    def heads(self) -> Sequence[int]: ...

    @property
    def relations(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class AttachmentCounts:
    """The counts behind the scores."""

    sentences: int
    words: int
    heads: int
    """Words with the right head."""
    arcs: int
    """Words with the right head and relation."""
    content: int
    """Content words, by the true relation."""
    found_content: int
    """Content words, by the relation found."""
    content_arcs: int
    """Content words, by the true relation, with the right head and relation."""

    @property
    def scores(self) -> tuple[MetricScore, MetricScore, MetricScore]:
        """LAS, UAS and CLAS."""
        either = self.content + self.found_content
        return (
            self._score("LAS", self.arcs, self.words),
            self._score("UAS", self.heads, self.words),
            self._score("CLAS", 2 * self.content_arcs, either),
        )

    def _score(self, name: str, part: int, whole: int) -> MetricScore:
        signature = f"sentences:{self.sentences}|words:{self.words}|subtypes:ignored|punctuation:counted|conll18"
        return MetricScore(name, 100 * part / whole if whole else 0.0, signature)


def count_attachments(found: Sequence[Tree], gold: Sequence[Tree]) -> AttachmentCounts:
    """Counts over all sentences."""
    if [len(tree.heads) for tree in found] != [len(tree.heads) for tree in gold]:
        raise UsageError(
            f"trees of {len(found)} sentences cannot be compared with {len(gold)} true ones; give one for each "
            "sentence, over the same words"
        )
    words = heads = arcs = content = found_content = content_arcs = 0
    for tree, true in zip(found, gold, strict=True):
        for head, relation, true_head, true_relation in zip(
            tree.heads, map(universal, tree.relations), true.heads, map(universal, true.relations), strict=True
        ):
            is_right = head == true_head and relation == true_relation
            words += 1
            heads += head == true_head
            arcs += is_right
            content += true_relation in CONTENT
            found_content += relation in CONTENT
            content_arcs += is_right and true_relation in CONTENT
    return AttachmentCounts(len(gold), words, heads, arcs, content, found_content, content_arcs)


def universal(relation: str) -> str:
    """A relation without its subtype."""
    return relation.partition(":")[0]
