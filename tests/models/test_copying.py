"""Copying: a distribution over the vocabulary and the slots, whatever is copied from where."""

import math
from copy import deepcopy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from model_strategies import tiny_model, worded
from torch import Tensor

from regard.data.batch import Padded
from regard.models import LinearReadout
from regard.models.copying import CopyReadout, known_tokens
from regard.models.ensemble import EnsembleReadout

SIZE, WIDTH = 5, 3


def readouts(seed: int, rows: int, places: int, slots: int, *, bias: bool = True) -> CopyReadout:
    torch.manual_seed(seed)
    vocabulary = LinearReadout(WIDTH, SIZE, bias=bias, largest=2 * SIZE).double()
    return CopyReadout(vocabulary, torch.randint(SIZE + slots, (rows, places)), slots)


def features(rows: int, steps: int, places: int, *, zeros: bool = False) -> Tensor:
    """Features with shares that sum to one; with zeros, about half of the shares are none."""
    shares = torch.rand(rows, steps, 1 + places, dtype=torch.float64) + 1e-3
    if zeros:
        shares = shares * (torch.rand(shares.shape) < 0.5)
        shares[..., 0] += (shares.sum(-1) == 0).double()
    shares = shares / shares.sum(-1, keepdim=True)
    hidden = torch.randn(rows, steps, WIDTH, dtype=torch.float64)
    return CopyReadout.join(hidden, shares[..., :1], shares[..., 1:])


shapes = {
    "rows": st.integers(1, 3),
    "steps": st.integers(1, 4),
    "places": st.integers(0, 4),
    "slots": st.integers(0, 3),
    "zeros": st.booleans(),
    "seed": st.integers(0, 99),
}


def plain(readout: CopyReadout, row: int, vector: Tensor) -> list[float]:
    """Probabilities of all words, as the equation has them, one word after another."""
    numbers = vector.tolist()
    logits = readout.vocabulary.logits(vector[:WIDTH]).tolist()
    total = sum(map(math.exp, logits))
    found = [numbers[WIDTH] * math.exp(logit) / total for logit in logits] + [0.0] * readout.slots
    for word, share in zip(readout.words[row].tolist(), numbers[WIDTH + 1 :], strict=True):
        found[word] += share
    return found


@given(**shapes)
def test_it_is_a_distribution_and_agrees_with_loops(
    rows: int, steps: int, places: int, slots: int, zeros: bool, seed: int
) -> None:
    readout = readouts(seed, rows, places, slots)
    given = features(rows, steps, places, zeros=zeros)
    found = readout.logits(given).exp()
    assert found.shape == (rows, steps, readout.size) == (rows, steps, SIZE + slots)
    torch.testing.assert_close(found.sum(-1), torch.ones(rows, steps, dtype=torch.float64))
    wanted = [[plain(readout, row, vector) for vector in given[row]] for row in range(rows)]
    torch.testing.assert_close(found, torch.tensor(wanted, dtype=torch.float64))


@given(**shapes)
def test_log_probs_of_targets_are_those_of_the_logits(
    rows: int, steps: int, places: int, slots: int, zeros: bool, seed: int
) -> None:
    readout = readouts(seed, rows, places, slots)
    given = features(rows, steps, places, zeros=zeros)
    targets = torch.randint(SIZE + slots, (rows, steps))
    chosen, mean = readout.log_probs(given, targets)
    every = readout.logits(given)
    torch.testing.assert_close(chosen, every.gather(-1, targets[..., None])[..., 0])
    some = every[..., :SIZE].mean(-1)
    assert (mean <= some + 1e-9).logical_or(given[..., WIDTH] == 0).all()
    last = torch.tensor([rows - 1])
    torch.testing.assert_close(readout.select(last).log_probs(given[last], targets[last])[0], chosen[last])
    torch.testing.assert_close(readout.logits(given[:, -1]), every[:, -1])


@given(**shapes)
def test_parts_sum_to_the_probability(rows: int, steps: int, places: int, slots: int, zeros: bool, seed: int) -> None:
    """Also where what is copied is added to what copies already."""
    inner = readouts(seed, rows, places, slots)
    outer = CopyReadout(inner, torch.randint(SIZE + slots, (rows, places)), 0, part="cache")
    given = features(rows, steps, places, zeros=zeros)
    targets = torch.randint(SIZE + slots, (rows, steps))
    parts = inner.parts(given, targets)
    assert [*parts] == ["vocabulary", "copied"]
    torch.testing.assert_close(sum(parts.values()), inner.log_probs(given, targets)[0].exp())
    copied = inner.copied(given)["copied"]
    torch.testing.assert_close(copied.sum(-1), 1 - given[..., WIDTH])
    same = inner.words[:, None] == targets[..., None]
    torch.testing.assert_close((copied * same).sum(-1), parts["copied"])

    shares = torch.rand(rows, steps, 1 + places, dtype=torch.float64) + 1e-3
    shares = shares / shares.sum(-1, keepdim=True)
    given = CopyReadout.join(given, shares[..., :1], shares[..., 1:])
    parts, masses = outer.parts(given, targets), outer.copied(given)
    assert [*parts] == ["vocabulary", "copied", "cache"]
    torch.testing.assert_close(sum(parts.values()), outer.log_probs(given, targets)[0].exp())
    for name, words in (("copied", inner.words), ("cache", outer.words)):
        torch.testing.assert_close((masses[name] * (words[:, None] == targets[..., None])).sum(-1), parts[name])


@given(**shapes)
def test_gradients_are_finite_and_those_of_the_logits(
    rows: int, steps: int, places: int, slots: int, zeros: bool, seed: int
) -> None:
    readout = readouts(seed, rows, places, slots)
    given = features(rows, steps, places, zeros=zeros).requires_grad_()
    targets = torch.randint(SIZE + slots, (rows, steps))
    chosen, mean = readout.log_probs(given, targets)
    possible = chosen > -torch.inf
    every = readout.logits(given).gather(-1, targets[..., None])[..., 0]
    inputs = [given, readout.vocabulary.weight, readout.vocabulary.bias]
    sums = [found.where(possible, 0.0).sum() for found in (chosen, every)]
    ours, theirs = (torch.autograd.grad(sum_, inputs, retain_graph=True) for sum_ in sums)
    torch.testing.assert_close(ours, theirs)
    whole = torch.autograd.grad(-(chosen + mean).sum(), given)[0]
    assert whole.isfinite().all()


@given(**shapes)
def test_divergence_is_finite_and_as_it_is_defined(
    rows: int, steps: int, places: int, slots: int, zeros: bool, seed: int
) -> None:
    readout = readouts(seed, rows, places, slots)
    first, second = (features(rows, steps, places, zeros=zeros).requires_grad_() for _ in range(2))
    found = readout.divergence(first, second)
    assert (found >= 0).all()
    assert readout.divergence(first, first).abs().max() == 0
    pulled = torch.autograd.grad(found.sum(), [first, second])
    assert all(pull.isfinite().all() for pull in pulled)
    p, q = (readout.logits(side).exp() for side in (first, second))
    both = (p > 0) == (q > 0)
    terms = ((p - q) * (p.log() - q.log())).where((p > 0) & (q > 0), 0.0)
    torch.testing.assert_close(found[both.all(-1)], terms.sum(-1)[both.all(-1)])


def test_mixed_precision_keeps_shares_in_float32() -> None:
    readout = CopyReadout(LinearReadout(WIDTH, SIZE), torch.tensor([[5, 2, 5]]), 1)
    # In bfloat16 this share would be one, and the target impossible.
    share = torch.tensor([[[1 - 1e-5]]])
    joined = CopyReadout.join(torch.randn(1, 1, WIDTH).bfloat16(), share, (1 - share) * torch.full((1, 1, 3), 1 / 3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        chosen, mean = readout.log_probs(joined, torch.tensor([[5]]))
        every = readout.logits(joined)
    assert {joined.dtype, chosen.dtype, mean.dtype, every.dtype} == {torch.float32}
    assert chosen.item() == pytest.approx(math.log(2e-5 / 3), abs=0.01)
    torch.testing.assert_close(every[0, 0, 5], chosen[0, 0])
    assert readout.bfloat16().logits(joined).dtype == torch.float32


def test_what_is_not_a_number_does_not_go_unnoticed() -> None:
    readout = readouts(1, 1, 2, 1)
    broken = features(1, 1, 2)
    broken[..., WIDTH] = math.nan
    assert readout.logits(broken)[..., :SIZE].isnan().all()


def test_an_ensemble_of_bound_readouts_scores_row_by_row() -> None:
    members = [readouts(1, 3, 4, 2), readouts(1, 3, 4, 2)]
    both = EnsembleReadout(members, largest=SIZE)
    given = [features(3, 2, 4) for _ in members]
    targets = torch.randint(SIZE + 2, (3, 2))
    chosen, _ = both.log_probs(torch.cat(given, -1), targets)
    each = [member.log_probs(some, targets)[0].exp() for member, some in zip(members, given, strict=True)]
    torch.testing.assert_close(chosen.exp(), (each[0] + each[1]) / 2)


def test_words_beyond_the_vocabulary_are_read_as_unknown() -> None:
    assert known_tokens(torch.tensor([[0, 4, 5], [7, 2, 3]]), 5).tolist() == [[0, 4, 1], [1, 2, 3]]


@pytest.mark.parametrize("name", ["copying-feed", "copying-transformer", "copying-ensemble"])
def test_models_in_half_precision_write_and_give_float32(name: str) -> None:
    model = deepcopy(tiny_model(name)).bfloat16()
    source = worded(Padded(torch.tensor([[4, 5, 6, 3]]), torch.tensor([4])))
    features, state = model.advance(torch.tensor([[2, 10, 5]]), model.start(source, 3))
    every = model.readout_of(state).logits(features)
    assert every.dtype == torch.float32
    torch.testing.assert_close(every.exp().sum(-1), torch.ones(1, 3), atol=0.02, rtol=0.0)
