"""Files of texts with labels: what is read of each format, and what is found wrong by file and line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.bracket_trees import Phrase, phrases_of
from regard.data.labelled import LabelledCorpora, LabelledText, load_labelled
from regard.errors import RecipeError
from regard.recipe import ClassifyingData


def read(folder: Path, train: str, name: str = "train.txt", **settings: Any) -> LabelledCorpora:
    (folder / name).write_text(train, encoding="utf-8")
    return load_labelled(ClassifyingData(train=[str(folder / name)], **settings), 1)


def taken(corpora: LabelledCorpora) -> list[tuple[str, tuple[str, ...]]]:
    return [(" ".join(text.words), text.labels) for text in corpora.texts("train")]


def lines(corpora: LabelledCorpora, folder: Path) -> list[str]:
    return [finding.line().replace(f"{folder}/", "") for finding in corpora.report.findings]


WANTED = [("a lovely  film".replace("  ", " "), ("good",)), ("dull", ("bad",))]


@pytest.mark.parametrize(
    ("name", "text", "settings"),
    [
        ("a.tsv", "good\ta lovely  film\nbad\tdull\n", {}),
        ("a.txt", "good\ta lovely film\n\nbad\tdull", {}),
        ("a.tsv", "text\tsource\tlabel\na lovely film\tx\tgood\ndull\ty\t bad \n",
         {"text_column": 1, "label_column": -1, "header": True}),
        ("a.jsonl", '{"text": "a lovely film", "label": "good"}\n{"label": ["bad"], "text": "dull", "x": 1}\n', {}),
        ("a.data", '{"t": "a lovely film", "l": 1}\n{"l": false, "t": "dull"}\n',
         {"text_field": "t", "label_field": "l", "rename": ["1=good", "false=bad"]}),
        ("a.txt", "__label__good a lovely film\ndull __label__bad\n", {}),
        ("a.txt", "(4 (2 a) (4 (4 lovely) (2 film)))\n(1 dull)\n", {"rename_in_trees": ["4=good", "1=bad"]}),
    ],
)  # fmt: skip
def test_every_format_is_read(name: str, text: str, settings: dict[str, Any], tmp_path: Path) -> None:
    corpora = read(tmp_path, text, name, **settings)
    assert taken(corpora) == WANTED
    assert lines(corpora, tmp_path) == []
    assert corpora.report.parts["train"].endswith(f"2 texts in {tmp_path / name}, 4 words")
    assert corpora.notes == ("2 different labels",)
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert list(load_labelled(ClassifyingData(train=[str(packed)], **settings), 1).texts("train")) == list(
        corpora.texts("train")
    )


def test_several_labels_are_read_where_they_are_allowed(tmp_path: Path) -> None:
    fast = read(tmp_path, "__label__a __label__b x y\nz\n__label__a __label__a w\n", multiple=True, format="fasttext")
    assert taken(fast) == [("x y", ("a", "b")), ("z", ()), ("w", ("a",))]
    columns = read(tmp_path, "a; b\tx y\n\tz\n", "b.tsv", multiple=True, separator=";")
    assert taken(columns) == [("x y", ("a", "b")), ("z", ())]
    listed = read(tmp_path, '{"text": "x", "label": []}', "c.jsonl", multiple=True)
    assert taken(listed) == [("x", ())]
    refused = read(tmp_path, "__label__a __label__b x\n__label__ y\n")
    assert lines(refused, tmp_path) == [
        "train: 2 texts without exactly one label: refused; first train.txt:1 (2 labels); train.txt:2 (0 labels); "
        "give each one, or set data.multiple = true for any number"
    ]


def test_phrases_of_the_training_text_are_examples_and_labels_are_left_out(tmp_path: Path) -> None:
    tree = "(3 (2 It) (4 (2 's) (4 lovely)))\n(4 lovely)\n(0 (2 It) (1 drags))\n"
    names = ["0=bad", "1=bad", "2=", "3=good", "4=good"]
    (tmp_path / "dev.txt").write_text("(4 (2 It) (4 glows))\n(2 so)\n", encoding="utf-8")
    (tmp_path / "test.tsv").write_text("1\tIt 's lovely\n0\tbad\n", encoding="utf-8")
    held_out = {"dev": [str(tmp_path / "dev.txt")], "test": [str(tmp_path / "test.tsv")]}
    corpora = read(tmp_path, tree, rename_in_trees=names, rename=["0=bad", "1=good"], phrases=True, **held_out)
    assert taken(corpora) == [
        ("It 's lovely", ("good",)),
        ("'s lovely", ("good",)),
        ("lovely", ("good",)),
        ("It drags", ("bad",)),
        ("drags", ("bad",)),
    ]
    assert corpora.texts("dev") == (LabelledText(("It", "glows"), ("good",)),)
    assert [text.labels for text in corpora.texts("test")] == [("good",), ("bad",)]
    found = lines(corpora, tmp_path)
    assert found[0].startswith(
        "train: 3 texts with labels that are left out: dropped (data.rename_in_trees); first train.txt:1"
    )
    assert found[1] == "dev: 1 text with labels that are left out: dropped (data.rename_in_trees); dev.txt:2"
    assert len(taken(read(tmp_path, tree, rename_in_trees=names))) == 3


def test_what_is_wrong_is_named_by_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("x\tone\nz\ttwo\n", encoding="utf-8")
    corpora = read(tmp_path, "x\tone\nalone\n\ty\nx\t \n", "a.tsv", dev=[str(tmp_path / "dev.tsv")])
    assert lines(corpora, tmp_path) == [
        "train: 1 line without a text or a label: refused; a.tsv:2 (1 column); see data.text_column = -1, "
        "data.label_column = 1 for TSV, data.text_field = 'text', data.label_field = 'label' for JSON Lines",
        "train: 1 text without exactly one label: refused; a.tsv:3 (0 labels); give each one, or set "
        "data.multiple = true for any number",
        "train: 1 text without a word: kept; a.tsv:4",
        "dev: 1 label never seen in training, counted as wrong: kept; dev.tsv:2 (z)",
    ]
    assert corpora.texts("train")[-1] == LabelledText((), ("x",))
    broken = '{"text": "x"}\n[1]\n{"text": 1, "label": "x"}\n{"text": "x", "label": [{}]}\n{'
    found = lines(read(tmp_path, broken, "a.jsonl"), tmp_path)
    assert found[0].startswith(
        "train: 3 lines without a text or a label: refused; first a.jsonl:1 (no field 'label'); "
        "a.jsonl:3 (the text is not text, or a label is neither text nor a number); a.jsonl:4 "
    )
    assert found[1] == (
        "train: 2 lines without a JSON object: refused; first a.jsonl:2; a.jsonl:5; write each on one line"
    )
    found = lines(read(tmp_path, "(1 (2 It)\n(1 a)\n", "a.trees"), tmp_path)
    assert found == [
        "train: 1 tree whose brackets are broken: refused; a.trees:1 (the bracket at character 1 is not closed); mend "
        "them, or leave them out"
    ]
    (tmp_path / "none.tsv").write_text("\n", encoding="utf-8")
    found = lines(load_labelled(ClassifyingData(train=[str(tmp_path / "none.tsv")]), 1), tmp_path)
    assert found == ["train: there is no text in none.tsv; name a file with a text and its label on each line"]
    found = lines(read(tmp_path, "no tab here\n"), tmp_path)
    assert found == [
        "train: train.txt: neither the name nor the first line tells the format; set data.format to 'tsv', 'jsonl', "
        "'fasttext' or 'trees'"
    ]
    (tmp_path / "bytes.tsv").write_bytes(b"x\t\xff\n")
    found = lines(load_labelled(ClassifyingData(train=[str(tmp_path / "bytes.tsv")]), 1), tmp_path)
    assert found[0].startswith("train: bytes.tsv:1: byte 0xff at byte 3 of the line")


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("3 It", "a tree begins with a bracket"),
        ("(3 (2 It)", "the bracket at character 1 is not closed"),
        ("(3 It) )", "')' at character 8 follows the end of the tree"),
        ("(3 It) (2 is)", "'(' at character 8 follows the end of the tree"),
        ("(3 (2) It)", "the bracket at character 4 has no word"),
        ("(3 ((2 It)))", "the bracket at character 4 has no label"),
        ("(", "the bracket at character 1 has no label"),
    ],
)
def test_broken_trees_are_described(line: str, wrong: str) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011
        phrases_of(line)
    assert str(refusal.value) == wrong


TREES = st.recursive(
    st.tuples(st.integers(0, 4), st.text("abc-'", min_size=1)),
    lambda below: st.tuples(st.integers(0, 4), st.lists(below, min_size=1, max_size=3)),
    max_leaves=8,
)


@given(tree=TREES)
def test_trees_are_read_as_they_were_written(tree: Any) -> None:
    phrases: list[Phrase] = []

    def write(node: Any) -> tuple[str, tuple[str, ...]]:
        label, below = node
        place = len(phrases)
        phrases.append(Phrase("", ()))
        parts = [(below, (below,))] if isinstance(below, str) else [write(each) for each in below]
        words = tuple(word for _, several in parts for word in several)
        phrases[place] = Phrase(str(label), words)
        return f"({label} {' '.join(text for text, _ in parts)})", words

    line, _ = write(tree)
    assert phrases_of(line) == phrases


def test_settings_that_make_no_sense_are_refused() -> None:
    for settings, said in [
        ({"text_column": 0}, "text_column = 0: columns are counted from 1, or from -1 at the end"),
        ({"rename": ["x"]}, "rename: 'x' is not a label and its new name, such as '1=positive'"),
        ({"train": []}, "train is missing: name a file of texts with labels, or choose corpus = 'dates'"),
        ({"corpus": "dates"}, "train names files, but corpus is 'dates'; set corpus to 'files' or leave train out"),
        ({"separator": ";"}, "separator"),
    ]:
        with pytest.raises(RecipeError, match=said):
            ClassifyingData(**{"train": ["a.tsv"], **settings})


def test_the_fingerprint_is_of_words_and_labels(tmp_path: Path) -> None:
    one = read(tmp_path, "x\ta b\n", "a.tsv").fingerprint
    assert one == read(tmp_path, json.dumps({"text": "a  b", "label": "x"}), "a.jsonl").fingerprint
    assert one != read(tmp_path, "y\ta b\n", "a.tsv").fingerprint


def test_labels_of_lines_are_left_out_too(tmp_path: Path) -> None:
    corpora = read(tmp_path, "2\tso\n1\tfine\n", "a.tsv", rename=["2=", "1=good"])
    assert taken(corpora) == [("fine", ("good",))]
    assert lines(corpora, tmp_path) == ["train: 1 text with labels that are left out: dropped (data.rename); a.tsv:1"]


def test_columns_that_may_be_swapped_are_reported(tmp_path: Path) -> None:
    right = "".join(f"{'good' if number % 2 else 'bad'}\ttext number {number}\n" for number in range(30))
    assert lines(read(tmp_path, right, "right.tsv"), tmp_path) == []
    swapped = "".join("\t".join(reversed(line.split("\t"))) + "\n" for line in right.splitlines())
    (found,) = lines(read(tmp_path, swapped, "swapped.tsv"), tmp_path)
    assert found.startswith(
        "train: most texts have one word and there are 30 different labels, so that the columns of text and label may "
        "be swapped; see data.text_column = -1, data.label_column = 1 for TSV"
    )
    assert found.endswith(": kept")
    assert lines(read(tmp_path, swapped, "swapped.tsv", text_column=1, label_column=2), tmp_path) == []
    names = "".join(f"{'female' if number % 2 else 'male'}\tname{number}\n" for number in range(30))
    assert lines(read(tmp_path, names, "names.tsv"), tmp_path) == []  # single words with few labels
