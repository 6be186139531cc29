"""Cross entropy against torch's own, through a model that is one table."""

from typing import Self

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.batch import PAD, Padded, PairBatch
from regard.models.generator import Generator, Readout, State
from regard.objectives import cross_entropy

SIZE = 7


class Nothing:
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
