"""Our own loops over keys, for steps of decoding on a CPU, follow the definition."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import Attention, Heads, ScaledDot, attend
from regard.errors import UsageError
from regard.kernels import cpu_attention
from regard.kernels.cpu_attention import TOGETHER, few_queries

SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 2 * TOGETHER + 1))
BIASES = st.none() | st.tuples(st.booleans(), st.booleans(), st.booleans())
"""Whether a bias differs by row, head and query, if there is one."""


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """The first call compiles, and hypothesis has no patience for that."""
    row = torch.zeros(1, 1, 1, 1)
    few_queries(row, row, row, None, 1.0)


@given(SHAPES, st.sampled_from([4, 2, 1]), BIASES, st.sampled_from([1, 5, 32]), st.integers(0, 999))
def test_few_queries_see_what_they_may(
    shape: tuple[int, int, int], groups: int, biased: tuple[bool, bool, bool] | None, width: int, seed: int
) -> None:
    rows, queries, keys = shape
    torch.manual_seed(seed)
    query = torch.randn(rows, queries, 4, width).transpose(1, 2)
    # Of some memory that has more positions, and more features beside each other.
    key = torch.randn(rows, groups, keys + 3, width)[:, :, :keys]
    value = torch.randn(rows, keys, 2 * groups, 2 * width).transpose(1, 2)[:, groups:]
    bias = None
    if biased is not None:
        sizes = [size if differs else 1 for size, differs in zip((rows, 4, queries), biased, strict=True)]
        hidden = torch.rand(*sizes, keys) < 0.4
        bias = torch.randn(*sizes, keys).masked_fill(hidden, -torch.inf)
    found = few_queries(query, key, value, bias, 0.5)
    wide = None if bias is None else bias.double()
    expected, _ = attend(query.double() * 0.5 * width**0.5, key.double(), value.double(), bias=wide)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
    assert found.transpose(1, 2).is_contiguous()


def test_a_query_that_may_see_nothing_gets_nothing() -> None:
    query, key = torch.randn(1, 1, 2, 8), torch.randn(1, 1, 6, 8)
    bias = torch.zeros(2, 6)
    bias[0] = -torch.inf
    found = few_queries(query, key, key, bias, 1.0)
    assert (found[0, 0, 0] == 0).all()
    torch.testing.assert_close(found[0, 0, 1], attend(query * 8**0.5, key, key)[0][0, 0, 1])


def test_what_is_hidden_may_be_anything() -> None:
    query, key = torch.randn(1, 1, 2, 8), torch.randn(1, 1, 6, 8)
    bias = torch.zeros(6)
    bias[4] = -torch.inf
    expected = few_queries(query, key, key, bias, 1.0)
    key[0, 0, 4] = torch.nan
    assert torch.equal(few_queries(query, key, key, bias, 1.0), expected)


def test_what_is_no_number_stays_none() -> None:
    query, key = torch.randn(2, 1, 1, 8), torch.randn(2, 1, 6, 8)
    key[1, 0, 2, 3] = torch.nan
    found = few_queries(query, key, key, None, 1.0)
    assert found[0].isfinite().all()
    assert found[1].isnan().all()


def test_steps_of_decoding_take_them_and_training_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    monkeypatch.setattr(cpu_attention, "few_queries", lambda *given: counted.append(given) or few_queries(*given))
    heads, x = Heads(8, 2), torch.randn(3, 4, 8)
    trained = heads(x)
    assert not counted
    with torch.no_grad():
        torch.testing.assert_close(heads(x), trained)
        assert len(counted) == 1
        heads.double()(x.double())
    assert len(counted) == 1


@pytest.mark.parametrize(
    ("key_shape", "value_shape"),
    [((3, 1, 5, 8), (3, 4, 5, 8)), ((3, 4, 5, 8), (3, 1, 5, 8)), ((3, 4, 5, 8), (3, 4, 5, 6))],
)
def test_what_torch_broadcasts_is_left_to_it(key_shape: tuple[int, ...], value_shape: tuple[int, ...]) -> None:
    query, key, value = torch.randn(3, 4, 2, 8), torch.randn(key_shape), torch.randn(value_shape)
    attention = Attention(ScaledDot())
    expected = attention(query, key, value)
    with torch.no_grad():
        torch.testing.assert_close(attention(query, key, value), expected)


@pytest.mark.parametrize("key_shape", [(3, 4, 5, 6), (3, 3, 5, 8)])
@torch.no_grad()
def test_shapes_that_do_not_fit_are_refused(key_shape: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="these shapes do not fit"):
        Attention(ScaledDot())(torch.randn(3, 4, 2, 8), torch.randn(key_shape), torch.randn(key_shape))


@torch.no_grad()
def test_weights_are_dropped_in_training_without_gradients_too() -> None:
    heads, x = Heads(8, 2, dropout=0.5).train(), torch.randn(2, 3, 8)
    assert not torch.equal(heads(x), heads(x))
