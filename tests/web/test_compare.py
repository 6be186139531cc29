"""Two models side by side, or one before and after a change, in every view."""

import json
from typing import Any

import pytest
from explorer_pages import Open, check_everyone_can_use, minus, number
from pages import NEEDS_CHROMIUM
from playwright.sync_api import Page, expect

from regard.inspect import SetGate, SetWeight, Uniform, changed, changed_outputs, gradient_norms
from regard.tasks import Translator

pytestmark = NEEDS_CHROMIUM

CROSS = "decoder.attention.weights"
VIEWS = ["translate", "heads", "why", "gradients", "tour", "inside"]


def difference_of(page: Page) -> list[float]:
    """The two numbers and their difference that are told of the cell that is looked at."""
    told = page.locator(".comparing .readout").inner_text()
    return [number(told.partition(f"{name} ")[2].split(",")[0]) for name in ("A", "B", "difference")]


@pytest.mark.long
def test_before_and_after_a_change(visit: Open, explored: dict[str, Translator]) -> None:
    model = explored["recurrent"]
    target = model.translate(["eins zwei"], beam=5)[0].text
    change = {"kind": "SetWeight", "tap": CROSS, "head": 0, "query": 1, "key": 0, "value": 0.9}
    before = model.inspect("eins zwei", target)
    with changed(model, [SetWeight(CROSS, head=0, query=1, key=0, value=0.9)]):
        after = model.inspect("eins zwei", target)
    page = visit(model="recurrent", text="eins zwei", against="changed", changes=[change])
    expect(page.locator(".compared h2.of bdi")).to_have_text(["recurrent", "recurrent, changed"])
    plots = page.locator(".alignment .plot")
    expect(plots).to_have_count(2)
    plots.first.focus()
    page.keyboard.press("ArrowDown")
    expected = [float(seen[CROSS].values[0, 1, 0]) for seen in (before, after)]
    expect(page.locator(".comparing .readout")).to_contain_text("difference")
    assert difference_of(page) == pytest.approx([*expected, expected[1] - expected[0]], abs=6e-4)
    # The other side looks at the same cell, and shows the difference if that is wished.
    own = page.locator(".alignment .matrix .readout strong").nth(1)
    expect(own).to_have_text(f"{expected[1]:.3f}")
    page.locator("button", has_text="Difference").click()
    plots.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert number(own.inner_text()) == pytest.approx(expected[1] - expected[0], abs=6e-4)
    # The probabilities of the same output stand above.
    page.locator(".comparing summary").click()
    expect(page.locator(".comparing tbody tr")).to_have_count(len(before.labels["target"]))
    rows = page.locator(".comparing tbody tr").all()
    shares = [number(row.locator("td").nth(2).inner_text()) for row in rows]
    differences = 100 * (after["probabilities"].values - before["probabilities"].values)
    assert shares == pytest.approx(differences.tolist(), abs=0.06)
    assert "difference=true" in page.url
    # Changing is done alone: it has its own before and after.
    page.locator("#tab-change").click()
    expect(page.locator(".compared")).to_have_count(0)
    expect(page.locator("main > .hint")).to_have_text("This view has before and after beside one another by itself.")
    expect(page.locator("ol li")).to_have_count(1)


def test_what_a_changed_model_writes_itself(visit: Open, explored: dict[str, Translator]) -> None:
    model = explored["recurrent"]
    target = model.translate(["eins zwei"], beam=5)[0].text
    with changed(model, [Uniform(CROSS)]):
        written = model.translate(["eins zwei"], beam=5)[0].text
        log_prob = model.score(["eins zwei"], [target])[0].log_prob
    uniform = [{"kind": "Uniform", "tap": CROSS}]
    page = visit(model="recurrent", text="eins zwei", against="changed", changes=uniform)
    side = page.locator(".compared").nth(1)
    expect(side.locator("h2").nth(1)).to_have_text("The same output")
    expect(side.locator("p.output")).to_have_text(target)
    expect(side.locator(".card .hint").first).to_contain_text(f"log-probability {minus(f'{log_prob:.3f}')}")
    same = "Changed, the model writes the same."
    expect(side.locator(".rewritten")).to_have_text(
        same if written == target else f"Changed, the model writes {written}."
    )
    expect(side.locator(".outputs legend")).to_have_text("Best outputs of the changed model, by score")
    expect(side.locator(".outputs .text").first).to_have_text(written)


@pytest.mark.long
def test_what_has_no_difference_says_so(visit: Open, explored: dict[str, Translator]) -> None:
    outputs = {name: model.translate(["eins zwei"], beam=5)[0].text for name, model in explored.items()}
    assert len({*outputs.values()}) == 2
    page = visit(model="recurrent", text="eins zwei", against="transformer", difference=True)
    button = page.locator("button", has_text="Difference")
    expect(button).to_be_disabled()
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".segments .hint").first).to_have_text(
        "No difference can be drawn: rows and columns of A and B are not the same."
    )
    page.locator(".own input").first.fill("red red")
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".compared .of").nth(1)).to_have_attribute("data-note", "minus A")


@pytest.mark.long
def test_two_models(visit: Open, explored: dict[str, Translator]) -> None:
    outputs = {name: model.translate(["eins zwei"], beam=5)[0].text for name, model in explored.items()}
    page = visit(model="recurrent", text="eins zwei", against="transformer")
    expect(page.locator("p.output")).to_have_text([outputs["recurrent"], outputs["transformer"]])
    # What is chosen on one side is its own where the other does not have it, and stands in the link.
    page.locator(".alignment").nth(1).locator("select").first.select_option("decoder.layers.0.cross.weights")
    expect(page.locator(".alignment").nth(1).locator("label", has_text="Head")).to_be_visible()
    again = page.url
    other = json.loads(page.evaluate("new URLSearchParams(location.hash.slice(1)).get('other')"))
    assert other["tap"] == "decoder.layers.0.cross.weights"
    page.goto("about:blank")
    page.goto(again)
    expect(page.locator(".alignment").nth(1).locator("select").first).to_have_value("decoder.layers.0.cross.weights")
    expect(page.locator(".alignment").first.locator("select")).to_have_count(0)
    # A target of one's own is scored by both.
    page.locator(".own input").first.fill("red red")
    page.keyboard.press("Enter")
    expect(page.locator(".card h2", has_text="A target of your own")).to_have_count(2)
    told = page.locator(".comparing p.hint")
    for name, side in (("recurrent", "A"), ("transformer", "B")):
        log_prob = explored[name].score(["eins zwei"], ["red red"])[0].log_prob
        expect(told).to_contain_text(minus(f"{side} {log_prob:.2f}"))
    check_everyone_can_use(page)


@pytest.mark.long
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_has_two_sides(visit: Open, view: str) -> None:
    uniform = [{"kind": "Uniform", "tap": CROSS}]
    for more in ({"against": "transformer"}, {"against": "changed", "changes": uniform}):
        page = visit(model="recurrent", text="eins zwei", view=view, **more)
        page.wait_for_load_state("networkidle")
        for side in page.locator(".compared").all():
            expect(side.locator(".card").first).to_be_visible()
            expect(side.locator("[role=alert]")).to_have_count(0)
        check_everyone_can_use(page)


@pytest.mark.long
def test_gradients_of_a_changed_model(visit: Open, explored: dict[str, Translator]) -> None:
    model = explored["recurrent"]
    uniform = [{"kind": "Uniform", "tap": CROSS}]
    page = visit(model="recurrent", text="eins zwei", view="why", against="changed", changes=uniform)
    with changed(model, [Uniform(CROSS)]):
        chance = model.inspect("eins zwei", model.translate(["eins zwei"], beam=5)[0].text)["probabilities"].values[0]
    share = f"{100 * chance:.1f} %" if 0.0005 < chance < 0.9995 else "9 %"
    expect(page.locator(".compared").nth(1).locator("p", has_text="What each position adds")).to_contain_text(share)
    # What is asked of the model as it is can only be asked there.
    expect(page.locator("button.go", has_text="explanation")).to_have_count(1)
    expect(page.locator(".compared").nth(1)).to_contain_text("Other attention is searched for in the model as it is")


@pytest.mark.long
def test_what_only_one_of_them_has(visit: Open) -> None:
    page = visit(model="recurrent", text="eins zwei", against="encoder")
    expect(page.locator(".compared").nth(1)).to_contain_text("encoder has nothing to show here.")
    page = visit(model="recurrent", text="eins zwei", against="nowhere")
    expect(page.locator(".compared")).to_have_count(0)
    wrong = [{"kind": "Silence", "tap": CROSS, "head": 7}]
    page = visit(model="recurrent", text="eins zwei", against="changed", changes=wrong, wait=False)
    expect(page.locator(".compared").nth(1).locator("[role=alert]")).to_contain_text("head = 7: must be from 0 to 0")


READERS = {
    "labels": ("tagger", "tagger", "Anna sees Oslo ."),
    "arcs": ("graph", "transition", "the dog sees a cat ."),
    "reading": ("copying", "cached", "the cat sees the cat"),
    "states": ("tanh", "gru", "the cat sees the cat"),
    "heads": ("copying", "cached", "the cat sees the cat"),
    "why": ("tanh", "gru", "the cat sees"),
    "gradients": ("tanh", "gru", "the cat sees"),
    "write": ("tanh", "gru", "the cat sees"),
    "map": ("tanh", "vectors", "the cat sees"),
    "inside": ("tanh", "gru", "the cat sees"),
}


@pytest.mark.long
@pytest.mark.parametrize("view", READERS)
def test_every_view_of_readers_has_two_sides(read: Open, readers: dict[str, Any], view: str) -> None:
    one, other, text = READERS[view]
    against = {"against": other} if one != other else {"against": "changed", "changes": gate_of(readers[one])}
    page = read(model=one, text=text, view=view, **against)
    page.wait_for_load_state("networkidle")
    sides = page.locator(".compared")
    expect(sides).to_have_count(2)
    for side in sides.all():
        expect(side.locator(".card, .tagged, .plot, svg").first).to_be_visible()
        expect(side.locator("[role=alert]")).to_have_count(0)
    check_everyone_can_use(page)


def gate_of(model: Any) -> list[dict[str, object]]:
    tap = next(name for name, _ in model.named_modules() if name.endswith((".gates.output", ".gates.update")))
    return [{"kind": "SetGate", "tap": tap, "value": 0.0}]


@pytest.mark.long
def test_the_other_side_follows_whatever_a_view_keeps(read: Open) -> None:
    """A word that is chosen in a view that knows nothing of comparing."""
    page = read(model="copying", text="the cat sees the cat", view="reading", against="cached")
    sides = page.locator(".compared")
    for side in sides.all():
        expect(side.locator("button.token").nth(3)).to_be_visible()
    sides.first.locator("button.token").nth(3).click()
    chosen = "document.querySelectorAll('.compared')[1].querySelectorAll('button.token[tabindex=\"0\"]')"
    page.wait_for_function(f"[...{chosen}].some((token) => [...token.parentElement.children].indexOf(token) >= 3)")
    assert "place=3" in page.url


@pytest.mark.long
def test_gradients_before_and_after_a_change(visit: Open, explored: dict[str, Translator]) -> None:
    model, uniform = explored["recurrent"], [{"kind": "Uniform", "tap": CROSS}]
    outputs = model.outputs("eins zwei", model.translate(["eins zwei"], beam=5)[0].text)
    found = [gradient_norms(each) for each in (outputs, changed_outputs(outputs, [Uniform(CROSS)]))]
    page = visit(model="recurrent", text="eins zwei", view="gradients", against="changed", changes=uniform)
    tap = page.locator(".compared select").first.input_value()
    plots = page.locator("[aria-label='Norm of the gradient']")
    expect(plots).to_have_count(2)
    plots.first.focus()
    page.keyboard.press("ArrowRight")
    expected = [float(norms[tap].values[0, 1]) for norms in found]
    expect(page.locator(".comparing .readout")).to_contain_text("difference")
    assert difference_of(page) == pytest.approx([*expected, expected[1] - expected[0]], rel=0.05, abs=6e-4)


@pytest.mark.long
def test_a_text_goes_on_before_and_after_a_change(read: Open, readers: dict[str, Any]) -> None:
    gates, text = gate_of(readers["gru"]), "the cat sees"
    how = {"count": 12, "decoding": {"method": "sample"}}
    page = read(model="gru", text=text, view="write", against="changed", changes=gates)
    sides = page.locator(".compared")
    for written in ([], [int(readers["gru"].continuations(text, **how)["tokens"].values[0])]):
        before = readers["gru"].continuations(text, written, **how)
        with changed(readers["gru"], [SetGate(gates[0]["tap"], value=0.0)]):  # type: ignore[arg-type]
            after = readers["gru"].continuations(text, written, **how)
        for side, seen in zip(sides.all(), (before, after), strict=True):
            expect(side.locator(".candidate bdi")).to_have_text(seen["candidates"].texts.tolist())
        # Both read what one of them is given.
        sides.first.locator("button", has_text="Likeliest").click()


@pytest.mark.long
def test_two_models_write_on_by_themselves(read: Open, readers: dict[str, Any]) -> None:
    page = read(model="gru", text="the cat sees", view="write", against="copying")
    sides = page.locator(".compared")
    expect(sides.nth(1).locator(".candidate").first).to_be_visible()
    sides.nth(1).locator("button", has_text="Likeliest").click()
    expect(sides.nth(1).locator(".written")).to_have_count(1)
    expect(sides.first.locator(".written")).to_have_count(0)
    written = int(readers["copying"].continuations("the cat sees", decoding={"method": "sample"})["tokens"].values[0])
    other = json.loads(page.evaluate("new URLSearchParams(location.hash.slice(1)).get('other')"))
    assert other["written"] == [written]
    # Another text starts from scratch.
    page.locator("#text").fill("a dog")
    page.keyboard.press("Enter")
    expect(sides.nth(1).locator(".written")).to_have_count(0)


@pytest.mark.long
def test_maps_of_two_models(read: Open) -> None:
    page = read(model="gru", text="the cat", view="map", against="vectors", word="cat")
    sides = page.locator(".compared")
    expect(sides.locator(".plane-of-words canvas")).to_have_count(2)
    # What is not known to one of them stays off its map alone.
    sides.first.locator("[aria-label^='More ']").fill("cat")
    page.keyboard.press("Enter")
    expect(page.locator("#failure")).to_contain_text("'cat' is not among the 46 words")
    expect(sides.locator(".plane-of-words canvas")).to_have_count(2)
    page = read(model="gru", text="the cat", view="map", against="changed")
    expect(page.locator("main > .hint")).to_contain_text("Changes leave the vectors of words as they are")
    expect(page.locator(".plane-of-words canvas")).to_have_count(1)
