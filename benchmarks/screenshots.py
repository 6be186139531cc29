"""Pictures of the explorer for the documents, or of all views of models.

    python benchmarks/screenshots.py runs/demo runs/transformer --out docs/pictures
    python benchmarks/screenshots.py runs/tagger --text "Anna sees Oslo ." --all --out shots

The first two models are a recurrent and a Transformer translator of dates (`regard demo`, `regard train
dates-transformer`). With --all, every view of every model at 1440 and 390 pixels, in light and dark. It needs Chromium,
fonts for Japanese, and playwright of the extra `dev`.
"""

import argparse
import json
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

import regard
from regard.tasks.trained import Trained
from regard.vectors import Vectors, are_vectors
from regard.web.app import create_app
from regard.web.serving import listening

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TEXT = "Wednesday, 17 January 1990"
STATES = {
    "explorer": {"view": "translate"},
    "tour": {"view": "tour", "step": 5},
    "compare": {"view": "translate", "against": 1},
}
"""The pictures of the documents: `against` is the number of the model to compare with."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, help="folders of trained models")
    parser.add_argument("--text", default=TEXT, help=f"what they read (default: {TEXT})")
    parser.add_argument("--out", type=Path, required=True, help="folder of the pictures")
    parser.add_argument("--all", action="store_true", help="every view, wide and narrow, light and dark")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    models = {each.name: Vectors.load(each) if are_vectors(each) else regard.load(each) for each in given.models}
    with served(models) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        names = [*models]
        if given.all:
            for name in names:
                shoot_all(browser, address, {"model": name, "text": given.text}, given.out / name)
        else:
            for picture, state in STATES.items():
                said = {**state, **({"against": names[int(state["against"])]} if "against" in state else {})}
                page = opened(browser, address, {"model": names[0], "text": given.text, **said})
                shoot(page, given.out / f"{picture}.png")
        browser.close()


@contextmanager
def served(models: Mapping[str, Trained | Vectors]) -> Iterator[str]:
    """The address of the explorer of some models."""
    with listening("127.0.0.1", None) as listener:
        server = uvicorn.Server(uvicorn.Config(create_app(models), log_level="error", ws="none"))
        threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
        while not server.started:
            time.sleep(0.05)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        server.should_exit = True


def shoot_all(browser: Browser, address: str, state: Mapping[str, object], out: Path) -> None:
    """Every view of a model, in a large and a small window."""
    page = opened(browser, address, state)
    views = [each.removeprefix("tab-") for each in page.locator("[role=tab]").evaluate_all("all => all.map(e => e.id)")]
    page.context.close()
    for view in views:
        for wide in (1440, 390):
            for scheme in ("light", "dark"):
                page = opened(browser, address, {**state, "view": view}, wide, scheme)
                shoot(page, out.with_name(f"{out.name}-{view}-{wide}-{scheme}.png"))


def opened(
    browser: Browser, address: str, state: Mapping[str, object], wide: int = 1440, scheme: str = "light"
) -> Page:
    """The page at a state, once it is drawn."""
    context = browser.new_context(
        viewport={"width": wide, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
        reduced_motion="reduce",
    )
    page = context.new_page()
    said = {name: value if isinstance(value, str) else json.dumps(value) for name, value in state.items()}
    page.goto(f"{address}#{'&'.join(f'{name}={quote(value)}' for name, value in said.items())}")
    page.locator("main .card").first.wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)
    return page


def shoot(page: Page, out: Path) -> None:
    """A picture of the whole page."""
    page.screenshot(path=out, full_page=True)
    page.context.close()
    print(out)


if __name__ == "__main__":
    main()
