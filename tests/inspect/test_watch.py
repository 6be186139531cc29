"""Watching: every example's weights, as if it had been alone, without padding, for any tap that shows attention."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_strategies import SOURCE_SIZE, TARGET_SIZE, tiny_model
from torch import nn

from regard.data.batch import Padded, PairBatch
from regard.errors import UsageError
from regard.inspect import recorded, watch, watch_writing
from regard.inspect.watch import LONGEST
from regard.tap import Tap, intervene, record
from regard.tokens import END

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


@pytest.mark.spread(4)
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
        assert all(array.axes == ("head", "target", "source") for array in weights.values())
        first = weights[model.cross_taps[0]].values
        assert first.shape[1:] == (len(target) + 1, len(source) + 1)
        np.testing.assert_allclose(first, seen.last(model.cross_taps[0])[0].numpy(), atol=1e-6)
        np.testing.assert_allclose(first.sum(axis=-1), 1.0, atol=1e-5)


def test_a_pattern_shows_any_attention() -> None:
    sources, targets = [[4, 5, 6], [4], [5, 5]], [[7, 7, 7], [8, 4], [4, 6, 8]]
    for weights, source, target in zip(
        watch(tiny_model(TRANSFORMER), sources, targets, patterns=["*.weights"]), sources, targets, strict=True
    ):
        for name, heads in weights.items():
            encoder, cross = name.startswith("encoder."), ".cross." in name
            rows = len(source if encoder else target) + 1
            columns = len(source if encoder or cross else target) + 1
            assert heads.values.shape == (4, rows, columns), name
            sides = (("target", "past"), ("target", "source"))[cross] if not encoder else ("source", "source")
            assert heads.axes == ("head", *sides), name
        assert {name.split(".")[0] for name in weights} == {"encoder", "decoder"}


def test_watching_leaves_the_model_as_it_was() -> None:
    model = tiny_model(TRANSFORMER).train()
    try:
        first, again = (watch(model, [[4, 5]], [[6]])[0] for _ in range(2))
        assert model.training
    finally:
        model.eval()
    for name, weights in first.items():
        np.testing.assert_array_equal(weights.values, again[name].values)


def test_nothing_to_watch_is_nothing() -> None:
    assert watch(tiny_model(TRANSFORMER), [], []) == []


def test_what_cannot_be_watched_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        watch(tiny_model(TRANSFORMER), [[4]], [])
    assert str(caught.value) == "1 sources cannot be watched with 0 targets; give one for each"
    with pytest.raises(UsageError) as caught:
        watch(tiny_model("recurrent-none-before"), [[4]], [[4]])
    assert str(caught.value) == "this model never looks at its source: it has no attention to show"


def test_gates_and_states_of_either_side_are_cut_to_its_length() -> None:
    sources, targets = [[4, 5, 6], [4]], [[7], [8, 4, 4]]
    found = watch(tiny_model("recurrent-additive-before"), sources, targets, patterns=["*.gates.*", "*.state"])
    for arrays, source, target in zip(found, sources, targets, strict=True):
        assert arrays
        for name, array in arrays.items():
            side, length = ("source", len(source)) if name.startswith("encoder.") else ("past", len(target))
            assert array.axes == (side, "feature"), name
            assert array.values.shape == (length + 1, 5), name


def test_a_tap_that_does_not_say_what_passes_is_refused() -> None:
    class Silent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tap = Tap("row", "source")

    model = Silent()
    with pytest.raises(UsageError) as caught:
        recorded(model, ["*"], {"source": [3]}, lambda: model.tap(torch.zeros(1, 3, 2)))
    assert str(caught.value) == (
        "the tap 'tap' names its axes (row, source), but what passed it was of shape (1, 3, 2); name all axes where "
        "the tap is made, rows first, and let all positions pass at once"
    )


def test_nothing_matches_is_no_error() -> None:
    assert recorded(nn.Identity(), ["*.weights"], {"source": [1]}, lambda: 5) == ([{}], 5)


def test_what_is_too_long_is_refused() -> None:
    tokens = torch.zeros(1, LONGEST + 1, dtype=torch.long)
    with pytest.raises(UsageError, match="a text of 513 tokens is too long to look at; give one of at most 512"):
        watch_writing(tiny_model(TRANSFORMER), Padded(tokens, torch.tensor([LONGEST + 1])), tokens, tokens, str)


@pytest.mark.parametrize("name", [TRANSFORMER, "copying-feed", "recurrent-none-before", "copying-ensemble"])
def test_candidates_and_probabilities_are_the_readout_s(name: str) -> None:
    model = tiny_model(name)
    batch = PairBatch.of([[4, 5, 6]], [[7, 8]], [0], words=[[4, 9, 5]])
    arrays = watch_writing(model, batch.source, batch.given.tokens, batch.wanted.tokens, str)
    with torch.inference_mode():
        features, state = model.advance(batch.given.tokens, model.start(batch.source, 3))
        probabilities = model.readout_of(state).logits(features)[0].softmax(-1)
    wanted = [float(row[token]) for row, token in zip(probabilities, [7, 8, END], strict=True)]
    best = probabilities.argsort(-1, descending=True)[:, :5]
    np.testing.assert_allclose(arrays["probabilities"].values, wanted, rtol=1e-4)
    np.testing.assert_allclose(2.0 ** -arrays["surprisals"].values, arrays["probabilities"].values, rtol=1e-4)
    texts = arrays["candidates"].texts
    assert texts is not None
    assert texts.tolist() == [[str(token) for token in row] for row in best.tolist()]
    np.testing.assert_allclose(arrays["candidates"].values, probabilities.gather(-1, best), rtol=1e-4)
    # Looking at one's own does not end a recording around it.
    with record(model) as outer:
        watch_writing(model, batch.source, batch.given.tokens, batch.wanted.tokens, str)
    assert any(outer.values())


def uniform(weights: torch.Tensor) -> torch.Tensor:
    visible = weights > 0
    return visible / visible.sum(-1, keepdim=True)


@pytest.mark.parametrize("name", LOOKING)
def test_what_is_intervened_in_can_be_watched(name: str) -> None:
    model, sources, targets = tiny_model(name), [[4, 5, 6], [4]], [[7, 8], [7, 7, 8]]
    words = sources if model.copies else None
    with intervene(model, model.cross_taps[0], uniform):
        found = watch(model, sources, targets, words=words)
    for arrays, source, target in zip(found, sources, targets, strict=True):
        shown = arrays[model.cross_taps[0]].values
        assert shown.shape[1:] == (len(target) + 1, len(source) + 1)
        seen = (shown > 0).sum(-1, keepdims=True)  # a sparse normalizer leaves words out
        np.testing.assert_allclose(shown, (shown > 0) / seen, rtol=1e-6)


def test_gates_that_are_intervened_in_are_shown_in_the_order_of_the_tokens() -> None:
    model, sources, targets = tiny_model("recurrent-additive-before"), [[4, 5, 6], [4]], [[7, 8], [7]]
    plain = watch(model, sources, targets, patterns=["encoder.*.gates.*"])
    with intervene(model, "encoder.*.gates.*", lambda gate: gate.clone()):
        changed = watch(model, sources, targets, patterns=["encoder.*.gates.*"])
    for one, other in zip(plain, changed, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_allclose(other[name].values, one[name].values, atol=1e-6)
