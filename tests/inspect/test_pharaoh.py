"""Links written are links read; anything else is refused with its file and line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.inspect import GoldLinks, Links, parse_gold, parse_pharaoh, pharaoh, read_gold, read_pharaoh

link_sets = st.frozensets(st.tuples(st.integers(0, 999_999_999), st.integers(0, 99)), max_size=10)


@given(link_sets)
def test_what_is_written_is_read(links: Links) -> None:
    assert parse_pharaoh(pharaoh(links), "here") == links


def test_links_are_sorted_by_source_and_then_target() -> None:
    assert pharaoh({(10, 0), (2, 3), (2, 1)}) == "2-1 2-3 10-0"
    assert pharaoh(set()) == ""


def test_gold_knows_sure_and_possible_links() -> None:
    assert parse_gold("0-0 1p2", "here") == GoldLinks(sure=frozenset({(0, 0)}), possible=frozenset({(0, 0), (1, 2)}))


@pytest.mark.parametrize(
    "token", ["1", "1-", "-1-2", "1-2-3", "1p2", "a-b", "1–2", "١-٢", "1-2,", "1.0-2", "9" * 12 + "-1"]
)
def test_a_bad_token_is_refused(token: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_pharaoh(f"0-0 {token} 1-1", "gold.txt:7")
    assert str(caught.value) == (
        f"gold.txt:7: {token!r} is not a link; a link is written like '0-0', source word and target word, "
        "counted from 0"
    )


def test_a_bad_gold_token_is_refused() -> None:
    with pytest.raises(DataError) as caught:
        parse_gold("0-0 1:1", "gold.txt:7")
    assert str(caught.value) == (
        "gold.txt:7: '1:1' is not a link; a link is written like '0-0' or '0p0' or '0?0', "
        "source word and target word, counted from 0"
    )


def test_files_are_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    path.write_text("0-0 1-1\n\n2-0\r\n", encoding="utf-8")
    assert list(read_pharaoh(path)) == [{(0, 0), (1, 1)}, set(), {(2, 0)}]
    assert [gold.sure for gold in read_gold(path)] == list(read_pharaoh(path))


def test_errors_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    path.write_bytes(b"0-0\n1:1\n")
    with pytest.raises(DataError, match=r"links\.txt:2: '1:1' is not a link"):
        list(read_pharaoh(path))
    path.write_bytes(b"0-0\n\xff\n")
    with pytest.raises(DataError) as caught:
        list(read_pharaoh(path))
    assert str(caught.value) == f"{path}:2: this line is not UTF-8 text, so it holds no links"
    with pytest.raises(DataError) as caught:
        list(read_gold(tmp_path / "missing"))
    assert str(caught.value) == (
        f"{tmp_path / 'missing'}: cannot be read (No such file or directory); name a file of links like '0-0 1-2'"
    )
