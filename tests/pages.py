"""Pages as tests read them: their elements, and the browser that shows them."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., object])

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NEEDS_CHROMIUM = [
    pytest.mark.web,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]


def needs_chromium(test: Test) -> Test:
    """Marks a test that shows something in a browser."""
    for mark in NEEDS_CHROMIUM:
        test = mark(test)
    return test


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


def check_fetches_nothing(text: str, *, policy_alone: bool = False) -> None:
    """Asserts that no part of a page is somewhere else. The explorer's own could ask a server, which its policy forbids
    where there is none."""
    kinds = {"src", "href", "srcset", "action", "data", "poster"}
    attributes = [pair for _, found in Elements(text).found for pair in found.items()]
    assert [value for name, value in attributes if name in kinds and not str(value).startswith("#")] == ["data:,"]
    asks = r"https?:|@import|url\(|fetch\(|XMLHttpRequest|import\s*\(|WebSocket|sendBeacon"
    assert policy_alone or not re.search(asks, text)
    assert "default-src 'none'" in text


def dom_after(script: str, text: str, folder: Path) -> str:
    """What Chromium makes of a page after a script ran in it; `report` puts what it is given into the page."""
    path = folder / "page.html"
    report = "const report = (value) => document.body.dataset.report = JSON.stringify(value);"
    path.write_text(text.replace("</body>", f"<script>{report}{script}</script></body>"), encoding="utf-8")
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={folder / 'profile'}", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, stdin=subprocess.DEVNULL)
    return done.stdout


def reported(dom: str) -> object:
    """What a script reported."""
    body = next(attributes for tag, attributes in Elements(dom).found if tag == "body")
    assert body.get("data-report"), "the script did not run to its end"
    return json.loads(str(body["data-report"]))
