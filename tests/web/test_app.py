"""The API of the explorer: who may ask, what is refused and how, and that its numbers are those that Python gives."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from command_line import Trained
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

import regard
from regard.inspect import (
    Array,
    Inspection,
    SetWeight,
    Silence,
    Uniform,
    attributions,
    changed,
    fold,
    gradient_norms,
    head_statistics,
    over_layers,
)
from regard.inspect.faithful import faithfulness
from regard.inspect.shown import FEW, shown
from regard.tasks import Translator
from regard.web.app import create_app
from regard.web.guard import HEADERS, MOST_BYTES, hosts_of
from regard.web.kept import Kept
from regard.web.messages import MOST_CHARACTERS
from regard.web.numbers import numbers

TEXTS = ["eins zwei", "one two"]
CROSS = "decoder.attention.weights"
HEADS = "decoder.layers.1.cross.weights"


def post(client: TestClient, verb: str, asked: dict[str, Any], model: str = "recurrent") -> Any:
    answer = client.post(f"/api/models/{model}/{verb}", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def array(client: TestClient, inspection: str, **query: Any) -> np.ndarray:
    answer = client.get(f"/api/inspections/{inspection}/array", params=query)
    assert answer.status_code == 200, answer.text
    shape = tuple(int(size) for size in answer.headers["x-shape"].split(",") if size)
    return np.frombuffer(answer.content, answer.headers["x-type"]).reshape(shape)


def plain(shown: Any, name: str) -> list[float]:
    return next(each["values"] for each in shown["arrays"] if each["name"] == name)  # type: ignore[no-any-return]


@pytest.mark.parametrize("host", ["evil.com", "127.0.0.1.evil.com", "", "[", "10.0.0.1:8765", "localhost.evil.com:80"])
def test_foreign_hosts_are_refused(client: TestClient, host: str) -> None:
    answer = client.get("/api/models", headers={"Host": host})
    assert answer.status_code == 421
    assert "is not this server; open the address that `regard explore` printed" in answer.json()["error"]


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1:1", "[::1]:8765", "LOCALHOST"])
def test_this_machine_is_known_by_its_names(client: TestClient, host: str) -> None:
    assert client.get("/api/models", headers={"Host": host}).status_code == 200


def test_a_server_for_others_knows_addresses_but_no_foreign_names() -> None:
    assert "*" in hosts_of("0.0.0.0")
    assert "evil.com" not in hosts_of("0.0.0.0")
    assert "*" not in hosts_of("127.0.0.1") | hosts_of("::1") | hosts_of("127.0.0.2")


@pytest.mark.parametrize(
    "origin", ["http://evil.com", "null", "https://localhost:8765.evil.com", "http://127.0.0.1:8766"]
)
def test_other_pages_are_refused(client: TestClient, origin: str) -> None:
    answer = client.post("/api/models/recurrent/inspect", json={"texts": TEXTS}, headers={"Origin": origin})
    assert answer.status_code == 403
    assert "only the page of this server itself may" in answer.json()["error"]
    own = {"Origin": "http://127.0.0.1:8765"}
    assert client.post("/api/models/recurrent/inspect", json={"texts": TEXTS}, headers=own).status_code == 200


def test_what_is_too_large_is_refused_before_it_is_read(client: TestClient) -> None:
    for sent in ({"content": b" " * (MOST_BYTES + 1)}, {"content": iter([b" " * 1024] * (MOST_BYTES // 1024 + 1))}):
        answer = client.post("/api/models/recurrent/inspect", headers={"content-type": "application/json"}, **sent)  # type: ignore[arg-type]
        assert answer.status_code == 413
        assert "the request is larger than 256 KiB" in answer.json()["error"]


def test_the_page_runs_its_own_files_alone(client: TestClient) -> None:
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "<script>" not in page.text
    assert "style=" not in page.text
    files = {"main.js", "style.css", "matrix.js", "shades.js", "dom.js", "icon.svg"}
    kinds = {client.get(f"/page/{name}").headers["content-type"].split(";")[0] for name in files}
    assert kinds == {"text/javascript", "text/css", "image/svg+xml"}
    for name in ("../app.py", "app.py", "%2e%2e%2fapp.py"):
        assert client.get(f"/page/{name}").status_code == 404


def test_faults_are_guarded_too(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*texts: str) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(Translator, "inspect", broken)
    visitor = TestClient(client.app, base_url="http://127.0.0.1:8765", raise_server_exceptions=False)
    answer = visitor.post("/api/models/recurrent/inspect", json={"texts": ["eins", "a fault"]})
    assert (answer.status_code, answer.json()["error"]) == (
        500,
        "a fault of the server, which its terminal shows; please report it",
    )
    assert HEADERS.items() <= dict(answer.headers).items()


def test_what_can_be_changed_is_told(client: TestClient, trained: Trained) -> None:
    one, other = client.get("/api/models").json()["models"]
    assert (one["name"], one["writes"], one["about"]["model"]) == ("recurrent", True, "recurrent")
    kinds = {place["tap"]: place["kinds"] for place in [*one["places"], *other["places"]]}
    assert kinds[CROSS] == kinds[HEADS] == ["Silence", "Uniform", "Temper", "Permute", "SetWeight"]
    assert kinds["decoder.stack.layers.0.ahead.gates.update"] == ["SetGate"]
    known = {place["tap"]: (place["kind"], place["backward"]) for place in one["places"]}
    assert known[CROSS] == ("attention", False)
    cell = "encoder.stack.layers.0"
    for way in ("ahead", "back"):
        assert known[f"{cell}.{way}.gates.update"] == ("gate", way == "back")
        assert known[f"{cell}.{way}.gates.candidate"] == ("candidate", way == "back")
        assert known[f"{cell}.{way}.state"] == ("state", way == "back")
    assert "decoder.attention.scores" not in kinds


def test_its_documentation_names_every_answer(client: TestClient) -> None:
    documented = client.get("/openapi.json").json()
    assert {path.rpartition("/")[2] for path in documented["paths"]} >= {"models", "inspect", "array", "tree"}
    assert client.get("/docs").status_code == 404  # its page would be loaded from elsewhere


@pytest.mark.parametrize(("model", "tap"), [("recurrent", CROSS), ("transformer", HEADS)])
def test_weights_shown_are_weights_recorded(
    client: TestClient, explored: dict[str, Translator], model: str, tap: str
) -> None:
    own, shown = explored[model].inspect(*TEXTS), post(client, "inspect", {"texts": TEXTS}, model)
    np.testing.assert_array_equal(array(client, shown["id"], name=tap, exact=True), own[tap].values)
    mean = array(client, shown["id"], name=tap, head="mean", exact=True)
    np.testing.assert_allclose(mean, own[tap].values.mean(0), rtol=1e-6)
    np.testing.assert_array_equal(array(client, shown["id"], name=tap, head=0, exact=True), own[tap].values[0])
    coarse = array(client, shown["id"], name=tap)
    np.testing.assert_allclose(coarse / 255 * own[tap].values.max(), own[tap].values, atol=own[tap].values.max() / 509)
    words = array(client, shown["id"], name=tap, head="mean", words=True, exact=True)
    folded = fold(own[tap].values.mean(0), own.words["target"], own.words["source"]).weights
    np.testing.assert_allclose(words, folded, rtol=1e-5)
    assert plain(shown, "probabilities") == own["probabilities"].values.tolist()
    assert shown["labels"]["target"] == ["one", "two", "∎"]


@pytest.mark.parametrize(("model", "tap"), [("recurrent", CROSS), ("transformer", HEADS)])
def test_changed_weights_give_what_python_gives(
    client: TestClient, explored: dict[str, Translator], model: str, tap: str
) -> None:
    before = post(client, "inspect", {"texts": TEXTS}, model)
    asked = [
        {"kind": "SetWeight", "tap": tap, "head": 0, "query": 1, "key": 0, "value": 0.9},
        {"kind": "Uniform", "tap": tap, "query": 0},
    ]
    after = post(client, "inspect", {"texts": TEXTS, "changes": asked}, model)
    with changed(explored[model], [SetWeight(tap, head=0, query=1, key=0, value=0.9), Uniform(tap, query=0)]):
        own = explored[model].inspect(*TEXTS)
    weights = array(client, after["id"], name=tap, exact=True)
    np.testing.assert_array_equal(weights, own[tap].values)
    np.testing.assert_allclose(weights[:, 0], 1 / 3, rtol=1e-5)
    assert weights[0, 1, 0] == pytest.approx(0.9)
    assert plain(after, "probabilities") == own["probabilities"].values.tolist()
    assert plain(after, "probabilities") != plain(before, "probabilities")
    assert plain(post(client, "inspect", {"texts": TEXTS}, model), "probabilities") == plain(before, "probabilities")


def test_the_program_it_shows_gives_the_same_numbers(client: TestClient) -> None:
    asked = [
        {"kind": "Permute", "tap": CROSS, "seed": 5},
        {"kind": "SetGate", "tap": "decoder.*.update", "value": 1.0, "step": 1},
        {"kind": "Temper", "tap": CROSS, "temperature": 0.5, "query": 2},
    ]
    shown = post(client, "inspect", {"texts": ['eins "zwei" \\', "one two"], "changes": asked})
    names: dict[str, Any] = {}
    exec(shown["python"], names)
    assert names["seen"]["probabilities"].values.tolist() == plain(shown, "probabilities")
    tree = post(client, "tree", {"text": "eins zwei", "beam": 3, "prefix": "one"})
    exec(tree["python"], names)
    assert names["seen"]["scores"].values.tolist() == plain(tree, "scores")


def test_reasons_and_steps_of_a_changed_model_are_those_of_its_program(client: TestClient) -> None:
    changes = [{"kind": "SetWeight", "tap": CROSS, "head": 0, "query": 1, "key": 0, "value": 0.9}]
    for verb, asked in {
        "reasons": {"texts": TEXTS, "place": 1},
        "steps": {"texts": TEXTS, "layer": CROSS},
        "alternatives": {"text": TEXTS[0], "prefix": "one"},
        "tree": {"text": TEXTS[0], "beam": 2},
    }.items():
        shown, plainly = (post(client, verb, asked | more) for more in ({"changes": changes}, {}))
        names: dict[str, Any] = {}
        exec(shown["python"], names)
        for each in shown["arrays"]:
            found = array(client, shown["id"], name=each["name"], exact=True)
            np.testing.assert_allclose(found, names["seen"][each["name"]].values, atol=1e-6, err_msg=each["name"])
        assert "SetWeight" in shown["python"]
        assert shown["id"] != plainly["id"]
    whole = post(client, "reasons", {"texts": TEXTS, "changes": changes})
    assert "changed_outputs" in whole["python"]
    asked = {"texts": TEXTS, "place": 1, "other_attention": True, "layer": CROSS, "head": 0}
    assert "layer='decoder.attention.weights', head=0" in post(client, "reasons", asked)["python"]
    for more, told in (
        ({"changes": changes}, "changes: other attention is searched for in the model as it is; leave the changes out"),
        ({"place": None}, "place: other attention is asked about for one output; say which"),
        ({"layer": "x"}, "there is no attention 'x' to what is read"),
        ({"head": 7}, "'decoder.attention.weights' has no head 7; heads are counted from 0 to 0"),
    ):
        answer = client.post("/api/models/recurrent/reasons", json=asked | more)
        assert (answer.status_code, told in answer.json()["error"]) == (400, True), answer.text


def test_probabilities_and_weights_sum_to_one(client: TestClient, explored: dict[str, Translator]) -> None:
    for model, translator in explored.items():
        seen = post(client, "inspect", {"texts": TEXTS}, model)
        for each in seen["arrays"]:
            if each["name"].endswith("weights"):
                weights = array(client, seen["id"], name=each["name"], exact=True)
                np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        likeliest = translator.alternatives(TEXTS[0], "one")["candidates"].values
        shares = plain(post(client, "alternatives", {"text": TEXTS[0], "prefix": "one"}, model), "candidates")
        assert shares == likeliest.tolist()


def test_visitors_do_not_disturb_each_other(client: TestClient, explored: dict[str, Translator]) -> None:
    silent = [{"kind": "Silence", "tap": CROSS}]
    own = explored["recurrent"].inspect(*TEXTS)["probabilities"].values.tolist()
    with changed(explored["recurrent"], [Silence(CROSS)]):
        without = explored["recurrent"].inspect(*TEXTS)["probabilities"].values.tolist()

    def visit(number: int) -> bool:
        # Texts differ, so that nothing is answered out of what is kept.
        asked = {"texts": [*TEXTS[:1], f"one two{' one' * number}"], "changes": silent if number % 2 else []}
        found = plain(post(client, "inspect", asked), "probabilities")[:2]
        return found == pytest.approx((without if number % 2 else own)[:2], abs=1e-5)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(visit, range(24)))


def test_translations_and_their_probabilities(client: TestClient, explored: dict[str, Translator]) -> None:
    outputs = post(client, "translate", {"text": "eins zwei", "beam": 4})["outputs"]
    (best,) = explored["recurrent"].translate(["eins zwei"], beam=4, n_best=4)
    assert [output["text"] for output in outputs] == [best.text, *(other.text for other in best.others)]
    assert outputs[0]["probability"] == pytest.approx(np.exp(best.log_prob), rel=1e-4)
    assert sum(output["probability"] for output in outputs) <= 1 + 1e-6
    forced = post(client, "translate", {"text": "eins zwei", "prefix": "blue"})["outputs"]
    assert all(output["text"].startswith("blue") for output in forced)
    silent = post(client, "translate", {"text": "eins zwei", "changes": [{"kind": "Silence", "tap": CROSS}]})["outputs"]
    with changed(explored["recurrent"], [Silence(CROSS)]):
        assert silent[0]["text"] == explored["recurrent"].translate(["eins zwei"], beam=5, n_best=5)[0].text
    found = post(client, "alternatives", {"text": "eins zwei", "prefix": "one"})
    assert (
        plain(found, "candidates")
        == explored["recurrent"].alternatives("eins zwei", "one")["candidates"].values.tolist()
    )


ODD = [
    "<script>alert(1)</script>",
    "</textarea><img src=x onerror=x>",
    "שלום עולם",
    "👩‍👩‍👧 eins",
    "a\u0301\u0301",
    "\x00",
    "eins\tzwei\n",
    "ungekanntes Wort",
    "\u202eeins",
    "{{data}}",
    "%00",
    "'; --",
]


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_are_shown_as_they_are(client: TestClient, text: str) -> None:
    shown = post(client, "inspect", {"texts": [text, text]})
    assert shown["texts"] == [text, text]
    assert sum(plain(shown, "probabilities")) > 0
    for verb in ("translate", "tree", "alternatives"):
        assert post(client, verb, {"text": text})
    assert post(client, "steps", {"texts": [text, text]})["texts"] == [text, text]


@pytest.mark.parametrize(
    ("verb", "asked", "status", "told"),
    [
        ("inspect", {"texts": [""]}, 400, "the text is empty: there is nothing to translate; give at least one word"),
        ("inspect", {"texts": ["eins", " "]}, 400, "the target is empty"),
        ("inspect", {"texts": []}, 422, "texts: List should have at least 1 item"),
        (
            "inspect",
            {"texts": ["a" * (MOST_CHARACTERS + 1)]},
            422,
            "texts.0: 10,001 characters are too many to look at",
        ),
        ("inspect", {"texts": ["eins " * 1000]}, 400, "a text of 1,000 tokens is too long to look at"),
        ("translate", {"text": "eins " * 600}, 400, "a text of 600 tokens is too long to look at; give one below 512"),
        ("tree", {"text": "eins", "prefix": "one " * 600}, 400, "a beginning of 600 tokens is too long to look at"),
        ("tree", {"text": "eins", "beam": 99}, 422, "beam: Input should be less than or equal to 20"),
        ("translate", {"text": "eins", "into": "fr"}, 400, "'fr': this model was trained without tags"),
        ("translate", {"text": "eins", "bean": 3}, 422, "bean: Extra inputs are not permitted"),
        ("inspect", {"texts": TEXTS, "changes": [{"kind": "Silence", "tap": "x"}]}, 400, "no tap matches 'x'"),
        (
            "inspect",
            {"texts": TEXTS, "changes": [{"kind": "Silence", "tap": CROSS, "head": 7}]},
            400,
            "head = 7: must be from 0 to 0",
        ),
        (
            "inspect",
            {"texts": TEXTS, "changes": [{"kind": "Silence", "tap": CROSS, "value": 1.0}]},
            400,
            "Silence has no 'value'",
        ),
        (
            "inspect",
            {"texts": TEXTS, "changes": [{"kind": "Temper", "tap": CROSS, "temperature": 0}]},
            400,
            "must be above 0",
        ),
    ],
)
def test_refusals_say_what_is_wrong(
    client: TestClient, verb: str, asked: dict[str, Any], status: int, told: str
) -> None:
    answer = client.post(f"/api/models/recurrent/{verb}", json=asked)
    assert answer.status_code == status
    assert told in answer.json()["error"]


def test_more_refusals(client: TestClient) -> None:
    lone = '{"texts": ["\\ud800"]}'
    answer = client.post("/api/models/recurrent/inspect", content=lone, headers={"content-type": "application/json"})
    assert (answer.status_code, "error" in answer.json()) == (422, True)
    assert (
        client.post("/api/models/nowhere/inspect", json={"texts": ["a"]})
        .json()["error"]
        .startswith("there is no model 'nowhere'")
    )
    assert (
        client.get("/api/inspections/0/array?name=x").json()["error"]
        == "this inspection has expired from the cache; inspect again"
    )
    shown = post(client, "inspect", {"texts": TEXTS})
    for query, told in {
        "name=x": "nothing here matches 'x'",
        f"name={CROSS}&head=9": "there is no head 9",
        "name=surprisals&head=0": "has no heads",
        "name=surprisals&words=true": "no words to fold",
    }.items():
        answer = client.get(f"/api/inspections/{shown['id']}/array?{query}")
        assert (answer.status_code, told in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize(
    ("kind", "begin"), [("json", b"{"), ("svg", b"<?xml"), ("png", b"\x89PNG"), ("html", b"<!DOCTYPE html>")]
)
def test_what_is_taken_along(client: TestClient, explored: dict[str, Translator], kind: str, begin: bytes) -> None:
    shown = post(client, "inspect", {"texts": TEXTS})
    answer = client.get(f"/api/inspections/{shown['id']}/file.{kind}", params={"name": CROSS})
    assert answer.content.startswith(begin)
    assert f'filename="look.{kind}"' in answer.headers["content-disposition"]
    if kind == "json":
        own = json.loads(explored["recurrent"].inspect(*TEXTS).only(CROSS).to_json())
        assert answer.json()["arrays"] == own["arrays"]


def test_what_is_counted_of_heads_and_layers_is_what_python_counts(
    client: TestClient, explored: dict[str, Translator]
) -> None:
    own, seen = explored["transformer"].inspect(*TEXTS), post(client, "inspect", {"texts": TEXTS}, "transformer")
    for kind, made in {"heads": head_statistics(own), "layers": over_layers(own)}.items():
        shown = client.get(f"/api/inspections/{seen['id']}/derived/{kind}").json()
        assert {each["name"] for each in shown["arrays"]} == set(made)
        for name, expected in made.items():
            found = array(client, shown["id"], name=name, exact=True)
            np.testing.assert_array_equal(found, expected.values)
    assert client.get(f"/api/inspections/{seen['id']}/derived/tails").status_code == 422
    bare = post(client, "alternatives", {"text": "eins"})
    assert "there are no attention heads" in client.get(f"/api/inspections/{bare['id']}/derived/heads").json()["error"]


def test_reasons_are_those_of_python(client: TestClient, explored: dict[str, Translator]) -> None:
    outputs = explored["recurrent"].outputs(*TEXTS)
    for place, made in {1: attributions(outputs, 1), None: gradient_norms(outputs)}.items():
        found = post(client, "reasons", {"texts": TEXTS, "place": place})
        assert {each["name"] for each in found["arrays"]} == set(made)
        for name, expected in made.items():
            np.testing.assert_allclose(array(client, found["id"], name=name, exact=True), expected.values, atol=1e-6)
        names: dict[str, Any] = {}
        exec(found["python"], names)
        assert {name: array.axes for name, array in names["seen"].items()} == {
            name: each.axes for name, each in made.items()
        }
    whether = {"texts": TEXTS, "place": 1, "other_attention": True}
    assert post(client, "reasons", whether)["note"] == faithfulness(outputs, 1).sentence
    for asked, told in {9: "9", None: "gradients of over 128 positions take too long"}.items():
        texts = TEXTS if asked else ["eins " * 200, "one"]
        answer = client.post("/api/models/recurrent/reasons", json={"texts": texts, "place": asked})
        assert (answer.status_code, told in answer.json()["error"]) == (400, True)


def test_models_without_outputs_cannot_be_asked_why(trained_encoder: Trained, client: TestClient) -> None:
    app = create_app({"encoder": regard.load(trained_encoder.folder, device="cpu")})
    with TestClient(app, base_url="http://127.0.0.1:8765") as visitor:
        (card,) = visitor.get("/api/models").json()["models"]
        answer = visitor.post("/api/models/encoder/reasons", json={"texts": ["Anna sees Rome ."]})
    assert [card["explains"], *(each["explains"] for each in client.get("/api/models").json()["models"])] == [
        False,
        True,
        True,
    ]
    assert (answer.status_code, answer.json()["error"]) == (
        400,
        "encoder is for pretraining and gives no outputs to explain; inspect it",
    )


def test_trees_come_whole() -> None:
    nodes = np.arange(FEW + 1)
    seen = Inspection({"parents": Array(("node",), nodes), "other": Array(("target",), nodes)}, {})
    sent = {each["name"]: each.get("values") for each in shown("tree", seen, [], "")["arrays"]}
    assert sent == {"parents": nodes.tolist(), "other": None}


def test_large_arrays_become_small_ones(explored: dict[str, Translator]) -> None:
    values = np.zeros((2, 100, 300), dtype=np.float32)
    values[1, 57, 211] = 0.5
    values[0, 3, 4] = -1.0
    seen = Inspection({"weights": Array(("head", "target", "source"), values)}, {})
    small = numbers(seen, "weights", most=48)
    assert (small.values.shape, small.values.dtype, small.signed, small.largest) == ((2, 48, 48), np.int8, True, 1.0)
    assert (small.values[1].max(), small.values[0].min()) == (64, -127)


@given(st.lists(st.integers(0, 5), max_size=30))
def test_the_least_recently_used_go_first(asked: list[int]) -> None:
    kept, made = Kept(most_bytes=3 * 400), []

    def of(number: int) -> Inspection:
        made.append(number)
        return Inspection({"a": Array(("target",), np.zeros(100))}, {})

    recent: list[int] = []
    for number in asked:
        expected = number not in recent
        before = len(made)
        name, found = kept.put(str(number), lambda number=number: of(number))  # type: ignore[misc]
        assert (len(made) > before) == expected
        assert kept.get(name) is found
        recent = [*(other for other in recent if other != number), number][-3:]


@pytest.mark.long
@pytest.mark.fuzz
def test_nothing_that_is_sent_breaks_the_server(client: TestClient) -> None:
    """Schemathesis draws requests from the API's own description, right and wrong ones."""
    import schemathesis
    from hypothesis import HealthCheck, settings

    schema = schemathesis.openapi.from_asgi("/openapi.json", client.app, headers={"Host": "127.0.0.1"})
    for result in schema.get_all_operations():
        operation = result.ok()

        @given(case=operation.as_strategy())
        @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
        def draw(case: Any) -> None:
            answer = case.call(headers={"Host": "127.0.0.1"})
            assert answer.status_code < 500, answer.text

        draw()


class Searcher:
    """A model of another package, which has the methods of a translator and is none."""

    def __init__(self, translator: Translator) -> None:
        self.recipe, self._own = translator.recipe, translator

    def __getattr__(self, name: str) -> Any:
        if name in ("tags", "into", "score", "outputs"):
            raise AttributeError(name)
        return getattr(self._own, name)


def test_a_model_has_the_views_that_it_has_the_methods_for(explored: dict[str, Translator]) -> None:
    other: Any = Searcher(explored["recurrent"])
    app = create_app({"recurrent": explored["recurrent"], "other": other})
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        own, card = client.get("/api/models").json()["models"]
        assert (own["writes"], own["explains"]) == (card["writes"], not card["explains"]) == (True, True)
        assert card["tours"] == own["tours"] == [CROSS]
        assert card["languages"] == []
        for verb, asked in (("translate", {"text": "eins"}), ("tree", {"text": "eins"}), ("steps", {"texts": TEXTS})):
            (one, two) = (post(client, verb, asked, name) for name in ("recurrent", "other"))
            assert {**two, "id": "", "python": ""} == {**one, "id": "", "python": ""}
        refused = client.post("/api/models/other/inspect", json={"texts": ["eins"], "into": "de"})
        assert refused.json()["error"] == "into = 'de': this model does not write several languages; leave it out"
