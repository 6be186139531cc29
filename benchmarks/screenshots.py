"""Pictures of the explorer for the documents: `python benchmarks/screenshots.py runs/demo --out docs/pictures`.

    python benchmarks/screenshots.py runs/demo runs/transformer --all --out shots

With --all, every view at 1440 and 390 pixels, in light and dark. It needs Chromium, and playwright of the extra `dev`.
"""

import argparse
import shutil
import threading
import time
from pathlib import Path
from urllib.parse import quote

import uvicorn
from playwright.sync_api import Browser, sync_playwright

import regard
from regard.web.app import create_app
from regard.web.serving import listening

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TEXT = "Wednesday, 17 January 1990"
VIEWS = ("translate", "heads", "change", "why", "inside")
CHANGE = '[{"kind":"SetWeight","tap":"decoder.attention.weights","head":0,"query":3,"key":11,"value":0.9}]'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="+", type=Path, help="folders of translators of dates")
    parser.add_argument("--out", type=Path, required=True, help="folder of the pictures")
    parser.add_argument("--all", action="store_true", help="every view, wide and narrow, light and dark")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    models = {folder.name: regard.load(folder) for folder in given.models}
    with listening("127.0.0.1", None) as listener, sync_playwright() as playwright:
        server = uvicorn.Server(uvicorn.Config(create_app(models), log_level="error", ws="none"))
        threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
        while not server.started:
            time.sleep(0.05)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        if not given.all:
            shoot(browser, address, next(iter(models)), "translate", 1440, "light", given.out / "explorer.png")
        else:
            for name in models:
                for view in VIEWS:
                    for wide in (1440, 390):
                        for scheme in ("light", "dark"):
                            out = given.out / f"{name}-{view}-{wide}-{scheme}.png"
                            shoot(browser, address, name, view, wide, scheme, out)
        browser.close()
        server.should_exit = True


def shoot(browser: Browser, address: str, model: str, view: str, wide: int, scheme: str, out: Path) -> None:
    """One picture of the whole page."""
    context = browser.new_context(
        viewport={"width": wide, "height": 900},
        color_scheme=scheme,
        reduced_motion="reduce",  # type: ignore[arg-type]
    )
    page = context.new_page()
    changes = f"&changes={quote(CHANGE)}" if view == "change" and model == "demo" else ""
    page.goto(f"{address}#model={model}&text={quote(TEXT)}&view={view}{changes}")
    page.locator("main .card").first.wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)
    page.screenshot(path=out, full_page=True)
    context.close()
    print(out)


if __name__ == "__main__":
    main()
