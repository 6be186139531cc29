"""What is taken along: pictures, numbers, and pages that need neither a server nor a network."""

import base64
import json
import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from command_line import Trained, regard
from explorer_pages import Open, check_everyone_can_use, visiting
from inspection_strategies import random_inspection
from pages import NEEDS_CHROMIUM
from playwright.sync_api import Browser, Page, expect

from regard.inspect import Array, Inspection, page, save_page
from regard.inspect.labels import arrow_between
from regard.tasks import Translator

pytestmark = NEEDS_CHROMIUM

CROSS = "decoder.attention.weights"


def taken(page: Page, name: str, within: str = "main") -> bytes:
    with page.expect_download() as download:
        page.locator(within).get_by_role("button", name=name).first.click()
    return download.value.path().read_bytes()


@pytest.mark.long
def test_pictures_and_numbers(visit: Open, explored: dict[str, Translator]) -> None:
    seen = explored["recurrent"].inspect("eins zwei", explored["recurrent"].translate(["eins zwei"], beam=5)[0].text)
    page = visit(model="recurrent", text="eins zwei")
    matrix = Inspection.from_json(taken(page, "Save as JSON", ".alignment .matrix"))
    np.testing.assert_allclose(matrix["Alignment"].values, seen[CROSS].values[0], atol=1e-6)
    assert (matrix["Alignment"].axes, matrix.labels["target"]) == (("target", "source"), seen.labels["target"])
    tree = Inspection.from_json(taken(page, "Save as JSON", ".tree"))
    own = explored["recurrent"].search_tree("eins zwei", beam=5)
    np.testing.assert_allclose(tree["scores"].values, own["scores"].values, atol=1e-6)
    # Every picture as it is seen: its cells, and its texts.
    pictures = {".alignment .matrix": ["eins", "zwei", "∎"], ".alignment .drawn": ["eins"], ".tree": ["▸"]}
    for within, words in pictures.items():
        root = ElementTree.fromstring(taken(page, "Save as SVG", within))
        texts = "".join(root.itertext())
        assert all(word in texts for word in words), (within, texts)
        assert sum(part.tag.endswith(("}rect", "}path")) for part in root.iter()) > 5
    png = taken(page, "Save as PNG", ".alignment .matrix")
    wide, high = struct.unpack(">II", png[16:24])
    assert (png[:8], wide > 100, high > 100) == (b"\x89PNG\r\n\x1a\n", True, True)
    page.locator("#take summary").click()
    whole = ElementTree.fromstring(taken(page, "This view (SVG)", "#files"))
    assert "Search" in "".join(whole.itertext())
    everything = Inspection.from_json(taken(page, "Numbers (JSON)", "#files"))
    np.testing.assert_array_equal(everything[CROSS].values, seen[CROSS].values)


@pytest.mark.long
@pytest.mark.parametrize("view", ["translate", "heads", "change", "why", "tour", "inside"])
def test_every_view_becomes_a_picture(visit: Open, view: str) -> None:
    for scheme in ("light", "dark"):
        page = visit(model="transformer", text="eins zwei", view=view, step=5, scheme=scheme)
        page.wait_for_load_state("networkidle")
        page.locator("#take summary").click()
        ElementTree.fromstring(taken(page, "This view (SVG)", "#files"))
        assert taken(page, "This view (PNG)", "#files").startswith(b"\x89PNG")
        page.mouse.click(5, 5)
        for button in page.locator("main button[aria-label='Save as SVG']").all():
            with page.expect_download() as download:
                button.click()
            ElementTree.fromstring(download.value.path().read_bytes())


PICTURES = {
    "translate": ["Best outputs, by score", "Alignment as lines", "Alignment", "Search tree"],
    "heads": ["Heads", "decoder.layers.1.cross.weights, head 1", "What heads do"],
    "tour": ["Weather stations"],
}
READ = {"arcs": ("graph", "the dog sees a cat ."), "map": ("vectors", "")}


def check_all_is_taken(page: Page) -> list[Inspection]:
    """Every picture has its table, itself, and its numbers."""
    page.wait_for_load_state("networkidle")
    found = []
    for row in page.locator("main .taking").all():
        expect(row.locator("button")).to_have_text(["SVG", "PNG", "JSON"])
        row.locator("summary").click()
        expect(row.locator("tbody tr").first).to_be_attached()
        with page.expect_download() as download:
            row.locator("button", has_text="SVG").click()
        ElementTree.fromstring(download.value.path().read_bytes())
        with page.expect_download() as download:
            row.locator("button", has_text="JSON").click()
        found.append(Inspection.from_json(download.value.path().read_bytes()))
    return found


@pytest.mark.parametrize("view", PICTURES)
@pytest.mark.spread(1)
def test_every_picture_has_its_table_and_its_numbers(visit: Open, explored: dict[str, Translator], view: str) -> None:
    tap = "decoder.layers.1.cross.weights"
    page = visit(model="transformer", text="eins zwei", view=view, tap=tap, head="1")
    expect(page.locator("main .taking")).to_have_count(len(PICTURES[view]))  # some take longer to compute
    taken = check_all_is_taken(page)
    model = explored["transformer"]
    (best,) = model.translate(["eins zwei"], beam=5, n_best=5)
    if view == "translate":
        (outputs,) = (each for each in taken if each.title == "Best outputs, by score")
        assert outputs["scores"].texts.tolist() == [best.text, *(other.text for other in best.others)]  # type: ignore[union-attr]
        assert outputs["scores"].values[0] == pytest.approx(best.score, rel=1e-5)
    if view == "heads":
        seen = model.inspect("eins zwei", best.text)
        np.testing.assert_allclose(next(each[tap].values for each in taken if tap in each), seen[tap].values)


@pytest.mark.parametrize("view", READ)
@pytest.mark.spread(1)
def test_pictures_of_readers_too(read: Open, view: str) -> None:
    model, text = READ[view]
    (taken, *_) = check_all_is_taken(read(model=model, text=text, view=view))
    assert {"arcs": "heads", "map": "places"}[view] in taken


def open_file(browser: Browser, path: Path) -> Page:
    context = browser.new_context(viewport={"width": 1200, "height": 900}, reduced_motion="reduce", offline=True)
    page = context.new_page()
    page.set_default_timeout(15_000)
    page.goto(path.as_uri())
    expect(page.locator("main .card").first).to_be_visible()
    return page


def cell(page: Page, article: int, keys: str) -> str:
    """What is told of a cell that arrow keys lead to."""
    plot = page.locator(".plot").nth(article)
    plot.focus()
    for key in keys.split():
        page.keyboard.press(key)
    return str(page.locator(".matrix").nth(article).locator(".readout strong").inner_text())


def test_inspections_as_a_page(browser: Browser, tmp_path: Path) -> None:
    looks = [
        random_inspection(["Das", "Haus", "∎"], ["the", "</script>"], layers=2, heads=3, gold=frozenset({(1, 0)})),
        random_inspection(["هذا", "بيت"], ["a", "house", "∎"], layers=2, heads=3, seed=1),
    ]
    save_page(looks, tmp_path / "look.html", title="Two")
    page = open_file(browser, tmp_path / "look.html")
    expect(page.locator("h1")).to_have_text("Two")
    expect(page.locator(".gallery .matrix")).to_have_count(2)
    expect(page.locator(".plot").first.locator(".frames i")).to_have_count(1)
    mean = np.mean([looks[0][name].values for name in looks[0].shown], axis=(0, 1))
    assert cell(page, 0, "ArrowDown End") == f"{mean[1, 2]:.3f}"
    # What runs from right to left is drawn so.
    other = np.mean([looks[1][name].values for name in looks[1].shown], axis=(0, 1))
    assert cell(page, 1, "ArrowLeft") == f"{other[0, 1]:.3f}"
    page.locator("label", has_text="Array").locator("select").select_option("decoder.layers.1.cross.weights")
    page.locator("label", has_text="Head").locator("select").select_option("2")
    expect(page.locator(".gallery .plot")).to_have_count(2)
    page.wait_for_timeout(100)
    assert cell(page, 0, "ArrowDown End") == f"{looks[0]['decoder.layers.1.cross.weights'].values[2, 1, 2]:.3f}"
    page.locator("label", has_text="Array").locator("select").select_option("candidates")
    texts = looks[0]["candidates"].texts
    assert texts is not None
    expect(page.locator(".gallery td").nth(1)).to_contain_text(str(texts[0, 1]))
    # One of them in the other views; and everything can be taken along.
    page.locator("#tab-heads").click()
    expect(page.locator(".thumbs button")).to_have_count(6)
    page.locator("button", has_text="Maximum").last.click()
    page.locator("#take summary").click()
    same = Inspection.from_json(taken(page, "Numbers (JSON)", "#files"))
    for name in ("decoder.layers.0.cross.weights", "encoder.state", "candidates"):
        np.testing.assert_allclose(same[name].values, looks[0][name].values, atol=1e-4)
    assert (same.gold, same.labels) == (looks[0].gold, looks[0].labels)
    page.context.close()


def test_the_order_of_texts_that_run_both_ways(browser: Browser, tmp_path: Path) -> None:
    title = arrow_between("الأحد، ٦ نوفمبر ٢٠٨٩", "2089-11-06")
    save_page([random_inspection(["a"], ["b"], title=title)] * 2, tmp_path / "look.html")
    page = open_file(browser, tmp_path / "look.html")
    places = page.evaluate(
        """() => {
    const text = document.querySelector(".gallery .title").firstChild;
    const left = (place) => { const range = document.createRange(); range.setStart(text, place);
      range.setEnd(text, place + 1); return range.getBoundingClientRect().left; };
    const target = [..."2089-11-06"].map((_, place) => left(text.data.indexOf("2089") + place));
    return [left(text.data.indexOf("ن")), left(text.data.indexOf("→")), ...target]; }"""
    )
    assert places == sorted(places)
    page.context.close()


@pytest.mark.long
def test_several_in_one_notebook(browser: Browser, tmp_path: Path) -> None:
    """Pages in frames of one page, as notebooks show them, do not disturb each other."""
    looks = [random_inspection(["a", "b"], ["c", "d"], layers=2, heads=2, seed=seed) for seed in (1, 2)]
    pages = [base64.b64encode(page([look]).encode()).decode() for look in looks]
    frames = "".join(f'<iframe width=900 height=800 src="data:text/html;base64,{each}"></iframe>' for each in pages)
    (tmp_path / "notebook.html").write_text(frames, encoding="utf-8")
    context = browser.new_context(offline=True)
    notebook = context.new_page()
    notebook.goto((tmp_path / "notebook.html").as_uri())
    for place, look in enumerate(looks):
        frame = notebook.frame_locator("iframe").nth(place)
        frame.locator("#tab-heads").click()
        frame.locator(".thumbs button").nth(3).click()
        frame.locator(".large .plot").hover(position={"x": 4, "y": 4})
        expected = look["decoder.layers.1.cross.weights"].values[1, 0, 0]
        expect(frame.locator(".large .readout strong")).to_have_text(f"{expected:.3f}")
    context.close()


@pytest.mark.long
def test_what_has_no_text_is_looked_at_all_the_same(browser: Browser, tmp_path: Path) -> None:
    """As of a classifier: labels, what its pooling weighs, and its encoder."""
    look = Inspection(
        {
            "labels": Array(("rank",), np.array([0.9, 0.1]), np.array(["good", "bad"])),
            "pooling.weights": Array(("source",), np.array([0.2, 0.8])),
            "encoder.states": Array(("source", "feature"), np.ones((2, 3))),
        },
        {"source": ("fine", "film")},
        shown=("labels", "pooling.weights"),
    )
    look.save(tmp_path / "look.html")
    page = open_file(browser, tmp_path / "look.html")
    expect(page.locator("[role=tab]")).to_have_text(["Labels", "States", "Inside"])
    expect(page.locator(".bars .candidate").first).to_have_text("good90.0 %")
    page.locator("#tab-inside").click()
    expect(page.locator("main td").first).to_have_text("good 90.0 %")
    page.locator("select").last.select_option("pooling.weights")
    assert cell(page, 0, "ArrowDown") == "0.800"
    page.context.close()


@pytest.fixture(scope="module")
def explorer_file(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("file") / "explorer.html"
    told = regard("explore", trained.folder, "--example", "eins zwei", "--example", "rot und blau", "-o", path)
    assert (told.code, told.out) == (0, f"{path}\n"), told.err
    return path


@pytest.mark.long
def test_the_explorer_as_a_file(browser: Browser, explorer_file: Path, explored: dict[str, Translator]) -> None:
    model = explored["recurrent"]
    with visiting(browser, explorer_file.as_uri()) as visit:
        page = visit(text="rot und blau")
        target = model.translate(["rot und blau"], beam=5)[0].text
        expect(page.locator("p.output")).to_have_text(target)
        expect(page.locator(".node")).to_have_count(len(model.search_tree("rot und blau", beam=5).labels["node"]))
        page.locator(".node[tabindex='0']").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".alternatives .candidate").first).to_be_visible()
        expect(page.locator(".alternatives form")).to_be_hidden()
        tabs = ["Translate and align", "Layers and heads", "Why", "Gradients", "States", "Tour", "Inside"]
        expect(page.locator("[role=tab]")).to_have_text(tabs)
        page.locator("#tab-why").click()
        page.locator("button.go", has_text="explanation").click()
        expect(page.locator(".verdict")).not_to_be_empty()
        page.locator("#tab-tour").click()
        for step in range(10):
            expect(page.locator(".of-ten")).to_have_text(f"Step {step + 1} of 10")
            expect(page.locator(".prose")).not_to_be_empty()
            page.keyboard.press("ArrowRight")
        expect(page.locator(".figure tbody tr")).to_have_count(1)
        check_everyone_can_use(page)
        page.locator("#examples button", has_text="eins zwei").click()
        page.locator("#tab-translate").click()
        expect(page.locator("p.output")).to_have_text(model.translate(["eins zwei"], beam=5)[0].text)


def test_what_a_file_needs_is_said(trained: Trained, tmp_path: Path) -> None:
    for arguments, message in {
        (
            "--example",
            "eins",
        ): "--example chooses what a file shows; name one with --out FILE.html, or leave --example out",
        ("--head", "0"): "--head chooses what a file shows; name one with --out FILE.html, or leave --head out",
        ("-o", "page.png"): "page.png: the page is written as .html; choose a name that ends so",
        ("-o", tmp_path / "a.html"): f"{trained.folder.name} has no examples of its own; give texts with --example",
        ("-o", tmp_path / "a.html", "--example", ""): "the text is empty: there is nothing to translate",
        ("-o", tmp_path / "a.html", "--example", "eins", "--show", "x"): "nothing here matches 'x'",
        (
            "-o",
            tmp_path / "a.html",
            "--example",
            "eins",
            "--head",
            "9",
        ): "there is no head 9; heads are counted from 0 to 0",
    }.items():
        told = regard("explore", trained.folder, *arguments)
        assert (told.code, told.out) == (2, "")
        assert message in told.err
    path = tmp_path / "small.html"
    assert regard("explore", trained.folder, "-o", path, "--example", "eins", "--show", "decoder.*weights").code == 0
    text = path.read_text(encoding="utf-8")
    shown = json.loads(text.partition('id="recorded">')[2].partition("</script>")[0])["inspections"]["4"]
    assert all(not each["name"].startswith("encoder") for each in shown["arrays"])
