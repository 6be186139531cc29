"""Whether attention is an explanation, where the answer is known."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from classifying_runs import classifying_recipe
from command_line import Trained
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import kendalltau

import regard
from regard.errors import DataError, UsageError
from regard.inspect.chosen_attention import ChosenAttention
from regard.inspect.faithful import Faithfulness, faithfulness
from regard.inspect.most_different import divergence, most_different, permuted, uniform
from regard.metrics.rank_correlation import kendall
from regard.models.classifier import TextClassifier
from regard.recipe import ClassifyingRecipe
from regard.tap import record
from regard.tasks.classifier import Classifier
from regard.tokens.tag_set import TagSet
from regard.tokens.word_vocabulary import WordVocabulary

WORDS = ("red", "green", "blue", "white")


def showing(folder: Path, scale: float, shares: dict[str, float], *, alike: bool = False) -> Classifier:
    """A classifier that attends to each word by its share and says, as its label, what it attended to: each word has a
    feature of its own, or with `alike` all have the same one."""
    pooling, encoder = {"kind": "attention", "score": "dot"}, {"kind": "averaging", "embedding": 5, "reach": 0}
    recipe = classifying_recipe(folder, words={"width": 5}, model={"encoder": encoder, "pooling": pooling})
    assert isinstance(recipe, ClassifyingRecipe)
    vocabulary = WordVocabulary(recipe.words, WORDS)
    labels = TagSet(WORDS, "none", "none")
    model = TextClassifier(recipe.model, recipe.words, vocabulary, len(WORDS))
    with torch.no_grad():
        vectors = torch.zeros(vocabulary.size, 5)
        for place, word in enumerate(WORDS):
            vectors[vocabulary.find(word), 0 if alike else place] = 1
            vectors[vocabulary.find(word), 4] = math.log(shares.get(word, 1.0))
        model.words.embedding.put(vectors / 5**0.5)
        model.pooling.query.copy_(torch.eye(5)[4:])
        model.project.weight.copy_(scale * torch.eye(5)[:4])
        model.project.bias.zero_()
    return Classifier(recipe, model, vocabulary, labels)


def simplex(keys: int, parts: int) -> np.ndarray:
    """All distributions over some keys in whole shares of the weight."""
    found = [each for each in product(range(parts + 1), repeat=keys) if sum(each) == parts]
    return np.array(found) / parts


@given(st.integers(0, 99), st.integers(1, 3))
def test_divergence_agrees_with_scipy(seed: int, rows: int) -> None:
    draw = np.random.default_rng(seed)
    first, second = draw.dirichlet(np.ones(5), size=(2, rows))
    second[:, 0] = 0
    second /= second.sum(1, keepdims=True)
    expected = np.mean([jensenshannon(one, other) ** 2 for one, other in zip(first, second, strict=True)])
    assert float(divergence(torch.from_numpy(first), torch.from_numpy(second))) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12))
def test_rank_correlation_agrees_with_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    expected = kendalltau(first, second).statistic
    assert kendall(first, second) == pytest.approx(expected, nan_ok=True)
    gaps = np.append(first, np.nan), np.append(second, 9.0)
    assert kendall(*gaps) == pytest.approx(expected, nan_ok=True)


def test_where_all_values_are_equal_any_attention_will_do(tmp_path: Path) -> None:
    """The most different attention is all on the word that had least, and nothing changes."""
    model = showing(tmp_path, 4.0, {"red": 8.0, "green": 4.0, "blue": 1.0}, alike=True)
    found = faithfulness(model.outputs("red green blue"), 0)
    weights = found["weights"].values
    np.testing.assert_allclose(weights[0], np.array([8, 4, 1]) / 13, atol=1e-5)
    np.testing.assert_allclose(weights[1], [0, 0, 1], atol=1e-5)
    assert found.divergence == pytest.approx(jensenshannon(weights[0], [0, 0, 1]) ** 2, abs=1e-5)
    assert found.is_refuted
    assert max(found.variations.values()) < 1e-5
    assert found.sentence == (
        "Other weights, different by 0.55 (Jensen–Shannon divergence; 0.69 at most), leave 'red' as it was "
        "(total variation 0.000), so these weights alone do not tell what it rests on."
    )


def test_where_attention_is_all_there_is_none_is_found(tmp_path: Path) -> None:
    """The label is a function of the weights, in which no two are alike: every change of them shows."""
    model = showing(tmp_path, 4.0, {"red": 8.0, "green": 4.0, "blue": 2.0, "white": 1.0})
    found = faithfulness(model.outputs("red green blue white"), 0)
    assert not found.is_refuted
    assert found.variations["most-different"] <= 0.01
    assert found.variations["uniform"] > 0.1
    assert found.sentence.startswith("None found: the most different weights that leave 'red' as it was differ by 0.0")
    assert "so it does depend on these weights" in found.sentence


@pytest.mark.parametrize("shares", [(8.0, 4.0, 1.0), (1.0, 1.0, 1.0), (1.0, 30.0, 2.0)])
@pytest.mark.parametrize("scale", [0.3, 3.0, 30.0])
@pytest.mark.spread(4)
def test_the_search_finds_what_trying_all_weights_finds(
    tmp_path: Path, scale: float, shares: tuple[float, ...]
) -> None:
    model = showing(tmp_path, scale, dict(zip(WORDS, shares, strict=False)))
    attention = ChosenAttention.of(model.outputs("red green blue"), 0)
    every = torch.from_numpy(simplex(3, 60)).float().unsqueeze(1)
    output = attention.outputs.probabilities(0)
    within = (attention.probabilities(every) - output).abs().sum(1) / 2 <= 0.01
    best = divergence(attention.weights, every[within]).max()
    found = most_different(attention, 0.01)
    assert found.variation <= 0.01
    assert found.divergence >= 0.97 * float(best) - 0.002


def test_what_it_says_can_be_had_from_the_model(trained_classifier: Trained) -> None:
    """Weights and numbers are those that record, intervene and classify give."""
    model = regard.load(trained_classifier.folder, device="cpu")
    text = "the film is lovely"
    before = model.inspect(text)
    found = faithfulness(model.outputs(text), 0)
    np.testing.assert_allclose(found["weights"].values[0], before["pooling.weights"].values, atol=1e-6)
    other = torch.from_numpy(found["weights"].values[1:])
    with regard.intervene(model, "pooling.weights", lambda weights: other.expand_as(weights)):
        changed = model.inspect(text)["probabilities"].values
    variation = np.abs(changed - before["probabilities"].values).sum() / 2
    assert variation == pytest.approx(found.variations["most-different"], abs=1e-5)
    assert variation <= 0.01
    expected = jensenshannon(*found["weights"].values.astype(float)) ** 2
    assert found.divergence == pytest.approx(expected, abs=1e-4)
    with regard.intervene(model, "pooling.weights", lambda weights: torch.full_like(weights, 0.25)):
        evenly = model.inspect(text)["probabilities"].values
    assert np.abs(evenly - before["probabilities"].values).sum() / 2 == pytest.approx(
        found.variations["uniform"], abs=1e-5
    )
    dropped = [model.classify([rest])[0].probabilities["good"] for rest in ("the film is", text)]
    if found["weights"].values[0].argmax() == 3:
        assert found.drops["most-attended"] == pytest.approx(dropped[1] - dropped[0], abs=1e-5)
    attributed = abs(found["attributions"].values)
    for row, tau in zip(attributed, found.correlations.values(), strict=True):
        assert tau == pytest.approx(kendalltau(found["weights"].values[0], row).statistic, abs=1e-6)
    # Looking changed nothing, and the same seed finds the same.
    assert model.inspect(text).to_json() == before.to_json()
    assert faithfulness(model.outputs(text), 0).to_json() == found.to_json()


def test_it_shows_itself_and_comes_back_from_json(tmp_path: Path) -> None:
    model = showing(tmp_path, 4.0, {"red": 8.0})
    found = faithfulness(model.outputs("red green blue"), 0)
    assert found.sentence in found._repr_html_().replace("&#x27;", "'")
    for name in ("found.png", "found.html", "found.json"):
        found.save(tmp_path / name)
    again = Faithfulness.from_json((tmp_path / "found.json").read_bytes())
    assert (again.sentence, again.variations, again.divergence) == (found.sentence, found.variations, found.divergence)


def test_uniform_weights_that_do_not_matter_are_told(tmp_path: Path) -> None:
    model = showing(tmp_path, 3.0, {})
    found = faithfulness(model.outputs("red green blue"), 0)
    assert found.sentence.startswith("Uniform weights leave 'red' as it was (total variation 0.000), and these hardly")
    alone = faithfulness(model.outputs("red"), 0)
    assert alone.sentence == "There is one position to attend to, so that its weight says nothing about 'red'."
    assert math.isnan(alone.divergence)
    assert not alone.is_refuted


def test_one_query_after_another(trained: Trained) -> None:
    """A recurrent decoder computes weights step by step, and those of one step are replaced."""
    model = regard.load(trained.folder, device="cpu")
    attention = ChosenAttention.of(model.outputs("eins und zwei", "one and two"), 1)
    assert (attention.tap, attention.told) == ("decoder.attention.weights", "decoder.attention.weights, head 0")
    torch.testing.assert_close(attention.probabilities(attention.weights[None]), attention.outputs.probabilities(1))
    evenly = uniform(attention)[None]
    with record(model.model, attention.tap) as seen:
        attention.probabilities(evenly)
    first, second = seen[attention.tap][:2]
    np.testing.assert_allclose(second.flatten(), 0.25, atol=1e-6)
    assert first.flatten().std() > 1e-3  # the step before it is as it was
    generator = torch.Generator().manual_seed(0)
    for row in permuted(attention, 3, generator):
        torch.testing.assert_close(row.sort(1).values, attention.weights.sort(1).values)


def test_heads_and_queries(tmp_path_factory: pytest.TempPathFactory, trained_tagger: Trained, tmp_path: Path) -> None:
    from tagging_runs import tagging_recipe

    encoder = {"kind": "transformer", "width": 12, "heads": 3, "feedforward": 8, "layers": 2}
    recipe = tagging_recipe(tmp_path, model={"encoder": encoder, "output": "softmax"}, train={"steps": 3})
    regard.run(recipe, tmp_path / "model", reporter=lambda event: None)
    model: Any = regard.load(tmp_path / "model", device="cpu")
    outputs = model.outputs("Anna sees Oslo .")
    name = "encoder.layers.1.attention.weights"
    assert name in dict(model.named_modules())
    every = ChosenAttention.of(outputs, 2)
    assert (every.tap, every.told, every.at.tolist()) == (name, f"{name}, 3 heads", [[0, 2], [1, 2], [2, 2]])
    one = ChosenAttention.of(outputs, 2, layer=name, head=1, query=0)
    assert one.at.tolist() == [[1, 0]]
    torch.testing.assert_close(every.weights.sum(1), torch.ones(3))
    found = faithfulness(outputs, 2, head=1)
    assert found["weights"].values.shape == (2, 4)
    for call, message in {
        lambda: faithfulness(outputs, 2, layer="pooling"): "there is no attention 'pooling' to what is read; there is",
        lambda: faithfulness(outputs, 2, head=3): "has no head 3; heads are counted from 0 to 2",
        lambda: faithfulness(outputs, 2, query=9): "has no query 9; queries are counted from 0 to 3",
    }.items():
        with pytest.raises(UsageError, match=message):
            call()
    recurrent: Any = regard.load(trained_tagger.folder, device="cpu")
    with pytest.raises(UsageError, match="this model has no attention to what it reads"):
        faithfulness(recurrent.outputs("Anna ."), 0)


def test_keys_that_may_not_be_seen_get_no_weight(tmp_path: Path) -> None:
    from language_runs import language_recipe

    model = {"position": "relative", "memory": 0}
    regard.run(language_recipe(tmp_path, "transformer", model=model), tmp_path / "model", reporter=lambda event: None)
    writer: Any = regard.load(tmp_path / "model", device="cpu")
    outputs = writer.outputs("the cat sees the dog")
    whole = ChosenAttention.of(outputs, 2, query=1)
    assert whole.visible.tolist() == [[True, True, False]] * 2
    assert (most_different(whole, 0.5).weights[:, 2] == 0).all()
    regard.run(language_recipe(tmp_path, "attentive"), tmp_path / "attentive", reporter=lambda event: None)
    attentive: Any = regard.load(tmp_path / "attentive", device="cpu")
    with pytest.raises(DataError, match="sees nothing at output 0, so that there are no weights; choose a later one"):
        faithfulness(attentive.outputs("the cat"), 0)


def grid_best(attention: ChosenAttention, parts: int) -> float:
    """The largest divergence of all weights in whole shares that leave the output as it was."""
    (keys,) = attention.weights.shape[1:]
    every = torch.from_numpy(simplex(keys, parts)).float().unsqueeze(1)
    output = attention.outputs.probabilities(attention.place)
    within = (attention.probabilities(every) - output).abs().sum(1) / 2 <= 0.01
    return float(divergence(attention.weights, every[within]).max()) if bool(within.any()) else 0.0


@pytest.fixture(scope="module")
def echoes(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("echoes")
    changes = ["train.steps=60", "train.schedule.warmup=5", "data.examples=600", "train.device=cpu"]
    regard.run(regard.read_recipe("dates-echoes", changes), folder / "model", reporter=lambda event: None)
    return regard.load(folder / "model", device="cpu")


@pytest.mark.parametrize(("text", "times"), [("mittwoch", 4), ("giugno", 2), ("onsdag", 7)])
def test_the_built_in_task_in_which_attention_is_irrelevant(echoes: Any, text: str, times: int) -> None:
    """Each word is the same, so that all weight on one of them changes nothing: the most different there can be."""
    found = faithfulness(echoes.outputs(" ".join([text] * times)), 0)
    even = np.full(times, 1 / times)
    np.testing.assert_allclose(found["weights"].values[0], even, atol=1e-5)
    assert found.divergence == pytest.approx(jensenshannon(even, np.eye(times)[0]) ** 2, abs=1e-4)
    assert max(found.variations.values()) < 1e-5
    assert found.drops["most-attended"] == pytest.approx(found.drops["random"], abs=1e-5)
    assert found.is_refuted


@pytest.mark.long
def test_the_built_in_classifier_of_dates(tmp_path: Path) -> None:
    """The search finds at least what trying all weights finds, on a model that was trained."""
    changes = ["train.steps=200", "train.device=cpu"]
    regard.run(regard.read_recipe("dates-language", changes), tmp_path / "model", reporter=lambda event: None)
    model: Any = regard.load(tmp_path / "model", device="cpu")
    found = []
    for text in ("3 juillet 2021", "7 June 1987", "1 augustus 1999", "le 1er août 1999", "3 . März 2021"):
        attention = ChosenAttention.of(model.outputs(text), 0)
        best = grid_best(attention, 60 if attention.weights.shape[1] == 3 else 20)
        different = most_different(attention, 0.01)
        assert different.variation <= 0.01
        assert different.divergence >= 0.97 * best - 0.002, text
        found.append(different.divergence)
    assert max(found) > 0.1
