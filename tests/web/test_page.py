"""The explorer as a person sees it: the real page in real Chromium, with pointer and with keys alone."""

import json
import math
import re

import pytest
from explorer_pages import Open, check_everyone_can_use, expect_texts, minus, number
from pages import NEEDS_CHROMIUM
from playwright.sync_api import Route, expect

from regard.inspect import Silence, Uniform, attributions, changed, head_statistics, over_layers
from regard.inspect.faithful import faithfulness
from regard.inspect.page import EXPLORER
from regard.tasks import Translator

pytestmark = NEEDS_CHROMIUM

VIEWS = {
    "recurrent": ["translate", "heads", "change", "why", "tour", "inside"],
    "transformer": ["translate", "heads", "change", "why", "tour", "inside"],
}
CROSS = {"recurrent": "decoder.attention.weights", "transformer": "decoder.layers.1.cross.weights"}
ODD = "<img src=x onerror=alert(1)> שלום 👩‍👩‍👧 </script>"


def test_the_page_is_small() -> None:
    assert sum(len(path.read_bytes()) for path in EXPLORER.iterdir()) < 300_000


def test_translate_and_align(visit: Open, explored: dict[str, Translator]) -> None:
    model = explored["recurrent"]
    (best,) = model.translate(["eins zwei"], beam=5, n_best=5)
    page = visit(model="recurrent", text="eins zwei")
    expect(page.locator("p.output")).to_have_text(best.text)
    expect_texts(page, ".outputs .text", [best.text, *(other.text for other in best.others)])
    # The weight that is read out is the weight of the model.
    seen = model.inspect("eins zwei", best.text)
    page.locator(".alignment .plot").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".alignment .matrix .readout strong")).to_have_text(
        f"{seen[CROSS['recurrent']].values[0, 0, 1]:.3f}"
    )
    expect(page.locator(".lines .side")).to_have_count(2)
    page.locator(".alignment .matrix summary").click()
    expect(page.locator(".alignment tbody tr")).to_have_count(len(seen.labels["target"]))
    # The tree is that of the search; Enter shows what else could stand there.
    tree = model.search_tree("eins zwei", beam=5)
    expect(page.locator(".node")).to_have_count(len(tree.labels["node"]))
    page.locator(".node[tabindex='0']").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".alternatives .candidate").first).to_be_visible()
    first = model.alternatives("eins zwei", "")["candidates"].texts
    assert first is not None
    for place, text in enumerate(first[:3]):
        expect(page.locator(".alternatives .candidate bdi").nth(place)).to_have_text(str(text))
    # A word of one's own is forced by typing it, and the rest follows.
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.keyboard.type("lue")
    page.keyboard.press("Enter")
    expect(page.locator(".forced b")).to_have_text("blue")
    expect(page.locator("p.output")).to_have_text(model.translate(["eins zwei"], beam=5, prefixes=["blue"])[0].text)
    # A target of one's own, with its probability.
    page.locator(".own input").fill("red red")
    page.keyboard.press("Enter")
    expect(page.locator("h2").first).to_have_text("A target of your own")
    log_prob = model.score(["eins zwei"], ["red red"])[0].log_prob
    expect(page.locator(".card .hint").first).to_contain_text(minus(f"{log_prob:.2f}"))


def test_layers_and_heads(visit: Open, explored: dict[str, Translator]) -> None:
    seen = explored["transformer"].inspect("eins zwei", explored["transformer"].translate(["eins zwei"])[0].text)
    page = visit(model="transformer", text="eins zwei", view="heads")
    expect(page.locator(".thumbs button")).to_have_count(4)
    page.locator(".segments button", has_text="Target to source").click()
    page.locator(".thumbs button").nth(3).click()
    expect(page.locator(".large h2")).to_have_text("Layer 1, head 1")
    page.locator(".large .plot").hover(position={"x": 5, "y": 5})
    expect(page.locator(".large .readout strong")).to_have_text(f"{seen[CROSS['transformer']].values[1, 0, 0]:.3f}")
    expect(page.locator(".large .readout")).to_contain_text("entropy")
    # All heads in a plane: a point for each, and a click enlarges its head.
    expect(page.locator(".scatter .dot")).to_have_count(12)
    page.locator(".scatter .dot").first.dispatch_event("click")
    expect(page.locator(".large code")).to_have_text(head_statistics(seen).labels["layer"][0])
    page.locator("button", has_text="Rollout").click()
    expect(page.locator(".large h2")).to_have_text("Rollout")
    rolled = next(array for name, array in over_layers(seen).items() if name.endswith("rollout"))
    page.locator(".large .plot").hover(position={"x": 5, "y": 5})
    expect(page.locator(".large .readout strong")).to_have_text(f"{rolled.values[0, 0]:.3f}")


@pytest.mark.parametrize("name", ["recurrent", "transformer"])
@pytest.mark.spread(1)
def test_change_it(visit: Open, explored: dict[str, Translator], name: str) -> None:
    model, tap = explored[name], CROSS[name]
    target = model.translate(["eins zwei"], beam=5)[0].text
    page = visit(model=name, text="eins zwei", view="change", tap=tap, head="0")
    page.locator("button", has_text="Make uniform").click()
    with changed(model, [Uniform(tap, head=0)]):
        after = model.inspect("eins zwei", target)["probabilities"].values
        written = model.translate(["eins zwei"], beam=1)[0].text
    before = model.inspect("eins zwei", target)["probabilities"].values
    expect(page.locator("ol li")).to_have_count(1)
    for column, values in (("nth-child(2)", before), ("nth-child(3)", after)):
        expect_texts(page, f".outcome tbody td:{column}", [f"{100 * value:.1f}" for value in values])
    expect(page.locator(".rewritten b")).to_have_text(written or "nothing")
    # The program stands beside it, a link restores it, and it can be taken back.
    expect(page.locator("main pre")).to_contain_text(f"Uniform('{tap}', head=0)")
    again = page.url
    page.locator("button", has_text="Undo").first.click()
    expect(page.locator("ol li")).to_have_count(0)
    expect_texts(page, ".outcome tbody td:nth-child(3)", [f"{100 * value:.1f}" for value in before])
    page.goto("about:blank")
    page.goto(again)
    expect(page.locator("ol li")).to_have_count(1)


def test_a_weight_is_changed_with_keys_alone(visit: Open, explored: dict[str, Translator]) -> None:
    page = visit(model="recurrent", text="eins zwei", view="change")
    page.locator(".plot").focus()
    page.keyboard.press("End")
    before = float(page.locator(".matrix .readout strong").inner_text())
    page.keyboard.press("+")
    expect(page.locator("ol li")).to_have_count(1)
    assert float(page.locator(".matrix .readout strong").inner_text()) == pytest.approx(
        round(before + 0.1, 1), abs=0.05
    )


@pytest.mark.long
def test_models_that_read_are_changed_too(visit: Open) -> None:
    page = visit(model="encoder", text="Anna sees Rome .", view="change")
    expect(page.locator(".outcome tbody tr")).to_have_count(4)
    expect(page.locator("#tab-why")).to_have_count(0)
    # A column of weights is changed where it is pointed at.
    text = "A\tis it ?\nB\tyes ."
    page = visit(model="converser", text=text, view="change", tap="pooling.weights")
    expect(page.locator(".outcome tbody tr")).to_have_count(4)
    expect(page.locator(".readout .hint")).not_to_contain_text("columns")
    page.locator(".plot").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("+")
    expect(page.locator("ol li")).to_contain_text(".: 1 pooling.weights")


def test_a_refused_change_is_said_and_taken_back(visit: Open) -> None:
    wrong = [{"kind": "Silence", "tap": CROSS["recurrent"], "head": 7}]
    page = visit(model="recurrent", text="eins zwei", view="change", changes=wrong)
    expect(page.locator("#failure")).to_contain_text("head = 7: must be from 0 to 0")
    expect(page.locator("ol li")).to_have_count(0)
    page.locator("button", has_text="Make uniform").click()
    expect(page.locator("ol li")).to_have_count(1)
    expect(page.locator("#failure")).to_be_hidden()


@pytest.mark.long
def test_what_is_no_longer_kept_is_made_anew(visit: Open) -> None:
    page = visit(model="transformer", text="eins zwei", view="inside")
    gone = []

    def lose(route: Route) -> None:
        if gone:
            route.continue_()
        else:
            gone.append(route.fulfill(status=404, json={"error": "no longer kept"}))

    page.route("**/file.json*", lose)
    page.locator("#take summary").click()
    with page.expect_download() as saved:
        page.locator("#files button", has_text="JSON").click()
    assert json.loads(saved.value.path().read_bytes())["arrays"]
    # A head that the alignment does not have, as a link or another view may say, is none.
    page = visit(model="recurrent", text="eins zwei", tap=CROSS["recurrent"], head="all")
    expect(page.locator(".alignment .matrix")).to_be_visible()
    expect(page.locator("#failure")).to_be_hidden()


@pytest.mark.parametrize(("name", "view"), [(name, view) for name, views in VIEWS.items() for view in views])
@pytest.mark.spread(1)
def test_everyone_can_use_it(visit: Open, name: str, view: str) -> None:
    for scheme in ("light", "dark"):
        check_everyone_can_use(visit(model=name, text="eins zwei", view=view, scheme=scheme))


def test_texts_are_texts(visit: Open) -> None:
    page = visit(model="recurrent", text=ODD)
    page.wait_for_load_state("networkidle")
    assert page.locator("main img, main script").count() == 0
    assert page.locator("#text").input_value() == ODD
    for view in ("heads", "change", "why", "tour", "inside"):
        page.locator(f"#tab-{view}").click()
        page.wait_for_load_state("networkidle")


def test_what_cannot_be_looked_at_is_said(visit: Open) -> None:
    page = visit(model="recurrent", text="eins " * 700, wait=False)
    expect(page.locator("#failure")).to_contain_text("a text of 700 tokens is too long to look at; give one below 512")
    # A text is not cut where it is typed: what is refused is what was given.
    page = visit(model="recurrent", wait=False)
    page.locator("#text").fill("eins " * 2400)
    page.locator("#text").press("Enter")
    expect(page.locator("#failure")).to_have_text(
        "text: 12,000 characters are too many to look at; give at most 10,000"
    )


@pytest.mark.long
def test_what_an_output_rests_on(visit: Open, explored: dict[str, Translator]) -> None:
    model = explored["recurrent"]
    outputs = model.outputs("eins zwei", model.translate(["eins zwei"], beam=5)[0].text)
    page = visit(model="recurrent", text="eins zwei", view="why", place=1)
    expect(page.locator(".tokens button")).to_have_count(len(outputs))
    picture = page.locator(".matrix", has=page.locator("[aria-label='Attributions']"))
    # The attention at the output stands above, and each row has a scale of its own: its largest number is as strong.
    picture.locator(".plot").focus()
    weights = model.inspect("eins zwei", outputs.title.rpartition("→ ")[2])
    found = attributions(outputs, 1)["attributions"].values
    for row, values in enumerate((weights[CROSS["recurrent"]].values.mean(0)[1], *found)):
        for place in (0, *"right" * (len(values) - 1)):
            if place:
                page.keyboard.press("ArrowRight")
        shown = number(picture.locator(".readout strong").inner_text())
        assert shown == pytest.approx(float(values[-1]), abs=6e-4, nan_ok=True), row
        page.keyboard.press("Home")
        page.keyboard.press("ArrowDown")
    # Whether attention explains it, with all numbers of the one sentence.
    page.locator("button", has_text="Is this attention an explanation?").click()
    explained = faithfulness(outputs, 1)
    expect(page.locator(".verdict")).to_have_text(explained.sentence)
    picture = page.locator(".matrix", has=page.locator("[aria-label^='The weights, and the most different']"))
    picture.locator(".plot").focus()
    page.keyboard.press("ArrowDown")
    other = explained["weights"].values[1, 0]
    assert number(picture.locator(".readout strong").inner_text()) == pytest.approx(float(other), abs=6e-4)
    told = page.locator(".numbers td").all_inner_texts()
    numbers = [*explained.variations.values(), *explained.drops.values(), *explained.correlations.values()]
    assert [number(each) if each != "–" else math.nan for each in told] == pytest.approx(numbers, abs=6e-4, nan_ok=True)


@pytest.mark.long
def test_one_layer_and_head_is_asked_about(visit: Open, explored: dict[str, Translator]) -> None:
    model = explored["transformer"]
    outputs = model.outputs("eins zwei", model.translate(["eins zwei"], beam=5)[0].text)
    page = visit(model="transformer", text="eins zwei", view="why")
    page.locator("label", has_text="Attention").locator("select").select_option("decoder.layers.0.cross.weights")
    page.locator("label", has_text="Head").locator("select").select_option("1")
    page.locator("button", has_text="Is this attention an explanation?").click()
    expected = faithfulness(outputs, 0, layer="decoder.layers.0.cross.weights", head=1)
    expect(page.locator(".verdict")).to_have_text(expected.sentence)


@pytest.mark.long
@pytest.mark.parametrize("view", VIEWS["transformer"])
def test_it_fits_a_phone(visit: Open, view: str) -> None:
    for name in VIEWS:
        page = visit(model=name, text="eins zwei drei vier rot und blau Haus", view=view, wide=390)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.long
def test_a_visit_with_keys_alone(visit: Open, explored: dict[str, Translator]) -> None:
    """From a text to an enlarged head, a changed weight, and the next step of the tour."""
    page = visit(model="transformer", wait=False)
    expect(page.locator(".empty")).to_be_visible()
    reached: set[str] = set()

    def tab_to(what: str, most: int = 60, back: bool = False) -> None:
        for _ in range(most):
            page.keyboard.press("Shift+Tab" if back else "Tab")
            names = "({ className, id, ariaLabel }) => `.${className} #${id} ${ariaLabel}`"
            here = page.evaluate(f"({names})(document.activeElement)")
            reached.add(here)
            if what in here:
                return
        raise AssertionError((what, reached))

    tab_to("#text")
    page.keyboard.type("eins zwei")
    page.keyboard.press("Enter")
    expect(page.locator("p.output")).to_have_text(explored["transformer"].translate(["eins zwei"], beam=5)[0].text)
    page.wait_for_load_state("networkidle")
    tab_to(".plot")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".alignment .readout strong")).to_be_visible()
    tab_to(".node")
    page.keyboard.press("Enter")
    expect(page.locator(".alternatives .candidate").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".node:focus")).to_have_count(1)
    tab_to("#tab-translate", back=True)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    tab_to("layer 0, head 0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".large h2")).to_have_text("Layer 0, head 1")
    tab_to("#tab-heads", back=True)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#tab-change")).to_have_attribute("aria-selected", "true")
    page.wait_for_load_state("networkidle")
    tab_to(".plot")
    page.keyboard.press("+")
    expect(page.locator("ol li")).to_have_count(1)
    page.keyboard.press("Control+z")
    expect(page.locator("ol li")).to_have_count(0)
    page.locator("#tab-tour").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".of-ten")).to_have_text("Step 1 of 10")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".of-ten")).to_have_text("Step 2 of 10")


@pytest.mark.long
def test_silence_of_all_heads_by_pointer(visit: Open, explored: dict[str, Translator]) -> None:
    model = explored["transformer"]
    page = visit(model="transformer", text="eins zwei", view="change", tap=CROSS["transformer"], head="all")
    page.locator("button", has_text="Silence").click()
    target = model.translate(["eins zwei"], beam=5)[0].text
    with changed(model, [Silence(CROSS["transformer"])]):
        after = model.inspect("eins zwei", target)["probabilities"].values
    expect(page.locator("ol li")).to_have_count(1)
    expect_texts(page, ".outcome tbody td:nth-child(3)", [f"{100 * value:.1f}" for value in after])


def test_a_phone_is_enough(visit: Open, explored: dict[str, Translator]) -> None:
    """A tap on the tree shows what else could stand there; a finger drags a weight, and the page stays where it is."""
    page = visit(model="recurrent", text="eins zwei", wide=390, touch=True)
    page.locator(".node").nth(1).tap()
    first = explored["recurrent"].alternatives("eins zwei", "")["candidates"].texts
    expect(page.locator(".alternatives .candidate bdi").first).to_have_text(str(first[0]))  # type: ignore[index]
    touch_action = "(plot) => getComputedStyle(plot).touchAction"
    assert page.locator(".alignment .plot").evaluate(touch_action) == "pan-x pan-y"
    page.locator("#tab-change").click()
    plot = page.locator(".plot.drags")
    plot.scroll_into_view_if_needed()
    assert plot.evaluate(touch_action) == "none"
    box = plot.bounding_box()
    assert box is not None
    x, y = box["x"] + 5, box["y"] + 5
    before = page.evaluate("scrollY"), float(page.locator(".slider input").input_value())
    finger = page.context.new_cdp_session(page)
    for kind, up in (("touchStart", 0), ("touchMove", 30), ("touchMove", 60)):
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y - up}]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    # The page says on the way, too, what the weight is.
    expect(page.locator("ol li span")).to_have_text(re.compile(f": {min(1, round(before[1] + 60 / 150, 2)):.2g}"))
    assert page.evaluate("scrollY") == before[0]


def test_a_phone_shows_what_decides(visit: Open, explored: dict[str, Translator]) -> None:
    """Attention and the other measures stand beside one another, all of them in sight."""
    page = visit(model="recurrent", text="eins zwei drei vier rot und blau Haus", view="why", wide=390)
    plot = page.locator("[aria-label='Attributions']")
    expect(plot).to_have_attribute("aria-colcount", "4")
    expect(plot).to_have_attribute("aria-rowcount", "9")
    box = plot.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] < 390


@pytest.mark.long
def test_each_measure_has_a_scale_of_its_own(visit: Open) -> None:
    page = visit(model="recurrent", text="eins zwei", view="why")
    plot = page.locator("[aria-label='Attributions'] canvas")
    expect(page.locator("p", has_text="each measure has its own scale")).to_be_visible()
    rows = plot.evaluate("""(canvas) => Array.from({ length: canvas.height }, (_, row) => {
      const { data } = canvas.getContext("2d").getImageData(0, row, canvas.width, 1);
      const brightness = (c) => data[4 * c] + data[4 * c + 1] + data[4 * c + 2];
      return Math.min(...Array.from({ length: canvas.width }, (__, c) => brightness(c)));
    })""")
    # The largest number of each row is as strong: the end of the purple scale, or of the orange one.
    assert len(rows) == 4
    assert max(rows) <= 0x7F + 0x3B + 0x08


@pytest.mark.long
def test_a_change_is_said_with_its_tokens(visit: Open) -> None:
    changes = [
        {"kind": "SetWeight", "tap": CROSS["transformer"], "head": 1, "query": 1, "key": 1, "value": 0.9},
        {"kind": "Silence", "tap": CROSS["transformer"], "query": 0},
        {"kind": "Temper", "tap": CROSS["transformer"], "temperature": 2.0},
    ]
    page = visit(model="transformer", text="eins zwei", target="one two", view="change", changes=changes)
    said = ["two → zwei: 0.9, head 1", "silenced: the row of one", "flattened"]
    expect(page.locator("ol li > span")).to_have_text(said)
    expect(page.locator("main pre")).to_contain_text(
        f"SetWeight('{CROSS['transformer']}', head=1, query=1, key=1, value=0.9)"
    )
    tap = "encoder.stack.layers.0.back.gates.update"
    shut = [{"kind": "SetGate", "tap": tap, "value": 0.0, "unit": 3, "step": 0}]
    page = visit(model="recurrent", text="eins zwei", view="change", tap=tap, changes=shut)
    expect(page.locator("ol li > span")).to_have_text("unit 3 at ∎: 0")
