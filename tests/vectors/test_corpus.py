"""Text becomes a stream of numbers, whatever its size, and nothing of it is lost but what is rare."""

import gzip
from collections import Counter
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vector_texts import corpus_of, lines_in

from regard.disk import each_block
from regard.errors import DataError
from regard.recipe import VectorsData
from regard.vectors import corpus as corpora
from regard.vectors.corpus import FORGOTTEN, Met, load_corpus

WORDS = ["alpha", "beta", "gamma", "delta", "über", "हिन्दी", "สวัสดี"]
LINES = st.lists(st.lists(st.sampled_from(WORDS), max_size=6), min_size=1, max_size=12)


@given(LINES, st.integers(1, 3))
def test_the_stream_is_the_text_without_its_rare_words(
    tmp_path_factory: pytest.TempPathFactory, lines: list[list[str]], least: int
) -> None:
    counts = Counter(word for line in lines for word in line)
    frequent = {word: count for word, count in counts.items() if count >= least}
    text = "\n".join(map(" ".join, lines)) + "\n."
    folder = tmp_path_factory.mktemp("text")
    if len(frequent) < 2:
        with pytest.raises(DataError, match="too little to learn from"):
            corpus_of(text, folder, least=least)
        return
    found = corpus_of(text, folder, least=least)
    assert dict(zip(found.vocabulary.words, found.vocabulary.counts.tolist(), strict=True)) == frequent
    assert found.vocabulary.counts.tolist() == sorted(frequent.values(), reverse=True)
    kept = [[word for word in line if word in frequent] for line in lines]
    assert lines_in(found) == [line for line in kept if line]


@given(st.text(alphabet="ab é\n\t", min_size=1), st.integers(1, 9))
def test_blocks_put_together_are_the_text(tmp_path_factory: pytest.TempPathFactory, text: str, size: int) -> None:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(text, encoding="utf-8", newline="")
    blocks, read = zip(*each_block(path, size), strict=True)
    assert "".join(blocks) == text
    assert all(block[-1] in " \n" for block in blocks[:-1] if block)
    assert list(read) == sorted(read)
    assert read[-1] == path.stat().st_size


def test_while_a_text_is_read_one_is_told_how_far_it_is(tmp_path: Path) -> None:
    told: list[tuple[int, float]] = []
    for name in ("one.txt", "two.txt.gz"):
        write = gzip.open if name.endswith(".gz") else open
        with write(tmp_path / name, "wb") as file:
            file.write(b"alpha beta\n" * 300_000)
    files = [str(tmp_path / name) for name in ("one.txt", "two.txt.gz")]
    load_corpus(VectorsData(train=files), tmp_path / "cache", lambda words, share: told.append((words, share)))
    assert told == sorted(told)
    assert len({share for _, share in told}) > 3
    assert told[-1] == (2 * 600_000, 1.0)


def test_what_a_word_is(tmp_path: Path) -> None:
    text = "The 2nd Café's motto: don't_stop!\n" * 5
    assert sorted(corpus_of(text, tmp_path).vocabulary.words) == ["café", "don", "motto", "nd", "s", "stop", "t", "the"]
    spaces = corpus_of(text, tmp_path, words="spaces", lowercase=False)
    assert sorted(spaces.vocabulary.words) == sorted(text.split("\n")[0].split())


def test_a_packed_text_is_the_same_text(tmp_path: Path) -> None:
    text = "one two three\nfour five\n" * 5
    plain, packed = corpus_of(text, tmp_path), corpus_of(text, tmp_path, "text.txt.gz")
    assert plain.fingerprint == packed.fingerprint
    assert (plain.tokens == packed.tokens).all()


def test_only_the_most_frequent_words_if_so_wished(tmp_path: Path) -> None:
    found = corpus_of("a a a b b c\n", tmp_path, least=1, most=2)
    assert found.vocabulary.words == ["a", "b"]
    assert found.tokens[found.tokens >= 0].tolist() == [0, 0, 0, 1, 1]
    assert found.vocabulary.total == 5


def test_pythons_own_help_is_a_text(tmp_path: Path) -> None:
    found = load_corpus(VectorsData(corpus="topics"), tmp_path)
    assert {"the", "class", "function"} <= set(found.vocabulary.words)
    assert (np.bincount(found.tokens[found.tokens >= 0]) == found.vocabulary.counts).all()


def test_a_stream_is_made_once_and_anew_when_a_file_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = corpus_of("a b a b\n" * 5, tmp_path)
    made: list[Path] = []
    make = corpora.make_corpus
    monkeypatch.setattr(corpora, "make_corpus", lambda *given: (made.append(given[1]), make(*given)))
    again = load_corpus(VectorsData(train=[str(tmp_path / "text.txt")]), tmp_path / "cache")
    assert not made
    assert again.fingerprint == first.fingerprint
    other = corpus_of("a c a c a\n" * 5, tmp_path)
    assert len(made) == 1
    assert other.fingerprint != first.fingerprint
    assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.parametrize("name", ["words.txt", "counts.npy", "tokens.int32", "fingerprint"])
def test_a_stream_that_was_damaged_is_made_anew(tmp_path: Path, name: str) -> None:
    first = corpus_of("a b a b\n" * 5, tmp_path)
    (damaged,) = (tmp_path / "cache").glob(f"*/{name}")
    damaged.write_bytes(damaged.read_bytes()[:-1])
    again = load_corpus(VectorsData(train=[str(tmp_path / "text.txt")]), tmp_path / "cache")
    assert again.fingerprint == first.fingerprint
    assert again.vocabulary.words == first.vocabulary.words
    assert (again.tokens == [0, 1, 0, 1, -1] * 5 + [-1]).all()


def test_rare_words_are_forgotten_where_there_are_too_many() -> None:
    met = Met()
    met.add(["c", "a", "b", "a", "\n"])
    assert met.forget(10) is None
    new = met.forget(3)
    assert new is not None
    assert new.tolist() == [0, 1, 1, 2, 1], "a has another number, b and c are both forgotten"
    assert dict(met.numbers) == {"\n": 0, "": 1, "a": 2}
    assert met.add(["b", "a"]).tolist() == [3, 2], "a forgotten word that comes again is a new one"
    assert met.counts.tolist() == [1, 2, 3, 1]


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=5), min_size=1, max_size=30))
def test_forgetting_keeps_frequent_words_where_they_stand(
    tmp_path_factory: pytest.TempPathFactory, lines: list[list[str]]
) -> None:
    folder = tmp_path_factory.mktemp("text")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora, "MOST_MET", 6)
        patch.setattr(corpora, "PIECE", 3)
        # A frequent word is in every block, so that it is never among the rarest.
        blocks = [" ".join(["often"] * 40 + line) + "\n" for line in lines]
        patch.setattr(corpora, "blocks_of", lambda data: ((block, 1.0) for block in blocks))
        met, stream = corpora.count_words(VectorsData(corpus="topics"), folder / "met", lambda *_: None)
    names = {number: word for word, number in met.numbers.items()}
    assert len(met.counts) == len(met.numbers) <= 6
    assert (np.bincount(stream, minlength=len(met.counts)) == met.counts).all()
    written = " ".join(blocks).replace("\n", " \n").split(" ")
    for word, number in zip((word for word in written if word), stream.tolist(), strict=True):
        assert names[number] in (word, ""), "every word has its own number, or that of the forgotten ones"
        assert number != FORGOTTEN or word not in ("often", "\n")
    assert [path.name for path in folder.iterdir()] == ["met"]


def test_a_forgotten_word_is_no_part_of_a_phrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "MOST_MET", 9)
    blocks = [*(f"x{letter} new york\n" for letter in ascii_lowercase), "one two three four\n" * 20]
    monkeypatch.setattr(corpora, "blocks_of", lambda data: ((block, 1.0) for block in blocks))
    found = corpus_of("", tmp_path, least=3, phrases=1, phrase_score=0.1)
    assert sorted(found.vocabulary.words) == ["new_york", "one_two", "three_four"]


def test_what_cannot_be_read_is_named_by_file_and_line(tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"good line\nbad \xff line\n")
    data = VectorsData(train=[str(bad)])
    with pytest.raises(DataError, match=r"bad\.txt:2: byte 0xff at byte 5 of the line: not valid UTF-8; save the text"):
        load_corpus(data, tmp_path / "cache")
    cut_off = tmp_path / "cut.gz"
    cut_off.write_bytes(gzip.compress(b"words and more words\n" * 100)[:-20])
    with pytest.raises(DataError, match=r"cut\.gz:1: the gzip data is cut off or damaged here; get or pack"):
        load_corpus(VectorsData(train=[str(cut_off)]), tmp_path / "cache")
    (tmp_path / ".none.txt").write_text("hidden files are nobody's text")
    with pytest.raises(DataError, match=r": no such file; in that folder are 'bad\.txt', 'cache' or 'cut\.gz'$"):
        load_corpus(VectorsData(train=[str(tmp_path / "none.txt")]), tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_word_without_end_is_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.disk.MOST_BYTES", 100)
    path = tmp_path / "binary"
    path.write_bytes(b"x" * 500)
    with pytest.raises(DataError, match=r"binary:1: a word of more than 100 bytes; is this a file of text\?"):
        list(each_block(path, 50))


def test_too_little_text_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="1 word occurs 5 times or more; that is too little to learn from: "):
        corpus_of("a a a a a b\n", tmp_path)
