"""How surely one rung of the ladder is below another."""

from importlib import import_module
from pathlib import Path
from queue import Queue
from types import ModuleType

import pytest


@pytest.fixture
def ladder(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("ladder")


def test_claims_are_differences_with_intervals(ladder: ModuleType) -> None:
    found = ladder.claims({"ngram": [30.0], "window": [31.0, 33.0], "lstm": [27.0, 29.0], "copying": [24.0]})
    assert [(claim["rung"], claim["against"], claim["change"]) for claim in found] == [
        ("lstm", "ngram", -2.0),
        ("lstm", "window", -4.0),
    ]
    for claim in found:
        assert claim["low"] < claim["change"] < claim["high"]
        assert claim["low"] + claim["high"] == pytest.approx(2 * claim["change"])
    assert found[0]["high"] - found[0]["change"] == pytest.approx(12.706, rel=1e-3)  # t with one degree of freedom


def test_a_seed_that_is_finished_is_not_climbed_again(
    ladder: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def run(command: list[str], **_: object) -> None:
        calls.append(command)
        (tmp_path / "seed-1").mkdir()
        (tmp_path / "seed-1" / "ladder.json").write_text('{"rungs": []}', encoding="utf-8")

    monkeypatch.setattr(ladder.subprocess, "run", run)
    cores: Queue[str] = Queue()
    cores.put("")
    first, again = (ladder.climb(tmp_path / "seed-1", 1, "", [], cores) for _ in range(2))
    assert len(calls) == 1
    assert first == again
    assert first["minutes"] >= 0
