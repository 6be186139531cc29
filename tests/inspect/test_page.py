"""The page fetches nothing, holds exactly the numbers it was given, and its script does what it promises."""

import html
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspection_strategies import random_inspection, some_inspections
from pages import CHROMIUM, Elements, check_fetches_nothing, dom_after, reported

from regard.errors import UsageError
from regard.inspect import Inspection, page, save_page
from regard.inspect.labels import arrow_between


@given(some_inspections(), st.sampled_from(["a title", "</title><script>x()</script>", "{{data}}"]))
def test_no_label_breaks_out(look: Inspection, title: str) -> None:
    elements = Elements(page([look], title=title))
    assert [tag for tag, _ in elements.found].count("script") == 2
    data = json.loads(elements.scripts[0])[0]
    assert data["title"] == look.heading
    for name, array in look.items():
        np.testing.assert_allclose(data["arrays"][name]["values"], array.values.ravel(), atol=6e-5)
        assert data["arrays"][name]["shape"] == list(array.values.shape)
    assert data["gold"] == sorted(map(list, look.gold))
    assert html.escape(title) in page([look], title=title)


def test_nothing_is_fetched() -> None:
    text = page([random_inspection(["a", "b"], ["c"], layers=2, heads=2)])
    check_fetches_nothing(text)


def test_inspections_of_several_models_do_not_share_a_page() -> None:
    looks = [random_inspection(["a"], ["b"]), random_inspection(["a"], ["b"], layers=2)]
    with pytest.raises(UsageError) as caught:
        page(looks)
    assert str(caught.value) == (
        "inspections of one page must come from one model: the first has ['candidates', "
        "'decoder.layers.0.cross.weights', 'encoder.state', 'surprisals'], number 2 has ['candidates', "
        "'decoder.layers.0.cross.weights', 'decoder.layers.1.cross.weights', 'encoder.state', 'surprisals']"
    )
    with pytest.raises(UsageError, match="there is nothing to show; give at least one inspection"):
        page([])


def test_a_page_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "look.html"
    with pytest.raises(UsageError) as caught:
        save_page([random_inspection(["a"], ["b"])], str(path))
    assert str(caught.value) == (f"{path}: cannot be written (No such file or directory); choose a folder that exists")


def test_text_that_is_no_unicode_is_written_all_the_same(tmp_path: Path) -> None:
    save_page([random_inspection(["a"], ["b"], title="caf\udce9")], tmp_path / "look.html")
    assert "caf�" in (tmp_path / "look.html").read_text(encoding="utf-8")


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_what_runs_from_right_to_left_turns_nothing_else_around(tmp_path: Path) -> None:
    """A range over one character of the heading has the place where it is drawn."""
    title = arrow_between("الأحد، ٦ نوفمبر ٢٠٨٩", "2089-11-06")
    script = """
    const text = document.querySelector("h2").firstChild;
    const left = (place) => { const range = document.createRange(); range.setStart(text, place);
      range.setEnd(text, place + 1); return range.getBoundingClientRect().left; };
    const places = [..."2089-11-06"].map((_, place) => left(text.data.indexOf("2089") + place));
    report({ source: left(text.data.indexOf("ن")), arrow: left(text.data.indexOf("→")), places });
    """
    look = replace(random_inspection(["a"], ["b"]), title=title)
    seen = reported(dom_after(script, page([look]), tmp_path))
    assert isinstance(seen, dict)
    drawn = [seen["source"], seen["arrow"], *seen["places"]]
    assert drawn == sorted(drawn)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_in_a_browser(tmp_path: Path) -> None:
    looks = [
        random_inspection(["Das", "Haus", "∎"], ["the", "</script>"], layers=2, heads=3, gold=frozenset({(1, 0)})),
        random_inspection(["هذا", "بيت"], ["a", "house", "∎"], layers=2, heads=3, seed=1),
    ]
    script = """
    const cell = (view, t, s) => views[view].cells[t][s].getAttribute("aria-label");
    const seen = { articles: document.querySelectorAll("article").length,
      gold: [...document.querySelectorAll("td.gold")].map((cell) => [cell.dataset.c, cell.dataset.r]),
      direction: views.map((view) => view.table.dir), mean: cell(0, 1, 2) };
    choose("decoder.layers.1.cross.weights", "2");
    seen.chosen = cell(0, 1, 2);
    seen.pressed = document.querySelectorAll("button[aria-pressed=true]").length;
    const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    views[0].cells[0][0].focus();
    for (const key of ["ArrowRight", "ArrowDown", "ArrowDown", "End"]) press(key);
    seen.focus = [document.activeElement.dataset.r, document.activeElement.dataset.c];
    seen.readout = views[0].readout.textContent;
    seen.stops = views[0].table.querySelectorAll('td[tabindex="0"]').length;
    views[1].cells[0][0].focus();
    press("ArrowLeft");
    seen.leftward = document.activeElement.dataset.c;
    const before = document.documentElement.dataset.theme;
    document.getElementById("theme").click();
    seen.themes = [before, document.documentElement.dataset.theme];
    seen.arrays = [...arrayMenu.options].map((option) => option.value);
    choose("encoder.state", "");
    seen.signed = document.querySelector(".ramp").classList.contains("signed");
    seen.state = cell(0, 2, 1);
    seen.meaning = document.querySelector(".meaning").textContent;
    choose("candidates", "");
    seen.text = views[0].cells[0][1].textContent;
    choose("surprisals", "");
    seen.surprisal = views[0].cells[1][0].textContent;
    report(seen);
    """
    seen = reported(dom_after(script, page(looks), tmp_path))
    layers = [looks[0][f"decoder.layers.{layer}.cross.weights"].values for layer in (0, 1)]
    mean, chosen = np.mean(layers, axis=(0, 1))[1, 2], layers[1][2, 1, 2]
    texts = looks[0]["candidates"].texts
    assert texts is not None
    assert seen == {
        "articles": 2,
        "gold": [["1", "0"]],
        "direction": ["ltr", "rtl"],
        "mean": f"</script>, ∎: {mean:.3f}",
        "chosen": f"</script>, ∎: {chosen:.3f}",
        "pressed": 2,
        "focus": ["1", "2"],
        "readout": f"</script> · ∎: {chosen:.3f}",
        "stops": 1,
        "leftward": "1",
        "themes": ["light", "dark"],
        "arrays": ["", *looks[0].shown, "encoder.state", "surprisals", "candidates"],
        "signed": True,
        "state": f"∎, 1: {looks[0]['encoder.state'].values[2, 1]:.3f}",
        "meaning": "Rows: source, columns: units.",
        "text": f"{texts[0, 1]} {looks[0]['candidates'].values[0, 1]:.2f}",
        "surprisal": f"{looks[0]['surprisals'].values[1]:.3f}",
    }
