"""Files with a tagged sentence on each line, and its label: what is read, and what is wrong by file and line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.tagged import TaggedCorpora, TaggedSentence, load_tagged
from regard.errors import RecipeError
from regard.recipe import TaggingData

COLUMNS = {"format": "lines", "word_column": 1, "tag_column": 2, "label_column": 3}
GOOD = "to New York\tO B-city I-city\tflight\nfares\tO\tfare#flight\n"


def read(folder: Path, train: str, dev: str = "", **settings: object) -> TaggedCorpora:
    names = {}
    for name, text in (("train", train), ("dev", dev)):
        if text:
            (folder / f"{name}.tsv").write_text(text, encoding="utf-8", newline="")
            names[name] = [str(folder / f"{name}.tsv")]
    return load_tagged(TaggingData(**names, **COLUMNS | settings), 1)  # type: ignore[arg-type]


def lines(corpora: TaggedCorpora, folder: Path, split: str = "train") -> list[str]:
    findings = corpora.parts[split].findings  # type: ignore[index]
    return [finding.line().replace(f"{folder}/", "") for finding in findings]


def test_a_line_is_a_sentence_with_its_label(tmp_path: Path) -> None:
    found = read(tmp_path, f"\n{GOOD}")
    first, second = found.sentences("train")
    assert (first.words, first.tags, first.label) == (("to", "New", "York"), ("O", "B-city", "I-city"), "flight")
    assert second.label == "fare#flight"  # compound labels are labels of their own
    assert first.places(2) == f"{tmp_path / 'train.tsv'}:2, word 3"
    assert found.notes == ("tags mark spans in the scheme iob2 (detected); 3 different tags and 2 different labels",)
    assert found.parts["train"].holds == f"2 sentences in {tmp_path / 'train.tsv'}, 4 words"
    assert lines(found, tmp_path) == []


def test_any_columns_can_be_chosen_and_labels_left_out(tmp_path: Path) -> None:
    turned = "flight\tx\tO B-city I-city\tto New York\r\n"
    found = read(tmp_path, turned, word_column=-1, tag_column=3, label_column=1)
    assert found.sentences("train") == read(tmp_path, GOOD).sentences("train")[:1]
    assert read(tmp_path, GOOD, label_column=0).sentences("train")[0].label == ""


def test_what_is_wrong_is_named_by_line(tmp_path: Path) -> None:
    bad = f"{GOOD}a b\tO\tx\na\tO\n\tO\tx\na\t\tx\na\tO\t \na\tO\tx\ty\na b\tI-city O\tx\n"
    assert lines(read(tmp_path, bad), tmp_path) == [
        "train: 2 lines with another number of columns than the first: refused; first train.tsv:4 (2 columns, not 3); "
        "train.tsv:8 (4 columns, not 3); give every line the same columns; if they are comments, set data.comments = "
        '"#"',
        "train: 3 lines without a word or a tag or a label: refused; first train.tsv:5; train.tsv:6; train.tsv:7; see "
        "data.word_column = 1, data.tag_column = 2, data.label_column = 3; if they are comments, set data.comments = "
        '"#"',
        "train: 1 line with another number of tags than words: refused; train.tsv:3 (2 words, 1 tag); give each word "
        "one tag",
        "train: 1 tag breaking the scheme iob2: refused (data.broken); train.tsv:9, word 1 (I-city); mend them, name "
        "another data.scheme, or set data.broken = 'replace'",
    ]
    twice = read(tmp_path, "to\tO\n", word_column=1, tag_column=-1, label_column=2)
    assert lines(twice, tmp_path)[0].startswith(
        "train: 1 line without a word or a tag or a label: refused; train.tsv:1;"
    )
    (line,) = lines(read(tmp_path, "no tabs here\n", label_column=0), tmp_path)
    assert line.startswith("train: 1 line without a word or a tag: refused; train.tsv:1; see data.word_column = 1")
    assert lines(read(tmp_path, f"# said by A\n{GOOD}", comments="#"), tmp_path) == []


def test_labels_and_tags_never_seen_in_training_are_named(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD, "to\tO\tfare\nYork\tB-town\tflight\n")
    assert lines(found, tmp_path, "dev") == [
        "dev: 1 tag never seen in training, counted as wrong: kept; dev.tsv:2, word 1 (B-town)",
        "dev: 1 label never seen in training, counted as wrong: kept; dev.tsv:1 (fare)",
    ]


def test_labels_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    with_labels = read(tmp_path, GOOD).fingerprint
    assert with_labels != read(tmp_path, GOOD.replace("fare#", "")).fingerprint
    assert with_labels != read(tmp_path, GOOD, label_column=0).fingerprint


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"format": "columns"}, "label_column"),
        ({"label_column": 2}, "label_column = 2 is the column of the words or of the tags; name another one"),
        (
            {"word_column": "FORM", "tag_column": "UPOS"},
            "word_column = 'FORM' names a column of CoNLL-U; set format to",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        TaggingData(train=["a.tsv"], **COLUMNS | settings)  # type: ignore[arg-type]


words = st.text("abc#", min_size=1, max_size=3)
sentences = st.lists(st.tuples(words, st.sampled_from(["O", "B-x"])), min_size=1, max_size=4)


@given(rows=st.lists(st.tuples(sentences, words), min_size=1, max_size=4))
def test_what_is_written_is_read(
    rows: list[tuple[list[tuple[str, str]], str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    wanted = [TaggedSentence(*map(tuple, zip(*pairs, strict=True)), label=label) for pairs, label in rows]  # type: ignore[arg-type]
    text = "".join(f"{' '.join(each.words)}\t{' '.join(each.tags)}\t{each.label}\n" for each in wanted)
    found = read(tmp_path_factory.mktemp("lines"), text)
    assert [(each.words, each.tags, each.label) for each in found.sentences("train")] == [
        (each.words, each.tags, each.label) for each in wanted
    ]
