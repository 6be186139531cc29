"""Results show themselves: on a short line in a terminal, and in a notebook as HTML that is small and escaped."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import Trained
from hypothesis import given
from hypothesis import strategies as st
from pages import Elements
from torch import nn

from regard.display import MOST, html_heat, html_table, shortened
from regard.inspect import (
    Array,
    Inspection,
    draw,
    draw_lengths,
    draw_map,
    save_lengths,
    save_map,
    save_map_page,
    save_page,
    save_pictures,
)
from regard.metrics import MetricScore, bleu, compare, quality_by_length
from regard.metrics.score import Scores
from regard.recipe import parse_recipe
from regard.tap import Tap, record
from regard.tasks import load
from regard.tasks.evaluation import Evaluation
from regard.tasks.translations import Scored, Translation
from regard.train.events import Ended
from regard.vectors import Vectors
from regard.vectors.mapping import WordMap, word_map

OLD = Path(__file__).parent / "models_0_1"
ATTACK = "<script>alert('&\"')</script>"


def vectors() -> Vectors:
    words = ["hotel", "motel", ATTACK, "inn"]
    return Vectors(words, np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32), {"method": {"kind": "svd"}})


def evaluation() -> Evaluation:
    score = MetricScore("BLEU", 30.123456, "nrefs:1|case:mixed", 0.51)
    return Evaluation((ATTACK,) * 1000, (score,), {}, MetricScore("alignment error rate", 0.1, "sentences:1"))


@cache
def model(name: str) -> Any:
    return load(OLD / name, device="cpu")


RESULTS: dict[str, Callable[[], Any]] = {
    "translation": lambda: Translation(
        ATTACK, ATTACK * 9, -0.5, -5.0, False, (1,) * 500, translator=model("recurrent-additive")
    ),
    "scored": lambda: Scored((-0.5,) * 500, (ATTACK,) * 500),
    "scored text": lambda: model("language-recurrent").score(f"a {ATTACK} " * 200),
    "vectors": vectors,
    "neighbors": lambda: vectors().most_similar("hotel"),
    "map": lambda: word_map(vectors(), top=4, method="pca"),
    "evaluation": evaluation,
    "score": lambda: bleu([ATTACK], [ATTACK]),
    "comparison": lambda: compare([ATTACK, "a b"], ["a c", "a b"], [ATTACK, "a b"])[0],
    "inspection": lambda: model("recurrent-additive").inspect(ATTACK, "2020-01-02"),
    "translator": lambda: model("transformer-shared"),
    "language model": lambda: model("language-recurrent"),
    "translations": lambda: model("transformer-shared").into("de").translate([ATTACK] * 50),
    "log-probabilities": lambda: model("recurrent-additive").score([ATTACK], [ATTACK]),
    "recipe": lambda: parse_recipe(
        {"data": {"train": [ATTACK, "b"]}, "model": {"kind": "transformer"}, "train": {"steps": 1}}
    ),
    "ended": lambda: Ended(20, "steps", ATTACK, 0.5, 1, 3.25),
    "counts": lambda: model("language-ngram"),
}
"""What the calls of Python give, with texts that would do harm in a page."""


@cache
def result(name: str) -> Any:
    return RESULTS[name]()


LONG = {"translations", "log-probabilities", "recipe", "ended"}
"""Shown in a terminal as Python shows lists and settings."""


def test_lists_of_results_are_lists() -> None:
    found = result("translations")
    assert found == list(found)
    assert isinstance(found, list)
    assert "… and 30 more" in found._repr_html_()
    assert result("log-probabilities")._repr_html_().count("log-probability") == 1
    assert Scores(result("evaluation").scores) == result("evaluation").scores
    assert "30.12 ± 0.51" in Scores(result("evaluation").scores)._repr_html_()


def test_evaluate_gives_a_tuple_that_shows_itself(trained: Trained) -> None:
    found = load(trained.folder).evaluate("test")
    assert isinstance(found, tuple)
    assert found._repr_html_().count("<tr>") == len(found) + 1


def test_a_recipe_shows_what_is_not_the_default() -> None:
    shown = result("recipe")._repr_html_()
    assert all(f">{name}</td>" in shown for name in ("task", "data.train", "train.steps"))
    assert "label_smoothing" not in shown


def test_an_end_shows_why_and_what_was_reached() -> None:
    shown = result("ended")._repr_html_()
    assert all(f">{text}</td>" in shown for text in ("20", "0.5", "3.2 s", "skipped steps"))


@pytest.mark.parametrize("name", [name for name in RESULTS if name not in LONG])
def test_a_result_is_a_short_line_in_a_terminal(name: str) -> None:
    line = repr(result(name))
    assert len(line) < 400
    assert " at 0x" not in line
    assert "\n" not in line


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "map"])
def test_a_notebook_shows_a_result_small_and_escaped(name: str) -> None:
    text = result(name)._repr_html_()
    tags = {tag for tag, _ in Elements(text).found}
    assert tags <= {"div", "b", "table", "tr", "th", "td", "p", "span", "details", "summary", "ul", "li", "code"}
    assert len(text) < 50_000
    assert "<script" not in text


def test_lines_say_what_matters() -> None:
    shown = {name: repr(result(name)) for name in RESULTS}
    assert shown["translation"].startswith(f"<{ATTACK!r} → ")
    assert shown["translation"].endswith("…', score -0.5, cut at the length limit>")
    assert shown["scored"] == "<Scored: 500 tokens, log-probability -250>"
    assert shown["vectors"] == "<Vectors: 4 words × 3>"
    assert shown["evaluation"] == "<Evaluation of 1,000 outputs: BLEU 30.12 ± 0.51, alignment error rate 0.1>"
    assert shown["score"].startswith("<BLEU 100 (nrefs:1|case:mixed|")
    assert shown["comparison"].startswith("<BLEU 100.00 against ")
    assert shown["map"].startswith("<WordMap of 4 words: ")
    tags = "<Translator: transformer, parameters 1,864, source 62 bpe, target 62 bpe, languages de, fr, on cpu>"
    assert shown["translator"] == tags
    assert shown["counts"] == "<Writer: ngram, tokens 14 words, on cpu>"
    assert repr(model("language-recurrent").with_cache(20)).endswith("tokens 14 words, cache 20 words, on cpu>")


def test_a_model_lists_its_places() -> None:
    text = model("transformer-shared")._repr_html_()
    assert "places to record and intervene</summary>" in text
    assert ">decoder.layers.0.cross.weights</td>" in text
    assert ">row × head × target × source</td>" in text


def test_a_recording_says_what_its_axes_are(trained: Trained) -> None:
    translator = load(trained.folder)
    with record(translator, "*weights") as seen:
        translator.score(["eins zwei", "drei"], ["one two", "three"])
    name = next(iter(seen))
    assert seen.axes[name] == ("row", "head", "target", "source")
    assert repr(seen) == f"<Seen: 1 place\n  {name}  row 2 × head 1 × target 3 × source 3>"
    assert f"<td dir='auto' style='text-align:left'>{name}</td>" in seen._repr_html_()
    with record(translator, "*weights") as seen:
        translator.translate(["eins zwei"], beam=1)
    assert repr(seen).endswith("  3 times, row 1 × head 1 × target 1 × source 3>")
    with record(translator) as seen:
        pass
    assert "nothing passed" in repr(seen)


class Places(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.taps = nn.ModuleList(Tap("row") for _ in range(count))


@given(st.integers(1, 30))
def test_a_recording_lists_the_first_places(count: int) -> None:
    places = Places(count)
    with record(places) as seen:
        for size in (1, 2):
            places.taps[0](torch.zeros(size))
            places.taps[-1](torch.zeros(size, 1))
    lines = repr(seen).splitlines()
    assert len(lines) == 1 + min(count, 13)
    if count > 1:
        assert lines[1].split(maxsplit=1)[1].removesuffix(">") == "2 times, at first row 1, at last row 2"
        assert (
            seen._repr_html_().count("at first ? 1 × ? 1, at last ? 2 × ? 1") == 1
        )  # an axis that the tap did not name


@given(st.lists(st.lists(st.text(max_size=9), min_size=2, max_size=2), max_size=3), st.text(max_size=9))
def test_tables_hold_whatever_the_texts_are(rows: list[list[str]], title: str) -> None:
    found = [tag for tag, _ in Elements(html_table(rows, title=title, heading=("a", "b"))).found]
    assert found.count("td") == 2 * len(rows)
    assert found.count("b") == bool(title)
    assert set(found) <= {"div", "b", "table", "tr", "td", "th"}


@given(st.lists(st.tuples(st.text(max_size=5), st.floats(0)), max_size=5))
def test_heat_holds_whatever_the_texts_are(pieces: list[tuple[str, float]]) -> None:
    text = html_heat([piece for piece, _ in pieces], [number for _, number in pieces], "bits")
    assert [tag for tag, _ in Elements(text).found] == ["p", *["span"] * len(pieces)]


def test_long_results_are_cut_and_say_so() -> None:
    assert "… and 5 more" in html_table([("a",)] * (MOST + 5))
    assert "… and 5 more" in html_heat(["a"] * (MOST + 5), [1.0] * (MOST + 5), "bits")
    assert shortened("a" * 61) == "a" * 59 + "…"
    assert shortened("a" * 60) == "a" * 60
    assert "of which the first 200 are shown</b>" in result("scored text")._repr_html_()


def inspection() -> Inspection:
    return Inspection({"a": Array(("target", "source"), np.ones((2, 2)))}, {"target": ("x", "y"), "source": ("u", "v")})


def small_map() -> WordMap:
    return word_map(vectors(), top=4, method="pca")


def lengths() -> dict[str, object]:
    return {"mine": quality_by_length(["a b"], ["a b"], ["a b"])}


@pytest.mark.parametrize(
    "make", [lambda: draw([inspection()]), lambda: draw_map(small_map()), lambda: draw_lengths(lengths())]
)
def test_a_notebook_shows_a_figure_as_a_picture(make: Callable[[], Any]) -> None:
    assert make()._repr_png_().startswith(b"\x89PNG")


SAVERS: dict[str, Callable[[str | Path], None]] = {
    "look.png": lambda path: inspection().save(path),
    "look.html": lambda path: inspection().save(path),
    "look.json": lambda path: inspection().save(path),
    "pictures.svg": lambda path: save_pictures([inspection()], path),
    "page.html": lambda path: save_page([inspection()], path),
    "map.png": lambda path: save_map(small_map(), path),
    "map.html": lambda path: save_map_page(small_map(), path),
    "lengths.pdf": lambda path: save_lengths(lengths(), path),
    "vectors": lambda path: vectors().save(path),
}


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("name", SAVERS)
def test_every_saver_takes_strings_and_paths(name: str, kind: Callable[[str], str | Path], tmp_path: Path) -> None:
    SAVERS[name](kind(str(tmp_path / name)))
    assert (tmp_path / name).exists()
