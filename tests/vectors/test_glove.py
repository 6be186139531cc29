"""GloVe: its objective, gradient and steps against direct computations."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.vectors import glove as module
from regard.vectors.cooccurrence import Cooccurrence
from regard.vectors.glove import ENTRY, Glove, GloveState, Shuffled, objective

SIZE, WIDTH = 7, 5


def entries(seed: int, count: int = 30) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = np.empty(count, ENTRY)
    found["row"], found["column"] = rng.integers(0, SIZE, (2, count))
    found["count"] = rng.gamma(1, 30, count)
    return found


def wide(state: GloveState) -> dict[str, np.ndarray]:
    return {name: array.astype(np.float64) for name, array in state.arrays().items()}


def loss_of(words: torch.Tensor, contexts: torch.Tensor, given: np.ndarray, most: float, power: float) -> torch.Tensor:
    """The whole matrix at once, entries that are not there masked."""
    counts = torch.zeros(SIZE, SIZE, dtype=torch.float64)
    counts[given["row"], given["column"]] = torch.tensor(given["count"], dtype=torch.float64)
    fitted = words[:, :-1] @ contexts[:, :-1].T + words[:, -1:] + contexts[:, -1]
    weights = (counts / most).clamp(max=1) ** power
    return 0.5 * (weights * (fitted - counts.clamp(min=1e-300).log()) ** 2)[counts > 0].sum()


def once(given: np.ndarray) -> np.ndarray:
    """Each pair once."""
    return given[np.unique(given["row"].astype(int) * SIZE + given["column"], return_index=True)[1]]


@given(st.integers(0, 9), st.sampled_from([10.0, 100.0]), st.sampled_from([0.75, 1.0]))
def test_objective_and_gradient(seed: int, most: float, power: float) -> None:
    given, state = once(entries(seed)), GloveState.begin(SIZE, WIDTH, seed)
    words, contexts = (torch.tensor(wide(state)[name], requires_grad=True) for name in ("words", "contexts"))
    loss = loss_of(words, contexts, given, most, power)
    loss.backward()
    assert objective(state, given, most=most, power=power) == pytest.approx(loss.item(), rel=1e-6)
    # With squares of one and a rate of one, a step is the gradient of its entry; these add up to that of the whole.
    steps = {name: np.zeros_like(array) for name, array in wide(state).items()}
    for place in range(len(given)):
        after = GloveState(**{name: array.copy() for name, array in state.arrays().items()})
        Glove(1.0, most, power).learn(after, given[place : place + 1])
        for name, array in wide(after).items():
            steps[name] += wide(state)[name] - array
    for name, whole in (("words", words), ("contexts", contexts)):
        assert whole.grad is not None
        np.testing.assert_allclose(steps[name], whole.grad.numpy(), rtol=1e-5, atol=1e-5)


@given(st.integers(0, 9))
def test_every_step_is_adagrad_s(seed: int) -> None:
    given, state = entries(seed), GloveState.begin(SIZE, WIDTH, seed)
    rate, most, power = 0.05, 20.0, 0.75
    words, contexts, word_squares, context_squares = wide(state).values()
    loss = 0.0
    for row, column, count in given.tolist():
        word, context = words[row].copy(), contexts[column].copy()
        difference = word[:-1] @ context[:-1] + word[-1] + context[-1] - np.log(count)
        weight = min(1.0, count / most) ** power
        loss += 0.5 * weight * difference**2
        of_word, of_context = (rate * weight * difference * np.append(other[:-1], 1) for other in (context, word))
        words[row] -= of_word / np.sqrt(word_squares[row])
        contexts[column] -= of_context / np.sqrt(context_squares[column])
        word_squares[row] += of_word**2
        context_squares[column] += of_context**2
    assert Glove(rate, most, power).learn(state, given) == pytest.approx(loss, rel=1e-4)
    np.testing.assert_allclose(state.words, words, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(state.contexts, contexts, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(state.word_squares, word_squares, rtol=1e-4)
    np.testing.assert_allclose(state.vectors(), (words + contexts)[:, :-1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_loss_falls(workers: int) -> None:
    given, state = once(entries(0)), GloveState.begin(SIZE, WIDTH, 0)
    glove = Glove(workers=workers)
    losses = [glove.learn(state, given) for _ in range(200)]
    assert losses[-1] < 0.2 * losses[0]


@pytest.fixture
def counts() -> Cooccurrence:
    rng = np.random.default_rng(1)
    lengths = rng.integers(0, 5, 40)
    total = int(lengths.sum())
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns = np.concatenate([np.sort(rng.choice(40, length, replace=False)) for length in lengths]).astype(np.int32)
    return Cooccurrence(starts, columns, np.arange(1, total + 1).astype(np.float32))


@pytest.fixture(params=[1, 4])
def shuffled(
    counts: Cooccurrence, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Shuffled:
    monkeypatch.setattr(module, "PIECE", 16)
    monkeypatch.setattr(module, "BYTES_AN_ENTRY", request.param * module.MIB // len(counts.counts))
    found = Shuffled(counts, tmp_path, seed=3, memory=1)
    assert len(found) == request.param
    return found


def test_an_epoch_has_every_entry_once_in_an_order_of_its_own(shuffled: Shuffled, counts: Cooccurrence) -> None:
    expected = set(zip(counts.rows().tolist(), counts.columns.tolist(), counts.counts.tolist(), strict=True))
    first, again, second = (np.concatenate(list(shuffled.parts(epoch))) for epoch in (0, 0, 1))
    for epoch in (first, second):
        assert len(epoch) == len(expected)
        assert set(map(tuple, epoch.tolist())) == expected
    assert first.tobytes() == again.tobytes() != second.tobytes()
    later = list(shuffled.parts(0, 1))
    assert len(later) == len(shuffled) - 1
    assert b"".join(part.tobytes() for part in later) == b"".join(p.tobytes() for p in list(shuffled.parts(0))[1:])
