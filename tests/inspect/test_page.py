"""The page fetches nothing, holds exactly the numbers it was given, and its script does what it promises."""

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from look_strategies import random_look, some_looks

from regard.errors import UsageError
from regard.inspect import Look, page, save_page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=5000",
]


class Elements(HTMLParser):
    """Every element with its attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = self._in_script and tag != "script"

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data


@given(some_looks(), st.sampled_from(["a title", "</title><script>x()</script>", "{{data}}"]))
def test_no_label_breaks_out(look: Look, title: str) -> None:
    elements = Elements(page([look], title=title))
    assert [tag for tag, _ in elements.found].count("script") == 2
    data = json.loads(elements.scripts[0])[0]
    assert data["title"] == look.heading
    for name, heads in look.weights.items():
        np.testing.assert_allclose(data["weights"][name], heads, atol=5e-5)
    assert data["gold"] == sorted(map(list, look.gold or ()))
    assert html.escape(title) in page([look], title=title)


def test_nothing_is_fetched() -> None:
    text = page([random_look(["a", "b"], ["c"], layers=2, heads=2)])
    references = [
        value
        for _, attributes in Elements(text).found
        for name, value in attributes.items()
        if name in {"src", "href", "srcset", "action", "data", "poster"}
    ]
    assert references == ["data:,"]
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttpRequest|import\s*\(|WebSocket|sendBeacon", text)
    assert "default-src 'none'" in text


def test_looks_of_several_models_do_not_share_a_page() -> None:
    looks = [random_look(["a"], ["b"]), random_look(["a"], ["b"], heads=2)]
    with pytest.raises(UsageError) as caught:
        page(looks)
    assert str(caught.value) == (
        "looks of one page must come from one model: look 0 has heads {'decoder.layers.0.cross.weights': 1}, "
        "look 1 has {'decoder.layers.0.cross.weights': 2}"
    )
    with pytest.raises(UsageError, match="there is nothing to show; give at least one look"):
        page([])


def test_a_page_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "look.html"
    with pytest.raises(UsageError) as caught:
        save_page([random_look(["a"], ["b"])], path)
    assert str(caught.value) == (f"{path}: cannot be written (No such file or directory); choose a folder that exists")


def test_text_that_is_no_unicode_is_written_all_the_same(tmp_path: Path) -> None:
    save_page([random_look(["a"], ["b"], title="caf\udce9")], tmp_path / "look.html")
    assert "caf�" in (tmp_path / "look.html").read_text(encoding="utf-8")


def dom_after(script: str, looks: list[Look], folder: Path) -> str:
    """What Chromium makes of a page after a script ran in it; `report` puts what it is given into the page."""
    path = folder / "look.html"
    save_page(looks, path)
    report = "const report = (value) => document.body.dataset.report = JSON.stringify(value);"
    text = path.read_text(encoding="utf-8").replace("</body>", f"<script>{report}{script}</script></body>")
    path.write_text(text, encoding="utf-8")
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={folder / 'profile'}", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, stdin=subprocess.DEVNULL)
    return done.stdout


def reported(dom: str) -> object:
    body = next(attributes for tag, attributes in Elements(dom).found if tag == "body")
    assert body.get("data-report"), "the script did not run to its end"
    return json.loads(str(body["data-report"]))


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_in_a_browser(tmp_path: Path) -> None:
    looks = [
        random_look(["Das", "Haus", "∎"], ["the", "</script>"], layers=2, heads=3, gold=frozenset({(1, 0)})),
        random_look(["هذا", "بيت"], ["a", "house", "∎"], layers=2, heads=3, seed=1),
    ]
    script = """
    const cell = (view, t, s) => views[view].cells[t][s].getAttribute("aria-label");
    const seen = { articles: document.querySelectorAll("article").length,
      gold: [...document.querySelectorAll("td.gold")].map((cell) => [cell.dataset.s, cell.dataset.t]),
      direction: views.map((view) => view.table.dir), mean: cell(0, 1, 2) };
    choose(layers[1], "2");
    seen.chosen = cell(0, 1, 2);
    seen.pressed = document.querySelectorAll("button[aria-pressed=true]").length;
    const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    views[0].cells[0][0].focus();
    for (const key of ["ArrowRight", "ArrowDown", "ArrowDown", "End"]) press(key);
    seen.focus = [document.activeElement.dataset.t, document.activeElement.dataset.s];
    seen.readout = views[0].readout.textContent;
    seen.stops = views[0].table.querySelectorAll('td[tabindex="0"]').length;
    views[1].cells[0][0].focus();
    press("ArrowLeft");
    seen.leftward = document.activeElement.dataset.s;
    const before = document.documentElement.dataset.theme;
    document.getElementById("theme").click();
    seen.themes = [before, document.documentElement.dataset.theme];
    report(seen);
    """
    seen = reported(dom_after(script, looks, tmp_path))
    mean, chosen = looks[0].matrix()[1, 2], looks[0].matrix("decoder.layers.1.cross.weights", 2)[1, 2]
    assert seen == {
        "articles": 2,
        "gold": [["1", "0"]],
        "direction": ["ltr", "rtl"],
        "mean": f"</script>, ∎: {mean:.3f}",
        "chosen": f"</script>, ∎: {chosen:.3f}",
        "pressed": 2,
        "focus": ["1", "2"],
        "readout": f"</script> read ∎ with weight {chosen:.3f}",
        "stops": 1,
        "leftward": "1",
        "themes": ["light", "dark"],
    }
