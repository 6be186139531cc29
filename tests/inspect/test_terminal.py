"""Terminal pictures line up, whatever the labels are, and fit the stream they are written to."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from look_strategies import random_look, some_looks
from rich.cells import cell_len
from rich.console import Console

from regard.inspect import Look, print_look, terminal_picture


def looking_back() -> Look:
    """Each target letter looks at one source letter; the last one at two."""
    weights = np.array([[[0, 0, 1], [0, 1, 0], [0.5, 0, 0.5]]], dtype=float)
    return Look(("日", "a", "END"), ("x", "年", "z"), {"tap": weights}, title="a look")


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
    look = random_look(["छोटा", "e\u0301t"], ["x"])
    assert str(terminal_picture(look)).splitlines()[:2] == ["  छो e\u0301", "  टा t"]


@given(some_looks(), st.integers(1, 40))
def test_no_cell_is_lost_and_no_line_is_too_wide(look: Look, width: int) -> None:
    picture = terminal_picture(look, width=width, style="color")
    cells = [span for span in picture.spans if "on rgb" in str(span.style)]
    assert len(cells) == len(look.source) * len(look.target)
    margin = max(cell_len(line) for line in str(terminal_picture(look, width=1)).splitlines())
    body = str(picture).splitlines()[bool(look.heading) :]
    assert max(map(cell_len, body)) <= max(width, margin + 2)


@given(some_looks())
def test_ascii_is_ascii(look: Look) -> None:
    picture = str(terminal_picture(look, style="ascii"))
    assert picture.isascii()
    assert picture.count("\n") >= len(look.target)


@pytest.mark.parametrize(
    ("encoding", "terminal", "has"),
    [("utf-8", True, "\x1b[48;2;"), ("utf-8", False, "██"), ("ascii", False, "@@"), ("ascii", True, "@@")],
)
def test_the_stream_decides(encoding: str, terminal: bool, has: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=stream, force_terminal=terminal, color_system="truecolor" if terminal else None, width=40)
    print_look(looking_back(), console)
    stream.flush()
    written = stream.buffer.getvalue().decode(encoding)
    assert has in written
    assert sum(mark in written for mark in ("\x1b[48;2;", "██", "@@")) == 1


def test_colors_go_from_pale_to_dark() -> None:
    styles = [str(span.style) for span in terminal_picture(looking_back(), style="color").spans]
    assert "on rgb(245,247,250)" in styles
    assert "on rgb(9,54,125)" in styles
