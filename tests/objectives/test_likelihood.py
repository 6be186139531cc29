"""Cross entropy against torch's own, through a model that is one table."""

from typing import Self

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.batch import PAD, Padded, PairBatch
from regard.models import build_model
from regard.models.generator import Generator, Readout, State
from regard.objectives import cross_entropy, r_drop
from regard.recipe import RecurrentModel, TransformerModel
from regard.tap import record

SIZE = 7


class Nothing(State):
    """A state with nothing in it."""

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return self

    def copy(self) -> Self:
        return self


class Plain(Readout):
    def logits(self, features: Float[Tensor, "*rows E"]) -> Float[Tensor, "*rows V"]:
        return features

    def log_probs(
        self, features: Float[Tensor, "*rows E"], targets: Int[Tensor, "*rows"]
    ) -> tuple[Float[Tensor, "*rows"], Float[Tensor, "*rows"]]:
        every = features.float().log_softmax(-1)
        return every.gather(-1, targets[..., None])[..., 0], every.mean(-1)


class Bigrams(Generator):
    """Logits of the next token, by the token before it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(SIZE, SIZE)
        self.readout = Plain()

    def start(self, source: Padded, capacity: int) -> State:
        return Nothing()

    def advance(self, tokens: Int[Tensor, "N n"], state: State) -> tuple[Float[Tensor, "N n E"], State]:
        return self.table(tokens), state


rows = st.lists(st.lists(st.integers(4, SIZE - 1), max_size=5), min_size=1, max_size=4)


@given(rows, st.floats(0, 0.9))
def test_it_is_the_sum_of_torchs_cross_entropy_with_label_smoothing(targets: list[list[int]], smoothing: float) -> None:
    model, batch = Bigrams(), PairBatch.of(targets, targets, list(range(len(targets))))
    wanted = batch.wanted.tokens.masked_fill(~batch.wanted.keep, -100)
    logits = model.table(batch.given.tokens)
    expected = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="sum", label_smoothing=smoothing)
    found = cross_entropy(model, batch, smoothing)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected)
    mine, theirs = (torch.autograd.grad(loss, model.table.weight)[0] for loss in (found, expected))
    torch.testing.assert_close(mine, theirs)


@given(rows, st.integers(1, 3))
def test_a_batch_is_the_sum_of_its_rows(targets: list[list[int]], world: int) -> None:
    model, batch = Bigrams(), PairBatch.of(targets, targets, list(range(len(targets))))
    shares = [batch.rows(rank, world) for rank in range(world)]
    assert sum(share.count for share in shares) == batch.count
    parts = [cross_entropy(model, share, 0.1) for share in shares if share.count]
    torch.testing.assert_close(torch.stack(parts).sum(), cross_entropy(model, batch, 0.1))


def test_what_stands_behind_the_end_has_no_say_even_if_it_is_not_finite() -> None:
    model, batch = Bigrams(), PairBatch.of([[4], [4, 5, 6]], [[4], [4, 5, 6]], [0, 1])
    expected = cross_entropy(model, batch)
    with torch.no_grad():
        model.table.weight[PAD] = torch.nan
    assert cross_entropy(model, batch).item() == pytest.approx(expected.item())


few = settings(max_examples=max(4, settings().max_examples // 8))
DROPPING = {
    "transformer": TransformerModel(
        kind="transformer", width=4, heads=2, feedforward=6, encoder_layers=1, decoder_layers=1, dropout=0.4
    ),
    "recurrent": RecurrentModel(kind="recurrent", embedding=4, hidden=4, dropout={"output": 0.4}),
}


def translator(kind: str) -> Generator:
    return build_model(DROPPING[kind], SIZE, SIZE).double()


def gradients(model: Generator, loss: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss, list(model.parameters()))


@pytest.mark.parametrize("kind", DROPPING)
@few
@given(targets=rows, weight=st.floats(0.1, 9), smoothing=st.floats(0, 0.5))
def test_r_drop_without_dropout_is_cross_entropy(
    kind: str, targets: list[list[int]], weight: float, smoothing: float
) -> None:
    model, batch = translator(kind).eval(), PairBatch.of(targets, targets, list(range(len(targets))))
    once, twice = cross_entropy(model, batch, smoothing), r_drop(model, batch, weight, smoothing)
    torch.testing.assert_close(twice, once)
    torch.testing.assert_close(gradients(model, twice), gradients(model, once))


@pytest.mark.parametrize("kind", DROPPING)
@few
@given(targets=rows, weight=st.floats(0, 9), smoothing=st.floats(0, 0.5), seed=st.integers(0, 99))
def test_r_drop_is_half_of_what_the_paper_writes(
    kind: str, targets: list[list[int]], weight: float, smoothing: float, seed: int
) -> None:
    model, batch = translator(kind), PairBatch.of(targets, targets, list(range(len(targets))))
    torch.manual_seed(seed)
    found = r_drop(model, batch, weight, smoothing)

    torch.manual_seed(seed)
    twice = PairBatch.of(targets * 2, targets * 2, list(range(2 * len(targets))))
    given = twice.given.tokens
    features, _ = model.advance(given, model.start(twice.source, given.shape[1]))
    logits = model.readout.logits(features)
    wanted = twice.wanted.tokens.masked_fill(~twice.wanted.keep, -100)
    likelihood = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="sum", label_smoothing=smoothing)
    p, q = (half[batch.wanted.keep].log_softmax(-1) for half in logits.chunk(2))
    both = sum(F.kl_div(x, y, reduction="sum", log_target=True) for x, y in ((p, q), (q, p)))
    expected = 0.5 * (likelihood + weight * both / 2)

    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients(model, found), gradients(model, expected))


def test_r_drop_grows_with_what_dropout_tears_apart() -> None:
    model, batch = translator("transformer"), PairBatch.of([[4, 5]], [[5, 6]], [0])
    losses = []
    for weight in (0.0, 1.0, 3.0):
        torch.manual_seed(1)
        losses.append(r_drop(model, batch, weight).item())
    assert losses[0] < losses[1]
    assert losses[2] - losses[0] == pytest.approx(3 * (losses[1] - losses[0]))


def test_r_drop_of_a_readout_that_knows_no_better() -> None:
    model, batch = Bigrams(), PairBatch.of([[4], [4, 5, 6]], [[4], [4, 5, 6]], [0, 1])
    torch.testing.assert_close(r_drop(model, batch, 2.0, 0.1), cross_entropy(model, batch, 0.1))
    p, q = torch.randn(3, SIZE), torch.randn(3, SIZE)
    both = sum(F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="none").sum(-1) for x, y in ((p, q), (q, p)))
    torch.testing.assert_close(model.readout.divergence(p, q), both)


def test_attention_that_goes_where_it_was_before_costs_what_the_definition_says() -> None:
    torch.manual_seed(3)
    look = {"score": "additive", "hidden": 4, "coverage": True}
    model = build_model(RecurrentModel(kind="recurrent", embedding=4, hidden=5, attention=look), 9, 9).double()
    batch = PairBatch.of([[4, 5, 6], [7]], [[4, 4, 5, 6], [8]], [0, 1])
    with record(model, model.cross_taps[0]) as seen:
        plain = cross_entropy(model, batch)
    total = 0.0
    for row, length in enumerate(batch.wanted.lengths.tolist()):
        covered = [0.0] * 4
        for weights in seen.last(model.cross_taps[0])[row, 0, :length].tolist():
            total += sum(map(min, weights, covered))
            covered = [before + weight for before, weight in zip(covered, weights, strict=True)]
    assert total > 0.5
    for found in (cross_entropy(model, batch, 0.0, 0.7), r_drop(model, batch, 1.0, 0.0, 0.7)):
        assert found.item() == pytest.approx(plain.item() + 0.7 * total)


@pytest.mark.parametrize("kind", ["recurrent", "transformer"])
def test_models_that_copy_are_regularized_too(kind: str) -> None:
    torch.manual_seed(3)
    settings = {"recurrent": RecurrentModel(kind="recurrent", embedding=4, hidden=5, copying=True)}
    settings["transformer"] = TransformerModel(kind="transformer", width=8, heads=2, feedforward=8, copying=True)
    model = build_model(settings[kind], 9, 9).double().eval()
    batch = PairBatch.of([[4, 5, 6], [7]], [[4, 9, 10, 6], [9]], [0, 1], words=[[9, 5, 10], [9]])
    assert r_drop(model, batch, 5.0, 0.1).item() == pytest.approx(cross_entropy(model, batch, 0.1).item())
    torch.manual_seed(1)
    first = r_drop(model.train(), batch, 5.0, 0.1)
    first.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)
