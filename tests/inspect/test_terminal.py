"""Terminal pictures line up, whatever the labels are, and fit the stream they are written to."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspection_strategies import random_inspection, some_inspections
from rich.cells import cell_len
from rich.console import Console

from regard.inspect import Array, Inspection, print_inspection, terminal_picture


def looking_back() -> Inspection:
    """Each target letter looks at one source letter; the last one at two."""
    weights = np.array([[[0, 0, 1], [0, 1, 0], [0.5, 0, 0.5]]], dtype=float)
    labels = {"source": ("日", "a", "END"), "target": ("x", "年", "z")}
    return Inspection({"tap": Array(("head", "target", "source"), weights)}, labels, title="a look")


def test_the_picture_in_blocks() -> None:
    assert str(terminal_picture(looking_back())).splitlines() == [
        "a look",
        "       E",
        "       N",
        "   日a D",
        " x     ██",
        "年   ██",
        " z ▒▒  ▒▒",
    ]


def test_the_picture_in_ascii() -> None:
    assert str(terminal_picture(looking_back(), style="ascii")).splitlines() == [
        "a look",
        "      E",
        "      N",
        "  ? a D",
        "x     @@",
        "?   @@",
        "z ++  ++",
    ]


def test_a_long_source_goes_on_below() -> None:
    lines = str(terminal_picture(looking_back(), width=7)).splitlines()
    assert lines == ["a look", "   日a", " x", "年   ██", " z ▒▒", "", "   E", "   N", "   D", " x ██", "年", " z ▒▒"]


def test_marks_stay_with_their_letters() -> None:
    look = random_inspection(["छोटा", "e\u0301t"], ["x"])
    assert str(terminal_picture(look)).splitlines()[:2] == ["  छो e\u0301", "  टा t"]


def test_below_zero_has_shades_of_its_own() -> None:
    state = Array(("source", "feature"), np.array([[1.0, -1.0, 0.0]]))
    seen = Inspection({"cell.state": state}, {"source": ("a",)}, title="t")
    assert str(terminal_picture(seen, show="*.state")).splitlines() == [
        "t",
        "cell.state (rows: source, columns: units)",
        "  0 1 2",
        "a ██≡≡",
    ]
    assert str(terminal_picture(seen, style="ascii")).splitlines()[-1] == "a @@ii"
    assert "on rgb(166,58,18)" in [str(span.style) for span in terminal_picture(seen, style="color").spans]


def test_candidates_and_numbers_are_a_table() -> None:
    arrays = {
        "surprisals": Array(("target",), np.array([1.0, 20.5])),
        "candidates": Array(
            ("target", "rank"), np.full((2, 2), 0.5), np.array([["日", "b"], [" c", "d"]], dtype=object)
        ),
    }
    seen = Inspection(arrays, {"target": ("a", "bc")}, shown=("surprisals", "candidates"))
    assert str(terminal_picture(seen)).splitlines() == [
        "    surprisals  candidates",
        " a  1.00        日 0.50     b 0.50",
        "bc  20.50       ␣c 0.50     d 0.50",
    ]


@given(some_inspections(), st.integers(1, 40))
def test_no_cell_is_lost_and_no_line_is_too_wide(look: Inspection, width: int) -> None:
    picture = terminal_picture(look, width=width, style="color")
    cells = [span for span in picture.spans if "on rgb" in str(span.style)]
    assert len(cells) == len(look.labels["source"]) * len(look.labels["target"])
    margin = max(cell_len(line) for line in str(terminal_picture(look, width=1)).splitlines())
    body = str(picture).splitlines()[bool(look.heading) :]
    assert max(map(cell_len, body)) <= max(width, margin + 2)


@given(some_inspections())
def test_ascii_is_ascii(look: Inspection) -> None:
    picture = str(terminal_picture(look, style="ascii"))
    assert picture.isascii()
    assert picture.count("\n") >= len(look.labels["target"])


@pytest.mark.parametrize(
    ("encoding", "terminal", "has"),
    [("utf-8", True, "\x1b[48;2;"), ("utf-8", False, "██"), ("ascii", False, "@@"), ("ascii", True, "@@")],
)
def test_the_stream_decides(encoding: str, terminal: bool, has: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=stream, force_terminal=terminal, color_system="truecolor" if terminal else None, width=40)
    print_inspection(looking_back(), console)
    stream.flush()
    written = stream.buffer.getvalue().decode(encoding)
    assert has in written
    assert sum(mark in written for mark in ("\x1b[48;2;", "██", "@@")) == 1


def test_colors_go_from_pale_to_dark() -> None:
    styles = [str(span.style) for span in terminal_picture(looking_back(), style="color").spans]
    assert "on rgb(245,247,250)" in styles
    assert "on rgb(9,54,125)" in styles
