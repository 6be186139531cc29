"""BPE dropout: the distribution of the paper, seeded, and never another text."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import recipe
from regard.tokens import Tokenizer, dropout, train_tokenizer
from regard.tokens.dropout import Merges

TEXTS = ["die Banane und die Ananas", "Bananen , Ananas , Banane !", "aaaa aaab bbab abba"] * 3


def trained(share: float) -> Tokenizer:
    return train_tokenizer(recipe.Tokenizer(kind="bpe", size=60, dropout=share), TEXTS)


HALF = trained(0.5)
NONE = trained(0.0)
text = st.text(st.sampled_from(sorted(set("".join(TEXTS)))), max_size=60)


def seeds(*numbers: int) -> npt.NDArray[np.uint64]:
    return np.array(numbers, dtype=np.uint64)


@given(texts=st.lists(text, max_size=4), seed=st.integers(0, 9))
def test_sampled_tokens_are_a_function_of_text_and_seed_and_decode_to_the_text(texts: list[str], seed: int) -> None:
    sampled = HALF.encode_sampled(texts, seeds(*[seed] * len(texts)))
    assert [HALF.decode(tokens) for tokens in sampled] == texts
    assert [trained_again().encode_sampled([one], seeds(seed))[0] for one in texts] == sampled


def trained_again() -> Tokenizer:
    """A tokenizer that remembers nothing yet."""
    return type(HALF).from_state(HALF.settings, HALF.state())


@given(text=text)
def test_hardly_any_dropout_is_none(text: str) -> None:
    rare = type(HALF).from_state(recipe.Tokenizer(kind="bpe", size=60, dropout=1e-12), HALF.state())
    assert rare.encode_sampled([text], seeds(0)) == [NONE.encode(text)]


def test_without_dropout_seeds_change_nothing() -> None:
    assert NONE.encode_sampled(["Banane"] * 2, seeds(1, 2)) == [NONE.encode("Banane")] * 2


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_distribution_is_that_of_the_paper(share: float) -> None:
    table = {(0, 0): (0, 2), (1, 0): (1, 3), (2, 0): (2, 4), (2, 3): (3, 5), (0, 3): (4, 6)}
    word = (0, 0, 1, 0, 0)
    merges = Merges(table, {"a": 0, "b": 1}.__getitem__, lambda text: [text], share)
    draws = 20_000
    seen = Counter(map(tuple, merges.sample(["aabaa"] * draws, np.arange(draws, dtype=np.uint64))))
    expected = Counter[tuple[int, ...]]()
    for split, probability in outcomes(word, table, share):
        expected[split] += probability
    assert sum(expected.values()) == pytest.approx(1.0)
    for split in expected.keys() | seen.keys():
        spread = (expected[split] * (1 - expected[split]) / draws) ** 0.5
        assert abs(seen[split] / draws - expected[split]) <= 5 * spread + 1e-9


def outcomes(
    word: tuple[int, ...], table: dict[tuple[int, int], tuple[int, int]], share: float
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Algorithm 1 of Provilkov et al. (2020), with every subset of skipped merges written out."""
    possible = [(table[pair][0], place) for place, pair in enumerate(pairwise(word)) if pair in table]
    for subset in range(2 ** len(possible)):
        left = [merge for bit, merge in enumerate(possible) if subset >> bit & 1]
        probability = (1 - share) ** len(left) * share ** (len(possible) - len(left))
        if not left:
            yield word, probability
            continue
        _, place = min(left)
        merged = (*word[:place], table[word[place], word[place + 1]][1], *word[place + 2 :])
        for split, further in outcomes(merged, table, share):
            yield split, probability * further


def test_forgetting_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [HALF.encode_sampled([one], seeds(7)) for one in TEXTS]
    monkeypatch.setattr(dropout, "_MOST_REMEMBERED", 3)
    forgetful = trained_again()
    assert [forgetful.encode_sampled([one], seeds(7)) for one in TEXTS] == expected
