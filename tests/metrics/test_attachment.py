"""UAS, LAS and CLAS: against the script of the shared task itself, conll18_ud_eval.py, which is now udtools.udeval."""

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import RELATIONS, all_trees

from regard.data.conllu import Sentence
from regard.errors import UsageError
from regard.metrics import count_attachments
from regard.metrics.attachment import CONTENT

NAMES = st.sampled_from(sorted({*RELATIONS, *CONTENT, "aux", "cop", "mark", "cc", "clf", "nmod:of"}))


def by_script(found: str, gold: str) -> dict[str, float]:
    """The scores of CoNLL-U text."""
    script = pytest.importorskip("udtools.udeval")
    gold_words, found_words = (script.load_conllu(StringIO(text), "text", {}) for text in (gold, found))
    scores = script.evaluate(gold_words, found_words)
    return {name: 100 * scores[name].f1 for name in ("UAS", "LAS", "CLAS")}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Sentence, Sentence]:
    words = draw(st.integers(1, 5))

    def tree() -> Sentence:
        heads = draw(st.sampled_from(all_trees(words)))
        return Sentence.of(["w"] * words).with_tree(heads, [draw(NAMES) for _ in heads])

    return tree(), tree()


@given(st.lists(pairs(), min_size=1, max_size=4))
def test_scores_are_those_of_the_script(trees: list[tuple[Sentence, Sentence]]) -> None:
    found, gold = zip(*trees, strict=True)
    expected = by_script("".join(tree.text for tree in found), "".join(tree.text for tree in gold))
    counts = count_attachments(found, gold)
    scores = counts.scores()
    assert {score.name: score.value for score in scores} == pytest.approx(expected)
    words = sum(map(len, gold))
    assert {score.signature for score in scores} == {
        f"conll18|sentences:{len(gold)}|words:{words}|subtypes:ignored|punctuation:counted"
    }


def test_intervals_are_by_bootstrap_over_sentences() -> None:
    right, wrong = (Sentence.of(["a", "b"]).with_tree(heads, ["root", "dep"]) for heads in ((0, 1), (2, 0)))
    las, *_ = count_attachments([right, wrong] * 50, [right] * 100).scores(margins=True)
    assert las.value == 50
    assert las.margin == pytest.approx(100 * 1.96 * 0.5 / 10, rel=0.15)
    assert las.signature.endswith("|bootstrap:1000")


def test_trees_over_other_words_are_refused() -> None:
    one, two = (Sentence.of(["w"] * count).with_tree(range(count), ["dep"] * count) for count in (1, 2))
    with pytest.raises(
        UsageError, match="trees of 1 sentences cannot be compared with 1 true ones; give at least one, and one "
    ):
        count_attachments([one], [two])
