"""A trained model in Python: a few lines do what the commands do, and more."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import WORDS, Trained

import regard
from regard.errors import RecipeError, UsageError
from regard.recipe import Decoding
from regard.tasks import Translation, Translator

TEXTS = ["eins zwei", "Haus", "rot und blau"]


@pytest.fixture(scope="module")
def translator(trained: Trained) -> Translator:
    return regard.load(trained.folder)


def texts_of(found: list[Translation]) -> list[str]:
    return [best.text for best in found]


def test_a_few_lines_do_it(translator: Translator) -> None:
    best = translator.translate(["eins zwei"])[0]
    assert (best.source, best.finished, best.others) == ("eins zwei", True, ())
    assert best.score == pytest.approx(best.log_prob / (len(best.tokens) + 1), rel=1e-4)
    assert set(best.text.split()) <= set(WORDS.values())
    assert best.alignment <= {(source, target) for source in range(2) for target in range(len(best.text.split()))}


def test_by_name_or_by_path(trained: Trained, translator: Translator) -> None:
    again = regard.load(str(trained.folder))
    assert texts_of(again.translate(TEXTS)) == texts_of(translator.translate(TEXTS))


def test_what_else_is_translated_changes_nothing(translator: Translator) -> None:
    alone = [translator.translate([text])[0] for text in TEXTS]
    together = translator.translate(TEXTS)
    assert texts_of(together) == texts_of(alone)
    assert [best.score for best in together] == pytest.approx([best.score for best in alone], abs=1e-4)


def test_nothing_gives_nothing(translator: Translator) -> None:
    assert translator.translate([]) == []
    assert translator.score([], []) == []
    assert translator.align([], []) == []


def test_links_are_found_in_pieces(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = translator.align(TEXTS, TEXTS)
    monkeypatch.setattr("regard.tasks.attention_links.WATCHED_AT_ONCE", 2)
    assert translator.align(TEXTS, TEXTS) == whole
    with pytest.raises(UsageError, match="3 sources and 2 targets do not pair up"):
        translator.align(TEXTS, TEXTS[:2])


def test_n_best_is_ranked_and_begins_with_the_best(translator: Translator) -> None:
    best = translator.translate(["eins zwei"], n_best=4)[0]
    scores = [best.score, *(other.score for other in best.others)]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert len({best.tokens, *(other.tokens for other in best.others)}) == 4


def test_a_beam_of_one_is_greedy(translator: Translator) -> None:
    greedy = translator.translate(TEXTS, decoding=Decoding(method="greedy"))
    assert texts_of(translator.translate(TEXTS, beam=1)) == texts_of(greedy)


def test_several_outputs_of_a_greedy_model_come_from_a_beam(translator: Translator) -> None:
    greedy, by_beam = Decoding(method="greedy"), Decoding(method="beam")
    several = translator.translate(TEXTS, decoding=greedy, n_best=3)
    assert [len(best.others) for best in several] == [2, 2, 2]
    assert several == translator.translate(TEXTS, decoding=by_beam, n_best=3)
    wide = translator.translate(TEXTS, decoding=greedy, beam=4)
    assert wide == translator.translate(TEXTS, decoding=by_beam, beam=4)


def test_a_prefix_is_written_first(translator: Translator) -> None:
    best = translator.translate(["eins zwei"], prefixes=["blue house"])[0]
    assert best.text.startswith("blue house")


def test_settings_that_contradict_are_refused(translator: Translator) -> None:
    with pytest.raises(RecipeError, match=r"n_best = 3 outputs need at least as wide a beam, not 2"):
        translator.translate(TEXTS, beam=2, n_best=3)


def test_changes_are_of_decoding_alone(trained: Trained) -> None:
    assert regard.load(trained.folder, changes=["decode.beam=2"]).recipe.decode.beam == 2
    only = r"--set 'seed=2': a trained model stays as it is; only decode\.\* and evaluation\.\* can be changed$"
    with pytest.raises(UsageError, match=only):
        regard.load(trained.folder, changes=["seed=2"])


def test_what_was_translated_is_scored_the_same(translator: Translator) -> None:
    best = translator.translate(["eins zwei"])[0]
    scored = translator.score(["eins zwei"], [best.text])[0]
    assert scored.log_prob == pytest.approx(best.log_prob, abs=1e-4)
    assert scored.tokens == (*best.text.split(), "</s>")
    assert len(scored.log_probs) == len(scored.tokens)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"texts": "eins zwei"}, "texts = 'eins zwei' is a single text, but a list of texts is needed; put brackets"),
        ({"texts": [3]}, "texts[0] = 3 is of type int, but a list of texts is needed"),
        ({"texts": ["eins", None]}, "texts[1] = None is of type NoneType, but a list of texts is needed"),
        ({"texts": b"eins"}, "texts[0] = 101 is of type int, but a list of texts is needed"),
        ({"texts": iter(["eins"])}, "texts is of type list_iterator, but a list of texts is needed"),
        ({"texts": ["eins"], "prefixes": "o"}, "prefixes = 'o' is a single text, but a list of texts is needed"),
        ({"texts": ["eins"], "prefixes": [1]}, "prefixes[0] = 1 is of type int, but a list of texts is needed"),
        (
            {"texts": ["eins"], "terms": ["ab"]},
            "terms[0] = 'ab' is a single text, but a list of terms for each text, such as [['house', 'red'], []], is "
            "needed; put brackets around it",
        ),
        ({"texts": ["eins"], "terms": "a"}, "terms = 'a', but a list of terms for each text, such as [['house', "),
        ({"texts": ["eins"], "terms": [[1]]}, "terms[0][0] = 1 is of type int, but a list of terms for each text, "),
        ({"texts": ["eins"], "terms": [None]}, "terms[0] is of type NoneType, but a list of terms for each text, "),
    ],
)
def test_what_is_no_list_of_texts_is_refused_in_words(
    translator: Translator, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError) as refusal:
        translator.translate(**given)
    assert str(refusal.value).startswith(words)


def test_sides_are_lists_of_texts(translator: Translator) -> None:
    with pytest.raises(UsageError, match=r"sources = 'eins' is a single text, but a list of texts is needed"):
        translator.score("eins", "one1")
    with pytest.raises(UsageError, match=r"targets\[0\] = 1 is of type int, but a list of texts is needed"):
        translator.align(["eins"], [1])  # type: ignore[list-item]


def test_sides_must_pair_up(translator: Translator) -> None:
    with pytest.raises(UsageError, match=r"2 sources and 1 targets do not pair up; give as many of each"):
        translator.score(["eins", "zwei"], ["one"])
    with pytest.raises(UsageError, match=r"1 sources and 2 targets do not pair up"):
        translator.align(["eins"], ["one", "two"])


def test_a_threshold_is_a_weight(translator: Translator) -> None:
    with pytest.raises(UsageError, match=r"threshold = -0\.5: attention weights lie between 0 and 1"):
        translator.align(["eins"], ["one"], threshold=-0.5)


def test_links_between_other_units_than_words(translator: Translator) -> None:
    def whole(text: str) -> list[tuple[int, int]]:
        return [(0, len(text))]

    assert translator.align(["eins zwei"], ["one two"], units=whole) in ([frozenset({(0, 0)})], [frozenset()])


def test_an_inspection_has_a_row_for_each_token_and_the_end(translator: Translator) -> None:
    seen = translator.inspect("eins zwei", "one two three")
    assert seen.labels == {
        "source": ("eins", "zwei", "∎"),
        "target": ("one", "two", "three", "∎"),
        "past": ("▸", "one", "two", "three"),
    }
    assert seen.words["past"] == (None, 0, 1, 2)
    assert seen.shown == ("decoder.attention.weights",)
    weights = seen["decoder.attention.weights"]
    assert (weights.axes, weights.values.shape) == (("head", "target", "source"), (1, 4, 3))
    np.testing.assert_allclose(weights.values.sum(axis=-1), 1.0, rtol=1e-5)
    assert seen["encoder.stack.layers.0.back.gates.update"].axes == ("source", "feature")
    assert seen["decoder.stack.layers.0.ahead.state"].axes == ("past", "feature")


def test_an_inspection_says_what_scoring_says(translator: Translator) -> None:
    seen, scored = translator.inspect("eins zwei", "one two"), translator.score(["eins zwei"], ["one two"])[0]
    np.testing.assert_allclose(np.log(seen["probabilities"].values), scored.log_probs, rtol=1e-3, atol=1e-5)
    texts = seen["candidates"].texts
    assert texts is not None
    assert texts[:, 0].tolist() == ["one", "two", "∎"]


def test_an_inspection_of_a_pair_with_known_links(translator: Translator) -> None:
    links = (((0, 4), (0, 3)), ((5, 9), (4, 7)))
    assert translator.inspect("eins zwei", "one two", links=links).gold == {(0, 0), (1, 1)}
    assert translator.inspect("eins", "one").gold == frozenset()


def test_nothing_is_not_inspected(translator: Translator) -> None:
    with pytest.raises(UsageError, match="the source is empty: there is nothing to look at; give at least one word"):
        translator.inspect(" ")
    with pytest.raises(UsageError, match="the target is empty: there is nothing to look at; give at least one word"):
        translator.inspect("eins", "")


def test_callers_in_threads_do_not_meet(translator: Translator) -> None:
    """One changes where the model looks, one records, one does neither; each as often as the others."""
    alone = translator.inspect("eins zwei", "one two").to_json()
    turns = threading.Barrier(3)

    def blind() -> list[float]:
        with regard.intervene(translator, "decoder.attention.weights", torch.zeros_like):
            return [(turns.wait(), translator.score(["eins zwei"], ["one two"])[0].log_prob)[1] for _ in range(5)]

    def plain() -> list[float]:
        return [(turns.wait(), translator.score(["eins zwei"], ["one two"])[0].log_prob)[1] for _ in range(5)]

    def inspected() -> set[str]:
        return {(turns.wait(), translator.inspect("eins zwei", "one two").to_json())[1] for _ in range(5)}

    with ThreadPoolExecutor(3) as pool:
        changed, usual, seen = pool.submit(blind), pool.submit(plain), pool.submit(inspected)
    assert seen.result() == {alone}
    assert set(usual.result()) == {translator.score(["eins zwei"], ["one two"])[0].log_prob}
    assert len(set(changed.result())) == 1
    assert set(changed.result()).isdisjoint(usual.result())


MIXED = (
    "recording this search would mix the rows of its hypotheses and sentences, which move at every step; use "
    "inspect(text), which labels every row and column, or record score() of a given output, or a single sentence with "
    "beam=1"
)


def test_a_recording_of_a_search_has_one_hypothesis(translator: Translator) -> None:
    mixed = (
        lambda: translator.translate(["eins zwei"], beam=2),
        lambda: translator.translate(["eins", "zwei"], beam=1),
        lambda: translator.translate(["eins zwei"], decoding=Decoding(method="sample", n_best=2)),
        lambda: translator.translate(["eins zwei"], beam=1, terms=[["two"]]),
    )
    for search in mixed:
        with regard.record(translator, "decoder.*.weights"), pytest.raises(UsageError) as caught:
            search()
        assert str(caught.value) == MIXED
    usual = translator.translate(["eins zwei"], beam=2)[0].text
    with regard.record(translator, "encoder.output") as seen:  # of the source, nothing is mixed
        assert translator.translate(["eins zwei"], beam=2)[0].text == usual
    assert len(seen["encoder.output"]) == 1


def test_record_and_intervene(translator: Translator) -> None:
    with regard.record(translator.model, "decoder.attention.weights") as seen:
        usual = translator.translate(["eins zwei"], beam=1)[0]
    assert {weights.shape for weights in seen["decoder.attention.weights"]} == {(1, 1, 1, 3)}

    def only_the_end(weights: torch.Tensor) -> torch.Tensor:
        changed = torch.zeros_like(weights)
        changed[..., -1] = 1.0
        return changed

    with regard.intervene(translator.model, "decoder.attention.weights", only_the_end):
        blind = translator.score(["eins zwei"], [usual.text])[0]
    assert blind.log_prob < translator.score(["eins zwei"], [usual.text])[0].log_prob
    assert translator.translate(["eins zwei"], beam=1)[0].text == usual.text


def test_the_public_names_are_these() -> None:
    assert sorted(regard.__all__) == dir(regard)
    assert all(getattr(regard, name) for name in regard.__all__)
    with pytest.raises(AttributeError, match=r"module 'regard' has no attribute 'lode'"):
        regard.lode  # noqa: B018


def test_a_recipe_can_be_run_from_python(trained: Trained, tmp_path: Path) -> None:
    recipe = regard.read_recipe(trained.recipe, ["train.steps=2"])
    ended = regard.run(recipe, tmp_path / "mine", reporter=lambda event: None)
    assert (ended.step, ended.reason) == (2, "steps")
    assert regard.load(tmp_path / "mine").translate(["eins"])[0].source == "eins"


def test_a_loaded_model_is_watched_as_it_is(translator: Translator) -> None:
    assert [name for name, _ in translator.named_modules()] == [name for name, _ in translator.model.named_modules()]
    with regard.record(translator, "decoder.*.weights") as seen, regard.record(translator.model, "*.weights") as inside:
        translator.score(["eins zwei"], ["one two"])
    assert list(seen) == ["decoder.attention.weights"]
    assert torch.equal(seen.last("decoder.attention.weights"), inside.last("decoder.attention.weights"))
    with regard.intervene(translator, "decoder.attention.weights", torch.zeros_like):
        blind = translator.score(["eins zwei"], ["one two"])[0].log_prob
    assert blind != translator.score(["eins zwei"], ["one two"])[0].log_prob
