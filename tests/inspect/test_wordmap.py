"""Maps of words as pictures and as pages."""

import html
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.transforms import Bbox
from pages import Elements, check_fetches_nothing, dom_after, needs_chromium, reported

from regard.errors import UsageError
from regard.inspect import draw_map, map_page, save_map, save_map_page
from regard.inspect.wordmap import COLORS, Taken, colors_of
from regard.vectors.mapping import WordMap

labels = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)


def a_map(words: tuple[str, ...] = ("one", "two", "three", "cat", "dog"), groups: tuple[str, ...] = ()) -> WordMap:
    rng = np.random.default_rng(0)
    near = tuple(tuple(other for other in range(len(words)) if other != word)[:2] for word in range(len(words)))
    named = groups or ("numbers",) * 3 + ("",) * (len(words) - 3)
    return WordMap(words, rng.uniform(-1, 1, (len(words), 2)), named, near, "PCA of 5 words, by cosine, seed 1")


def data_of(text: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(Elements(text).scripts[0])
    return found


@given(st.lists(labels, min_size=3, max_size=6, unique=True), labels, st.sampled_from(["t", "</title>", "{{data}}"]))
def test_no_word_breaks_out_of_the_page(words: list[str], group: str, title: str) -> None:
    found = a_map(tuple(words), (group,) * len(words))
    text = map_page(found, title=title)
    assert [tag for tag, _ in Elements(text).found].count("script") == 2
    data = data_of(text)
    assert data["words"] == words
    assert data["groups"] == [{"name": group, "color": COLORS[0]}]
    assert data["of"] == [0] * len(words)
    assert data["neighbors"] == [list(near) for near in found.neighbors]
    np.testing.assert_allclose(data["places"], found.places, atol=5e-5)  # type: ignore[arg-type]
    assert html.escape(title) in text


def test_nothing_is_fetched() -> None:
    check_fetches_nothing(map_page(a_map()))


@pytest.mark.parametrize(("suffix", "begin"), [(".png", b"\x89PNG\r\n"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_pictures(tmp_path: Path, suffix: str, begin: bytes) -> None:
    save_map(a_map(("a$b$", "ü", "語", "x", "y")), tmp_path / f"map{suffix}", title="a $ title")
    assert (tmp_path / f"map{suffix}").read_bytes().startswith(begin)


def test_groups_have_colors_and_a_legend() -> None:
    axes = draw_map(a_map(groups=("a", "b", "a", "", "b"))).axes[0]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    assert {text.get_text(): text.get_color() for text in axes.texts}["two"] == COLORS[1]
    assert colors_of(a_map(groups=("",) * 5)) == {}
    assert draw_map(a_map(groups=("",) * 5)).axes[0].get_legend() is None


def test_names_do_not_overlap_and_those_of_groups_come_first() -> None:
    words = tuple(f"word{number}" for number in range(250))
    figure = draw_map(a_map(words, ("",) * 200 + ("g",) * 50))
    axes = figure.axes[0]
    boxes = [text.get_window_extent() for text in axes.texts]
    assert 20 < len(boxes) < 250
    for place, box in enumerate(boxes):
        assert not any(box.x0 < o.x1 and o.x0 < box.x1 and box.y0 < o.y1 and o.y0 < box.y1 for o in boxes[:place])
    written = [text.get_text() for text in axes.texts]
    assert {f"word{number}" for number in range(200, 250)} <= set(written)


def test_boxes_that_are_taken() -> None:
    taken = Taken()
    assert taken.add_if_free(Bbox([[0, 0], [2, 2]]))
    assert not taken.add_if_free(Bbox([[1, 1], [3, 3]]))
    assert taken.add_if_free(Bbox([[2.5, 0], [3, 3]]))


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"pictures are not written as \.gif; choose a name that ends in"):
        save_map(a_map(), tmp_path / "map.gif")
    with pytest.raises(UsageError, match=r"cannot be written \(No such file .*\); choose a folder that exists"):
        save_map_page(a_map(), tmp_path / "none" / "map.html")


SCRIPT = """
const wheel = new WheelEvent("wheel", { deltaY: -400, bubbles: true, cancelable: true });
const told = {};
const paints = () => { let count = 0; const old = pen.fillText; pen.fillText = (name) => { count++; }; draw();
  pen.fillText = old; return count; };
told.names = paints();
told.fits = data.words.every((_, word) => { const [x, y] = onScreen(word);
  return x > 0 && y > 0 && x < size.width && y < size.height; });
const before = view.scale;
canvas.dispatchEvent(wheel);
told.closer = view.scale / before;
const middle = [view.x, view.y];
canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
told.moved = (view.x - middle[0]) * view.scale;
document.getElementById("whole").click();
told.again = view.scale === before;
point(0);
told.card = card.textContent;
point(-1);
told.hidden = card.hidden;
search.value = "DOG"; search.dispatchEvent(new Event("input"));
told.found = [document.getElementById("found").value, [...hits].map((word) => data.words[word])];
told.centered = view.x === data.places[4][0];
search.value = "zebra"; search.dispatchEvent(new Event("input"));
told.missing = document.getElementById("found").value;
document.querySelector("#groups button").click();
told.group = document.querySelector("#groups button").getAttribute("aria-pressed");
document.getElementById("theme").click();
told.theme = document.documentElement.dataset.theme;
report(told);
"""


@needs_chromium
def test_zoom_pan_point_search(tmp_path: Path) -> None:
    told = reported(dom_after(SCRIPT, map_page(a_map()), tmp_path))
    assert isinstance(told, dict)
    assert 1 <= told["names"] <= 5
    assert told["fits"]
    assert told["closer"] == pytest.approx(np.exp(0.6), rel=1e-6)
    assert told["moved"] == pytest.approx(40)
    assert told["again"]
    assert told["card"] == "onenumbersnear: two, three"
    assert told["hidden"]
    assert (told["found"], told["centered"]) == (["1 word", ["dog"]], True)
    assert told["missing"] == "no such word here"
    assert (told["group"], told["theme"]) == ("true", "dark")
