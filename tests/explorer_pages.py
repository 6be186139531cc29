"""Pages of the explorer in real Chromium: whatever goes wrong inside, or is asked for elsewhere, fails the test."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import uvicorn
from axe_playwright_python.sync_playwright import Axe
from pages import CHROMIUM
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from regard.web.app import create_app
from regard.web.serving import listening

expect.set_options(timeout=20_000)  # the machine may have more to do
Open = Callable[..., Page]


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def serving(models: Mapping[str, Any]) -> Iterator[str]:
    """The address of a server of models."""
    with listening("127.0.0.1", None) as listener:
        server = uvicorn.Server(uvicorn.Config(create_app(models), log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        server.should_exit = True
        thread.join(10)


@contextmanager
def visiting(browser: Browser, address: str) -> Iterator[Open]:
    """A function that opens the page at a state."""
    wrong: list[str] = []
    contexts = []

    def check(request: Request) -> None:
        if not request.url.startswith((address, "blob:", "data:", "about:")):
            wrong.append(f"asked for {request.url}")

    def visit(
        *, wide: int = 1440, scheme: str = "light", touch: bool = False, wait: bool = True, **state: object
    ) -> Page:
        context = browser.new_context(
            viewport={"width": wide, "height": 900},
            color_scheme=scheme,
            reduced_motion="reduce",  # type: ignore[arg-type]
            has_touch=touch,
            is_mobile=touch,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if is_fault(message) else None)
        page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
        page.on("request", check)
        said = {name: value if isinstance(value, str) else json.dumps(value) for name, value in state.items()}
        page.goto(f"{address}#{'&'.join(f'{name}={quote(value)}' for name, value in said.items())}")
        if wait:
            expect(page.locator("main .card").first).to_be_visible()
        return page

    yield visit
    for context in contexts:
        context.close()
    assert not wrong, wrong


def minus(text: str) -> str:
    """A number as the page writes it: with a true minus."""
    return text.replace("-", "−")


def number(text: str) -> float:
    """A number that the page writes."""
    return float(text.replace("−", "-"))


def is_fault(message: ConsoleMessage) -> bool:
    """Chromium reports every answer that refuses as an error, which is right where the page says why."""
    return message.type == "error" and "status of 4" not in message.text


def expect_texts(page: Page, selector: str, texts: list[str]) -> None:
    """Waits until the page says them: it draws when answers come."""
    expect(page.locator(selector)).to_have_text(texts, use_inner_text=True)


def check_everyone_can_use(page: Page) -> None:
    """axe finds nothing serious."""
    page.wait_for_load_state("networkidle")
    found = Axe().run(page).response["violations"]
    serious = [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")]
    assert not serious, serious
