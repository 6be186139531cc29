"""Files put together with tags, and files divided so that no source is on two sides."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_strategies import data, two_files, write

from regard.data import load_corpus
from regard.data.check import check
from regard.data.combined_files import DividedFiles, LanguageTaggedFiles, split_of
from regard.data.pair_files import PairFiles
from regard.errors import RecipeError
from regard.recipe import parse_recipe

sentences = st.text("abc AB", min_size=1, max_size=6)
pairs = st.lists(st.tuples(sentences, sentences), max_size=60)


def listed(folder: Path, rows: list[tuple[str, str]], held_out: float, name: str = "a.tsv") -> dict[str, list[str]]:
    path = write(folder / name, "".join(f"{source}\t{target}\n" for source, target in rows))
    corpora = load_corpus(data(train=[path], held_out=held_out), 1)
    parts = {"train": corpora.train, "dev": corpora.dev, "test": corpora.test}
    return {split: [f"{pair.source}\t{pair.target}" for pair in examples] for split, examples in parts.items()}


@given(rows=pairs, more=pairs, held_out=st.sampled_from([0.1, 0.3, 0.45]))
def test_no_source_is_on_two_sides_and_more_lines_move_none(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], more: list[tuple[str, str]], held_out: float
) -> None:
    folder = tmp_path_factory.mktemp("divided")
    rows = rows or [("a", "b")]
    before, after = listed(folder, rows, held_out), listed(folder, rows + more, held_out)
    every = [line for lines in before.values() for line in lines]
    assert sorted(every) == sorted(f"{source}\t{target}" for source, target in rows)
    sides = {split: {" ".join(line.split("\t")[0].lower().split()) for line in lines} for split, lines in after.items()}
    assert not sides["train"] & sides["dev"] | sides["train"] & sides["test"] | sides["dev"] & sides["test"]
    for split, lines in before.items():
        assert after[split][: len(lines)] == lines


def test_about_as_many_are_held_out_as_was_asked_for() -> None:
    found = [split_of(f"sentence {number}", 0.05) for number in range(10_000)]
    assert found.count("dev") == pytest.approx(500, abs=80)
    assert found.count("test") == pytest.approx(500, abs=80)
    spelled = ("Hello  World", "hello world ", "HELLO WORLD", "hello world")
    assert len({split_of(text, 0.2) for text in spelled}) == 1


def test_a_smaller_share_is_held_out_of_the_same_sources() -> None:
    texts = [str(number) for number in range(2000)]
    dev = {share: {text for text in texts if split_of(text, share) == "dev"} for share in (0.01, 0.1)}
    assert dev[0.01] < dev[0.1]


def test_places_are_those_of_the_file(tmp_path: Path) -> None:
    rows = [(f"s{number}", f"t{number}") for number in range(40)]
    path = write(tmp_path / "a.tsv", "".join(f"{source}\t{target}\n" for source, target in rows))
    divided = DividedFiles(PairFiles([path]), "dev", 0.3)
    for record in divided:
        assert divided.place(record.line) == f"{path}:{int(record.source[1:]) + 1}"
    rows[7] = ("s7", "")
    empty = write(tmp_path / "b.tsv", "".join(f"{source}\t{target}\n" for source, target in rows))
    (finding,) = [found for found in check(data(train=[empty], held_out=0.01)).findings if found.kind == "empty"]
    assert finding.places == (f"{empty}:8",)


def test_the_format_can_be_said(tmp_path: Path) -> None:
    path = tmp_path / "eng-fra.txt.gz"
    path.write_bytes(gzip.compress(b"Hi.\tSalut !\nRun!\tCours !\n"))
    corpora = load_corpus(data(train=[str(path)], format="tsv"), 1)
    assert [(pair.source, pair.target) for pair in corpora.train] == [("Hi.", "Salut !"), ("Run!", "Cours !")]
    lines = [write(tmp_path / name, "a\tb\n") for name in ("x.tsv", "y.tsv")]
    (pair,) = load_corpus(data(train=lines, format="lines"), 1).train
    assert (pair.source, pair.target) == ("a\tb", "a\tb")


def test_every_pair_has_the_tag_of_its_corpus(tmp_path: Path) -> None:
    first = two_files(tmp_path, [("a", "x"), ("b", "y")], "first")
    second = two_files(tmp_path, [("a", "1"), ("", "2"), ("c", "3")], "second")
    corpora = load_corpus(data(train=[*first, *second], dev=[*second, *first], tags=["de", "fr"]), 1)
    assert [(pair.source, pair.tag) for pair in corpora.train] == [
        *(("a", "de"), ("b", "de"), ("a", "fr"), ("", "fr"), ("c", "fr")),
    ]
    assert [pair.tag for pair in corpora.dev] == ["de"] * 3 + ["fr"] * 2
    files = LanguageTaggedFiles([PairFiles(first), PairFiles(second)], ["de", "fr"])
    places = [files.place(record.line, 1) for record in files]
    assert places == [f"{first[1]}:1", f"{first[1]}:2", f"{second[1]}:1", f"{second[1]}:2", f"{second[1]}:3"]
    report = check(data(train=[*first, *second], tags=["de", "fr"]))
    assert report.findings[0].places == (f"{second[0]}:2",)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"train": ["a", "b", "c"]}, r"train names 3 files; give two \(source, target\) or one \(\.tsv, \.jsonl\)$"),
        (
            {"train": ["a.tsv"], "tags": ["de", "fr"]},
            r"train names 1 files; give two \(source, target\) or one \(\.tsv, \.jsonl\) for each of 2 tags$",
        ),
        (
            {"train": ["a.tsv"], "tags": ["d e"]},
            r"tags: 'd e' is not a tag; use letters, digits, - and _, such as 'de'$",
        ),
        ({"corpus": "dates", "tags": ["x"]}, r"tags are for files, but corpus is 'dates'; leave one of"),
        (
            {"train": ["a.tsv"], "dev": ["b.tsv"], "held_out": 0.1},
            r"held_out = 0\.1 takes dev and test out of the files of train; leave dev, test and corpus out, or held_",
        ),
        ({"train": ["a.tsv"], "held_out": 0.5}, r"data\.held_out = 0\.5: must be less than 0\.5$"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse_recipe({"data": settings, "model": {"kind": "transformer"}, "train": {"steps": 1}})
