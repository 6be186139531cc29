"""The training on Europarl beside a peer: both sides can be stopped and go on, and end in one comparison."""

import gzip
import json
import math
import sys
from importlib import import_module, util
from pathlib import Path
from shutil import rmtree
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from regard.data.batch import Padded

TINY = ("model.width=16", "model.feedforward=16", "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1")
TINY += ("tokens.source.size=120", "train.epochs=2", "train.batch_tokens=256", "train.threads=1", "train.compile=false")
TINY += ("decode.longest_factor=1", "decode.longest_extra=0", "train.device=cpu")


@pytest.fixture
def europarl(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("europarl")


def called(europarl: ModuleType, monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> None:
    settings = [part for change in TINY for part in ("--set", change)]
    folders = ["--data", str(folder), "--work", str(folder / "work")]
    monkeypatch.setattr(sys, "argv", ["europarl.py", *arguments, *folders, *settings])
    europarl.main()


def written(folder: Path) -> None:
    lines = "".join(f"{'ab' * (number % 3 + 1)} c{number % 5} .\n" for number in range(60)).encode()
    for side in ("de", "en"):
        (folder / f"train.{side}.gz").write_bytes(gzip.compress(lines))
        for part in ("dev", "test"):
            (folder / f"{part}.{side}").write_bytes(lines[:100].rpartition(b"\n")[0] + b"\n")


def test_what_is_not_finished_is_not_compared(
    europarl: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match=r"^own and peer: not finished; call `europarl.py own` first$"):
        called(europarl, monkeypatch, tmp_path, "compare")
    for name in ("own", "peer"):
        europarl.Side(seconds=1, finished=True, decoding={"dev": 1.0}).save(tmp_path / "work" / name)
        (tmp_path / "work" / name / "corpus.sha256").write_text(name)
    with pytest.raises(SystemExit, match=r"^the two sides were not trained on the same text and tokens; begin again"):
        called(europarl, monkeypatch, tmp_path, "compare")


@pytest.mark.long
@pytest.mark.skipif(util.find_spec("transformers") is None, reason="needs the peer's package")
@pytest.mark.filterwarnings("ignore::Warning:transformers")
def test_both_sides_in_sittings(europarl: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    called(europarl, monkeypatch, tmp_path, "own")
    called(europarl, monkeypatch, tmp_path, "peer", "--seconds", "0")
    first = europarl.Side.load(tmp_path / "work" / "peer")
    assert (first.steps, first.finished, first.sittings, first.passes) == (1, False, 1, [])
    called(europarl, monkeypatch, tmp_path, "peer")
    with pytest.raises(SystemExit, match=r"^peer: fewer than two passes were timed; begin again with more --seconds"):
        called(europarl, monkeypatch, tmp_path, "compare")
    rmtree(tmp_path / "work" / "peer")
    called(europarl, monkeypatch, tmp_path, "all", "--out", str(tmp_path / "found.json"))
    found: dict[str, Any] = json.loads((tmp_path / "found.json").read_text())
    assert (found["own"]["finished"], found["peer"]["finished"], found["peer"]["sittings"]) == (True, True, 1)
    assert found["peer"]["seconds"] == found["peer"]["preparing"] + sum(found["peer"]["passes"])
    assert len(found["peer"]["passes"]) == 2
    assert set(found["scores"]) == {"dev", "test"}
    assert "tok:13a" in found["scores"]["test"]["own"]["signature"]
    assert found["times_as_fast"] == pytest.approx(found["peer"]["seconds"] / found["own"]["seconds"])


@pytest.mark.long
@pytest.mark.skipif(util.find_spec("transformers") is None, reason="needs the peer's package")
@pytest.mark.filterwarnings("ignore::Warning:transformers")
def test_a_sample_times_the_peer_and_leaves_its_training_alone(
    europarl: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path)
    outputs = []
    folder = tmp_path / "work" / "peer"
    for sample in ("0", "2"):
        rmtree(tmp_path / "work", ignore_errors=True)
        called(europarl, monkeypatch, tmp_path, "peer", "--sample", sample)
        outputs.append((folder / "test.out").read_text())
        side = europarl.Side.load(folder)
        assert (side.finished, len(side.passes), side.sample) == (True, 2, int(sample))
        assert side.seconds == side.preparing + sum(side.passes)
    assert outputs[0] == outputs[1]
    (cache,) = (folder / "cache").iterdir()
    (cache / "old").touch()
    called(europarl, monkeypatch, tmp_path, "time", "--sample", "3", "--peer-set", "seed=1")
    assert not (cache / "old").exists()
    again = europarl.Side.load(folder)
    assert (again.sample, again.steps, again.decoding) == (3, side.steps, side.decoding)
    assert again.seconds == again.preparing + sum(again.passes)
    assert again.settings == [*side.settings, "seed=1"]
    with pytest.raises(SystemExit, match=r"^time: the peer was trained with other settings: train.optimizer.rate"):
        called(europarl, monkeypatch, tmp_path, "time", "--sample", "3", "--peer-set", "seed=2")
    with pytest.raises(SystemExit, match=r"^time: --sample must say how many batches are timed$"):
        called(europarl, monkeypatch, tmp_path, "time")
    rmtree(folder)
    with pytest.raises(SystemExit, match=r"^time: the peer has not decoded yet; call `europarl.py peer` first$"):
        called(europarl, monkeypatch, tmp_path, "time", "--sample", "3")


@pytest.mark.parametrize("count", [8, 20, 1000])
def test_a_sample_does_not_take_more_shapes_for_new_than_a_pass_has(europarl: ModuleType, count: int) -> None:
    shapes, met, clock = [Padded.of([[5] * (number % 4 + 1)]) for number in range(100)], set(), [0.0]

    class Loop(europarl._Loop):
        def __init__(self) -> None:
            self.step, self.batches = 0, [SimpleNamespace(source=shape, given=shapes[0]) for shape in shapes]

        def _do(self, batch: SimpleNamespace) -> None:
            clock[0] += 1.0 if batch.source.tokens.shape in met else 10.0
            met.add(batch.source.tokens.shape)

        def _now(self) -> float:
            return clock[0]

    assert Loop().sampled(count) == pytest.approx([96 * 1.0 + 4 * 10.0, 100 * 1.0])


def test_passes_that_were_not_timed_are_as_long_as_those_after_the_first(europarl: ModuleType) -> None:
    assert europarl.extrapolated([9.0, 2.0, 4.0], 10) == 15.0 + 7 * 3.0
    assert europarl.extrapolated([9.0, 2.0], 2) == 11.0
    assert math.isnan(europarl.extrapolated([9.0], 2))
    assert math.isnan(europarl.extrapolated([], 2))
