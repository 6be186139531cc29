"""Heat maps are drawn for any labels without a warning, to one scale, in files that are what their names say."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from inspection_strategies import random_inspection, some_inspections
from matplotlib import font_manager

from regard.errors import PictureWarning, UsageError
from regard.inspect import Array, Inspection, draw, fonts, save_pictures
from regard.inspect.fonts import TOFU, families_for, without


def weights(value: float) -> Inspection:
    return Inspection({"tap": Array(("head", "target", "source"), np.full((1, 1, 1), value))}, {})


@given(some_inspections())
@settings(max_examples=8)
def test_any_inspection_can_be_drawn(seen: Inspection) -> None:
    figure = draw([seen])
    figure.canvas.draw()
    panel = figure.axes[0]
    source, target = seen.labels["source"], seen.labels["target"]
    assert [len(panel.get_xticklabels()), len(panel.get_yticklabels())] == [len(source), len(target)]
    assert len(panel.patches) == len(seen.gold)
    mean = np.mean([seen[name].values.mean(0) for name in seen.shown], axis=0)
    np.testing.assert_allclose(panel.collections[0].get_array(), mean)


@given(some_inspections())
@settings(max_examples=4)
def test_everything_in_it_can_be_drawn(seen: Inspection) -> None:
    figure = draw([seen], show="*")
    figure.canvas.draw()
    state, bits, candidates = figure.axes[len(seen.shown) : -1]
    assert state.collections[0].get_clim()[0] == -state.collections[0].get_clim()[1]
    assert len(bits.texts) == len(seen.labels["target"])
    assert len(candidates.texts) == 2 * len(seen.labels["target"])


@given(some_inspections())
@settings(max_examples=5)
def test_nothing_overlaps_or_leaves_the_figure(seen: Inspection) -> None:
    figure = draw([seen, seen, seen])
    boxes = [panel.get_tightbbox() for panel in figure.axes[:3]]
    whole = figure.bbox
    for box in boxes:
        assert box is not None
        assert box.x0 >= whole.x0 - 1
        assert box.y0 >= whole.y0 - 1
        assert box.x1 <= whole.x1 + 1
        assert box.y1 <= whole.y1 + 1
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert not boxes[0].overlaps(boxes[1])


def test_panels_with_the_same_axes_share_one_scale() -> None:
    scales = [panel.collections[0].get_clim() for panel in draw([weights(0.75), weights(0.125)]).axes[:2]]
    assert scales == [(0.0, 0.75), (0.0, 0.75)]


def test_many_panels_go_on_in_the_next_row() -> None:
    look = random_inspection([f"word{place}" for place in range(15)], ["a", "b"])
    tops = [panel.get_position().y1 for panel in draw([look] * 3).axes[:3]]
    assert tops[0] == pytest.approx(tops[1])
    assert tops[2] < tops[0]


def test_a_source_from_right_to_left_has_its_first_word_on_the_right() -> None:
    arabic, english = ["هذا", "بيت"], ["a", "house"]
    assert draw([random_inspection(arabic, english)]).axes[0].xaxis_inverted()
    assert not draw([random_inspection(english, arabic)]).axes[0].xaxis_inverted()


def test_a_look_at_nothing_can_be_drawn() -> None:
    figure = draw([random_inspection([], [])])
    figure.canvas.draw()
    assert not figure.axes[0].collections


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")])
def test_the_suffix_is_the_format(name: str, start: bytes, tmp_path: Path) -> None:
    save_pictures([random_inspection(["日", "b"], ["c"], heads=2, title="a → b")], str(tmp_path / name), head=1)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    look = random_inspection(["a"], ["b"])
    for name, said in (("a.jpg", ".jpg"), ("a", "a file without suffix")):
        with pytest.raises(UsageError) as caught:
            save_pictures([look], tmp_path / name)
        assert str(caught.value).startswith(
            f"{tmp_path / name}: pictures are not written as {said}; choose a name that"
        )
        assert {"'.png'", "'.svg'", "'.pdf'"} <= set(str(caught.value).replace(",", "").split())
    with pytest.raises(UsageError) as caught:
        save_pictures([look], tmp_path / "missing" / "a.png")
    assert str(caught.value) == (
        f"{tmp_path / 'missing' / 'a.png'}: cannot be written (No such file or directory); choose a folder that exists"
    )
    with pytest.raises(UsageError, match="there is nothing to draw; give at least one inspection"):
        save_pictures([], tmp_path / "a.png")


def test_fonts_are_chosen_by_their_characters() -> None:
    families, missing = families_for(["März 5"])
    assert families == ["DejaVu Sans"]
    assert missing == set()
    _, missing = families_for(["a\U0010fffd"])
    assert missing == {"\U0010fffd"}


def test_a_machine_with_one_font_draws_boxes_and_says_which_font_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    only = [font for font in fonts._candidates() if font[0] == "DejaVu Sans"]
    monkeypatch.setattr(fonts, "_candidates", lambda: tuple(only))
    monkeypatch.setattr(fonts, "_found_new_fonts", lambda: False)
    with pytest.warns(PictureWarning) as said:
        figure = draw([random_inspection(["日本", "a"], ["छोटा"], title="日")])
    assert [str(warning.message) for warning in said] == [
        "no font here has 'छ', 'ट', '日' and 1 more: drawn as ▯; install the font Noto Sans CJK (Debian, Ubuntu: apt "
        "install fonts-noto-cjk), or use a page (.html)"
    ]
    with pytest.warns(PictureWarning, match=r"^no font here has 'ไ': drawn as ▯; install the font Noto Sans \("):
        families_for(["ไ"])
    figure.canvas.draw()
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == [TOFU * 2, "a"]
    assert figure.axes[0].get_title(loc="left") == TOFU


def test_fonts_that_were_installed_later_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    manager, new = font_manager.fontManager, font_manager.findfont("DejaVu Sans")
    fonts._candidates.cache_clear()
    monkeypatch.setattr(manager, "ttflist", [font for font in manager.ttflist if font.name == "DejaVu Serif"])
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [new])
    monkeypatch.setattr(fonts, "_characters", lambda path: frozenset("aя" if path == new else "a"))
    try:
        assert families_for(["aя"]) == (["DejaVu Sans"], set())
    finally:
        fonts._candidates.cache_clear()


def test_an_old_matplotlib_draws_scripts_that_it_cannot_shape_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "HAS_SHAPING", False)
    monkeypatch.setattr(fonts, "__version_info__", (3, 8, 4, "final", 0))
    with pytest.warns(PictureWarning) as said:
        draw([random_inspection(["हिन्दी", "a"], ["هذا"])])
    assert [text for warning in said if "no font here" not in (text := str(warning.message))] == [
        "matplotlib 3.8.4 draws Arabic, Devanagari letter by letter, without joining or ordering them; "
        "pip install --upgrade 'matplotlib>=3.11' for correct pictures, or use a page (.html)"
    ]
    draw([random_inspection(["Größe", "日本"], ["число"])])


def test_what_no_font_has_becomes_a_box_and_marks_vanish() -> None:
    assert without("a日b\u0301", {"日", "\u0301"}) == f"a{TOFU}b"
