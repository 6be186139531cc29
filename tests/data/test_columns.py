"""Files of columns: what is read, and what is wrong by file and line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.columns import split_columns
from regard.data.dates.tagged import PARTS
from regard.data.tagged import TaggedCorpora, load_tagged
from regard.errors import EncodingError, RecipeError
from regard.recipe import TaggingData
from regard.tokens.tag_schemes import spans

NER = """-DOCSTART- -X- O O

EU NNP I-NP B-ORG
rejects VBZ I-VP O

Peter NNP I-NP B-PER
Blackburn NNP I-NP I-PER
"""
UD = """# sent_id = 1
# text = don't # go
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\tVBP\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\t_
2.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_

1\tNew York\tNew York\tPROPN\tNNP\t_\t0\troot\t_\t_
"""


def read(tmp_path: Path, train: str, dev: str = "", **settings: object) -> TaggedCorpora:
    names = {}
    for name, text in (("train", train), ("dev", dev)):
        if text:
            file = tmp_path / f"{name}.{'conllu' if 'word_column' in settings else 'conll'}"
            file.write_text(text, encoding="utf-8", newline="")
            names[name] = [str(file)]
    return load_tagged(TaggingData(**names, **settings), 1)  # type: ignore[arg-type]


def words(corpora: TaggedCorpora) -> list[str]:
    rows = corpora.sentences("train")
    return [" ".join(f"{word}/{tag}" for word, tag in zip(row.words, row.tags, strict=True)) for row in rows]


def lines(corpora: TaggedCorpora, split: str = "train") -> list[str]:
    return [finding.line() for finding in corpora.parts[split].findings]  # type: ignore[index]


def test_columns_are_read_without_the_beginnings_of_documents(tmp_path: Path) -> None:
    found = read(tmp_path, NER)
    assert words(found) == ["EU/B-ORG rejects/O", "Peter/B-PER Blackburn/I-PER"]
    assert found.parts["train"].holds == f"2 sentences in {tmp_path / 'train.conll'}, 1 document, 4 words"
    assert found.notes == ("tags mark spans in the scheme iob2 (detected); 4 different tags",)
    assert found.sentences("train")[1].places(1) == f"{tmp_path / 'train.conll'}:7"
    assert lines(found) == []


@pytest.mark.parametrize("change", [str, lambda text: text.replace(" ", "\t"), lambda text: text.replace("\n", "\r\n")])
def test_blanks_tabs_and_line_ends_make_no_difference(tmp_path: Path, change: type[str]) -> None:
    assert words(read(tmp_path, change(NER))) == words(read(tmp_path, NER + "\n\n"))


def test_any_columns_can_be_chosen(tmp_path: Path) -> None:
    assert words(read(tmp_path, NER, tag_column=2)) == ["EU/NNP rejects/VBZ", "Peter/NNP Blackburn/NNP"]
    assert words(read(tmp_path, NER, tag_column=-2))[0] == "EU/I-NP rejects/I-VP"


def test_of_conllu_words_are_read_but_no_ranges_empty_nodes_and_comments(tmp_path: Path) -> None:
    found = read(tmp_path, UD, word_column="FORM", tag_column="UPOS")
    assert words(found) == ["do/AUX n't/PART", "New York/PROPN"]
    assert found.notes == ("tags are of single words; 3 different tags",)


def test_comments_are_left_out_if_the_settings_say_how_they_begin(tmp_path: Path) -> None:
    text = "# id 1\n# O\nEU B-ORG\n"
    assert words(read(tmp_path, "# O\nEU B-ORG\n")) == ["#/O EU/B-ORG"]
    assert words(read(tmp_path, text, comments="# id")) == ["#/O EU/B-ORG"]
    (line,) = lines(read(tmp_path, text))
    assert line.endswith('give every line the same columns; if they are comments, set data.comments = "#"')


def test_missing_columns_are_named_by_line(tmp_path: Path) -> None:
    file = tmp_path / "train.conll"
    assert lines(read(tmp_path, "EU B-ORG\nrejects\ncall O\n")) == [
        f"train: 1 line with another number of columns than the first: refused; {file}:2 (1 column, not 2); give every "
        'line the same columns; if they are comments, set data.comments = "#"'
    ]
    (line,) = lines(read(tmp_path, "EU B-ORG\ncall O\n", tag_column=3))
    assert line == (
        f"train: 2 lines without a word or a tag: refused; first {file}:1; {file}:2; see data.word_column = 1, "
        'data.tag_column = 3; if they are comments, set data.comments = "#"'
    )
    assert lines(read(tmp_path, "EU\t\tB-ORG\ncall\tx\tO\n", tag_column=2))[0].startswith("train: 1 line without")


def test_tags_that_break_the_scheme_are_named_by_line_or_replaced(tmp_path: Path) -> None:
    text = "EU B-ORG\nrejects O\n\nPeter I-PER\nBlackburn I-PER\n\nNew B-LOC\nYork I-LOC\n"
    (line,) = lines(read(tmp_path, text))
    assert line == (
        f"train: 1 tag breaking the scheme iob2: refused (data.broken); {tmp_path / 'train.conll'}:4 (I-PER); mend "
        "them, name another data.scheme, or set data.broken = 'replace'"
    )
    replaced = read(tmp_path, text, broken="replace")
    assert lines(replaced) == [line.split("; mend")[0].replace("refused", "replaced")]
    assert words(replaced)[1] == "Peter/B-PER Blackburn/I-PER"
    assert lines(read(tmp_path, text, scheme="none")) == []
    assert len(lines(read(tmp_path, text, scheme="iob1"))) == 1


def test_a_tag_never_seen_in_training_is_named(tmp_path: Path) -> None:
    found = read(tmp_path, NER, "Rome NNP I-NP B-LOC\n")
    assert lines(found, "dev") == [
        f"dev: 1 tag never seen in training, counted as wrong: kept; {tmp_path / 'dev.conll'}:1 (B-LOC)"
    ]


@pytest.mark.parametrize("text", ["\n\n", "-DOCSTART- O\n\n"])
def test_an_empty_file_is_named(tmp_path: Path, text: str) -> None:
    assert lines(read(tmp_path, text)) == [
        f"train: there is no sentence in {tmp_path / 'train.conll'}; name a file of tagged sentences"
    ]


def test_what_is_not_utf_8_and_what_is_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "train.conll"
    file.write_bytes(b"M\xe4rz B-MONTH\n")
    found = load_tagged(TaggingData(train=[str(file)], dev=[str(tmp_path / "none")]), 1)
    assert str(EncodingError(f"{file}:1: byte 0xe4 at byte 2 of the line", ""))[:40] in lines(found)[0]
    assert "no such file" in lines(found, "dev")[0]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"word_column": "FORM"}, "give two numbers, or two names of CoNLL-U columns such as 'FORM' and 'UPOS'"),
        ({"word_column": 0}, "word_column = 0: columns are counted from 1, or from -1 at the end"),
        ({"corpus": "dates"}, "train names files, but corpus is 'dates'; set corpus to 'files' or leave train out"),
        ({"train": ["x.conllu.gz"]}, "train names 'x.conllu.gz', whose columns have names; set word_column = 'FORM'"),
        ({"train": []}, "train is missing: name a file of columns, or choose corpus = 'dates', which is built in"),
        ({"languages": ["de"]}, "languages"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(RecipeError) as refusal:
        TaggingData(**{"train": ["x.conll"], **settings})  # type: ignore[arg-type]
    assert sentence in str(refusal.value)


@given(st.lists(st.text("aé東:", min_size=1), min_size=1), st.sampled_from(["\t", " ", "  "]))
def test_columns_are_split_at_what_separates_them(columns: list[str], separator: str) -> None:
    assert split_columns(separator.join(columns)) == columns


def test_every_built_in_date_has_its_three_parts() -> None:
    few = ["de", "he", "ko", "zh"]
    found = load_tagged(TaggingData(corpus="dates", examples=100, languages=few), 1)
    assert [len(part.sentences) for part in found.parts.values()] == [100, 10, 10]
    for sentence in found.sentences("train"):
        assert sorted(kind for _, _, kind in spans(sentence.tags)) == sorted(PARTS)
        assert all(word and not word.isspace() for word in sentence.words)
    fewer = load_tagged(TaggingData(corpus="dates", examples=50, languages=few), 1)
    assert fewer.sentences("train") == found.sentences("train")[:50]
