"""`regard lexicon`: a dictionary of aligned text."""

from collections import Counter
from pathlib import Path

import pytest
from command_line import WORDS, Trained, regard
from hypothesis import given
from hypothesis import strategies as st

import regard as library
from regard.inspect.lexicon import Lexicon

sentences = st.lists(st.sampled_from("ab"), min_size=1, max_size=4)
links = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6)


@given(st.lists(st.tuples(sentences, sentences, links), max_size=5), st.integers(1, 3))
def test_entries_are_the_links_counted_by_their_words(rows: list[tuple[list[str], list[str], frozenset]], least: int):
    rows = [(a, b, frozenset((i, j) for i, j in c if i < len(a) and j < len(b))) for a, b, c in rows]
    lexicon, turned = Lexicon(), Lexicon()
    for source, target, found in rows:
        lexicon.add(source, target, found)
        turned.add(target, source, frozenset((j, i) for i, j in found))
    every = [(a[i], b[j]) for a, b, c in rows for i, j in c]
    entries = lexicon.entries()
    assert {(entry.source, entry.target): entry.count for entry in entries} == Counter(every)
    for entry in entries:
        assert entry.forward == pytest.approx(entry.count / sum(one == entry.source for one, _ in every))
        assert entry.backward == pytest.approx(entry.count / sum(other == entry.target for _, other in every))
    # Source and target exchanged exchange the shares.
    facts = {(one.source, one.target, one.count, one.forward, one.backward) for one in entries}
    assert facts == {(one.target, one.source, one.count, one.backward, one.forward) for one in turned.entries()}
    assert lexicon.entries(least) == [entry for entry in entries if entry.count >= least]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "a.de", tmp_path / "a.en"
    source.write_text("Haus rot\n\nrot\nhaus blau\n", encoding="utf-8")
    target.write_text("red house\n\nred\nhouse blue\n", encoding="utf-8")
    return source, target


def test_of_a_file_of_links(files: tuple[Path, Path], tmp_path: Path) -> None:
    given_links = tmp_path / "a.links"
    given_links.write_text("0-1 1-0\n\n0-0\n0-0 0-1\n", encoding="utf-8")
    told = regard("lexicon", given_links, *files, "--least-count", 1)
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines() == [
        "Haus\thouse\t1\t1.0000\t0.5000",
        "haus\tblue\t1\t0.5000\t1.0000",
        "haus\thouse\t1\t0.5000\t0.5000",
        "rot\tred\t2\t1.0000\t1.0000",
    ]
    out = tmp_path / "a.tsv"
    told = regard("lexicon", given_links, *files, "--lowercase", "-o", out)
    assert (told.code, told.out, told.err) == (0, "", "")
    assert out.read_text(encoding="utf-8") == "haus\thouse\t2\t0.6667\t1.0000\nrot\tred\t2\t1.0000\t1.0000\n"


def test_of_a_model(trained: Trained, files: tuple[Path, Path]) -> None:
    told = regard("lexicon", trained.folder, *files, "--least-count", 1)
    assert (told.code, told.err) == (0, "")
    texts = [path.read_text(encoding="utf-8").splitlines() for path in files]
    found = library.load(trained.folder).align(*texts)
    assert sum(int(line.split("\t")[2]) for line in told.out.splitlines()) == sum(map(len, found))
    assert {line.split("\t")[0] for line in told.out.splitlines()} <= {*WORDS, "haus"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--least-count", 0), "--least-count 0: give 1 or more"),
        (("--symmetrize", "union"), "--symmetrize union: {} aligns in one direction; name a model of the other by"),
        (("-o", "no/x.tsv"), "no/x.tsv: there is no folder no; make it first, or choose one that exists"),
    ],
)
def test_what_cannot_be_counted_is_said(
    trained: Trained, files: tuple[Path, Path], options: tuple[object, ...], message: str
) -> None:
    told = regard("lexicon", trained.folder, *files, *options)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"regard: {message.format(trained.folder)}")
