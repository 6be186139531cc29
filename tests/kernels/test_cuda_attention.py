"""Kernels of attention in Triton follow the definition."""

import pytest
import torch
from triton_device import DEVICE, INTERPRETED, fewer, needs_triton

from regard.attention import KeyValueCache, Lineage, SharedCache, attend
from regard.kernels import KERNELS

pytest.importorskip("triton")
pytestmark = needs_triton


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("groups", fewer([2], [4, 2]))
@pytest.mark.parametrize(("queries", "keys"), fewer([(1, 1), (5, 40)], [(1, 1), (5, 7), (5, 64), (16, 200)]))
@pytest.mark.parametrize("biased", [False, True])
def test_few_queries_see_what_they_may(dtype: torch.dtype, groups: int, queries: int, keys: int, biased: bool) -> None:
    if INTERPRETED and dtype == torch.bfloat16:
        pytest.skip("Triton's interpreter takes the products of bfloat16 for those of whole numbers")
    from regard.kernels.cuda_attention import few_queries

    query = torch.randn(3, queries, 4, 32, device=DEVICE, dtype=dtype).transpose(1, 2)
    key = torch.randn(3, groups, keys + 3, 32, device=DEVICE, dtype=dtype)[:, :, :keys]
    value = torch.randn(3, groups, keys, 64, device=DEVICE, dtype=dtype)
    bias = None
    if biased:
        bias = torch.where(torch.rand(3, 1, queries, keys, device=DEVICE) < 0.6, 0.0, -torch.inf)
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


@pytest.mark.parametrize(("groups", "width"), fewer([(1, 5)], [(2, 16), (4, 32), (1, 5)]))
@pytest.mark.parametrize("shared", [True, False])
def test_positions_are_written_where_they_belong(
    shared: bool, groups: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cache() -> SharedCache | KeyValueCache:
        return SharedCache(40, places=3) if shared else KeyValueCache(40)

    # Also where it is interpreted.
    kernel = {DEVICE.type: KERNELS["write_position"]["cuda"]}
    caches = cache(), cache()
    with torch.inference_mode():
        for _ in range(fewer(4, 40)):
            joint = torch.randn(6, 1, 2 * groups * width, device=DEVICE)
            vectors = joint.view(6, 1, 2 * groups, width).transpose(1, 2)
            keys, values = vectors[:, :groups], vectors[:, groups:]
            with monkeypatch.context() as patch:
                patch.setitem(KERNELS, "write_position", kernel)
                found = caches[0].append(keys, values)
            # On the CPU without the kernel.
            expected = caches[1].append(keys.cpu(), values.cpu())
            assert all(torch.equal(one.cpu(), other) for one, other in zip(found, expected, strict=True))
    if isinstance(caches[0], SharedCache):
        assert caches[0].apart(Lineage.own(2, 3, 40, DEVICE)).length == caches[0].length


@pytest.mark.parametrize(("places", "room"), fewer([(3, 40), (1, 8)], [(5, 40), (1, 8), (3, 136), (40, 40)]))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lineages_branch_and_hide(places: int, room: int, dtype: torch.dtype) -> None:
    from regard.kernels.cuda_attention import branch_, lineage_bias

    sources = 3
    # On the CPU without kernels.
    expected = Lineage.own(sources, places, room, torch.device("cpu"))
    writers = expected.writers.to(DEVICE, copy=True)
    for length in range(1, room, fewer(19, 7)):
        parents = torch.randint(places, (sources, places))
        rows = parents + torch.arange(0, sources * places, places)[:, None]
        with torch.inference_mode():
            expected = expected.branch(rows, length)
            branch_(writers, rows.to(DEVICE), length)
            assert torch.equal(writers.cpu(), expected.writers)
            bias = lineage_bias(writers, length, dtype)
            assert torch.equal(bias.cpu()[:, None], expected.bias(length, dtype))
