"""The tour: ten steps with the numbers of the reader's own sentence, by keys alone."""

import numpy as np
import pytest
from explorer_pages import Open, check_everyone_can_use, number
from pages import NEEDS_CHROMIUM
from playwright.sync_api import expect

from regard.inspect import SetWeight, changed
from regard.tasks import Translator

pytestmark = NEEDS_CHROMIUM


def number_after(text: str, words: str) -> float:
    return number(text.partition(words)[2].split()[0].rstrip(".;,"))


@pytest.mark.parametrize("name", ["recurrent", "transformer"])
@pytest.mark.spread(1)
def test_ten_steps_by_keys_alone(visit: Open, explored: dict[str, Translator], name: str) -> None:
    model = explored[name]
    page = visit(model=name, text="eins zwei", view="tour", place=1, head="0")
    target = model.translate(["eins zwei"], beam=5)[0].text
    steps = model.attention_steps("eins zwei", target)
    values = {part: array.values for part, array in steps.items()}
    weights = values["weights"][0, 1]
    prose, titles = page.locator(".prose"), []
    for step in range(10):
        expect(page.locator(".of-ten")).to_have_text(f"Step {step + 1} of 10")
        expect(prose).not_to_be_empty()
        titles.append(page.locator("h2.step").inner_text())
        page.wait_for_load_state("networkidle")
        if titles[-1] == "The score":
            best = int(weights.argmax())
            scored = number_after(prose.inner_text(), "add up to the score:")
            assert scored == pytest.approx(float(values["scores"][0, 1, best]), abs=2e-3)
        if titles[-1] == "The weights":
            page.locator(".column button, button.column").first.focus()
            page.keyboard.press("Home")
            page.keyboard.press("Enter")
            expect(page.locator(".column.chosen")).to_have_count(1)
            told = page.locator(".figure .readout").inner_text()
            assert number_after(told, "weight ") == pytest.approx(float(weights[0]), abs=6e-4)
            page.locator("h2.step").focus()
        if titles[-1] == "The output":
            assert f"{100 * values['probabilities'][1]:.0f}"[:1] in prose.inner_text()
        if titles[-1] == "What if it had looked elsewhere?":
            key = int(weights.argmax() == 0)
            tap = model.model.cross_taps[-1]
            with changed(model, [SetWeight(tap, head=0, query=1, key=key, value=1.0)]):
                after = float(model.inspect("eins zwei", target)["probabilities"].values[1])
            row = page.locator(".figure tbody tr").first.locator("td").nth(1).inner_text()
            shown = {"< 0.1 %": 0.0, "> 99.9 %": 1.0}.get(row)
            assert (float(row.split()[0]) / 100 if shown is None else shown) == pytest.approx(after, abs=6e-4)
        page.keyboard.press("ArrowRight")
    assert len(set(titles)) == 10
    expect(page.locator(".turning button.go")).to_be_disabled()
    page.keyboard.press("PageUp")
    expect(page.locator(".of-ten")).to_have_text("Step 9 of 10")
    assert "step=8" in page.url


def test_the_weather_at_another_place(visit: Open) -> None:
    """Weights are 1 / distance, made a probability, and the weather is the mean under it."""
    stations = np.array([[700, 5955], [939, 5840], [488, 5664], [608, 5572], [811, 5353]], float)
    page = visit(model="recurrent", text="eins zwei", view="tour", step=1)
    page.locator("svg.weather").focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    place = np.array([837, 5699.0])
    scores = 1 / np.linalg.norm(stations - place, axis=1)
    weights = scores / scores.sum()
    rows = page.locator(".map-and-table > .labelled tbody tr").all()
    shown = [float(row.locator("td").nth(1).inner_text()) for row in rows]
    assert shown == pytest.approx([*weights, 1.0], abs=6e-4)
    degrees = weights @ np.array([14, 17, 19, 21, 23])
    expect(page.locator(".map-of + .readout")).to_contain_text(f"{degrees:.1f} °C")
    assert "spot=%5B837%2C5699%5D" in page.url
    # Arrow keys moved the place, and turned no page.
    expect(page.locator(".of-ten")).to_have_text("Step 2 of 10")
    page.locator("svg.weather").click(position={"x": 40, "y": 40})
    expect(page.locator(".map-of + .readout")).not_to_contain_text(f"{degrees:.1f} °C")


@pytest.mark.long
@pytest.mark.parametrize("step", range(10))
def test_everyone_can_take_it(visit: Open, step: int) -> None:
    for scheme, wide in (("light", 1440), ("dark", 390)):
        page = visit(model="transformer", text="eins zwei", view="tour", step=step, scheme=scheme, wide=wide)
        check_everyone_can_use(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= wide


@pytest.mark.long
def test_what_a_model_does_not_have(visit: Open) -> None:
    page = visit(model="encoder", text="Anna sees Rome .", view="tour")
    expect(page.locator("#tab-tour")).to_have_count(0)
    page = visit(model="recurrent", text="eins zwei", view="tour", step=99, spot=[1], place=50)
    expect(page.locator(".of-ten")).to_have_text("Step 10 of 10")
    expect(page.locator(".figure tbody tr")).to_have_count(1)
