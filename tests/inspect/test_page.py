"""The page fetches nothing, holds exactly the numbers it was given, and its script does what it promises."""

import html
import json
import re
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspection_strategies import random_inspection, some_inspections
from pages import Elements, check_fetches_nothing

from regard.errors import UsageError
from regard.inspect import Inspection, page, save_page
from regard.inspect.page import EXPLORER, EXPORT, IMPORT, _canonical, bundled


def numbers_of(card: Any) -> np.ndarray:
    """The numbers of an array as they are written into a page."""
    if "values" in card:
        return np.array([float(value) for value in card["values"]]).reshape(card["shape"])
    kind, steps = {"uint16": ("<u2", 65535), "int16": ("<i2", 32767)}[card["packed"]["type"]]
    packed = np.frombuffer(b64decode(card["packed"]["data"]), kind)
    return (packed / steps * card["packed"]["largest"]).reshape(card["shape"])


@given(some_inspections(), st.sampled_from(["a title", "</title><script>x()</script>", "{{data}}"]))
def test_no_label_breaks_out(look: Inspection, title: str) -> None:
    text = page([look], title=title)
    elements = Elements(text)
    assert [tag for tag, _ in elements.found].count("script") == 2
    data = json.loads(elements.scripts[0])
    (card,) = data["models"]["models"]
    assert (card["name"], card["examples"]) == (title, [look.heading or "Example 1"])
    (name,) = (name for request, name in data["answers"].items() if request.startswith("inspect "))
    shown = data["inspections"][name]
    assert shown["title"] == look.heading
    for name, array in look.items():
        written = next(each for each in shown["arrays"] if each["name"] == name)
        np.testing.assert_allclose(numbers_of(written), array.values, atol=written["largest"] / 30_000 + 1e-6)
    assert shown["gold"] == sorted(map(list, look.gold))
    assert html.escape(title) in text


def test_nothing_is_fetched() -> None:
    text = page([random_inspection(["a", "b"], ["c"], layers=2, heads=2)])
    check_fetches_nothing(text, policy_alone=True)


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


def test_what_is_too_large_is_refused_with_what_makes_it_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = random_inspection(["a"] * 40, ["b"] * 40, layers=2, heads=3)
    monkeypatch.setattr(
        sys.modules["regard.inspect.page"], "MOST_CHARACTERS", len(page([look.only("surprisals")])) + 20_000
    )
    with pytest.raises(UsageError, match=r"choose arrays \(--show, by name or pattern\) and one of their heads"):
        look.save(tmp_path / "look.html")
    look.save(tmp_path / "look.html", show="*.1.cross.*", head=1)
    look.save(tmp_path / "look.json", show="*.1.cross.*", head=1)
    same = Inspection.from_json((tmp_path / "look.json").read_bytes())
    assert same["decoder.layers.1.cross.weights"].values.shape == (1, 40, 40)
    assert same.labels["head"] == same.only_head(0).labels["head"] == ("1",)
    for name in ("look.html", "look.json", "look.svg"):
        with pytest.raises(UsageError, match="there is no head 9; heads are counted from 0 to 2"):
            look.save(tmp_path / name, head=9)
    data = json.loads(Elements((tmp_path / "look.html").read_text(encoding="utf-8")).scripts[0])
    (array,) = data["inspections"]["0"]["arrays"]
    assert (array["name"], array["shape"]) == ("decoder.layers.1.cross.weights", [1, 40, 40])
    assert data["inspections"]["0"]["labels"]["head"] == ["1"]
    np.testing.assert_allclose(numbers_of(array), look[array["name"]].values[1:2], atol=2e-5)


def test_modules_become_one_script() -> None:
    """Each once, after all that it imports, and with all that others take from it."""
    every = {path.name: path.read_text(encoding="utf-8") for path in EXPLORER.iterdir() if path.name.endswith(".js")}
    script = bundled("main.js")
    assert not re.search(r"^(import|export)\b", script, flags=re.MULTILINE)
    made = {name: script.index(f'modules["{name}"] = ') for name in every if name != "main.js"}
    assert all(script.count(f'modules["{name}"] = ') == 1 for name in made)
    for name, code in every.items():
        assert len(IMPORT.findall(code)) == len(re.findall(r"^import ", code, flags=re.MULTILINE))
        for names, _, other in IMPORT.findall(code):
            assert made[other] < made.get(name, len(script))
            wanted = {each.split(" as ")[0].strip() for each in names.split(",") if each.strip()}
            assert wanted <= set(EXPORT.findall(every[other])), (name, other)


PLAIN = st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=4)
ASKED = st.dictionaries(st.text(max_size=3), PLAIN | st.lists(PLAIN, max_size=3), max_size=4)


@given(ASKED)
def test_requests_are_written_alike_whatever_their_order(asked: dict[str, Any]) -> None:
    assert _canonical(asked) == _canonical(dict(reversed(asked.items())))
    assert _canonical(asked | {"\U0010ffff": None}) == _canonical(asked)
