"""CoNLL-U: what is read and written again is the same text, and what is wrong is named by file and line."""

import gzip
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import all_trees, sentences, trees

from regard.data.conllu import Sentence, each_sentence, findings, read_conllu

ROWS = """\
# sent_id = 1
# text = I don't.
1\tI\tI\tPRON\t_\t_\t2\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tdo\tdo\tVERB\t_\t_\t0\troot\t_\t_
3\tn't\tnot\tPART\t_\t_\t2\tadvmod\t_\t_
3.1\tgo\tgo\tVERB\t_\t_\t_\t_\t2:dep\t_
4\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_
"""


def one(text: str) -> Sentence:
    (found,) = each_sentence(text.split("\n"), "a.conllu")
    return found


def changed(old: str, new: str) -> list[str]:
    """The problems of the sentence with one change."""
    assert old in ROWS
    return [str(problem) for problem in one(ROWS.replace(old, new, 1)).problems()]


@given(st.lists(sentences(), max_size=4))
def test_what_is_read_and_written_again_is_the_same_text(written: list[Sentence]) -> None:
    text = "".join(sentence.text for sentence in written)
    found = list(each_sentence(text.split("\n")[:-1]))
    assert "".join(sentence.text for sentence in found) == text
    assert [sentence.lines for sentence in found] == [sentence.lines for sentence in written]
    assert not any(problem for sentence in found for problem in sentence.problems())


@given(sentences(), st.data())
def test_another_tree_changes_heads_and_relations_alone(sentence: Sentence, data: st.DataObject) -> None:
    heads = data.draw(st.sampled_from(all_trees(len(sentence))))
    relations = data.draw(st.lists(st.just("dep"), min_size=len(heads), max_size=len(heads)))
    other = sentence.with_tree(heads, relations)
    assert (other.heads, other.relations, other.forms) == (heads, tuple(relations), sentence.forms)
    assert other.with_tree(sentence.heads, sentence.relations) == sentence


def test_words_of_a_sentence_with_tokens_and_empty_nodes() -> None:
    sentence = one(ROWS)
    assert sentence.forms == ("I", "do", "n't", ".")
    assert sentence.heads == (2, 0, 2, 2)
    assert sentence.relations == ("nsubj", "root", "advmod", "punct")
    assert not sentence.problems()


def test_files_follow_each_other_and_may_be_packed(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(f"{ROWS}\n\n# no words\n\n{ROWS}")
    (tmp_path / "b.conllu.gz").write_bytes(gzip.compress(f"{ROWS}\n".encode()))
    found = list(read_conllu([tmp_path / "a.conllu", tmp_path / "b.conllu.gz"]))
    assert [len(sentence) for sentence in found] == [4, 0, 4, 4]
    assert [sentence.place(0).rpartition("/")[2] for sentence in found] == [
        "a.conllu:1",
        "a.conllu:11",
        "a.conllu:13",
        "b.conllu.gz:1",
    ]
    assert not any(sentence.problems() for sentence in found)


def test_a_sentence_of_words_has_nothing_in_the_other_columns() -> None:
    sentence = Sentence.of(["a", "b"])
    assert sentence.text == "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n2\tb\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    assert not list(sentence.layout_problems())


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "3\tn't\tnot",
            "3\tn't not",
            "a.conllu:6: 9 columns instead of 10; write ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC "
            "with a tab between them, _ for nothing",
        ),
        (ROWS.partition("I don't.\n")[2], "I don't", "a.conllu:3: 1 column instead of 10; write ID"),
        ("1\tI\tI", "1\t\tI", "a.conllu:3: column 2 (FORM) is empty; write _ for nothing"),
        (
            "3\tn't",
            "4\tn't",
            "a.conllu:6: the number '4' after '2' is wrong; words are numbered 1, 2, 3, tokens 1-2 before them, empty "
            "nodes 1.1",
        ),
        ("1\tI", "2\tI", "a.conllu:3: the number '2' on the first word is wrong"),
        ("1\tI", "x\tI", "a.conllu:3: the number 'x' on the first word is wrong"),
        ("1\tI", "01\tI", "a.conllu:3: the number '01' on the first word is wrong"),
        ("2-3", "3-4", "a.conllu:4: the number '3-4' after '1' is wrong"),
        ("2-3", "2-2", "a.conllu:4: the number '2-2' after '1' is wrong"),
        ("3.1", "3.2", "a.conllu:7: the number '3.2' after '3' is wrong"),
        (
            "2-3",
            "2-9",
            "a.conllu:1: a multiword token ends at word 9, and the last word is 4; let it end there",
        ),
        (
            "2\tadvmod",
            "7\tadvmod",
            "a.conllu:6: word 3 has the head '7', and there are words 1 to 4; give the number of one, or 0 "
            "for the root",
        ),
        ("2\tadvmod", "_\tadvmod", "a.conllu:6: word 3 has the head '_', and there are words 1 to 4"),
        ("2\tadvmod", "9" * 5000 + "\tadvmod", "a.conllu:6: word 3 has the head '9999"),
        ("2\tadvmod", "0\tadvmod", "a.conllu:6: words 2, 3 have the head 0; give it to one word"),
        ("\tpunct", "\t_", "a.conllu:8: word 4 has no relation; name it in column 8"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_line(old: str, new: str, says: str) -> None:
    (found,) = changed(old, new)
    assert found.startswith(says)


def test_a_cycle_is_named_with_its_words() -> None:
    assert changed("0\troot", "3\troot") == [
        "a.conllu:3: no word has the head 0; give it to the root",
        "a.conllu:5: the heads of words 2 → 3 → 2 are a cycle; change one",
    ]
    assert changed("2\tpunct", "4\tpunct") == ["a.conllu:8: the heads of words 4 → 4 are a cycle; change one"]


@given(st.integers(1, 4).flatmap(lambda words: st.sampled_from(list(product(range(words + 1), repeat=words)))))
def test_sound_trees_are_all_trees_with_one_root(heads: tuple[int, ...]) -> None:
    sentence = Sentence.of("abcd"[: len(heads)]).with_tree(heads, ["dep"] * len(heads))
    assert (not sentence.problems()) == (heads in all_trees(len(heads)))


@given(trees())
def test_several_problems_are_one_finding_each(heads: tuple[int, ...]) -> None:
    sentence = Sentence.of(["w"] * len(heads)).with_tree(heads, ["_"] * len(heads))
    (found,) = findings("train", sentence.problems(), "refused", "data.malformed")
    assert found.count == len(heads)
    noun = "word" if len(heads) == 1 else "words"
    assert found.line().startswith(f"train: {len(heads)} {noun} without a relation: refused (data.malformed); ")
