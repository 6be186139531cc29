"""Watching: every example's weights, as if it had been alone, without padding, for any tap that shows attention."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_strategies import SOURCE_SIZE, TARGET_SIZE, tiny_model

from regard.data.batch import PairBatch
from regard.errors import UsageError
from regard.inspect import watch
from regard.tap import record

TRANSFORMER = "transformer-scaled_dot-rotary"
LOOKING = ["recurrent-additive-before", "recurrent-dot-after", "recurrent-multiplicative-feed", TRANSFORMER]
LOOKING += ["copying-before", "copying-after", "copying-transformer"]

pairs = st.lists(
    st.tuples(
        st.lists(st.integers(4, SOURCE_SIZE - 1), max_size=5), st.lists(st.integers(4, TARGET_SIZE - 1), max_size=5)
    ),
    min_size=1,
    max_size=4,
)
Pairs = list[tuple[list[int], list[int]]]


@pytest.mark.parametrize("name", LOOKING)
@given(some=pairs, batch_tokens=st.integers(1, 40))
@settings(max_examples=10)
def test_an_example_looks_as_it_looks_alone(name: str, some: Pairs, batch_tokens: int) -> None:
    model = tiny_model(name)
    sources, targets = map(list, zip(*some, strict=True))
    words = sources if model.copies else None
    found = watch(model, sources, targets, batch_tokens=batch_tokens, words=words)
    assert len(found) == len(some)
    for weights, source, target in zip(found, sources, targets, strict=True):
        assert tuple(weights) == model.cross_taps
        alone = PairBatch.of([source], [target], [0], words=[source] if model.copies else None)
        with torch.inference_mode(), record(model, model.cross_taps[0]) as seen:
            model.advance(alone.given.tokens, model.start(alone.source, alone.given.tokens.shape[1]))
        first = weights[model.cross_taps[0]]
        assert first.shape[1:] == (len(target) + 1, len(source) + 1)
        np.testing.assert_allclose(first, seen.last(model.cross_taps[0])[0].numpy(), atol=1e-6)
        np.testing.assert_allclose(first.sum(axis=-1), 1.0, atol=1e-5)


def test_a_pattern_shows_any_attention() -> None:
    sources, targets = [[4, 5, 6], [4], [5, 5]], [[7, 7, 7], [8, 4], [4, 6, 8]]
    for weights, source, target in zip(
        watch(tiny_model(TRANSFORMER), sources, targets, pattern="*.weights"), sources, targets, strict=True
    ):
        for name, heads in weights.items():
            encoder, cross = name.startswith("encoder."), ".cross." in name
            rows = len(source if encoder else target) + 1
            columns = len(source if encoder or cross else target) + 1
            assert heads.shape == (4, rows, columns), name
        assert {name.split(".")[0] for name in weights} == {"encoder", "decoder"}


def test_watching_leaves_the_model_as_it_was() -> None:
    model = tiny_model(TRANSFORMER).train()
    try:
        first, again = (watch(model, [[4, 5]], [[6]])[0] for _ in range(2))
        assert model.training
    finally:
        model.eval()
    for name, weights in first.items():
        np.testing.assert_array_equal(weights, again[name])


def test_nothing_to_watch_is_nothing() -> None:
    assert watch(tiny_model(TRANSFORMER), [], []) == []


def test_what_cannot_be_watched_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        watch(tiny_model(TRANSFORMER), [[4]], [])
    assert str(caught.value) == "1 sources cannot be watched with 0 targets; give one for each"
    with pytest.raises(UsageError) as caught:
        watch(tiny_model("recurrent-none-before"), [[4]], [[4]])
    assert str(caught.value) == "this model never looks at its source: it has no attention to show"
    with pytest.raises(UsageError, match=r"no tap matches 'decoder\.nowhere'"):
        watch(tiny_model(TRANSFORMER), [[4]], [[4]], pattern="decoder.nowhere")
    with pytest.raises(UsageError) as caught:
        watch(tiny_model(TRANSFORMER), [[4]], [[4, 5]], pattern="decoder.layers.0.output")
    assert str(caught.value) == (
        "the tap 'decoder.layers.0.output' shows no attention weights (examples, heads, 3 queries, 3 keys): "
        "what passed it was (1, 3, 8); choose a pattern that ends in 'weights', or use regard.record"
    )
