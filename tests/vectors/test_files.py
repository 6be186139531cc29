"""Files of vectors as others write them."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vector_strategies import equal, random_vectors, vectors

from regard.errors import DataError, RegardError, UsageError
from regard.vectors import Vectors, text
from regard.vectors.files import form_of, kind_by_name, write

KINDS = ("text", "binary", "glove")


def write_vectors(path: Path, given: Vectors, kind: str) -> Path:
    write(path, given.words, given.matrix, kind)  # type: ignore[arg-type]
    return path


@given(vectors(), st.sampled_from(KINDS), st.sampled_from(["", ".gz"]), st.integers(1, 64))
def test_what_is_read_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, given: Vectors, kind: str, packing: str, block: int
) -> None:
    # A first line of two integers is always read as a header.
    first = f"{given.words[0]} {given.matrix[0, 0]:.9g}".encode()
    if kind == "glove" and given.width == 1 and text.as_header(first):
        return
    path = write_vectors(tmp_path_factory.mktemp("files") / f"vectors{packing}", given, kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK", block)
        assert equal(Vectors.load(path), given)
    assert (form_of(path).kind, form_of(path).packed) == (kind, packing == ".gz")


def test_packed_whatever_the_name(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes(gzip.compress(b"2 2\na 1 2\nb 3 4\n"))
    assert list(Vectors.load(path)) == ["a", "b"]


@pytest.mark.parametrize(
    "content",
    [
        b"2 2\na 1 2 \nb 3e0 4 \n",  # as fastText writes it, a space at each end
        b"a 1 2\nb 3 4",
        b"a\t1\t2\r\nb  3  4\r\n",
        b"\xef\xbb\xbfa 1 2\nb 3 4\n",
        b"2 2\na " + struct.pack("<2f", 1, 2) + b"b " + struct.pack("<2f", 3, 4),  # as gensim writes it
        b"2 2\na " + struct.pack("<2f", 1, 2) + b"\nb " + struct.pack("<2f", 3, 4) + b"\n",  # as word2vec does
    ],
)
def test_spellings_of_one_thing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(content)
    assert equal(Vectors.load(path), Vectors(["a", "b"], np.array([[1, 2], [3, 4]], np.float32)))


def test_words_with_spaces_in_them(tmp_path: Path) -> None:
    path = tmp_path / "glove.840B.txt"
    path.write_bytes(b"a 1 2\n. . . 3 4\n")
    assert list(Vectors.load(path)) == ["a", ". . ."]


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_reads_ours_and_we_read_theirs(tmp_path: Path, binary: bool) -> None:
    models = pytest.importorskip("gensim.models")
    given = random_vectors()
    ours = write_vectors(tmp_path / "ours", given, "binary" if binary else "text")
    theirs = models.KeyedVectors.load_word2vec_format(str(ours), binary=binary)
    assert (theirs.index_to_key, theirs.vectors.tolist()) == (list(given.words), given.matrix.tolist())
    theirs.save_word2vec_format(str(tmp_path / "theirs"), binary=binary)
    assert equal(Vectors.load(tmp_path / "theirs"), given)


MALFORMED: list[tuple[bytes, str]] = [
    (b"a 1 2\nb 3\n", ":2: 1 value for 'b', but the first line has 2; fix or remove the line"),
    (b"2 2\na 1 2\nb 3 4 5\n", ":3: 3 values for 'b', but the header says 2; fix or remove the line"),
    (b"a 1 2\nb 3 x4\n", ":2: 'x4' is not a number; fix or remove the line"),
    (b"a 1 2\nb 3 1_0\n", ":2: '1_0' is not a number; fix or remove the line"),
    (b"a 1 2\nb nan 4\n", ":2: 'nan' is not a finite float32 number; fix or remove the line"),
    (b"a 1 2\nb 1e39 4\n", ":2: '1e39' is not a finite float32 number; fix or remove the line"),
    (b"a 1 2\nb 3 4\na 5 6\n", ":3: 'a' has a vector already, in line 1; remove one of the lines"),
    (
        b"a 1 2\nb\xff 3 4\n",
        ":2: byte 0xff in the word 'b\ufffd' is not valid UTF-8; save the file as UTF-8, or remove the line",
    ),
    (b"a 1 2\n\nb 3 4\n", ":2: the line is empty; remove it"),
    (b"word\nother\n", ":1: no numbers after the word; a line is a word and its numbers"),
    (
        b"3 2\na 1 2\nb 3 4\n",
        ":1: the header says 3 vectors × 2, but there are 2; the file is cut off, or the header is wrong",
    ),
    (
        b"1 2\na 1 2\nb 3 4\n",
        ":1: the header says 1 vector × 2, but there are 2; the file is cut off, or the header is wrong",
    ),
    (b"2 3\na 1 2\nb 3 4\n", ":2: 2 values for 'a', but the header says 3; fix or remove the line"),
    (b"", ": the file is empty; name one with vectors, a word and its numbers a line"),
    (b"\0\1\2", ": neither text nor word2vec's binary format, which begins with a line `V D`"),
    (gzip.compress(b"a 1 2\n" * 999)[:-9], ": the gzip data is cut off or damaged; get or pack the file again"),
    (
        b"2 2\na " + struct.pack("<2f", 1, 2) + b"\nb " + struct.pack("<f", 3),
        ": ends within word 2 of 2; the file is cut off, or its header is wrong",
    ),
    (
        b"1 2\na " + struct.pack("<4f", 1, 2, 3, 4),
        ": the header says 1 vector × 2, but more follows; the header is wrong, or the file is not of this format",
    ),
    (
        b"2 2\na " + struct.pack("<2f", 1, 2) + b"\na " + struct.pack("<2f", 3, 4),
        ": word 2, 'a', has a vector already, as word 1; the file is damaged, or not of this format",
    ),
    (
        b"2 2\na " + struct.pack("<2f", 1, 2) + b"\n\xff " + struct.pack("<2f", 3, 4),
        ": word 2 has byte 0xff, which is not valid UTF-8; the header gives a wrong width, or the file was not "
        "written as UTF-8",
    ),
    (
        b"9999999999999999999 2\na " + struct.pack("<2f", 1, 2),
        ": the header says 9,999,999,999,999,999,999 vectors × 2, for which there is no memory; the header is wrong, "
        "or the file is not of this format",
    ),
    (
        b"1 2\na " + struct.pack("<2f", 1, float("nan")),
        ": word 1, 'a', has a value that is not finite; the file is damaged, or not of this format",
    ),
    (
        b"2 2\na " + struct.pack("<2f", 1, 2) + b"\n" + 5000 * b"\1" + b" " + 9 * b"\1",
        ": word 2 would be longer than 4096 bytes; the header gives a wrong width, or the file is not of this format",
    ),
]


@pytest.mark.parametrize(("content", "complaint"), MALFORMED, ids=[complaint[:40] for _, complaint in MALFORMED])
def test_malformed_files_are_named_by_line_or_word(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(content)
    with pytest.raises(DataError) as raised:
        Vectors.load(path)
    assert str(raised.value) == f"{path}{complaint}"


@given(st.binary(max_size=80), st.sampled_from([b"", b"2 2\n", b"1 1\n", b"a 1 2\n"]))
def test_no_file_is_worse_than_a_message(tmp_path_factory: pytest.TempPathFactory, tail: bytes, head: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "vectors"
    path.write_bytes(head + tail)
    try:
        found = Vectors.load(path)
    except RegardError as error:
        complaint = str(error)
    else:
        complaint = str(path)
        assert np.isfinite(found.matrix).all()
        assert len(found.places) == len(found)
    assert complaint.startswith(str(path))


def test_the_form_a_name_asks_for() -> None:
    names = {"a.bin": "binary", "a.txt": "text", "a.vec.gz": "text", "a": "native"}
    assert {name: kind_by_name(Path(name)) for name in names} == names
    for name in ("a.npz", "a.gz"):
        with pytest.raises(UsageError) as raised:
            kind_by_name(Path(name))
        assert str(raised.value) == (
            f"{name}: the name does not tell the format; let it end in .bin, .txt or .vec (also with .gz), use no "
            "suffix for the native folder, or say --to 'text', 'binary', 'glove' or 'native'"
        )


def test_what_cannot_be_written(tmp_path: Path) -> None:
    for word in ("a b", ""):
        with pytest.raises(UsageError) as raised:
            write_vectors(tmp_path / "a", Vectors([word], np.zeros((1, 1), np.float32)), "text")
        assert str(raised.value) == (
            f"{word!r}: files of this format cannot hold a word that is empty or contains white space"
        )
    with pytest.raises(UsageError, match=r"cannot be written \(No such file .*\); choose a folder that exists"):
        write_vectors(tmp_path / "none" / "a.txt", random_vectors(), "text")


def test_the_same_vectors_give_the_same_bytes(tmp_path: Path) -> None:
    one, other = (write_vectors(tmp_path / f"{name}.gz", random_vectors(), "glove") for name in "ab")
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("kind", "packed", "said"),
    [
        ("text", False, "text with a header"),
        ("binary", False, "binary"),
        ("glove", True, "text without a header, gzip"),
    ],
)
def test_forms_in_words(tmp_path: Path, kind: str, packed: bool, said: str) -> None:
    path = write_vectors(tmp_path / ("a.gz" if packed else "a"), random_vectors(), kind)
    assert str(form_of(path)) == said
