"""The tree of a beam search is the search itself: its outputs, its probabilities, and what may stand at each place."""

import math

import numpy as np
import pytest
from command_line import Trained

import regard
from regard.errors import RecipeError, UsageError
from regard.inspect import END_LABEL, Inspection
from regard.tasks import Translator


@pytest.fixture(scope="module")
def translator(trained: Trained) -> Translator:
    return regard.load(trained.folder)


def outputs_of(tree: Inspection) -> list[str]:
    ranks = tree["ranks"]
    assert ranks.texts is not None
    return [str(ranks.texts[place]) for place in np.argsort(ranks.values) if ranks.values[place]]


@pytest.mark.parametrize("beam", [1, 3, 5])
def test_its_outputs_are_those_of_the_search(translator: Translator, beam: int) -> None:
    tree = translator.search_tree("eins zwei", beam=beam)
    (best,) = translator.translate(["eins zwei"], beam=beam, n_best=beam)
    every = (best, *best.others)
    assert outputs_of(tree) == [one.text for one in every]
    ends = [int(np.flatnonzero(tree["ranks"].values == rank + 1)[0]) for rank in range(len(every))]
    assert tree["scores"].values[ends] == pytest.approx([one.log_prob for one in every], abs=1e-5)
    assert {tree.labels["node"][end] for end in ends} == {END_LABEL}


def test_probabilities_multiply_along_the_branches(translator: Translator) -> None:
    tree = translator.search_tree("rot und blau", beam=4)
    parents, chances = tree["parents"].values.astype(int), tree["probabilities"].values
    assert parents[0] == -1
    assert (parents[1:] < np.arange(1, len(parents))).all()
    assert ((chances >= 0) & (chances <= 1 + 1e-6)).all()
    for node in range(1, len(parents)):
        product, place = 0.0, node
        while place:
            product, place = product + math.log(chances[place]), parents[place]
        assert product == pytest.approx(tree["scores"].values[node], abs=1e-4)
        siblings = parents == parents[node]
        assert chances[siblings].sum() <= 1 + 1e-5


def test_it_begins_as_it_is_told(translator: Translator) -> None:
    tree = translator.search_tree("eins zwei", beam=3, prefix="blue")
    assert tree.labels["node"][0] == "blue"
    assert all(text.startswith("blue") for text in outputs_of(tree))
    (best,) = translator.translate(["eins zwei"], beam=3, prefixes=["blue"])
    assert outputs_of(tree)[0] == best.text


def test_alternatives_are_the_model_s_own_candidates(translator: Translator) -> None:
    seen = translator.inspect("eins zwei", "one two")
    found = translator.alternatives("eins zwei", "one", count=5)
    assert found["candidates"].values == pytest.approx(seen["candidates"].values[1], abs=1e-6)
    assert found["candidates"].texts is not None
    assert found["candidates"].texts.tolist() == seen["candidates"].texts[1].tolist()  # type: ignore[index]
    assert found["texts"].texts is not None
    assert "one two" in found["texts"].texts.tolist()


@pytest.mark.parametrize("unknown", ["keep", "forbid"])
def test_alternatives_are_all_that_can_be_written(trained: Trained, unknown: str) -> None:
    translator = Translator.load(trained.folder, device="cpu", changes=[f"decode.unknown={unknown}"])
    every = translator.alternatives("eins zwei", "", count=10_000)["candidates"]
    assert every.texts is not None
    tokens = [*translator.target_tokenizer.vocabulary.tokens, "∎", *["(unknown)"] * (unknown == "keep")]
    assert sorted(every.texts) == sorted(tokens)
    assert 0.99 < every.values.sum() <= 1 + 1e-5


def test_refusals(translator: Translator) -> None:
    for call in (translator.search_tree, translator.alternatives):
        with pytest.raises(UsageError, match="the source is empty"):
            call(" ")
    with pytest.raises(RecipeError, match="beam = -1: must be greater"):
        translator.search_tree("eins", beam=-1)
