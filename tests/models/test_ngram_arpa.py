"""ARPA files: written and read again, read from others, and refused with file and line."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ngram_references import SIZE, log10_probs, texts

from regard.errors import DataError, UsageError
from regard.models.ngram.arpa_reading import read_arpa
from regard.models.ngram.arpa_writing import arpa_words, write_arpa
from regard.models.ngram.building import count
from regard.models.ngram.smoothing import SMOOTHINGS
from regard.models.ngram.table import NEVER, NgramTable, unread_table
from regard.recipe import NgramModel
from regard.tokens.vocabulary import BEGIN, END, SPECIAL_NAMES, UNKNOWN, Vocabulary

HERE = Path(__file__).parent
WORDS = (*SPECIAL_NAMES, "ä", "bb", "c'c", "<d>", "日本")
SMALL = r"""
\data\
ngram 1=5
ngram 2=3

\1-grams:
-1.5	<unk>	0
0	<s>	-0.25
-0.75	</s>
-0.5	a	-0.125
-1	b	-0.5

\2-grams:
-0.1	<s> a
-0.2	a b
-0.3	b </s>

\end\
"""


def arrays(table: NgramTable) -> dict[str, np.ndarray]:
    return {name: getattr(table, name) for name in ("bounds", "keys", "first", "links", "log_probs", "back_offs")}


def same(one: NgramTable, other: NgramTable) -> bool:
    return all(np.array_equal(array, arrays(other)[name]) for name, array in arrays(one).items())


def counted(lines: list[list[int]], order: int, smoothing: str = "kneser_ney") -> NgramTable:
    own = {"k": 0.3} if smoothing == "add_k" else {}
    return count(lines, NgramModel(kind="ngram", order=order, smoothing=smoothing, **own), SIZE).table


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.arpa"
    path.write_text(SMALL)
    return path


@given(lines=texts, order=st.integers(1, 4), smoothing=st.sampled_from(list(SMOOTHINGS)), packed=st.booleans())
def test_what_is_written_is_read_again_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, lines: list[list[int]], order: int, smoothing: str, packed: bool
) -> None:
    table = counted(lines, order, smoothing)
    path = tmp_path_factory.mktemp("arpa") / ("model.arpa.gz" if packed else "model.arpa")
    write_arpa(table, WORDS, path)
    for read in (read_arpa(path), read_arpa(path, WORDS)):
        assert read.words == WORDS
        assert same(read.table, table)
    again = path.with_name(f"again-{path.name}")
    write_arpa(read.table, read.words, again)
    assert again.read_bytes() == path.read_bytes()
    assert sorted(other.name for other in path.parent.iterdir()) == sorted([path.name, again.name])


@pytest.mark.parametrize("order", [2, 4])
def test_a_file_of_lmplz_has_the_same_numbers_when_written_again(order: int, tmp_path: Path) -> None:
    theirs = HERE / f"lmplz_{order}.arpa"
    read = read_arpa(theirs)
    write_arpa(read.table, read.words, tmp_path / "again.arpa")
    ours = (tmp_path / "again.arpa").read_text()
    expected = theirs.read_text().replace("\n0\t<s>\t", "\n-99\t<s>\t")
    assert sorted(ours.splitlines()) == sorted(expected.splitlines())
    assert ours.splitlines()[:2] == expected.splitlines()[:2]


@given(st.floats(-99, 99, width=32))
def test_numbers_have_as_few_digits_as_give_them_back(number: float) -> None:
    from regard.models.ngram.arpa_writing import _put_number

    buffer = np.zeros(64, np.uint8)
    text = bytes(buffer[: _put_number(np.float32(number), buffer, 0)]).decode()
    assert text.lstrip("-").replace(".", "", 1).isdigit()
    if abs(number) > 1e-7:  # smaller ones are nothing to a logarithm
        assert np.float32(text) == np.float32(number)
        assert len(text) <= len(np.format_float_positional(np.float32(number), unique=True, trim="-"))


def test_a_small_file_means_what_it_says(small: Path) -> None:
    read = read_arpa(small)
    assert read.words == (*SPECIAL_NAMES, "a", "b")
    a, b = 4, 5
    scores = log10_probs(read.table, [BEGIN, a, b, b, UNKNOWN, a, END])
    np.testing.assert_allclose(scores, [0, -0.1, -0.2, -0.5 - 1, -0.5 - 1.5, -0.5, -0.125 - 0.75], rtol=1e-6)
    assert read.table.log_probs[[0, BEGIN]].tolist() == [NEVER, NEVER]


def test_words_of_a_vocabulary_that_are_not_in_the_file_are_as_likely_as_unknown_ones(small: Path) -> None:
    read = read_arpa(small, (*SPECIAL_NAMES, "b", "new", "a"))
    assert read.table.log_probs[:7].tolist() == [NEVER, -1.5, NEVER, -0.75, -1, -1.5, -0.5]


def test_beginnings_and_ends_that_were_pruned_are_backed_off_to(tmp_path: Path) -> None:
    path = tmp_path / "pruned.arpa"
    grams = "\\1-grams:\n-1\t<unk>\n0\t<s>\t-0.5\n-1\t</s>\n-0.5\ta\t-0.25\n-0.5\tb\t-0.125\n\n"
    path.write_text(
        "\\data\\\nngram 1=5\nngram 2=1\nngram 3=2\n\n"
        + grams
        + "\\2-grams:\n-0.3\ta b\t-0.2\n\n\\3-grams:\n-0.1\tb a a\n-0.2\ta b a\n\n\\end\\\n"
    )
    read = read_arpa(path)
    a, b = 4, 5
    scores = log10_probs(read.table, [BEGIN, a, b, a, a, a])
    # After <s>: backed off. b after a: its own. a after a b: its own. a after b a: its own, though neither `b a` nor
    # `a a` is there. a after a a: no such context, so as after a, where it is backed off to.
    np.testing.assert_allclose(scores, [0, -1, -0.3, -0.2, -0.1, -0.75], rtol=1e-6)
    write_arpa(read.table, read.words, tmp_path / "whole.arpa")
    assert same(read_arpa(tmp_path / "whole.arpa").table, read.table)


def test_tokens_get_names_that_an_arpa_file_can_hold() -> None:
    vocabulary = Vocabulary(["<unk>", "a b", "\n", "c"])
    assert arpa_words(list(vocabulary)) == (*SPECIAL_NAMES, "<<unk>>", "a▁b", "▁", "c")


@pytest.mark.parametrize(
    ("words", "trouble"),
    [
        (WORDS[:-1], "8 words for a model of 9 tokens; give one for each"),
        (
            (*WORDS[:-1], "bb"),
            "'bb' is in the vocabulary twice, which an ARPA file cannot hold; rename it (see arpa_words)",
        ),
        (
            (*WORDS[:-1], "a b"),
            "'a b' is empty or contains white space, which an ARPA file cannot hold; rename it (see arpa_words)",
        ),
        (
            (*WORDS[:-1], ""),
            "'' is empty or contains white space, which an ARPA file cannot hold; rename it (see arpa_words)",
        ),
    ],
)
def test_words_that_cannot_be_written_are_refused(words: tuple[str, ...], trouble: str, tmp_path: Path) -> None:
    path = tmp_path / "model.arpa"
    with pytest.raises(UsageError) as error:
        write_arpa(unread_table(2, SIZE), words, path)
    assert str(error.value) == f"{path}: {trouble}"
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "model.arpa"
    with pytest.raises(UsageError) as error:
        write_arpa(unread_table(2, SIZE), WORDS, path)
    assert str(error.value) == f"{path}: cannot be written: No such file or directory; choose another place"


@pytest.mark.parametrize(
    ("old", "new", "line", "trouble"),
    [
        ("\\data\\", "data", 18, "there is no \\data\\, so this is not an ARPA file"),
        ("ngram 1=5", "ngram 2=5", 3, "'ngram 2=5' instead of 'ngram 1=' and a number, or an empty line"),
        ("ngram 2=3", "ngram 2=x", 4, "'ngram 2=x' instead of 'ngram 2=' and a number, or an empty line"),
        ("ngram 1=5\nngram 2=3\n", "", 3, "no 'ngram 1=' under \\data\\"),
        ("ngram 2=3", "ngram 2=3000000000", 5, "3,000,000,005 n-grams, but a model holds 2,147,483,647 at most"),
        ("\\1-grams:", "\\one-grams:", 6, "'\\\\one-grams:' instead of \\1-grams:"),
        ("\\2-grams:", "\\3-grams:", 13, "'\\\\3-grams:' instead of \\2-grams:"),
        (
            "-1\tb\t-0.5",
            "-1 b -0.5 x",
            11,
            "'-1 b -0.5 x' at 5 of 5 1-grams; an entry is a log10 probability, 1 word and a back-off weight",
        ),
        ("-0.2\ta b", "-0.2\ta", 15, "'-0.2 a' at 2 of 3 2-grams; an entry is a log10 probability, 2 words"),
        ("-0.2\ta b", "", 15, "nothing at 2 of 3 2-grams; an entry is a log10 probability, 2 words"),
        ("-0.2\ta b", "-0.2\ta x", 15, "'x' is not among the 1-grams"),
        (
            "-0.2\ta b",
            "+0.2\ta b",
            15,
            "'+0.2 a b' has a malformed number, or a probability above 1; an entry is a log10 probability, 2 words",
        ),
        (
            "-0.2\ta b",
            "nan\ta b",
            15,
            "'nan a b' has a malformed number, or a probability above 1; an entry is a log10 probability, 2 words",
        ),
        (
            "-0.5\ta\t-0.125",
            "-0.5\ta\tx",
            10,
            "'-0.5 a x' has a malformed number, or a probability above 1; "
            "an entry is a log10 probability, 1 word and a back-off weight",
        ),
        ("-0.3\tb </s>", "-0.3\ta b", 16, "the same n-gram as in line 15"),
        ("-0.75\t</s>", "-0.75\t<unk>", 9, "the same n-gram as in line 7"),
        (
            "\\end\\",
            "-0.3\tb a",
            18,
            "'-0.3\\tb a' instead of \\end\\; by the counts under \\data\\, all n-grams have been read",
        ),
        ("-0.3\tb </s>\n\n\\end\\\n", "", 15, "the file ends after 2 of 3 2-grams"),
    ],
)
def test_a_malformed_file_is_refused_with_its_line(small: Path, old: str, new: str, line: int, trouble: str) -> None:
    assert SMALL.count(old) == 1
    small.write_text(SMALL.replace(old, new))
    with pytest.raises(DataError) as error:
        read_arpa(small)
    assert str(error.value) == f"{small}:{line}: {trouble}; get or write the file again"


def test_words_that_a_vocabulary_lacks_are_named(small: Path) -> None:
    with pytest.raises(DataError) as error:
        read_arpa(small, (*SPECIAL_NAMES, "a", "bc"))
    assert str(error.value) == (
        f"{small}:11: the word 'b' is not in the vocabulary, which has 'bc', '<pad>', '<unk>' and 3 more; "
        "get or write the file again"
    )


def test_words_that_are_not_utf8_are_named(small: Path) -> None:
    small.write_bytes(SMALL.encode().replace(b"-1\tb", b"-1\t\xe4b").replace(b" b", b" \xe4b"))
    with pytest.raises(DataError) as error:
        read_arpa(small)
    assert str(error.value) == f"{small}:11: byte 0xe4 at byte 1 of the line is not valid UTF-8; save the file as UTF-8"


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.arpa.gz"
    path.write_bytes(gzip.compress(SMALL.encode())[:-20])
    with pytest.raises(DataError, match=r"model\.arpa\.gz:\d+: the gzip data is cut off or damaged here"):
        read_arpa(path)
    with pytest.raises(DataError, match=r"no such file; in that folder are 'model\.arpa\.gz'"):
        read_arpa(tmp_path / "model.arpa")
