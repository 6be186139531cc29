"""The CRF against brute force: every sequence of tags scored one by one."""

from itertools import pairwise, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.models import crf as module
from regard.models.crf import CRF

TAGS = 3
few = settings(max_examples=15)


def made(seed: int, forbid: bool = False) -> CRF:
    generator = torch.Generator().manual_seed(seed)
    allowed = torch.ones(TAGS + 1, TAGS + 1, dtype=torch.bool)
    if forbid:  # tag 2 only after tag 1, and a sentence does not end with tag 1
        allowed[:, 2], allowed[1, 2], allowed[1, TAGS] = False, True, False
    crf = CRF(TAGS, allowed)
    for parameter in crf.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator)
    return crf


def drawn(seed: int, lengths: list[int], width: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    emissions = 2 * torch.randn(len(lengths), width, TAGS, generator=generator)
    # Padding may hold anything.
    emissions[torch.arange(width) >= torch.tensor(lengths)[:, None]] = 1e30
    return emissions, torch.tensor(lengths)


def every_score(crf: CRF, emissions: Tensor, length: int) -> dict[tuple[int, ...], Tensor]:
    """The score of each sequence that is allowed, by the definition."""
    found = {}
    for tags in product(range(TAGS), repeat=length):
        path = [TAGS, *tags, TAGS]
        if all(crf.allowed[one, other] for one, other in pairwise(path)):
            score = crf.start[tags[0]] + crf.end[tags[-1]]
            for place, tag in enumerate(tags):
                score = score + emissions[place, tag]
                if place:
                    score = score + crf.transitions[tags[place - 1], tag]
            found[tags] = score
    return found


rows = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@few
@given(lengths=rows, padding=st.integers(0, 2), seed=st.integers(0, 99), forbid=st.booleans())
def test_partition_marginals_and_best_equal_brute_force(
    lengths: list[int], padding: int, seed: int, forbid: bool
) -> None:
    crf = made(seed, forbid)
    emissions, sizes = drawn(seed, lengths, max(lengths) + padding)
    marginals, best = crf.marginals(emissions, sizes), crf.best(emissions, sizes)
    for row, length in enumerate(lengths):
        scores = every_score(crf, emissions[row], length)
        log_z = torch.stack([*scores.values()]).logsumexp(0)
        likeliest = max(scores, key=lambda tags: scores[tags].item())
        assert tuple(best[row, :length].tolist()) == likeliest
        tags = torch.zeros(len(lengths), emissions.shape[1], dtype=torch.int64)
        tags[row, :length] = torch.tensor(likeliest)
        found = crf.log_likelihood(emissions, tags, sizes)[row]
        torch.testing.assert_close(found, scores[likeliest] - log_z, atol=1e-4, rtol=1e-4)
        expected = torch.zeros(length, TAGS)
        for path, score in scores.items():
            for place, tag in enumerate(path):
                expected[place, tag] += (score - log_z).exp()
        torch.testing.assert_close(marginals[row, :length], expected, atol=1e-4, rtol=1e-4)


@few
@given(lengths=rows, seed=st.integers(0, 99), forbid=st.booleans())
def test_gradients_equal_those_of_brute_force(lengths: list[int], seed: int, forbid: bool) -> None:
    crf = made(seed, forbid)
    emissions, sizes = drawn(seed, lengths, max(lengths) + 1)
    emissions.requires_grad_()
    tags = torch.zeros(len(lengths), max(lengths) + 1, dtype=torch.int64)
    weights = torch.arange(1.0, len(lengths) + 1)
    inputs = [emissions, *crf.parameters()]
    ours = torch.autograd.grad((crf.log_likelihood(emissions, tags, sizes) * weights).sum(), inputs)
    parts = []
    for row, length in enumerate(lengths):
        scores = every_score(crf, emissions[row], length)
        parts.append(scores[(0,) * length] - torch.stack([*scores.values()]).logsumexp(0))
    theirs = torch.autograd.grad((torch.stack(parts) * weights).sum(), inputs, materialize_grads=True)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def plain_log_z(crf: CRF, emissions: Tensor) -> Tensor:
    """The forward algorithm of one sentence, as textbooks have it."""
    alpha = crf.start + emissions[0]
    for emission in emissions[1:]:
        alpha = torch.stack([(alpha + crf.transitions[:, tag]).logsumexp(0) for tag in range(TAGS)]) + emission
    return (alpha + crf.end).logsumexp(0)


def test_long_sentences_stay_finite_and_equal_the_textbook() -> None:
    crf = made(5)
    emissions, sizes = drawn(5, [300], 300)
    emissions = (20 * emissions).requires_grad_()
    tags = crf.best(emissions, sizes)
    likelihood = crf.log_likelihood(emissions, tags, sizes)
    score = crf.start[tags[0, 0]] + crf.end[tags[0, -1]] + emissions[0].gather(1, tags.T).sum()
    score = score + crf.transitions[tags[0, :-1], tags[0, 1:]].sum()
    torch.testing.assert_close(likelihood[0], score - plain_log_z(crf, emissions[0]), atol=0.02, rtol=1e-4)
    (gradient,) = torch.autograd.grad(likelihood.sum(), [emissions])
    assert gradient.isfinite().all()


def test_an_empty_sentence_has_one_sequence_and_no_gradient() -> None:
    crf = made(1)
    emissions, sizes = drawn(1, [2, 0], 2)
    emissions = emissions.clone().requires_grad_()
    likelihood = crf.log_likelihood(emissions, torch.zeros(2, 2, dtype=torch.int64), sizes)
    assert likelihood[1] == 0
    (gradient,) = torch.autograd.grad(likelihood.sum(), [emissions])
    assert gradient[0].any()
    assert not gradient[1].any()


@pytest.mark.parametrize("at_once", [1, 20])
def test_expected_pairs_do_not_depend_on_how_many_are_held_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    crf = made(2)
    emissions, sizes = drawn(2, [4, 1, 3], 5)
    tags = torch.zeros(3, 5, dtype=torch.int64)
    whole = torch.autograd.grad(crf.log_likelihood(emissions, tags, sizes).sum(), [crf.transitions])[0]
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    again = torch.autograd.grad(crf.log_likelihood(emissions, tags, sizes).sum(), [crf.transitions])[0]
    torch.testing.assert_close(whole, again)
