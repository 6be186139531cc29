"""How fast the explorer's page is, by the browser's own clock.

    python benchmarks/explorer.py runs/demo --out benchmarks/results/explorer.json

The page is opened in headless Chromium, which draws without a GPU, while the server runs in this process. Measured,
each several times: the first view, from the beginning of the navigation until the translation and its alignment are
drawn; a changed weight, from the slider that sets it to a new value until the probabilities that follow are shown; and,
of a model with random weights, a text of 500 tokens with 144 heads of attention: from the choice of the view until
every head and the enlarged one are drawn, and the frames that are drawn while a pointer moves over it, and while it is
scrolled after it was brought nearer.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import torch
from conditions import conditions
from playwright.sync_api import Browser, Page, sync_playwright
from screenshots import CHROMIUM, served

import regard
from regard.models.classifier import TextClassifier
from regard.recipe import ClassifyingRecipe, parse_recipe
from regard.tasks.classifier import Classifier
from regard.tokens.tag_set import TagSet
from regard.tokens.word_vocabulary import WordVocabulary

TEXT = "Wednesday, 17 January 1990"
TOKENS, LAYERS, HEADS = 500, 12, 12
LIMITS = {"first_view": 2000, "changed_weight": 200, "large_view": 1000}
"""Milliseconds."""
FEWEST_FRAMES = 30

DRAWN = """
window.since = (seen) => new Promise((done) => {
  const look = () => requestAnimationFrame(seen() ? () => done(performance.now()) : look);
  look();
});
"""
FIRST_VIEW = "since(() => document.querySelector('.alignment .plot') && document.querySelector('p.output'))"
CHANGED = """async (value) => {
  const before = document.querySelector('.outcome');
  const slider = document.querySelector('.slider input');
  slider.value = value;
  const began = performance.now();
  slider.dispatchEvent(new InputEvent('input', { bubbles: true }));
  const end = await since(() => document.querySelector('.outcome') !== before);
  return end - began;
}"""
LARGE = """async () => {
  const began = performance.now();
  document.getElementById('tab-heads').click();
  const painted = (canvas) => canvas.width !== 300; // as canvases are made
  const end = await since(() => {
    const small = [...document.querySelectorAll('.thumbs canvas')];
    const large = document.querySelector('.large .plot canvas');
    return small.length >= %d && small.every(painted) && large && painted(large);
  });
  return end - began;
}"""
MOVED = """async (action) => {
  const plot = document.querySelector('.large .plot');
  const scroll = document.querySelector('.large .scroll');
  const box = plot.getBoundingClientRect();
  const times = [];
  const began = performance.now();
  for (let now = began; now - began < 2000;) {
    const share = ((now - began) % 1000) / 1000;
    if (action === 'point') {
      const at = { clientX: box.left + share * box.width, clientY: box.top + share * box.height };
      plot.dispatchEvent(new PointerEvent('pointermove', { ...at, bubbles: true }));
    } else {
      scroll.scrollLeft = share * (scroll.scrollWidth - scroll.clientWidth);
      scroll.scrollTop = share * (scroll.scrollHeight - scroll.clientHeight);
    }
    now = await new Promise((frame) => requestAnimationFrame(frame));
    times.push(now);
  }
  const gaps = times.slice(1).map((time, place) => time - times[place]);
  const whole = times[times.length - 1] - times[0];
  return { frames_per_second: (1000 * gaps.length) / whole, longest_ms: Math.max(...gaps) };
}"""


def large_model() -> Classifier:
    """A Transformer encoder of 12 layers with 12 heads each, with random weights."""
    encoder = {"kind": "transformer", "width": 144, "heads": HEADS, "feedforward": 144, "layers": LAYERS}
    model = {"encoder": encoder, "pooling": {"kind": "mean"}}
    tables = {"data": {"corpus": "dates"}, "words": {"width": 144}, "model": model, "train": {"steps": 1}}
    recipe = parse_recipe({"task": "classifying", **tables})
    assert isinstance(recipe, ClassifyingRecipe)
    words, labels = WordVocabulary(recipe.words, tuple(TEXT.split())), TagSet(("one", "two"), "none", "none")
    torch.manual_seed(1)
    return Classifier(recipe, TextClassifier(recipe.model, recipe.words, words, 2), words, labels)


def opened(browser: Browser, address: str) -> Page:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.add_init_script(DRAWN)
    page.goto(address)
    return page


def first_views(browser: Browser, address: str, rounds: int) -> list[float]:
    """Each in a browser that has the page cached, of a text that is new to the server."""
    found = []
    for number in range(rounds):
        page = opened(browser, f"{address}#model=demo&text={TEXT[:-4]}{1990 + number}")
        found.append(float(page.evaluate(FIRST_VIEW)))
        page.context.close()
    return found


def changed_weights(browser: Browser, address: str, rounds: int) -> list[float]:
    """Each to a value that the server has not cached."""
    page = opened(browser, f"{address}#model=demo&text={TEXT}&view=change")
    page.locator(".outcome tbody tr").first.wait_for()
    page.locator(".plot").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    found = []
    for number in range(rounds):
        found.append(float(page.evaluate(CHANGED, (7 * number % 100) / 100)))
        page.wait_for_load_state("networkidle")
    page.context.close()
    return found


def large_views(browser: Browser, address: str, rounds: int) -> dict[str, Any]:
    """The text differs in each round, so that nothing of it was drawn before."""
    drawn, moved = [], []
    for number in range(rounds):
        text = " ".join([str(number), *(TEXT.split() * TOKENS)[: TOKENS - 1]])
        page = opened(browser, f"{address}#model=large&text={text}&view=inside")
        page.locator("main .card").first.wait_for(timeout=120_000)
        page.wait_for_load_state("networkidle", timeout=120_000)
        drawn.append(float(page.evaluate(LARGE % (LAYERS * HEADS))))
        page.wait_for_load_state("networkidle", timeout=120_000)
        pointed = page.evaluate(MOVED, "point")
        for _ in range(4):
            page.locator(".large .zoom button", has_text="+").click()
        moved.append({"pointed": pointed, "scrolled": page.evaluate(MOVED, "scroll")})
        page.context.close()
    return {"drawn": drawn, "moved": moved}


def summed(values: list[float], limit: float) -> dict[str, Any]:
    return {
        "milliseconds": round(statistics.median(values), 1),
        "each": [round(value, 1) for value in values],
        "limit": limit,
        "within": statistics.median(values) <= limit,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="the folder of the demo's model")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    told = conditions(["torch", "fastapi", "uvicorn", "playwright"])
    demo = regard.load(given.model, device="cpu")
    demo.inspect("1 2")  # loops are compiled on their first use, as `regard explore` does before it says its address
    with served({"demo": demo, "large": large_model()}) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        told["chromium"] = browser.version
        first_views(browser, address, 1)
        told["first_view"] = summed(first_views(browser, address, given.rounds), LIMITS["first_view"])
        changes = changed_weights(browser, address, 1 + 4 * given.rounds)[1:]
        told["changed_weight"] = summed(changes, LIMITS["changed_weight"])
        large = large_views(browser, address, given.rounds)
        told["large_view"] = summed(large["drawn"], LIMITS["large_view"]) | {"tokens": TOKENS, "heads": LAYERS * HEADS}
        for name in ("pointed", "scrolled"):
            rates = [each[name]["frames_per_second"] for each in large["moved"]]
            told[f"large_view_{name}"] = {
                "frames_per_second": round(statistics.median(rates), 1),
                "each": [round(rate, 1) for rate in rates],
                "longest_frame_milliseconds": round(max(each[name]["longest_ms"] for each in large["moved"]), 1),
                "least": FEWEST_FRAMES,
                "within": statistics.median(rates) >= FEWEST_FRAMES,
            }
        browser.close()
    text = json.dumps(told, ensure_ascii=False, indent=2) + "\n"
    print(text, end="")
    if given.out is not None:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
