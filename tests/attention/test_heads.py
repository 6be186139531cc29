"""Heads against torch's own, against loops, and under the law that no cut of a sequence changes the outcome."""

import re
from itertools import pairwise

import pytest
import torch
from attention_strategies import loop_attention, normal, seeds
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from regard.attention import (
    NORMALIZERS,
    POSITIONS,
    SCORES,
    Dot,
    Heads,
    KeyValueCache,
    Position,
    Relative,
    ScaledDot,
    TreeDistance,
    causal,
    combine,
    padding,
    tree_distances,
    window,
)
from regard.errors import UsageError
from regard.tap import intervene, record, taps

each_score = pytest.mark.parametrize("score", SCORES)
each_position = pytest.mark.parametrize("position", POSITIONS)


def place(name: str) -> Position:
    return POSITIONS[name](8, 4, longest=16, clip=2)


def torch_heads(heads: Heads, source_width: int = 8) -> nn.MultiheadAttention:
    """torch's own module with the same weights."""
    other = nn.MultiheadAttention(8, 4, batch_first=True, kdim=source_width, vdim=source_width).double()
    with torch.no_grad():
        if heads.source is None:
            other.in_proj_weight.copy_(heads.inward.weight)
            other.in_proj_bias.copy_(heads.inward.bias)
        else:
            other.q_proj_weight.copy_(heads.inward.weight)
            other.k_proj_weight.copy_(heads.source.weight[:8])
            other.v_proj_weight.copy_(heads.source.weight[8:])
            other.in_proj_bias.copy_(torch.cat([heads.inward.bias, heads.source.bias]))
        other.out_proj.weight.copy_(heads.outward.weight)
        other.out_proj.bias.copy_(heads.outward.bias)
    return other


def shaken(heads: Heads) -> Heads:
    """In float64, with biases that are not zero."""
    for name, parameter in heads.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter)
    return heads.double()


@given(seed=seeds, length=st.integers(1, 6), masked=st.booleans(), is_causal=st.booleans())
def test_self_attention_agrees_with_torch(seed: int, length: int, masked: bool, is_causal: bool) -> None:
    heads, x = shaken(Heads(8, 4, causal=is_causal)), normal(3, length, 8, seed=seed)
    keep = torch.arange(length) < torch.tensor([length, 1, max(1, length - 1)])[:, None]
    expected, weights = torch_heads(heads)(
        x,
        x,
        x,
        key_padding_mask=~keep if masked else None,
        attn_mask=~causal(length) if is_causal else None,
        average_attn_weights=False,
    )
    with record(heads, "weights") as seen:
        result = heads(x, mask=padding(keep) if masked else None)
    torch.testing.assert_close(result, expected)
    torch.testing.assert_close(seen.last("weights"), weights)


@pytest.mark.parametrize("source_width", [8, 6])
def test_cross_attention_agrees_with_torch(source_width: int) -> None:
    heads = shaken(Heads(8, 4, source_width=source_width))
    x, source = normal(2, 3, 8), normal(2, 5, source_width, seed=1)
    keep = torch.tensor([[True] * 5, [True, True, False, False, False]])
    expected, _ = torch_heads(heads, source_width)(x, source, source, key_padding_mask=~keep)
    torch.testing.assert_close(heads.look(x, heads.remember(source), mask=padding(keep)), expected)


def test_heads_agree_with_loops() -> None:
    heads, x = shaken(Heads(4, 2, causal=True)), normal(1, 3, 4)
    with torch.no_grad():
        query, key, value = (heads.inward.weight @ x[0].T + heads.inward.bias[:, None]).T.split(4, dim=-1)
        both = [
            loop_attention(query[:, h], key[:, h], value[:, h], lambda q, k: q @ k / 2**0.5, causal(3))[0]
            for h in (slice(0, 2), slice(2, 4))
        ]
        expected = torch.cat(both, dim=-1) @ heads.outward.weight.T + heads.outward.bias
        torch.testing.assert_close(heads(x)[0], expected)


def decoded(heads: Heads, x: Tensor, cuts: list[int], capacity: int, size: int | None = None) -> Tensor:
    """Self-attention piece by piece, through a cache."""
    cache, outputs = KeyValueCache(capacity), []
    for start, end in pairwise([0, *cuts, x.shape[1]]):
        mask = None if size is None else window(end - start, end, size=size, causal=True)
        outputs.append(heads(heads.position.embed(x[:, start:end], start), cache=cache, mask=mask))
    return torch.cat(outputs, dim=1)


@pytest.mark.spread(2)
@each_position
@given(
    score=st.sampled_from(list(SCORES)),
    cuts=st.sets(st.integers(1, 5)),
    spare=st.integers(0, 2),
    groups=st.sampled_from([0, 1, 2]),
    seed=seeds,
)
def test_however_a_sequence_is_cut_outputs_are_the_same(
    position: str, score: str, cuts: set[int], spare: int, groups: int, seed: int
) -> None:
    heads = Heads(8, 4, groups=groups, score=score, position=place(position), causal=True).double()
    x = normal(2, 6, 8, seed=seed)
    with torch.no_grad():
        whole = heads(heads.position.embed(x))
        torch.testing.assert_close(decoded(heads, x, sorted(cuts), 6 + spare), whole)


@given(cuts=st.sets(st.integers(1, 5)), size=st.integers(0, 6), seed=seeds)
def test_a_window_is_the_same_however_the_sequence_is_cut(cuts: set[int], size: int, seed: int) -> None:
    heads, x = Heads(8, 4, causal=True).double(), normal(2, 6, 8, seed=seed)
    with torch.no_grad():
        whole = heads(x, mask=window(6, size=size))
        torch.testing.assert_close(decoded(heads, x, sorted(cuts), 6, size), whole)


@each_position
def test_gradients_flow_through_a_cut_sequence(position: str) -> None:
    heads, x = Heads(8, 4, position=place(position), causal=True).double(), normal(2, 6, 8)
    parameters = list(heads.parameters())
    whole = torch.autograd.grad(heads(heads.position.embed(x)).square().sum(), parameters)
    pieces = torch.autograd.grad(decoded(heads, x, [2, 3], 6).square().sum(), parameters)
    torch.testing.assert_close(pieces, whole)


@each_score
@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_looking_changes_nothing_and_shows_every_head(score: str, normalizer: str) -> None:
    heads, x = Heads(8, 4, groups=2, score=score, normalizer=normalizer, causal=True), torch.randn(2, 5, 8)
    unwatched = heads(x)
    with record(heads) as seen:
        assert torch.equal(heads(x), unwatched)
    assert seen.last("weights").shape == (2, 4, 5, 5)
    assert (seen.last("weights").triu(1) == 0).all()
    torch.testing.assert_close(seen.last("weights").sum(-1), torch.ones(2, 4, 5))
    with intervene(heads, "weights", lambda weights: weights):
        torch.testing.assert_close(heads(x), unwatched)


@pytest.mark.parametrize("groups", [1, 2])
@each_score
def test_grouped_keys_are_shared_by_neighboring_heads(score: str, groups: int) -> None:
    grouped, full = Heads(8, 4, groups=groups, score=score), Heads(8, 4, score=score)
    with torch.no_grad():
        for name in ("weight", "bias"):
            given_, wanted = getattr(grouped.inward, name), getattr(full.inward, name)
            query, key, value = given_.split([8, groups * 2, groups * 2])
            times = 4 // groups
            repeated = [torch.cat([rows for rows in part.split(2) for _ in range(times)]) for part in (key, value)]
            wanted.copy_(torch.cat([query, *repeated]))
    full.outward.load_state_dict(grouped.outward.state_dict())
    full.attention.load_state_dict(grouped.attention.state_dict())
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(grouped(x), full(x), rtol=1e-4, atol=1e-5)


@each_score
def test_a_source_is_remembered_once_and_looked_at_in_pieces(score: str) -> None:
    heads = Heads(8, 4, groups=2, source_width=6, score=score).double()
    x, memory = normal(3, 4, 8), heads.remember(normal(3, 5, 6, seed=1))
    whole = heads.look(x, memory)
    pieces = [heads.look(x[:, :1], memory), heads.look(x[:, 1:], memory)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole)
    rows = torch.tensor([2, 0, 0])
    torch.testing.assert_close(heads.look(x[rows], memory.select(rows)), whole[rows])


def test_without_positions_order_is_invisible_and_with_them_it_is_not() -> None:
    x, order = torch.randn(1, 5, 8), torch.tensor([3, 1, 4, 0, 2])
    for name in ("none", "relative", "rotary", "alibi"):
        heads = Heads(8, 4, position=place(name))
        same = torch.allclose(heads(x[:, order]), heads(x)[:, order], atol=1e-5)
        assert same == (name == "none")


def test_tree_distances_reach_the_scores() -> None:
    heads = Heads(8, 4, position=TreeDistance(2, clip=3))
    x = torch.randn(2, 3, 8)
    distances = tree_distances(torch.tensor([[-1, 0, 1], [1, -1, 1]]))
    assert not torch.allclose(heads(x, distances=distances), heads(x, distances=torch.zeros_like(distances)))


def test_shaw_relative_keys_in_whole_heads_agree_with_their_equation() -> None:
    heads, x = Heads(4, 2, position=Relative(2, clip=1)).double(), normal(1, 4, 4)
    position = heads.position
    assert isinstance(position, Relative)
    with record(heads, "scores") as seen:
        heads(x)
    query, key, _ = heads.inward(x)[0].split(4, dim=-1)
    for h in range(2):
        for i in range(4):
            for j in range(4):
                part = slice(2 * h, 2 * h + 2)
                relative = position.weight[max(-1, min(1, j - i)) + 1]
                expected = query[i, part] @ (key[j, part] + relative) / 2**0.5
                torch.testing.assert_close(seen.last("scores")[0, h, i, j], expected)


def test_taps_are_named_after_the_heads() -> None:
    model = nn.ModuleDict({"cross": Heads(8, 4)})
    assert list(taps(model)) == [f"cross.{part}" for part in ("query", "key", "value", "scores", "weights", "context")]


def test_a_score_of_ones_own_serves_all_heads() -> None:
    torch.manual_seed(1)
    scaled = Heads(8, 4, score=Dot())
    torch.manual_seed(1)
    named = Heads(8, 4, score="dot")
    x = torch.randn(2, 5, 8)
    assert torch.equal(scaled(x), named(x))
    torch.manual_seed(1)
    torch.testing.assert_close(Heads(8, 4, score=lambda query, key: query @ key.mT)(x), named(x))
    assert isinstance(Heads(8, 4).attention.score, ScaledDot)


def test_masks_combine_with_the_heads_own_causality() -> None:
    heads, x = Heads(8, 2, causal=True), torch.randn(2, 4, 8)
    keep = torch.tensor([[True, True, True, True], [True, True, False, False]])
    bare = Heads(8, 2)
    bare.load_state_dict(heads.state_dict())
    torch.testing.assert_close(heads(x, mask=padding(keep)), bare(x, mask=combine(padding(keep), causal(4))))


@each_position
@each_score
def test_a_batch_may_have_no_rows(position: str, score: str) -> None:
    heads = Heads(8, 4, groups=2, score=score, position=place(position), causal=True)
    memory = heads.remember(torch.randn(0, 3, 8))
    result = heads.look(heads(torch.randn(0, 5, 8)), memory, mask=padding(torch.ones(0, 3, dtype=torch.bool)))
    assert result.shape == (0, 5, 8)
    result.sum().backward()


def test_half_precision_stays_half() -> None:
    heads = Heads(8, 4, position=POSITIONS["rotary"](8, 4, longest=1, clip=1), causal=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = heads(torch.randn(2, 3, 8))
    assert result.dtype == torch.bfloat16
    assert result.isfinite().all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"heads": 3}, "width = 8 cannot be divided among heads = 3; choose a divisor of 8"),
        ({"heads": 0}, "width = 8 cannot be divided among heads = 0; choose a divisor of 8"),
        ({"heads": 4, "groups": 3}, "heads = 4 cannot be divided among groups = 3; choose a divisor of 4"),
    ],
)
def test_heads_that_cannot_be_built_say_why(arguments: dict[str, int | str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        Heads(8, **arguments)
    assert str(error.value) == message


def test_an_unknown_score_is_refused_with_every_known_one_the_nearest_first() -> None:
    with pytest.raises(UsageError) as error:
        Heads(8, 4, score="scaled")
    said = str(error.value)
    assert said.startswith("score 'scaled' is not known; known are 'scaled_dot', ")
    assert said.endswith(", or a score or function")
    named = re.findall(r"'(\w+)'", said)[1:]
    assert set(named) <= set(SCORES)
    assert len(named) == len(SCORES) or f" and {len(SCORES) - len(named)} more" in said


def test_heads_for_another_source_cannot_look_at_their_queries() -> None:
    with pytest.raises(UsageError) as error:
        Heads(8, 4, source_width=6)(torch.randn(2, 3, 8))
    assert str(error.value) == (
        "heads with queries of width 8 and a source of width 6 cannot do self-attention; "
        "use remember and look, or equal widths"
    )
