"""What the explorer is asked of models that read, and of vectors: its numbers are those that Python gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from regard.inspect import map_inspection, neighbors_inspection, over_units
from regard.vectors.mapping import available, word_map
from regard.web.app import create_app

TEXT = "the cat sees the cat"


def post(client: TestClient, model: str, verb: str, asked: dict[str, Any]) -> Any:
    answer = client.post(f"/api/models/{model}/{verb}", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, model: str, verb: str, asked: dict[str, Any]) -> str:
    answer = client.post(f"/api/models/{model}/{verb}", json=asked)
    assert answer.status_code in (400, 422), answer.text
    return str(answer.json()["error"])


def arrays(shown: Any) -> dict[str, Any]:
    return {array["name"]: array for array in shown["arrays"]}


def test_what_each_can_do_is_told(reading_client: TestClient) -> None:
    told = reading_client.get("/api/models").json()
    cards = {card["name"]: card for card in told["models"]}
    assert {name for name, card in cards.items() if card["goes_on"]} == {"tanh", "gru", "copying", "cached"}
    assert {name for name, card in cards.items() if not card["reads"]} == {"vectors"}
    assert (cards["vectors"]["vectors"], cards["gru"]["vectors"], cards["tagger"]["vectors"]) == (
        ["words"],
        ["tokens"],
        [],
    )
    assert told["projections"] == available()
    assert cards["cached"]["about"]["cache"] == "5 words"


@pytest.mark.parametrize("model", ["gru", "copying", "cached"])
def test_what_may_come_next_is_what_python_says(
    reading_client: TestClient, readers: dict[str, Any], model: str
) -> None:
    written = [4, 5]
    asked = {"text": TEXT, "written": written, "temperature": 0.5, "sample": 2, "count": 4}
    shown = post(reading_client, model, "continue", asked)
    how = {"method": "sample", "temperature": 0.5}
    own = readers[model].continuations(TEXT, written, count=4, sample=2, decoding=how)
    found = arrays(shown)
    assert [*found] == [*own]
    for name, array in own.items():
        if "feature" not in array.axes and array.axes[:1] != ("head",):
            assert found[name]["values"] == array.values.ravel().tolist()
    names: dict[str, Any] = {}
    exec(shown["python"], names)
    assert names["seen"]["candidates"].values.tolist() == own["candidates"].values.tolist()
    assert names["seen"].to_json() == own.to_json()


def test_a_long_text_has_its_surprisal(reading_client: TestClient, readers: dict[str, Any]) -> None:
    text = "the cat sees a dog . " * 120
    assert "a text of 721 tokens is too long to look at" in refused(reading_client, "gru", "inspect", {"texts": [text]})
    shown = post(reading_client, "gru", "score", {"text": text})
    own = readers["gru"].score(text).inspection()
    assert arrays(shown)["surprisals"]["values"] == own["surprisals"].values.tolist()
    assert shown["labels"]["target"] == list(own.labels["target"])
    names: dict[str, Any] = {}
    exec(shown["python"], names)
    assert names["seen"]["surprisals"].values.tolist() == own["surprisals"].values.tolist()


def test_what_units_do_together(reading_client: TestClient, readers: dict[str, Any]) -> None:
    shown = post(reading_client, "gru", "inspect", {"texts": [TEXT]})
    found = arrays(reading_client.get(f"/api/inspections/{shown['id']}/derived/units").json())
    own = over_units(readers["gru"].inspect(TEXT))
    assert [*found] == [*own]
    for name, array in own.items():
        np.testing.assert_array_equal([float(value) for value in found[name]["values"]], array.values.ravel())
    shown = post(reading_client, "graph", "inspect", {"texts": ["the dog sees ."]})
    assert reading_client.get(f"/api/inspections/{shown['id']}/derived/units").status_code == 200


def test_a_cache_is_in_the_program(reading_client: TestClient) -> None:
    shown = post(reading_client, "cached", "inspect", {"texts": [TEXT]})
    assert ".with_cache(5, theta=0.66, share=0.3)" in shown["python"]
    names: dict[str, Any] = {}
    exec(shown["python"], names)
    assert names["seen"]["cache"].values.ravel().tolist() == arrays(shown)["cache"]["values"]


@pytest.mark.parametrize(("model", "which"), [("vectors", "words"), ("gru", "tokens")])
def test_maps_and_neighbors_are_those_of_python(
    reading_client: TestClient, readers: dict[str, Any], model: str, which: str
) -> None:
    vectors = readers["vectors"] if model == "vectors" else readers["gru"].embeddings()["tokens"]
    words = [*vectors.words[:2]]
    shown = post(reading_client, model, "map", {"words": words, "top": 8})
    own = map_inspection(word_map(vectors, words, top=8, method="pca"))
    assert arrays(shown)["places"]["values"] == own["places"].values.ravel().tolist()
    assert shown["labels"]["word"] == list(own.labels["word"])
    assert arrays(shown)["neighbors"]["texts"] == np.ravel(own["neighbors"].texts).tolist()
    sum_ = {"vectors": which, "positive": [words[0], vectors.words[2]], "negative": [words[1]], "top": 3}
    found = post(reading_client, model, "neighbors", sum_)
    expected = vectors.most_similar(sum_["positive"], sum_["negative"], top=3)
    assert arrays(found)["neighbors"]["texts"] == [near.word for near in expected]
    own = neighbors_inspection(vectors, sum_["positive"], sum_["negative"], top=3)
    assert arrays(found)["neighbors"]["values"] == own["neighbors"].values.tolist()
    for answer, array in ((shown, "places"), (found, "neighbors")):
        names: dict[str, Any] = {}
        exec(answer["python"], names)
        assert names["seen"][array].values.ravel().tolist() == arrays(answer)[array]["values"]


@pytest.mark.parametrize(
    ("model", "verb", "asked", "says"),
    [
        ("tagger", "continue", {"text": "a"}, "tagger is for tagging and does not write on; inspect a text"),
        ("vectors", "continue", {"text": "a"}, "vectors has vectors of words and reads no texts; ask for a map"),
        ("vectors", "inspect", {"texts": ["a"]}, "vectors has vectors of words and reads no texts; ask for a map"),
        ("vectors", "translate", {"text": "a"}, "vectors has vectors of words and reads no texts; ask for a map"),
        ("gru", "continue", {"text": "the", "written": [999]}, "written[0] = 999: this model has"),
        ("gru", "continue", {"text": "the", "temperature": 0}, "temperature: Input should be greater than 0"),
        ("gru", "continue", {"text": "unheard"}, "the model knows none of its words"),
        ("gru", "score", {"text": "   "}, ""),
        ("gru", "translate", {"text": "the"}, "gru is for language and does not translate; inspect a text"),
        ("tagger", "map", {}, "tagger has no vectors of its words that could be mapped"),
        ("vectors", "map", {"vectors": "source"}, "vectors has no vectors 'source'; it has words"),
        ("vectors", "map", {"words": ["unheard"]}, "'unheard' is not among the 46 words of these vectors"),
        ("vectors", "map", {"top": 0}, "a map needs at least 3 words, not 0"),
        ("vectors", "neighbors", {}, "most_similar needs at least one word"),
        ("vectors", "neighbors", {"positive": ["kign"]}, "nearest in spelling: king"),
        ("tagger", "inspect", {"texts": [""]}, "is empty"),
    ],
)
def test_what_cannot_be_asked_is_said(
    reading_client: TestClient, model: str, verb: str, asked: dict[str, Any], says: str
) -> None:
    if says:
        assert says in refused(reading_client, model, verb, asked)
    else:
        assert reading_client.post(f"/api/models/{model}/{verb}", json=asked).status_code in (200, 400)


@pytest.mark.parametrize(
    "text", ["<img src=x onerror=alert(1)> the", "שלום the", "👩‍👩‍👧 the", "the\x00", "\u202ethe", "the\n\n the"]
)
def test_odd_texts_are_shown_or_refused(reading_client: TestClient, text: str) -> None:
    for model in ("tagger", "classifier", "graph", "transition", "gru", "copying"):
        for verb, asked in (("inspect", {"texts": [text]}), ("continue", {"text": text}), ("score", {"text": text})):
            answer = reading_client.post(f"/api/models/{model}/{verb}", json=asked)
            assert answer.status_code in (200, 400), answer.text


def test_vectors_alone_have_a_page(readers: dict[str, Any], reader_folders: dict[str, Path]) -> None:
    folders = {"vectors": str(reader_folders["vectors"])}
    with TestClient(
        create_app({"vectors": readers["vectors"]}, folders=folders), base_url="http://127.0.0.1:8765"
    ) as one:
        assert one.get("/").status_code == 200
        (card,) = one.get("/api/models").json()["models"]
    assert card["about"] == {"model": "vectors", "words": "46", "dimensions": "8"}
