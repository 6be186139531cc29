"""Inspections refuse what does not fit, are found by name and pattern, and survive JSON and notebooks."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from inspection_strategies import labels, random_inspection, some_inspections
from pages import Elements

from regard.errors import DataError, UsageError
from regard.inspect import Array, Inspection, choose, panels

SEEN = random_inspection(["Das", "Haus", "∎"], ["the", "house", "∎"], layers=2, heads=2, title="Das Haus → the house")


def test_arrays_are_found_by_name_and_pattern() -> None:
    assert list(SEEN) == [
        "decoder.layers.0.cross.weights",
        "decoder.layers.1.cross.weights",
        "encoder.state",
        "surprisals",
        "candidates",
    ]
    assert "candidates" in SEEN
    assert "candidate" not in SEEN
    assert list(SEEN.matching("decoder.*")) == list(SEEN.shown) == list(SEEN.matching())
    assert repr(SEEN["encoder.state"]) == "source 3 × feature 3"
    assert np.asarray(SEEN["surprisals"]).dtype == np.float32
    alone = SEEN.only("*.state")
    assert (list(alone), alone.shown) == (["encoder.state"], ())


def test_a_repr_is_short() -> None:
    assert repr(SEEN) == (
        "Inspection('Das Haus → the house', 5 arrays: 'decoder.layers.0.cross.weights', "
        "'decoder.layers.1.cross.weights', 'encoder.state' and 2 more)"
    )


@pytest.mark.parametrize("name", ["candidate", "encoder.*.gates"])
def test_what_there_is_not_is_refused_with_the_nearest(name: str) -> None:
    for find in (SEEN.__getitem__, SEEN.matching, SEEN.only):
        with pytest.raises(UsageError) as caught:
            find(name)
        said = str(caught.value)
        assert said.startswith(
            f"nothing here matches {name!r}; there is '{'candidates' if name == 'candidate' else 'en'}"
        )
    noted = Inspection({"candidates": SEEN["surprisals"]}, {}, note="it is a table.")
    with pytest.raises(UsageError) as caught:
        noted.matching("*.weights")
    assert str(caught.value) == "nothing here matches '*.weights'; there is 'candidates'. It is a table."


def test_an_axis_may_have_parts() -> None:
    seen = Inspection({"w": Array(("past+sentinel",), np.arange(3))}, {"past": ("▸", "a")})
    assert seen.labels_of("past+sentinel") == ("▸", "a", "sentinel")
    assert seen.labels_of("feature") is None
    assert panels(seen)[0].rows == ("▸", "a", "sentinel")


ONE = Array(("head", "target"), np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Array(("head",), np.zeros((1, 2))), "values of shape (1, 2) do not have the axes head"),
        (lambda: Array(("a",), np.zeros(2), np.array(["x"])), "texts of shape (1,) do not fit values of shape (2,)"),
        (
            lambda: Inspection({"w": ONE}, {"target": ("a",)}),
            "'w' has 2 positions along 'target', but there are 1 labels",
        ),
        (
            lambda: Inspection({}, {"target": ("a",)}, words={"target": (0, 1)}),
            "2 words do not fit the labels of 'target'; give one for each, or None",
        ),
        (lambda: Inspection({"w": ONE}, {}, shown=("v",)), "'v' cannot be shown; there is 'w'"),
        (
            lambda: Inspection({}, {"source": ("a", "b"), "target": ("x",)}, gold=frozenset({(2, 0)})),
            "gold link 2-0 is outside of 2 source and 1 target labels",
        ),
    ],
)
def test_what_does_not_fit_is_refused(make: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    assert str(caught.value) == message


@given(some_inspections(), st_numpy.arrays(np.float32, st_numpy.array_shapes(max_dims=3, min_side=0)))
def test_json_gives_back_the_same(seen: Inspection, more: np.ndarray) -> None:
    axes = ("a", "b", "c")[: more.ndim]
    whole = Inspection({**seen, "more": Array(axes, more)}, seen.labels, title=seen.title, gold=seen.gold, note="so")
    again = Inspection.from_json(whole.to_json())
    assert again.to_json() == whole.to_json()
    assert (again.labels, again.title, again.gold, again.note) == (whole.labels, whole.title, whole.gold, whole.note)
    for name, array in whole.items():
        assert again[name].axes == array.axes
        np.testing.assert_array_equal(again[name].values, array.values)
    assert np.array_equal(again["candidates"].texts, whole["candidates"].texts)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "this is not an inspection as to_json writes it (list indices must be integers"),
        ("nonsense", "this is not an inspection as to_json writes it (Expecting value"),
        ('{"inspection": 1}', "this is not an inspection as to_json writes it ('arrays'); inspect again"),
        (
            '{"inspection": 2}',
            "this inspection has format 2, and this version reads 1; upgrade Regard, or inspect again",
        ),
    ],
)
def test_other_json_is_refused(text: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        Inspection.from_json(text)
    assert str(caught.value).startswith(said)


@given(some_inspections())
def test_a_notebook_shows_it_without_scripts(seen: Inspection) -> None:
    text = seen._repr_html_()
    elements = Elements(text)
    tags = [tag for tag, _ in elements.found]
    assert "script" not in tags
    assert tags.count("b") == 1  # no label breaks out
    assert tags.count("td") == len(seen.labels["source"]) * len(seen.labels["target"])
    assert tags.count("li") == len(seen)


def test_a_notebook_shows_the_first_of_many() -> None:
    wide = Inspection({"state": Array(("target", "feature"), np.ones((2, 500)))}, {"target": ("a", "b")})
    text = wide._repr_html_()
    assert "state (rows: written, columns: units, the first 64)" in text
    assert len(text) < 40_000


@given(some_inspections())
def test_a_mean_of_rows_that_sum_to_one_sums_to_one(seen: Inspection) -> None:
    (panel,) = panels(seen)
    np.testing.assert_allclose(panel.values.sum(axis=1), 1.0, rtol=1e-5)
    assert (len(panel.rows), len(panel.columns)) == panel.values.shape


@given(some_inspections(), st.data())
def test_a_chosen_head_is_that_head(seen: Inspection, data: st.DataObject) -> None:
    layer = data.draw(st.sampled_from(sorted(seen.shown)))
    head = data.draw(st.integers(0, len(seen[layer].values) - 1))
    (panel,) = panels(seen, layer, head)
    np.testing.assert_array_equal(panel.values, seen[layer].values[head])
    np.testing.assert_allclose(panels(seen, layer)[0].values, seen[layer].values.mean(axis=0))


def test_a_pattern_gives_a_panel_for_each() -> None:
    found = panels(SEEN, "*")
    assert [panel.name for panel in found] == list(SEEN)
    assert [panel.meaning for panel in found[1:3]] == [
        "rows: written, columns: source",
        "rows: source, columns: units",
    ]
    assert found[3].texts is not None
    assert found[3].columns == ("surprisals",)
    assert panels(SEEN)[0].name == "mean of 2 layers"


def test_what_cannot_be_drawn_is_said() -> None:
    solid = Inspection({"solid": Array(("a", "b", "c"), np.zeros((1, 1, 1)))}, {})
    with pytest.raises(UsageError, match="'solid' cannot be drawn: it has the axes a, b, c, and a picture has two"):
        panels(solid)
    assert [panel.name for panel in panels(SEEN, "*", 1)] == list(SEEN.shown)  # what has no heads is left out
    with pytest.raises(UsageError, match=r"'encoder\.state' has no heads, so that head 1 cannot be chosen"):
        panels(SEEN, "encoder.state", 1)
    with pytest.raises(UsageError, match="there is nothing to draw; this inspection has no arrays"):
        panels(Inspection({}, {}))


def test_every_layer_counts_the_same_however_many_heads_it_has() -> None:
    weights = {"low": np.zeros((3, 1, 1)), "high": np.ones((1, 1, 1))}
    np.testing.assert_array_equal(choose(weights), [[0.5]])
    np.testing.assert_array_equal(choose(weights, head=0), [[0.5]])


@pytest.mark.parametrize(
    ("layer", "head", "message"),
    [
        ("hihg", None, "there are no weights of a layer 'hihg'; there are 'high' or 'low'"),
        (None, 1, "there is no head 1; heads are counted from 0 to 0"),
        ("low", -1, "there is no head -1; heads are counted from 0 to 2"),
    ],
)
def test_what_there_is_not_cannot_be_chosen(layer: str | None, head: int | None, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose({"low": np.zeros((3, 1, 1)), "high": np.ones((1, 1, 1))}, layer, head)
    assert str(caught.value) == message


@given(labels)
def test_a_heading_is_one_line(title: str) -> None:
    assert "\n" not in Inspection({}, {}, title=title + "\n" + title).heading


def test_it_is_saved_as_what_its_name_says(tmp_path: Path) -> None:
    SEEN.save(str(tmp_path / "a.json"), show="encoder.*")
    assert list(json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["arrays"]) == ["encoder.state"]
    SEEN.save(str(tmp_path / "a.html"))
    assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    SEEN.save(tmp_path / "a.svg", show="encoder.*")
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()
    with pytest.raises(UsageError) as caught:
        SEEN.save(tmp_path / "a.jsn")
    assert str(caught.value).startswith(
        f"{tmp_path / 'a.jsn'}: pictures are not written as .jsn; choose a name that ends"
    )
    assert "'.json'" in str(caught.value)
