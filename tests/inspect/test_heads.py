"""Statistics of heads, and the attention of several layers as one."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspection_strategies import random_inspection
from scipy.stats import entropy

from regard.errors import UsageError
from regard.inspect import Array, Inspection, head_statistics, over_layers
from regard.inspect.heads import token_links

WORDS = ("the", "old", "cat", ".", "∎")


def attending(layers: int, heads: int, seed: int, *, causal: bool = False) -> Inspection:
    """Self-attention of five tokens, of which the last stands for no word."""
    draw, size = np.random.default_rng(seed), len(WORDS)
    weights = draw.dirichlet(np.ones(size), size=(layers, heads, size))
    if causal:
        weights = np.tril(weights)
        weights /= weights.sum(-1, keepdims=True)
    axes = ("head", "target", "past") if causal else ("head", "source", "source")
    arrays = {f"encoder.layers.{layer}.weights": Array(axes, each) for layer, each in enumerate(weights)}
    numbers = dict.fromkeys(axes[1:], (0, 1, 2, 3, None))
    return Inspection(arrays, dict.fromkeys(axes[1:], WORDS), words=numbers, title="the old cat .")


@given(st.integers(1, 3), st.integers(1, 3), st.booleans(), st.integers(0, 99))
def test_statistics_agree_with_their_definitions(layers: int, heads: int, causal: bool, seed: int) -> None:
    seen = attending(layers, heads, seed, causal=causal)
    found = head_statistics(seen)
    assert found.labels["layer"] == tuple(seen)
    for layer, head in product(range(layers), range(heads)):
        weights = seen[f"encoder.layers.{layer}.weights"].values[head].astype(float)
        size = len(weights)
        expected = {
            "entropy": np.mean([entropy(row, base=2) for row in weights]),
            "distance": np.mean([row @ abs(np.arange(size) - query) for query, row in enumerate(weights)]),
            "previous": np.mean([weights[query, query - 1] for query in range(1, size)]),
            "own": np.mean(np.diag(weights)),
            "next": np.mean([weights[query, query + 1] for query in range(size - 1)]),
            "punctuation": weights[:, 3].mean(),
            "special": weights[:, 4].mean(),
        }
        assert set(found) == set(expected)
        for name, value in expected.items():
            assert found[name].values[layer, head] == pytest.approx(value, abs=1e-5), name


def test_the_weight_of_aligned_words() -> None:
    links = frozenset({(0, 1), (2, 1), (1, 0)})
    seen = random_inspection(["a", "b", "c"], ["x", "y", "z"], layers=2, heads=2, gold=links)
    for found in (head_statistics(seen), head_statistics(seen, "*cross*", links=links)):
        weights = seen["decoder.layers.1.cross.weights"].values[1]
        # The third target word has no link, so that it does not count.
        expected = (weights[0, 1] + weights[1, 0] + weights[1, 2]) / 2
        assert found["aligned"].values[1, 1] == pytest.approx(expected, abs=1e-6)
        assert set(found) == {"entropy", "aligned", "punctuation", "special"}
    assert "aligned" not in head_statistics(seen, links=frozenset())


def test_what_is_aligned_where_true_links_are_not_known() -> None:
    """Each target token with the source token that all layers together look at most, if both are of words."""
    seen = random_inspection(["a", "b", "c"], ["x", "y", "z"], layers=2, heads=2, seed=3)
    mean = np.mean([seen[name].values for name in seen.shown], axis=(0, 1))
    assert token_links(seen) == {(int(best), row) for row, best in enumerate(mean.argmax(1))}
    words = {"source": (0, 1, None), "target": (0, None, 1)}
    joined = token_links(replace(seen, words=words))
    assert joined == {(source, target) for source, target in token_links(seen) if source != 2 and target != 1}
    chosen = Array(("target", "source"), np.eye(3)[::-1])
    assert token_links(replace(seen, arrays=seen.arrays | {"alignment": chosen})) == {(2, 0), (1, 1), (0, 2)}
    assert "aligned" in head_statistics(seen)
    assert token_links(attending(1, 1, 0)) == frozenset()


def test_layers_with_fewer_heads_have_gaps() -> None:
    seen = attending(1, 3, 0)
    other = Array(("head", "source", "source"), seen["encoder.layers.0.weights"].values[:1])
    both = head_statistics(Inspection({**seen.arrays, "pointer.weights": other}, seen.labels))
    assert np.isnan(both["entropy"].values).tolist() == [[False] * 3, [False, True, True]]
    assert Inspection.from_json(both.to_json())["entropy"].values[1, 0] == both["entropy"].values[0, 0]


def paths(layers: list[np.ndarray], top: int, bottom: int) -> float:
    """The sum over all ways from a position above the last layer down to one below the first."""
    size, total = len(layers[0]), 0.0
    for way in product(range(size), repeat=len(layers) - 1):
        places = (bottom, *way, top)
        steps = zip(layers, places[1:], places, strict=False)
        total += float(np.prod([(layer[above, below] + (above == below)) / 2 for layer, above, below in steps]))
    return total


@given(st.integers(1, 3), st.integers(0, 99), st.booleans())
def test_rollout_is_the_sum_over_all_paths(layers: int, seed: int, causal: bool) -> None:
    seen = attending(layers, 2, seed, causal=causal)
    found = over_layers(seen)
    assert set(found) == {f"encoder.layers.{how}" for how in ("mean", "maximum", "rollout")}
    means = [array.values.astype(float).mean(0) for array in seen.values()]
    rolled = found["encoder.layers.rollout"].values
    for top, bottom in product(range(len(WORDS)), repeat=2):
        assert rolled[top, bottom] == pytest.approx(paths(means, top, bottom), abs=1e-6)
    np.testing.assert_allclose(rolled.sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(found["encoder.layers.mean"].values, np.mean(means, axis=0), atol=1e-6)
    every = np.stack([array.values for array in seen.values()])
    np.testing.assert_allclose(found["encoder.layers.maximum"].values, every.max((0, 1)), atol=1e-6)


def test_attention_to_another_text_has_no_rollout() -> None:
    seen = random_inspection(["a", "b"], ["x", "y"], layers=2)
    assert list(over_layers(seen)) == ["decoder.layers.cross.mean", "decoder.layers.cross.maximum"]


def test_what_has_no_heads_is_refused() -> None:
    with pytest.raises(UsageError, match="there are no attention heads to measure here"):
        head_statistics(random_inspection(["a"], ["b"]), "encoder.state")
