"""Views of models that read, as a person sees them: what they show is what Python gives."""

import json
from typing import Any

import numpy as np
import pytest
from explorer_pages import Open, check_everyone_can_use, expect_texts, minus
from pages import NEEDS_CHROMIUM
from playwright.sync_api import Page, expect

from regard.inspect import SetGate, changed, gradient_norms, over_units

pytestmark = NEEDS_CHROMIUM

SENTENCE, TREE, RUNNING = "Anna sees Oslo .", "the dog sees a cat .", "the cat sees the cat and the"
ODD = "<img src=x onerror=alert(1)> שלום 👩‍👩‍👧 the </script>"
VIEWS = {
    "labels": ("tagger", SENTENCE),
    "arcs": ("graph", TREE),
    "reading": ("cached", RUNNING),
    "write": ("cached", RUNNING),
    "gradients": ("tanh", RUNNING),
    "states": ("gru", RUNNING),
    "map": ("vectors", ""),
}
MORE = {"labels of texts": ("classifier", "a lovely film", "labels"), "moves": ("transition", TREE, "arcs")}


def opened(read: Open, view: str, **state: object) -> Page:
    model, text = VIEWS[view]
    return read(**{"model": model, "text": text, "view": view, **state})


def share(value: float) -> str:
    """As the page writes it."""
    if 0 < value < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if 1 > value > 0.9995 else f"{100 * value:.1f} %"


def shares(values: Any) -> list[str]:
    return [share(float(value)) for value in values]


def test_labels_over_words_with_what_else_they_could_be(read: Open, readers: dict[str, Any]) -> None:
    seen = readers["tagger"].inspect(SENTENCE)
    page = opened(read, "labels")
    texts = seen["tags"].texts.tolist()
    expect_texts(page, ".tagged .tag", texts)
    assert page.locator(".span .kind").all_inner_texts() == [kind for kind, _ in seen["spans"].texts]
    page.locator(".tagged").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    marginals = np.sort(seen["marginals"].values[1])[::-1][:8]
    expect_texts(page, ".told .chance", shares(marginals))
    expect(page.locator(".told .candidate.lit bdi")).to_have_text(texts[1])
    own = seen["scores"].values[1, readers["tagger"].tags.tags.index(texts[1])]
    expect(page.locator(".told .hint")).to_contain_text(f"{texts[1]} scores {minus(f'{own:.3f}')} by itself")
    # The transitions are those of the model; what is not allowed says so.
    steps = seen["transitions"].values
    plot = page.locator("[aria-label='Transitions']")
    plot.focus()
    for row, column in ((0, 0), (1, 2), (2, 1)):
        plot.press("Control+Home")
        for key in ["ArrowDown"] * row + ["ArrowRight"] * column:
            plot.press(key)
        value = steps[row, column]
        told = page.locator(".matrix", has=plot).locator(".readout strong")
        expect(told).to_have_text("not allowed" if np.isnan(value) else minus(f"{value:.3f}"))
    expect(page.locator(".matrix", has=plot).locator(".frames i")).to_have_count(5)


def test_the_label_of_a_text_and_the_weights_of_its_words(read: Open, readers: dict[str, Any]) -> None:
    seen = readers["classifier"].inspect("a lovely film")
    page = read(model="classifier", text="a lovely film")
    expect_texts(page, ".bars .candidate bdi", seen["labels"].texts.tolist())
    expect_texts(page, ".bars .chance", shares(seen["labels"].values))
    expect_texts(page, ".tagged .tag", shares(seen["pooling.weights"].values))


def test_a_tree_with_all_other_arcs(read: Open, readers: dict[str, Any]) -> None:
    seen = readers["graph"].inspect(TREE)
    page = opened(read, "arcs")
    expect(page.locator(".arcs .arc")).to_have_count(6)
    relations = [text.partition("←")[0] for text in seen["tree"].texts]
    found = page.locator(".arcs .arc text").evaluate_all("all => all.map((each) => each.firstChild.textContent)")
    assert sorted(found) == sorted(relations)
    page.locator(".arcs .word").first.focus()
    page.keyboard.press("ArrowRight")
    arcs = seen["arcs"].values[1]
    expect_texts(page, ".told [aria-label='Heads'] .chance", shares(np.sort(arcs)[::-1][:6]))
    expect(page.locator(".told [aria-label='Heads'] .candidate.lit bdi")).to_have_text(
        ("<root>", *TREE.split())[int(seen["heads"].values[1])]
    )
    expect_texts(page, ".told [aria-label='Relations'] .chance", shares(seen["relations"].values[1]))
    expect(page.locator(".matrix .frames i")).to_have_count(6)


@pytest.mark.parametrize(("model", "text", "outcome"), [("tagger", SENTENCE, "tags"), ("graph", TREE, "tree")])
def test_what_a_changed_gate_changes(read: Open, readers: dict[str, Any], model: str, text: str, outcome: str) -> None:
    gate = next(name for name, array in readers[model].inspect(text).items() if ".gates." in name)
    shut = {"kind": "SetGate", "tap": gate, "value": 0.0}
    page = read(model=model, text=text, view="change", tap=gate, changes=[shut])
    before = readers[model].inspect(text)[outcome]
    with changed(readers[model], [SetGate(gate, value=0.0)]):
        after = readers[model].inspect(text)[outcome]
    expect_texts(page, ".outcome tbody th", text.split())
    for column, array in ((1, before), (2, after)):
        expect_texts(
            page, f".outcome tbody td:nth-child({column + 1})", [f"{100 * value:.1f}" for value in array.values]
        )
    expect_texts(page, ".outcome tbody td:last-child", list(after.texts))
    others = [now for then, now in zip(before.texts, after.texts, strict=True) if then != now]
    expect_texts(page, ".outcome tbody td.other", others)


def test_moves_one_by_one(read: Open, readers: dict[str, Any]) -> None:
    seen = readers["transition"].inspect(TREE)
    page = read(model="transition", text=TREE, view="arcs", move=0)
    machine = page.locator(".machine")
    expect(machine.locator(".tokens").first).to_have_text("empty")
    expect(page.locator(".arc.waiting")).to_have_count(6)
    expect_texts(page, ".machine .chance", shares(seen["moves"].values[0]))
    page.locator("[aria-label='One move on']").focus()
    page.keyboard.press("Enter")
    expect(machine.locator(".tokens").first.locator(".token")).to_have_text(["the"])
    expect_texts(page, ".machine .chance", shares(seen["moves"].values[1]))
    page.locator("[aria-label='Moves made']").press("End")
    expect(page.locator(".arc.waiting")).to_have_count(0)
    expect(machine).to_contain_text("The tree is complete.")
    assert "move=12" in page.url


def test_surprisal_and_what_is_copied_from_where(read: Open, readers: dict[str, Any]) -> None:
    seen = readers["cached"].inspect(RUNNING)
    page = opened(read, "reading", place=4)
    tokens = page.locator(".reading .token")
    expect(tokens).to_have_text([*seen.labels["target"]])
    bits = seen["surprisals"].values
    expect(page.locator(".card > .hint").first).to_contain_text(
        f"{bits.sum():.1f} bits in all, {bits.mean():.2f} per token"
    )
    chance, parts = seen["probabilities"].values[4], seen["parts"].values[4]
    expect(page.locator(".told h3").first).to_have_text(
        f"cat probability {share(chance)}, surprisal {bits[4]:.2f} bits"
    )
    expect_texts(page, ".told [aria-label='Where this probability comes from'] .chance", shares(parts / chance))
    expect_texts(page, ".told [aria-label='Expected here'] bdi", seen["candidates"].texts[4].tolist())
    copied = seen["copied"].values[4] + seen["cache"].values[4]
    strongest = np.sort(copied[copied > 1e-4])[::-1][:5]
    expect_texts(page, ".told [aria-label='What it copies'] .chance", shares(strongest))
    expect(page.locator(".told [aria-label='What it copies'] .lit bdi").first).to_contain_text("cat (")
    page.locator("button", has_text="cache").click()
    expect(tokens.nth(4)).to_have_attribute("title", share(parts[2] / chance))
    tokens.nth(4).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".told h3").first).to_contain_text("and")
    page.locator(".chart .plane").focus()
    page.keyboard.press("Home")
    expect(page.locator(".chart .readout")).to_have_text(f"the {bits[0]:.3f} bits")


@pytest.mark.long
def test_a_text_goes_on_token_by_token(read: Open, readers: dict[str, Any]) -> None:
    writer = readers["cached"]
    how = {"method": "sample", "temperature": 1.0}
    page = opened(read, "write")
    seen = writer.continuations(RUNNING, count=12, decoding=how)
    candidates = page.locator(".told .candidate")
    expect_texts(page, ".told .candidate bdi", seen["candidates"].texts.tolist())
    expect_texts(page, ".told .chance", shares(seen["candidates"].values))
    expect(page.locator(".told h3")).to_contain_text(f"entropy {float(seen['entropy'].values):.2f} bits")
    # The second is chosen by keys alone; Backspace takes it back.
    candidates.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    token = int(seen["tokens"].values[1])
    expect(page.locator(".reading .written")).to_have_text([str(seen["candidates"].texts[1])])
    after = writer.continuations(RUNNING, [token], count=12, decoding=how)
    expect_texts(page, ".told .chance", shares(after["candidates"].values))
    expect(candidates.first).to_be_focused()
    page.keyboard.press("Backspace")
    expect(page.locator(".reading .written")).to_have_count(0)
    # Samples are those of generate, with the temperature.
    page.locator("[aria-label='Temperature']").fill("0.5")
    page.locator("button", has_text="Sample 10").click()
    expect(page.locator(".reading .written")).to_have_count(10)
    written = json.loads(page.evaluate("new URLSearchParams(location.hash.slice(1)).get('written')"))
    drawn = "".join(writer.generate(RUNNING, tokens=10, decoding={"method": "sample", "temperature": 0.5}))
    assert "".join(writer._shown(iter(written), writer.prompt(RUNNING).tokens)) == drawn
    page.locator(".reading .written").nth(3).click()
    expect(page.locator(".reading .written")).to_have_count(3)
    page.reload()
    expect(page.locator(".reading .written")).to_have_count(3)


def test_a_text_begins_with_nothing(read: Open, readers: dict[str, Any]) -> None:
    page = read(model="gru", text="")
    expect(page.locator("#tabs button")).to_have_text(["Generate", "Map"])
    seen = readers["gru"].continuations("", count=12, decoding={"method": "sample"})
    expect_texts(page, ".told .chance", shares(seen["candidates"].values))
    page.locator("button", has_text="Take the likeliest").click()
    expect(page.locator(".reading .written")).to_have_text([str(seen["candidates"].texts[0])])


@pytest.mark.long
def test_gradients_of_several_models_side_by_side(read: Open, readers: dict[str, Any]) -> None:
    # What is shown first is a place that most of them have.
    page = opened(read, "gradients", place=6)
    found = {name: gradient_norms(readers[name].outputs(RUNNING)) for name in ("tanh", "gru", "copying", "cached")}
    expect(page.locator(".cards.thirds > .card h2")).to_have_text([*found])
    having = [sum(name in norms for norms in found.values()) for norms in found.values() for name in norms.shown]
    expect(page.locator(".chart .legend span")).to_have_count(max(having))
    tap = next(name for name in found["tanh"].shown if name.endswith("state"))
    page.locator("label", has_text="At").locator("select").select_option(tap)
    expect(page.locator(".chart .legend span")).to_have_text([name for name in found if tap in found[name]])
    factors = [f"{float(norms[f'{tap} factor'].values):.3f}" for norms in found.values() if tap in norms]
    expect_texts(page, ".card > .table tbody td:nth-child(2)", factors)
    page.locator(".chart .plane").focus()
    page.keyboard.press("Home")
    told = page.locator(".chart .readout").inner_text()
    values = {name: norms[tap].values[6, 0] for name, norms in found.items() if tap in norms}
    for name, value in values.items():
        shown = float(told.partition(f"{name} ")[2].split(" ")[0])
        assert shown == pytest.approx(float(value), rel=0.06), told
    page.locator("button", has_text="All, by distance").click()
    page.locator(".chart .taking summary").click()
    medians = found["gru"][f"{tap} by distance"].values
    rows = page.locator(".chart tbody tr")
    expect(rows).to_have_count(len(medians))
    shown = float(rows.nth(2).locator("td").nth([*values].index("gru")).inner_text())
    assert shown == pytest.approx(float(medians[2]), rel=0.06)
    page.locator(".choice input").nth(1).uncheck()
    expect(page.locator(".cards.thirds > .card")).to_have_count(3)


def test_gates_and_states_over_time(read: Open, readers: dict[str, Any]) -> None:
    seen = readers["gru"].inspect(RUNNING)
    units, tap = over_units(seen), "stack.layers.0.ahead.gates.update"
    page = opened(read, "states", tap=tap)
    gates = page.locator(".chart").first
    gates.locator(".plane").focus()
    page.keyboard.press("Home")
    expect(gates.locator(".readout")).to_contain_text(f"update {units[tap].values[0, 0]:.3f}")
    page.locator(".card > .table tbody tr", has_text="update").wait_for()
    expect(page.locator(".card > .table tbody tr", has_text="update").locator("td").nth(1)).to_have_text(
        share(units[tap].values[3].mean())
    )
    page.locator("input[type=number]").fill("3")
    page.keyboard.press("Enter")
    expect(gates.locator(".readout")).to_contain_text("Point at a position")  # redrawn
    gates.locator(".plane").focus()
    page.keyboard.press("End")
    expect(gates.locator(".readout")).to_contain_text(f"update {seen[tap].values[-1, 3]:.3f}")
    assert "unit=3" in page.url


@pytest.mark.long
def test_words_on_a_map(read: Open, readers: dict[str, Any]) -> None:
    vectors = readers["vectors"]
    page = opened(read, "map", word="king")
    expect(page.locator("#ask")).to_be_hidden()
    near = vectors.most_similar("king")
    expect_texts(page, ".map-beside .candidate bdi", [word for word, _ in near])
    expect_texts(page, ".map-beside .chance", [minus(f"{score:.3f}") for _, score in near])
    page.locator(".map-beside .candidate", has_text=near[1].word).click()
    expect(page.locator(".map-beside h3")).to_have_text(f"Nearest to {near[1].word}")
    page.locator("[aria-label='A sum of words']").fill("king − man + woman")
    page.keyboard.press("Enter")
    best = vectors.most_similar(["king", "woman"], ["man"])
    expect_texts(page, "[aria-label='Nearest to the sum'] bdi", [word for word, _ in best])
    page.locator("[aria-label='A sum of words']").fill("king + unheard")
    page.keyboard.press("Enter")
    expect(page.locator(".told", has_text="is not among the 46 words")).to_be_visible()
    page.locator("input[type=search]").fill("<b>odd")
    expect(page.locator(".top output")).to_have_text("1 word")
    page.locator("[aria-label='More words to place']").fill("unheard")
    page.keyboard.press("Enter")
    expect(page.locator("#failure")).to_contain_text("'unheard' is not among the 46 words of these vectors")
    assert page.locator("main b:has-text('odd')").count() == 0
    # A model has vectors of its tokens.
    page = read(model="gru", text="the", view="map", word="cat")
    expect_texts(
        page,
        ".map-beside .candidate bdi",
        [word for word, _ in readers["gru"].embeddings()["tokens"].most_similar("cat")],
    )


def test_a_long_text_has_its_surprisal_alone(read: Open, readers: dict[str, Any]) -> None:
    text = "the cat sees a dog . " * 110
    page = read(model="gru", text=text, wait=False)
    expect(page.locator(".hint", has_text="Only its surprisal: a text of 661 tokens is too long")).to_be_visible()
    bits = readers["gru"].score(text).inspection()["surprisals"].values
    expect(page.locator(".card > .hint").nth(1)).to_contain_text(f"{bits.sum():.1f} bits in all")
    expect(page.locator("#tab-states")).to_have_count(0)


@pytest.mark.long
def test_texts_are_texts(read: Open) -> None:
    for model in ("tagger", "classifier", "graph", "transition", "copying"):
        page = read(model=model, text=ODD)
        page.wait_for_load_state("networkidle")
        assert page.locator("main img, main script").count() == 0
        for view in page.locator("#tabs button").all()[:4]:
            view.click()
            page.wait_for_load_state("networkidle")


@pytest.mark.long
@pytest.mark.parametrize("view", [*VIEWS, *MORE])
@pytest.mark.spread(1)
def test_everyone_can_use_them(read: Open, view: str) -> None:
    model, text, *name = MORE[view] if view in MORE else (*VIEWS[view], view)
    for scheme in ("light", "dark"):
        page = read(model=model, text=text, view=name[0], scheme=scheme, word="king")
        check_everyone_can_use(page)


@pytest.mark.long
@pytest.mark.parametrize("view", [*VIEWS, *MORE])
def test_they_fit_a_phone(read: Open, view: str) -> None:
    model, text, *name = MORE[view] if view in MORE else (*VIEWS[view], view)
    page = read(model=model, text=f"{text} {text} {text}".strip(), view=name[0], wide=390, word="king")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.long
def test_they_are_compared(read: Open) -> None:
    """Every view of one inspection is drawn for two models."""
    for view, (model, other, text) in {
        "reading": ("gru", "copying", RUNNING),
        "states": ("tanh", "gru", RUNNING),
        "arcs": ("graph", "transition", TREE),
    }.items():
        page = read(model=model, against=other, text=text, view=view)
        expect(page.locator(".compared")).to_have_count(2)
        expect(page.locator(".compared .card")).not_to_have_count(0)
        page.wait_for_load_state("networkidle")
        assert page.locator(".compared").nth(1).locator(".card").count() > 0
