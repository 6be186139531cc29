"""Development and test text that is in the training text too: found for every kind of text, and refused for none."""

from pathlib import Path

import pytest
from command_line import regard
from hypothesis import given
from hypothesis import strategies as st

from regard.data.overlap import LEAST_WORDS, find_overlap

texts = st.lists(st.lists(st.sampled_from("abc"), max_size=6).map(" ".join))


@given(texts, texts)
def test_long_texts_that_occur_in_training_are_counted(train: list[str], dev: list[str]) -> None:
    placed = [(text, f"dev:{number}") for number, text in enumerate(dev, start=1)]
    found = list(find_overlap({"train": [(text, "") for text in train], "dev": placed}, "lines"))
    again = [place for text, place in placed if len(text.split()) >= LEAST_WORDS and text in train]
    assert [(each.part, each.count, each.places) for each in found] == (
        [("dev", len(again), tuple(again[:3]))] if again else []
    )
    assert all(each.outcome == "kept" for each in found)


def test_the_share_is_of_texts_that_count_and_blanks_make_no_difference() -> None:
    test = [("so it  goes on ", "test:1"), ("it does not go on", "test:2"), ("Thank you .", "test:3")]
    parts = {"train": [("so it goes on", ""), ("Thank you .", "")], "dev": [("Thank you .", "dev:1")], "test": test}
    (found,) = find_overlap(parts, "lines")  # type: ignore[arg-type]
    assert found.line() == (
        "test: 1 line found in the training text too (50.0 % of those with 4 words or more): kept; test:1"
    )


def test_texts_without_spaces_count_by_their_characters() -> None:
    long, short = ("私は東京の学生です。", "dev:1"), ("はい。", "dev:2")
    (found,) = find_overlap({"train": [long, short], "dev": [long, short]}, "lines")
    assert (found.count, found.places) == (1, ("dev:1",))


def test_one_part_overlaps_with_nothing() -> None:
    text = [("so it goes on", "1")]
    assert not [*find_overlap({"train": text}, "lines"), *find_overlap({"dev": text, "test": text}, "lines")]


WORDS = ["the", "dog", "sees", "Ann"]
CONLLU = "".join(
    f"{number}\t{word}\t_\t_\t_\t_\t{0 if number == 3 else 3}\t{'root' if number == 3 else 'dep'}\t_\t_\n"
    for number, word in enumerate(WORDS, start=1)
)


@pytest.mark.parametrize(
    ("name", "content", "what", "task"),
    [
        ("text.txt", "the dog sees Ann\n", "line", "language"),
        ("labels.tsv", "good\tthe dog sees Ann\n", "text", "classifying"),
        ("names.conll", "".join(f"{word} O\n" for word in WORDS), "sentence", "tagging"),
        ("trees.conllu", CONLLU, "sentence", "parsing"),
    ],
)
def test_every_check_reports_it(name: str, content: str, what: str, task: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    ended = regard("check", path, "--dev", path, "--set", f"task={task}")
    assert ended.code == 0, ended.err
    found = f"dev: 1 {what} found in the training text too (100.0 % of those with 4 words or more): kept; "
    assert found in ended.out
    assert f"{name}:1" in ended.out.split(found)[1].splitlines()[0]
    assert "no problems found" in regard("check", path, "--set", f"task={task}").out
