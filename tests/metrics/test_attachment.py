"""UAS, LAS and CLAS: against a transcription of how the shared task's script counts, from CoNLL-U text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import RELATIONS, all_trees

from regard.data.conllu import Sentence
from regard.errors import UsageError
from regard.metrics import count_attachments

CONTENT = {"root", "nsubj", "obj", "conj"}
"""Of the relations here; neither those of function words, nor punctuation, nor those that the script does not know."""


def by_script(found: str, gold: str) -> dict[str, float]:
    """conll18_ud_eval.py: words are objects with a parent, aligned one to one as the forms are the same; a score is
    the F1 of the counts of both sides, and a filter applies to the gold word of a pair."""

    def read(text: str) -> list[tuple[object, str]]:
        words = []
        for number, block in enumerate(text.strip().split("\n\n")):
            for line in block.split("\n"):
                columns = line.split("\t")
                parent = None if columns[6] == "0" else (number, columns[6])
                words.append((parent, columns[7].split(":")[0]))
        return words

    def f1(correct: int, of_gold: int, of_system: int) -> float:
        precision = correct / of_system if of_system else 0.0
        recall = correct / of_gold if of_gold else 0.0
        return 100 * 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    pairs = list(zip(read(found), read(gold), strict=True))

    def content(word: tuple[object, str]) -> bool:
        return word[1] in CONTENT

    def score(key: int | None, *, only_content: bool = False) -> float:
        of_gold = sum(1 for _, word in pairs if not only_content or content(word))
        of_system = sum(1 for word, _ in pairs if not only_content or content(word))
        correct = 0
        for system, true in pairs:
            if only_content and not content(true):
                continue
            correct += (system if key is None else system[key]) == (true if key is None else true[key])
        return f1(correct, of_gold, of_system)

    return {"UAS": score(0), "LAS": score(None), "CLAS": score(None, only_content=True)}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Sentence, Sentence]:
    words = draw(st.integers(1, 5))

    def tree() -> Sentence:
        heads = draw(st.sampled_from(all_trees(words)))
        return Sentence.of(["w"] * words).with_tree(heads, [draw(st.sampled_from(RELATIONS)) for _ in heads])

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
