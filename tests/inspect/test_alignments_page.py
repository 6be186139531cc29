"""The page of alignments: nothing breaks out of it, and a browser shows what it was given."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import Elements, check_fetches_nothing, dom_after, needs_chromium, reported

from regard.errors import UsageError
from regard.inspect import Alignment, GoldLinks, WordWeights
from regard.inspect.alignments_page import ShownPair, alignments_page

words = st.lists(
    st.sampled_from(["Haus", "</script>", "<b>", "{{data}}", "بيت", "a\u2028b", "."]), min_size=1, max_size=4
)


def pair_of(source: list[str], target: list[str], *, both: bool = True) -> ShownPair:
    """Each target word on the source word at its place; in the other direction on the one before."""
    forward = np.full((len(target), len(source)), 0.1)
    backward = np.full((len(source), len(target)), 0.1)
    for place in range(min(len(source), len(target))):
        forward[place, place] = 0.8
        backward[place, max(place - 1, 0)] = 0.7
    back = WordWeights(backward, np.zeros(len(source))) if both else None
    alignment = Alignment(WordWeights(forward, np.zeros(len(target))), back)
    return ShownPair(source, target, alignment, alignment.links())


@given(words, words, st.sampled_from(["a title", "</title><script>x()</script>", "{{data}}"]))
def test_no_word_breaks_out(source: list[str], target: list[str], title: str) -> None:
    text = alignments_page([pair_of(source, target)], title=title)
    check_fetches_nothing(text)
    elements = Elements(text)
    assert [tag for tag, _ in elements.found].count("script") == 2
    (shown,) = json.loads(elements.scripts[0])["pairs"]
    assert (len(shown["source"]), len(shown["target"])) == (len(source), len(target))


def test_numbers_are_those_of_the_alignment() -> None:
    pair = pair_of(["a", "b", "c"], ["x", "y", "z"])
    gold = [GoldLinks(frozenset({(0, 0)}), frozenset({(0, 0), (2, 1)}))]
    data = json.loads(Elements(alignments_page([pair], gold=gold)).scripts[0])
    (shown,) = data["pairs"]
    assert (data["both"], data["gold"]) == (True, True)
    of = pair.alignment.probabilities
    assert {(i, j): p for i, j, p in shown["cells"]} == {(i, j): round(of[j, i], 4) for i in range(3) for j in range(3)}
    forward, backward = pair.alignment.directions
    assert [set(map(tuple, shown[name])) for name in ("links", "forward", "backward")] == [
        pair.links,
        forward,
        backward,
    ]
    assert (shown["sure"], shown["possible"]) == ([[0, 0]], [[2, 1]])
    alone = json.loads(Elements(alignments_page([pair_of(["a"], ["x"], both=False)])).scripts[0])
    assert (alone["both"], alone["gold"], alone["pairs"][0]["backward"]) == (False, False, [])
    empty = Alignment(WordWeights(np.zeros((0, 1)), np.zeros(0)), None, float("-inf"))
    (without,) = json.loads(Elements(alignments_page([ShownPair(["a"], [], empty, frozenset())])).scripts[0])["pairs"]
    assert (without["score"], without["cells"]) == (None, [])
    with pytest.raises(UsageError, match="there is nothing to show; give at least one pair"):
        alignments_page([])


@needs_chromium
def test_in_a_browser(tmp_path: Path) -> None:
    pairs = [
        pair_of(["Das", "Haus", "<i>"], ["the", "house", "</script>"]),
        pair_of(["eins"], ["one"]),
        pair_of(["rot", "und"], ["red", "and"]),
    ]
    sure = [frozenset({(0, 0), (2, 1)}), frozenset({(0, 0)}), frozenset({(1, 1)})]
    script = """{
      const count = (selector) => document.querySelectorAll(selector).length;
      const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
      const first = ["td[data-link]", "td.sure", "path.missed", "path.forward", "path.backward"].map(count);
      const cell = document.querySelector('td[data-link="2-1"]');
      cell.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
      const cellSays = document.getElementById("detail").textContent;
      const marked = [...document.querySelectorAll("th.marked")].map((one) => one.textContent);
      document.querySelector('li[data-word="s0"]').dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
      const wordSays = document.getElementById("detail").textContent;
      const words = [...document.querySelectorAll("#lines li")].map((one) => one.textContent);
      press("ArrowRight");
      const second = document.getElementById("number").value;
      document.getElementById("only").checked = true;
      press("ArrowRight");
      const third = document.getElementById("number").value;
      press("ArrowLeft");
      const back = document.getElementById("number").value;
      const theme = document.documentElement.dataset.theme;
      document.getElementById("theme").click();
      const other = document.documentElement.dataset.theme;
      location.hash = "#abc";
      dispatchEvent(new Event("hashchange"));
      const astray = document.getElementById("number").value;
      press("End");
      report({ first, cellSays, marked, wordSays, words, second, third, back, astray, changed: theme !== other,
        hash: location.hash, injected: count("main i, main script") });
    }"""
    seen = reported(dom_after(script, alignments_page(pairs, gold=[GoldLinks(row, row) for row in sure]), tmp_path))
    assert isinstance(seen, dict)
    forward, backward = pairs[0].alignment.directions
    assert seen["first"] == [9, 2, len(sure[0] - pairs[0].links), len(forward - backward), len(backward - forward)]
    probability = pairs[0].alignment.probabilities[1, 2]
    linked = "linked" if (2, 1) in pairs[0].links else "not linked"
    assert (
        seen["cellSays"]
        == f"<i> – house (2-1): probability {probability:.3f}, {linked}, target → source only, true link"
    )
    assert set(seen["marked"]) == {"<i>", "house"}
    assert seen["wordSays"].startswith("Das – the (0-0): probability 0.747, linked, true link")
    assert seen["words"] == ["Das", "Haus", "<i>", "the", "house", "</script>"]
    # The second pair has no errors, and the third has one.
    assert [seen["second"], seen["third"], seen["back"]] == ["2", "3", "1"]
    assert seen["astray"] == "1"
    assert (seen["changed"], seen["hash"], seen["injected"]) == (True, "#3", 0)
