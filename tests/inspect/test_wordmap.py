"""Maps of words as pictures and as pages."""

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.transforms import Bbox
from pages import Elements, check_fetches_nothing, dom_after, needs_chromium, reported

from regard.errors import UsageError
from regard.inspect import draw_map, map_inspection, map_page, neighbors_inspection, save_map, save_map_page
from regard.inspect.labels import readable
from regard.inspect.wordmap import COLORS, Taken, colors_of
from regard.vectors import Vectors
from regard.vectors.mapping import WordMap, word_map

labels = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)


def a_map(words: tuple[str, ...] = ("one", "two", "three", "cat", "dog"), groups: tuple[str, ...] = ()) -> WordMap:
    rng = np.random.default_rng(0)
    near = tuple(tuple(other for other in range(len(words)) if other != word)[:2] for word in range(len(words)))
    named, cosines = groups or ("numbers",) * 3 + ("",) * (len(words) - 3), ((0.9, 0.25),) * len(words)
    places = rng.uniform(-1, 1, (len(words), 2))
    return WordMap(words, places, named, near, cosines, "PCA of 5 words, by cosine, seed 1")


def data_of(text: str) -> dict[str, Any]:
    (found,) = json.loads(Elements(text).scripts[0])["inspections"].values()
    return {**found, "arrays": {array["name"]: array for array in found["arrays"]}}


@given(st.lists(labels, min_size=3, max_size=6, unique=True), labels, st.sampled_from(["t", "</title>", "{{data}}"]))
def test_no_word_breaks_out_of_the_page(words: list[str], group: str, title: str) -> None:
    found = a_map(tuple(words), (group,) * len(words))
    text = map_page(found, title=title)
    assert [tag for tag, _ in Elements(text).found].count("script") == 2
    data = data_of(text)
    arrays, shown = data["arrays"], [readable(word) for word in words]
    assert data["labels"]["word"] == shown
    assert arrays["groups"]["texts"] == [readable(group)] * len(words)
    assert arrays["neighbors"]["texts"] == [shown[other] for near in found.neighbors for other in near]
    np.testing.assert_allclose(arrays["neighbors"]["values"], np.ravel(found.cosines), rtol=1e-4)
    np.testing.assert_allclose(arrays["places"]["values"], found.places.ravel(), rtol=1e-4)
    assert html.escape(title) in text


def test_nothing_is_fetched() -> None:
    check_fetches_nothing(map_page(a_map()), policy_alone=True)


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
const wait = (time) => new Promise((done) => setTimeout(done, time));
(async () => {
  await wait(300);
  const at = (selector) => document.querySelector(selector);
  const canvas = at(".plane-of-words canvas");
  const button = (text) => [...document.querySelectorAll("button")].find((each) => each.textContent.trim() === text);
  const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const send = (event) => canvas.dispatchEvent(event);
  const point = (kind, x, y) => send(new PointerEvent(kind, { clientX: x, clientY: y, pointerId: 1, bubbles: true }));
  canvas.setPointerCapture = () => {};
  const told = {};
  const whole = canvas.toDataURL();
  const changes = (act) => {
    act();
    const now = canvas.toDataURL();
    press("0");
    return now !== whole && canvas.toDataURL() === whole;
  };
  told.wheel = changes(() => send(new WheelEvent("wheel", { deltaY: -400, bubbles: true, cancelable: true })));
  told.closer = changes(() => button("+").click());
  told.moved = changes(() => press("ArrowRight"));
  const box = canvas.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  told.dragged = changes(() => {
    point("pointerdown", x, y);
    point("pointermove", x + 50, y);
    point("pointerup", x + 50, y);
  });
  const search = at("input[type=search]");
  const type = (text) => { search.value = text; search.dispatchEvent(new Event("input")); };
  type("zebra");
  told.missing = at("output.hint").value;
  type("DOG");
  told.found = at("output.hint").value;
  point("pointerdown", x, y);
  point("pointerup", x, y); // it is in the middle now
  told.chosen = at(".told h3").textContent;
  told.near = [...document.querySelectorAll(".told .candidate")].map((each) => each.textContent);
  at(".told .candidate").click();
  told.walked = at(".told h3").textContent;
  at(".groups button").click();
  told.group = at(".groups button").getAttribute("aria-pressed");
  const light = document.documentElement.dataset.theme;
  document.getElementById("theme").click();
  told.themes = [light, document.documentElement.dataset.theme];
  report(told);
})();
"""


@needs_chromium
def test_zoom_pan_point_search(tmp_path: Path) -> None:
    assert reported(dom_after(SCRIPT, map_page(a_map()), tmp_path)) == {
        **dict.fromkeys(("wheel", "closer", "moved", "dragged"), True),
        "missing": "no such word here",
        "found": "1 word",
        "chosen": "Nearest to dog",
        "near": ["one0.900", "two0.250"],
        "walked": "Nearest to one",
        "group": "true",
        "themes": ["light", "dark"],
    }


def test_neighbors_are_those_of_the_vectors() -> None:
    vectors = Vectors(["man", "king", "woman", "queen"], np.array([[1, 0], [1, 1], [-1, 0], [-1, 1]], dtype=np.float32))
    seen = neighbors_inspection(vectors, ["king", "woman"], ["man"], top=1)
    (expected,) = vectors.analogy("man", "king", "woman", top=1)
    texts = seen["neighbors"].texts
    assert texts is not None
    assert (seen.title, texts[0], float(seen["neighbors"].values[0])) == (
        "king + woman − man",
        expected.word,
        pytest.approx(expected.score, rel=1e-6),
    )
    found = map_inspection(word_map(vectors, top=4, method="pca"))
    assert found["places"].values.shape == (4, 2)
    names = found["neighbors"].texts
    assert names is not None
    for word, near, cosine in zip(vectors.words, names, found["neighbors"].values, strict=True):
        assert [other for other, _ in vectors.most_similar(word, top=3)] == near.tolist()
        np.testing.assert_allclose(cosine, [vectors.similarity(word, other) for other in near], atol=1e-6)
