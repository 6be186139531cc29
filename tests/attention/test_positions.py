"""Positions: each kind against its equation, and the law that a vector's position does not depend on the cut."""

import cmath
import math

import pytest
import torch
from attention_strategies import normal, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import (
    POSITIONS,
    Alibi,
    Learned,
    Position,
    Relative,
    Rotary,
    Sinusoidal,
    TreeDistance,
    tree_distances,
)
from regard.errors import UsageError

each = pytest.mark.parametrize("name", POSITIONS)
offsets = st.integers(0, 7)


def build(name: str) -> Position:
    return POSITIONS[name](8, 2, longest=32, clip=3).double()


@each
@given(cut=st.integers(1, 5), offset=offsets, seed=seeds)
def test_however_a_sequence_is_cut_each_vector_keeps_its_position(name: str, cut: int, offset: int, seed: int) -> None:
    position = build(name)
    x, heads = normal(2, 6, 8, seed=seed), normal(2, 2, 6, 4, seed=seed)
    embedded = [position.embed(x[:, :cut], offset), position.embed(x[:, cut:], offset + cut)]
    torch.testing.assert_close(torch.cat(embedded, dim=1), position.embed(x, offset))
    turned = [position.rotate(heads[:, :, :cut], offset), position.rotate(heads[:, :, cut:], offset + cut)]
    torch.testing.assert_close(torch.cat(turned, dim=2), position.rotate(heads, offset))
    keys = offset + 6
    whole = position.bias(heads, keys, offset)
    pieces = [position.bias(heads[:, :, :cut], keys, offset), position.bias(heads[:, :, cut:], keys, offset + cut)]
    if whole is None:
        assert pieces == [None, None]
    else:
        torch.testing.assert_close(torch.cat([piece for piece in pieces if piece is not None], dim=-2), whole)


@each
def test_a_position_acts_in_one_place_only(name: str) -> None:
    position = build(name)
    x, heads = normal(2, 6, 8), normal(2, 2, 6, 4)
    acts = [position.embed(x) is not x, position.rotate(heads) is not heads, position.bias(heads, 6) is not None]
    assert sum(acts) == (name != "none")
    assert acts[0] == position.embeds


def test_sinusoidal_follows_vaswani() -> None:
    embedded = Sinusoidal(5).embed(torch.zeros(1, 4, 5, dtype=torch.float64), offset=1000)
    for t in range(4):
        for i in range(5):
            angle = (1000 + t) / 10000 ** (2 * (i // 2) / 5)
            expected = math.cos(angle) if i % 2 else math.sin(angle)
            assert embedded[0, t, i].item() == pytest.approx(expected, abs=1e-12)


def test_far_positions_are_as_exact_as_near_ones() -> None:
    single = Sinusoidal(4).embed(torch.zeros(1, 1, 4), offset=100_000)
    assert single[0, 0, 0].item() == pytest.approx(math.sin(100_000), abs=1e-7)


def test_learned_positions_are_rows_of_a_table() -> None:
    position = Learned(3, longest=5)
    embedded = position.embed(torch.ones(2, 2, 3), offset=3)
    torch.testing.assert_close(embedded, (1 + position.weight[3:5]).expand(2, 2, 3))


def test_a_sequence_longer_than_the_learned_table_is_refused() -> None:
    with pytest.raises(UsageError) as error:
        Learned(3, longest=5).embed(torch.ones(2, 3, 3), offset=3)
    assert str(error.value) == (
        "a sequence of 6 positions does not fit the 5 learned ones; "
        "shorten it, or train with a larger model.longest or another model.position"
    )


@given(offset=offsets, seed=seeds)
def test_rotary_turns_pairs_as_complex_numbers(offset: int, seed: int) -> None:
    x = normal(1, 1, 3, 6, seed=seed)
    turned = Rotary(6).rotate(x, offset)[0, 0]
    for t in range(3):
        for i in range(3):
            pair = complex(x[0, 0, t, i], x[0, 0, t, i + 3])
            expected = pair * cmath.exp(1j * (offset + t) / 10000 ** (2 * i / 6))
            assert complex(turned[t, i], turned[t, i + 3]) == pytest.approx(expected, abs=1e-12)


@given(query=offsets, key=offsets, shift=st.integers(0, 500), seed=seeds)
def test_rotary_products_know_the_distance_alone(query: int, key: int, shift: int, seed: int) -> None:
    rotary, q, k = Rotary(4), normal(1, 1, 1, 4, seed=seed), normal(1, 1, 1, 4, seed=seed + 1)
    here = (rotary.rotate(q, query) * rotary.rotate(k, key)).sum()
    there = (rotary.rotate(q, query + shift) * rotary.rotate(k, key + shift)).sum()
    torch.testing.assert_close(here, there)


def test_rotary_keeps_the_number_format() -> None:
    assert Rotary(4).rotate(torch.randn(1, 1, 2, 4, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_rotary_needs_pairs() -> None:
    with pytest.raises(UsageError) as error:
        Rotary(5)
    assert str(error.value) == (
        "rotary positions turn pairs of features, but a head has 5; choose an even width per head"
    )


@pytest.mark.parametrize("position", [Sinusoidal(4), Rotary(4)], ids=["sinusoidal", "rotary"])
def test_tables_made_while_decoding_serve_training(position: Position) -> None:
    with torch.inference_mode():
        position.rotate(torch.randn(1, 1, 3, 4))
        position.embed(torch.randn(1, 3, 4))
    heads, x = torch.randn(1, 1, 3, 4, requires_grad=True), torch.randn(1, 3, 4, requires_grad=True)
    (position.rotate(heads).sum() + position.embed(x).sum()).backward()
    assert heads.grad is not None
    assert heads.grad.isfinite().all()


def test_alibi_slopes_are_those_of_press() -> None:
    torch.testing.assert_close(Alibi(8).slopes, 0.5 ** torch.arange(1.0, 9.0))
    expected = [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]  # 6 heads: those of 4, then every other of 8
    torch.testing.assert_close(Alibi(6).slopes, torch.tensor(expected))


@given(queries=sizes, offset=offsets)
def test_alibi_is_slope_times_distance(queries: int, offset: int) -> None:
    bias = Alibi(2).bias(torch.zeros(1, 2, queries, 4), offset + queries, offset)
    assert bias is not None
    for h, slope in enumerate((2**-4, 2**-8)):
        for q in range(queries):
            for k in range(offset + queries):
                assert bias[h, q, k] == -slope * abs(offset + q - k)


@given(queries=sizes, offset=offsets, more=st.integers(0, 9), clip=st.integers(1, 6), seed=seeds)
def test_relative_positions_follow_shaw(queries: int, offset: int, more: int, clip: int, seed: int) -> None:
    position, query = Relative(4, clip).double(), normal(2, 3, queries, 4, seed=seed)
    keys = offset + queries + more
    bias = position.bias(query, keys, offset)
    places = torch.arange(keys) - torch.arange(offset, offset + queries)[:, None]
    vectors = position.weight[places.clamp(-clip, clip) + clip]
    torch.testing.assert_close(bias, torch.einsum("bhqd,qkd->bhqk", query, vectors) / math.sqrt(4))


def test_relative_positions_of_few_keys_before_the_queries() -> None:
    position, query = Relative(4, 2).double(), normal(1, 1, 2, 4)
    bias = position.bias(query, keys=3, offset=9)
    expected = query @ position.weight[0] / 2
    torch.testing.assert_close(bias, expected[..., None].expand(1, 1, 2, 3))


def test_tree_distances_pick_a_vector_for_each_pair() -> None:
    position, query = TreeDistance(4, clip=2).double(), normal(2, 3, 4, 4)
    distances = tree_distances(torch.tensor([[-1, 0, 1, 2], [1, -1, 1, 1]]))
    bias = position.bias(query, 4, distances=distances)
    assert bias is not None
    for b in range(2):
        for i in range(4):
            for j in range(4):
                vector = position.weight[min(int(distances[b, i, j]), 2)]
                torch.testing.assert_close(bias[b, :, i, j], query[b, :, i] @ vector / 2)


def test_tree_positions_need_distances() -> None:
    with pytest.raises(UsageError) as error:
        TreeDistance(4, clip=2).bias(torch.zeros(1, 1, 2, 4), 2)
    assert str(error.value) == ("tree positions need the tree's distances; give distances=tree_distances(parents)")


def test_alibi_counts_far_distances_in_half_precision() -> None:
    far = Alibi(1).bias(torch.zeros(1, 1, 1, 4, dtype=torch.bfloat16), keys=600, offset=599)
    exact = Alibi(1).bias(torch.zeros(1, 1, 1, 4), keys=600, offset=599)
    assert far is not None
    assert exact is not None
    assert torch.equal(far, exact.bfloat16())
