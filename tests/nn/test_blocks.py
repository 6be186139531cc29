"""Transformer blocks against torch's own layers, and what one may see of them."""

from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_layers import decoder_layer, encoder_layer, randomize

from regard.attention import Heads, KeyValueCache, TreeDistance, Unprepared, padding, tree_distances
from regard.nn import DecoderBlock, EncoderBlock, FeedForward, Residual
from regard.tap import intervene, record

Norm = Literal["pre", "post"]
shapes = given(
    norm=st.sampled_from(["pre", "post"]),
    activation=st.sampled_from(["relu", "gelu"]),
    heads=st.sampled_from([1, 2, 3]),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    seed=st.integers(0, 999),
)


def encoder_block(norm: Norm, activation: str = "relu", heads: int = 2, dropout: float = 0.0) -> EncoderBlock:
    block = EncoderBlock(Heads(6, heads), FeedForward(6, 5, activation), width=6, norm=norm, dropout=dropout)
    randomize(block)
    return block.double()


def decoder_block(norm: Norm, activation: str = "relu", heads: int = 2) -> DecoderBlock:
    parts = Heads(6, heads, causal=True), Heads(6, heads), FeedForward(6, 5, activation)
    block = DecoderBlock(*parts, width=6, norm=norm, dropout=0.0)
    randomize(block)
    return block.double()


@shapes
def test_an_encoder_block_is_torchs_encoder_layer(
    norm: Norm, activation: str, heads: int, lengths: list[int], seed: int
) -> None:
    torch.manual_seed(seed)
    block = encoder_block(norm, activation, heads)
    keep = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    x = torch.randn(len(lengths), max(lengths), 6, dtype=torch.float64)
    theirs = encoder_layer(block)(x, src_key_padding_mask=~keep)
    torch.testing.assert_close(block(x, mask=padding(keep))[keep], theirs[keep])


@shapes
def test_a_decoder_block_is_torchs_decoder_layer(
    norm: Norm, activation: str, heads: int, lengths: list[int], seed: int
) -> None:
    torch.manual_seed(seed)
    block = decoder_block(norm, activation, heads)
    keep = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    source = torch.randn(len(lengths), max(lengths), 6, dtype=torch.float64)
    x = torch.randn(len(lengths), 4, 6, dtype=torch.float64)
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    theirs = decoder_layer(block)(x, source, tgt_mask=later, memory_key_padding_mask=~keep)
    memory = block.cross.remember(source)
    torch.testing.assert_close(block(x, memory, source_mask=padding(keep)), theirs)

    cache = KeyValueCache(4)
    pieces = [block(x[:, cut], memory, source_mask=padding(keep), cache=cache) for cut in (slice(0, 1), slice(1, 4))]
    torch.testing.assert_close(torch.cat(pieces, 1), theirs)


def test_a_source_may_be_prepared_by_the_block_itself() -> None:
    block, source = decoder_block("pre"), torch.randn(2, 4, 6, dtype=torch.float64)
    x, rows = torch.randn(2, 3, 6, dtype=torch.float64), torch.tensor([1, 0])
    expected, unprepared = block(x, block.cross.remember(source)), Unprepared(source)
    assert torch.equal(block(x, unprepared), expected)
    assert torch.equal(block(x, unprepared.copy()), expected)
    assert torch.equal(Unprepared(source).select(rows).source, source[rows])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_gradients_of_an_encoder_block_are_those_of_torchs_layer(norm: Norm) -> None:
    block = encoder_block(norm)
    theirs = encoder_layer(block).train()  # its inference path has no gradients
    x = torch.randn(2, 3, 6, dtype=torch.float64, requires_grad=True)
    seen = [torch.autograd.grad(layer(x).pow(2).sum(), x)[0] for layer in (block, theirs)]
    torch.testing.assert_close(*seen)


def test_normalization_before_leaves_the_stream_itself_alone_and_after_normalizes_the_sum() -> None:
    stream = 5 + 3 * torch.randn(2, 3, 8)
    before, after = Residual(8, "pre", 0.0), Residual(8, "post", 0.0)
    assert torch.equal(before(stream, torch.zeros_like), stream)
    normal = after(stream, torch.zeros_like)
    torch.testing.assert_close(normal.mean(-1), torch.zeros(2, 3), atol=1e-5, rtol=0)
    torch.testing.assert_close(normal.var(-1, correction=0), torch.ones(2, 3), atol=1e-4, rtol=0)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_dropout_falls_in_training_alone(norm: Norm) -> None:
    block = encoder_block(norm, dropout=0.5)
    x = torch.randn(2, 3, 6, dtype=torch.float64)
    assert not torch.equal(block(x), block(x))
    block.eval()
    assert torch.equal(block(x), block(x))


def test_the_residual_stream_can_be_looked_at_and_changed() -> None:
    block = decoder_block("pre")
    memory = block.cross.remember(torch.randn(2, 4, 6, dtype=torch.float64))
    x = torch.randn(2, 3, 6, dtype=torch.float64)
    with record(block) as seen:
        y = block(x, memory)
    assert torch.equal(seen.last("output"), y)
    assert seen.last("attention.weights").shape == (2, 2, 3, 3)
    assert seen.last("cross.weights").shape == (2, 2, 3, 4)
    assert seen.last("feedforward.activation").shape == (2, 3, 5)
    with intervene(block, "output", lambda stream: stream * 0):
        assert block(x, memory).count_nonzero() == 0


def test_a_block_can_know_a_tree_instead_of_an_order() -> None:
    heads = Heads(6, 2, position=TreeDistance(3, clip=4)).double()
    block = EncoderBlock(heads, FeedForward(6, 5, "relu"), width=6, norm="pre", dropout=0.0).double()
    x = torch.randn(1, 3, 6, dtype=torch.float64)
    chain, star = (tree_distances(torch.tensor([parents])) for parents in ([-1, 0, 1], [-1, 0, 0]))
    assert not torch.allclose(block(x, distances=chain), block(x, distances=star))
    # Words that change places together with their tree get the same vectors.
    order = torch.tensor([2, 0, 1])
    moved = block(x[:, order], distances=chain[:, order][:, :, order])
    torch.testing.assert_close(moved, block(x, distances=chain)[:, order])
