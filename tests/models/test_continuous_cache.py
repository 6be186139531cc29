"""The continuous cache, against loops over words."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from language_strategies import CACHED, SIZE, few, rows, tiny_language_model, words_of

from regard.errors import UsageError
from regard.models import ContinuousCache


@pytest.mark.parametrize("name", CACHED)
@few
@given(seed=st.integers(0, 99), size=st.integers(1, 6), theta=st.floats(0, 3), share=st.floats(0, 0.9))
def test_it_is_what_the_paper_says(name: str, seed: int, size: int, theta: float, share: float) -> None:
    model = tiny_language_model(name)
    text = 1 + torch.randint(words_of(model) - 1, (2, 7), generator=torch.Generator().manual_seed(seed))
    cache = ContinuousCache(model, size=size, theta=theta, share=share)
    features, state = cache.advance(text, cache.start(rows(2), 7))
    found = cache.readout_of(state).logits(features).exp()
    reading = model.read(text, model.start(rows(2), 7))
    plain = model.readout_of(reading.state).logits(reading.features).softmax(-1)
    for row in range(2):
        for place in range(7):
            before = [(reading.raw[row, one - 1], text[row, one]) for one in range(1, place + 1)][-size:]
            expected = plain[row, place]
            if before:
                outputs, words = (torch.stack(part) for part in zip(*before, strict=True))
                weights = (theta * outputs @ reading.raw[row, place]).softmax(0)
                expected = (1 - share) * expected
                expected = expected.index_add(0, words, share * weights)
            torch.testing.assert_close(found[row, place], expected)


def test_a_word_beyond_the_vocabulary_comes_again() -> None:
    model = tiny_language_model("copying-sentinel-dot")
    cache = ContinuousCache(model, size=4, share=0.5)
    text = torch.tensor([[4, SIZE, 5]])
    features, state = cache.advance(text, cache.start(rows(1), 3))
    assert cache.readout_of(state).log_probs(features[:, 2:], torch.tensor([[SIZE]]))[0].isfinite().all()


def test_sizes_and_shares_that_make_no_sense_are_refused() -> None:
    model = tiny_language_model("window-plain-own")
    with pytest.raises(UsageError, match=re.escape("a cache of size = 0 words is empty; give 1 or more")):
        ContinuousCache(model, size=0)
    expected = "a cache of size = 1,000,001 words does not fit into memory; give at most 1,000,000"
    with pytest.raises(UsageError, match=re.escape(expected)):
        ContinuousCache(model, size=1_000_001)
    for theta in (-0.5, math.nan, math.inf):
        expected = f"the cache's theta = {theta} must be finite and at least 0"
        with pytest.raises(UsageError, match=re.escape(expected)):
            ContinuousCache(model, theta=theta)
    expected = "the cache's share = 1.0 must be at least 0 and below 1"
    with pytest.raises(UsageError, match=re.escape(expected)):
        ContinuousCache(model, share=1.0)
