"""One rule picks kernels: which there are, what justifies them, and where none is picked."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from regard.kernels import KERNELS, Kernel, pick
from regard.kernels.cpu_attention import few_queries
from regard.kernels.picking import QUERIES

ROOT = Path(__file__).parents[2]
ENTRIES = [(operation, device) for operation, kernels in KERNELS.items() for device in kernels]
MOST_BRANCHES = 32
"""Occurrences of what asks for a device or a mode outside of `kernels` and `device.py`: this number may only fall."""
BRANCH = r"is_cuda|is_cpu|device\.type|has_kernels|has_loops|learns_on_cpu|is_grad_enabled|is_compiling"


def entry(operation: str, device: str) -> Kernel:
    return KERNELS[operation][device]


@pytest.mark.parametrize(("operation", "device"), ENTRIES)
def test_each_has_a_measurement_that_justifies_it(operation: str, device: str) -> None:
    file, _, system = entry(operation, device).benchmark.partition(": ")
    record = json.loads((ROOT / "benchmarks" / "results" / file).read_text(encoding="utf-8"))
    tables = [table for table in record.values() if isinstance(table, list)]
    assert system in {row.get("system") for table in tables for row in table}


@pytest.mark.parametrize(("operation", "device"), ENTRIES)
def test_each_is_there(operation: str, device: str) -> None:
    kernel = entry(operation, device)
    assert device in ("cpu", "cuda")
    assert kernel.name.startswith(f"{device}_")
    if device == "cpu" or not kernel.is_triton or find_spec("triton") is not None:
        assert callable(kernel.load())


def test_nothing_is_loaded_before_it_is_picked() -> None:
    """Compilers take seconds to import."""
    check = "import sys, regard.tasks; print([name for name in sys.modules if name.startswith('regard.kernels.c')])"
    found = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


ROW = torch.zeros(2, 2, 1, 4)


def test_kernels_are_for_those_who_ask_for_no_gradient_and_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pick("few_queries", ROW, ROW, ROW) is None
    with torch.no_grad():
        assert pick("few_queries", ROW, ROW, ROW) is few_queries
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
        assert pick("few_queries", ROW, ROW, ROW) is None


def test_what_has_no_kernel_on_a_device_is_left_to_torch() -> None:
    with torch.no_grad():
        assert pick("branch_lineage", torch.zeros(1, 2, 8, dtype=torch.int16)) is None
        away = ROW.to("meta")
        assert pick("few_queries", away, away, away) is None


@pytest.mark.parametrize(
    ("query", "key", "value"),
    [
        (ROW.double(), ROW.double(), ROW.double()),
        (ROW, ROW.double(), ROW),
        (ROW[0], ROW[0], ROW[0]),
        (ROW, ROW[:1], ROW[:1]),
        (ROW, ROW, ROW[:, :1]),
        (ROW, torch.zeros(2, 3, 1, 4), torch.zeros(2, 3, 1, 4)),
        (ROW, torch.zeros(2, 2, 1, 5), ROW),
        (torch.zeros(2, 2, QUERIES + 1, 4), ROW, ROW),
        (ROW, torch.zeros(2, 2, 4, 3).mT, torch.zeros(2, 2, 3, 4)),
        (ROW, ROW.to("meta"), ROW),
    ],
    ids=["format", "formats", "dimensions", "rows", "groups", "heads", "widths", "queries", "memory", "devices"],
)
def test_attention_of_few_queries_that_torch_must_do(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor
) -> None:
    with torch.no_grad():
        assert pick("few_queries", query, key, value) is None


@pytest.mark.parametrize("operation", ["highest", "likeliest_", "log_softmax_"])
def test_candidates_are_found_in_rows_of_float32(operation: str) -> None:
    numbers = torch.zeros(2, 3, 40)
    with torch.no_grad():
        assert pick(operation, numbers, count=4) is KERNELS[operation]["cpu"].load()
        for other in (numbers.double(), numbers.bfloat16(), numbers.mT, numbers[..., ::2]):
            assert pick(operation, other, count=4) is None


def test_branches_by_device_and_mode_stand_here() -> None:
    sources = ROOT / "src" / "regard"
    outside = [path for path in sources.rglob("*.py") if path.parent.name != "kernels" and path.name != "device.py"]
    counts = {path.relative_to(sources): len(re.findall(BRANCH, path.read_text(encoding="utf-8"))) for path in outside}
    assert sum(counts.values()) <= MOST_BRANCHES, {path: count for path, count in counts.items() if count}
