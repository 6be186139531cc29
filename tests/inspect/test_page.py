"""The page fetches nothing, holds exactly the numbers it was given, and its script does what it promises."""

import html
import json
import re
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspection_strategies import random_inspection, some_inspections
from pages import CHROMIUM, Elements, check_fetches_nothing, dom_after, reported

from regard.errors import UsageError
from regard.inspect import Inspection, page, save_page
from regard.inspect.inspection import Array
from regard.inspect.labels import arrow_between
from regard.inspect.page import SHARED, joined


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
def test_what_is_shown_beside_words_is_seen_at_once(tmp_path: Path) -> None:
    """As of another model: labels, what its pooling weighs, and its encoder, which only the menu shows."""
    look = Inspection(
        {
            "choices": Array(("rank",), np.array([0.9, 0.1]), np.array(["good", "bad"])),
            "pooling.weights": Array(("source",), np.array([0.2, 0.8])),
            "encoder.states": Array(("source", "feature"), np.ones((2, 3))),
        },
        {"source": ("fine", "film")},
        shown=("choices", "pooling.weights"),
    )
    script = """
    const seen = () => [...document.querySelectorAll(".map > *")].map((part) => part.textContent.split("Rows")[0]);
    const first = seen();
    choose("encoder.states", "");
    report([first, seen().length]);
    """
    told = reported(dom_after(script, page([look]), tmp_path))
    assert isinstance(told, list)
    labels, weights = told[0]
    assert re.fullmatch(r"choices\W*choices\W*0\W*good 90.0 %\W*1\W*bad 10.0 %\W*", labels), labels
    assert re.fullmatch(r"pooling.weights\W*weights\W*fine\W*film\W*", weights), weights
    assert told[1] == 1


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_in_a_browser(tmp_path: Path) -> None:
    looks = [
        random_inspection(["Das", "Haus", "∎"], ["the", "</script>"], layers=2, heads=3, gold=frozenset({(1, 0)})),
        random_inspection(["هذا", "بيت"], ["a", "house", "∎"], layers=2, heads=3, seed=1),
    ]
    script = """
    const cell = (view, t, s) => {
      views[view].matrix.move(t, s);
      return views[view].matrix.active.getAttribute("aria-label");
    };
    const seen = { articles: document.querySelectorAll("article").length,
      gold: views.map((view) => view.matrix.frames.children.length),
      leftward: views.map((view) => view.data.leftward), mean: cell(0, 1, 2) };
    choose("decoder.layers.1.cross.weights", "2");
    seen.chosen = cell(0, 1, 2);
    seen.pressed = document.querySelectorAll("button[aria-pressed=true]").length;
    const press = (plot, key) => plot.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    views[0].matrix.move(0, 0);
    for (const key of ["ArrowRight", "ArrowDown", "ArrowDown", "End"]) press(views[0].matrix.plot, key);
    seen.place = views[0].matrix.place;
    seen.readout = views[0].matrix.readout.textContent.split(" · row")[0].trim();
    seen.stops = views[0].article.querySelectorAll('.matrix [tabindex="0"]').length;
    views[1].matrix.move(0, 0);
    press(views[1].matrix.plot, "ArrowLeft");
    seen.turned = views[1].matrix.place;
    const slanted = [...views[0].article.querySelectorAll(".slanted span")];
    const middle = (label) => new DOMMatrix(getComputedStyle(label).transform).e / views[0].matrix.cell;
    seen.labels = slanted.map(middle);
    const pen = views[0].matrix.canvas.getContext("2d");
    seen.pixels = [views[0].matrix.canvas.width, views[0].matrix.canvas.height];
    const strongest = views[0].data.values.indexOf(views[0].data.largest);
    const columns = views[0].data.columns;
    seen.darkest = [...pen.getImageData(strongest % columns, Math.floor(strongest / columns), 1, 1).data];
    const before = document.documentElement.dataset.theme;
    document.getElementById("theme").click();
    seen.themes = [before, document.documentElement.dataset.theme];
    seen.arrays = [...arrayMenu.options].map((option) => option.value);
    choose("encoder.state", "");
    seen.signed = views[0].data.signed;
    seen.state = cell(0, 2, 1);
    seen.meaning = views[0].matrix.hint().split(".")[0];
    views[0].matrix.table.open = true;
    views[0].matrix.table.dispatchEvent(new Event("toggle"));
    seen.rows = views[0].matrix.table.querySelectorAll("tbody tr").length;
    choose("candidates", "");
    seen.text = views[0].body.querySelectorAll("tbody td")[1].textContent.split(".")[0];
    report(seen);
    """
    seen = reported(dom_after(script, page(looks), tmp_path))
    layers = [looks[0][f"decoder.layers.{layer}.cross.weights"].values for layer in (0, 1)]
    mean, chosen = np.mean(layers, axis=(0, 1))[1, 2], layers[1][2, 1, 2]
    texts = looks[0]["candidates"].texts
    assert texts is not None
    assert seen == {
        "articles": 2,
        "gold": [1, 0],
        "leftward": [False, True],
        "mean": f"</script>, ∎: {mean:.3f}",
        "chosen": f"</script>, ∎: {chosen:.3f}",
        "pressed": 2,
        "place": [1, 2],
        "readout": f"</script> · ∎ {chosen:.3f}",
        "stops": 1,
        "turned": [0, 1],
        "labels": [0.5] * 3,
        "pixels": [3, 2],
        "darkest": [0, 32, 77, 255],
        "themes": ["light", "dark"],
        "arrays": ["", *looks[0].shown, "encoder.state", "surprisals", "candidates"],
        "signed": True,
        "state": f"∎, 1: {looks[0]['encoder.state'].values[2, 1]:.3f}",
        "meaning": "Rows: source; columns: units",
        "rows": 3,
        "text": f"{texts[0, 1]} {int(100 * looks[0]['candidates'].values[0, 1])}",
    }


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_what_is_shown_first_is_drawn_first_and_a_head_keeps_its_number(tmp_path: Path) -> None:
    look = random_inspection(["a", "b"], ["c"], layers=2, heads=3)
    weights = look[look.shown[0]]
    arrays = {**look.arrays, "alignment": Array(("target", "source"), weights.values.mean(axis=0))}
    look = replace(look, arrays=arrays, shown=("alignment", *look.shown))
    script = """{
      const arrays = [...arrayMenu.options].slice(0, 3).map((option) => option.value), first = arrayMenu.value;
      choose(arrays[2], "");
      report({ arrays, first, head: document.querySelector(".thumbs button").getAttribute("aria-label") });
    }"""
    assert reported(dom_after(script, page([look.only_head(2)]), tmp_path)) == {
        "arrays": ["alignment", "", look.shown[1]],
        "first": "alignment",
        "head": "layer 1, head 2",
    }


def test_what_is_too_large_is_refused_with_what_makes_it_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = random_inspection(["a"] * 80, ["b"] * 80, layers=2, heads=3)
    monkeypatch.setattr(sys.modules["regard.inspect.page"], "MOST_CHARACTERS", 200_000)
    with pytest.raises(UsageError, match=r"choose arrays \(--show, by name or pattern\) and one of their heads"):
        look.save(tmp_path / "look.html")
    look.save(tmp_path / "look.html", show="*.1.cross.*", head=1)
    look.save(tmp_path / "look.json", show="*.1.cross.*", head=1)
    same = Inspection.from_json((tmp_path / "look.json").read_bytes())
    assert same["decoder.layers.1.cross.weights"].values.shape == (1, 80, 80)
    assert same.labels["head"] == same.only_head(0).labels["head"] == ("1",)
    for name in ("look.html", "look.json", "look.svg"):
        with pytest.raises(UsageError, match="there is no head 9; heads are counted from 0 to 2"):
            look.save(tmp_path / name, head=9)
    data = json.loads(Elements((tmp_path / "look.html").read_text(encoding="utf-8")).scripts[0])[0]
    ((name, array),) = data["arrays"].items()
    assert (name, array["shape"]) == ("decoder.layers.1.cross.weights", [1, 80, 80])
    assert data["labels"]["head"] == ["1"]
    np.testing.assert_allclose(array["values"], look[name].values[1].ravel(), atol=6e-5)


def test_modules_become_one_script() -> None:
    """What each has of others comes before it; only the names of the last are those of the page."""
    names = [name for name in (*SHARED, "page.js") if name.endswith(".js")]
    parts = {Path(name).name: files("regard.inspect").joinpath(name).read_text(encoding="utf-8") for name in names}
    script = joined(parts)
    assert not re.search(r"^(import|export)\b", script, flags=re.MULTILINE)
    made = re.findall(r'^modules\["(.*?)"\] = ', script, flags=re.MULTILINE)
    assert made == [*parts][:-1]
    for name, part in parts.items():
        needed = re.findall(r'from "\./(.*?)"', part)
        assert set(needed) <= set(made[: made.index(name)] if name in made else made), name


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_modules_that_name_things_alike_do_not_meet(tmp_path: Path) -> None:
    modules = {
        "one.js": "const SAME = 1;\nexport const told = () => SAME;\nexport async function later() {}\n",
        "two.js": 'import { told } from "./one.js";\nconst SAME = 2;\nexport class Two { both = [told(), SAME]; }\n',
        "three.js": 'import { Two } from "./two.js";\nconst SAME = new Two().both;\n',
    }
    found = dom_after(f"{joined(modules)}\nreport(SAME);", "<body></body>", tmp_path)
    assert reported(found) == [1, 2]
