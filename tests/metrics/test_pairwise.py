"""Every text against every text gives what sacreBLEU gives one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.metrics.pairwise import pairwise
from regard.metrics.text import bleu_tokenizer
from regard.recipe.names import UTILITIES

ONE_BY_ONE = {
    "chrf": lambda texts, tokenizer: CHRF(),
    "bleu": lambda texts, tokenizer: BLEU(effective_order=True, force=True, tokenize=bleu_tokenizer(texts, tokenizer)),
}
sentences = st.lists(st.sampled_from(["a", "the", "house", "house,", "Haus", "$5.0", "日本", "x-y"]), max_size=7)
anything = st.text(max_size=12)
lists = st.lists(sentences.map(" ".join) | anything, min_size=1, max_size=5)


@pytest.mark.parametrize("metric", UTILITIES)
@given(texts=lists, tokenizer=st.sampled_from(["auto", "13a", "char", "zh", "none"]))
@example(texts=["", "a", "a a a a a", "a"], tokenizer="auto")
@example(texts=["the house is small", "the house is the house is the house"], tokenizer="auto")
def test_it_is_what_sacrebleu_says(metric: str, texts: list[str], tokenizer: str) -> None:
    single = ONE_BY_ONE[metric](texts, tokenizer)
    wanted = [single.sentence_score(text, [reference]).score for text, reference in product(texts, texts)]
    np.testing.assert_allclose(pairwise(metric, texts, tokenizer).flatten(), wanted, rtol=1e-12)


@pytest.mark.parametrize("metric", UTILITIES)
def test_no_texts_have_no_scores(metric: str) -> None:
    assert pairwise(metric, []).shape == (0, 0)
