"""On a CUDA device with Triton: our own kernels follow the definition."""

import pytest
import torch

from regard.attention import Lineage, SharedCache, attend

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("groups", [4, 2])
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (5, 7), (5, 64), (16, 200)])
@pytest.mark.parametrize("biased", [False, True])
def test_few_queries_see_what_they_may(
    dtype: torch.dtype, groups: int, queries: int, keys: int, biased: bool
) -> None:
    pytest.importorskip("triton")
    from regard.attention.kernels import few_queries

    query = torch.randn(3, queries, 4, 32, device="cuda", dtype=dtype).transpose(1, 2)
    key = torch.randn(3, groups, keys + 3, 32, device="cuda", dtype=dtype)[:, :, :keys]
    value = torch.randn(3, groups, keys, 64, device="cuda", dtype=dtype)
    bias = None
    if biased:
        bias = torch.where(torch.rand(3, 1, queries, keys, device="cuda") < 0.6, 0.0, -torch.inf)
        bias[0, 0, 0] = -torch.inf
    with torch.inference_mode():
        found = few_queries(query, key, value, bias, 32**-0.5)
    wide = None if bias is None else bias.double()
    expected, _ = attend(query.double(), key.double(), value.double(), bias=wide)
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(found.double(), expected, rtol=tolerance, atol=tolerance)
    assert found.transpose(1, 2).is_contiguous()
    if biased:
        assert (found[0, :, 0] == 0).all()


@pytest.mark.parametrize(("groups", "width"), [(2, 16), (4, 32), (1, 5)])
def test_positions_are_written_where_they_belong(groups: int, width: int) -> None:
    pytest.importorskip("triton")
    caches = [SharedCache(40, places=3), SharedCache(40, places=3)]
    with torch.inference_mode():
        for _ in range(40):
            joint = torch.randn(6, 1, 2 * groups * width, device="cuda")
            vectors = joint.view(6, 1, 2 * groups, width).transpose(1, 2)
            keys, values = vectors[:, :groups], vectors[:, groups:]
            found = caches[0].append(keys, values)
            # On the CPU without the kernel.
            expected = caches[1].append(keys.cpu(), values.cpu())
            assert all(torch.equal(one.cpu(), other) for one, other in zip(found, expected, strict=True))
    lineage = Lineage.own(2, 3, 40, torch.device("cuda"))
    assert caches[0].apart(lineage).length == 40
