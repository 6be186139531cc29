"""JoeyNMT in a process of its own: what it is asked, and what happens if it does not answer."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from regard.recipe import Decoding, RecurrentModel, TransformerModel

STAND_IN = """
import json, sys
asked = json.loads(sys.stdin.readline())
print(json.dumps({"versions": {"joeynmt": "0"}, "parameters": asked["sizes"][0]}), flush=True)
for line in sys.stdin:
    asked = [(each["sources"], each["count"]) for each in json.loads(line)]
    outputs = [[[*source, *[9] * count][:count] for source in sources] for sources, count in asked]
    print(json.dumps({"outputs": outputs, "processor_seconds": 1.5}), flush=True)
"""
"""Answers as the worker does, and writes what it reads."""


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("joeynmt_peer")


def test_outputs_are_in_the_order_of_the_sources_and_of_the_length_asked_for(
    peer: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "worker.py").write_text(STAND_IN)
    monkeypatch.setattr(peer, "WORKER", tmp_path / "worker.py")
    sources = [[4], [5, 6, 7, 8], [6, 7], [7, 8, 4, 5]]
    with peer.JoeyNMT(Path(sys.executable), {}, (10, 10), Decoding(), [1, 4, 3, 2]) as model:
        # Two batches: the sources of four tokens write four, as the longer output of the two; the others three.
        assert model(sources, 10) == [(4, 9, 9), (5, 6, 7, 8), (6, 7, 9), (7, 8, 4, 5)]
        # And one: all write as many as the longest.
        assert model(sources, 100) == [(4, 9, 9, 9), (5, 6, 7, 8), (6, 7, 9, 9), (7, 8, 4, 5)]
        assert model(sources[:1], 10) == [(4,)]
        assert (model.parameters, model.versions, model.processor_seconds) == (10, {"joeynmt": "0"}, 4.5)
    assert model.process.returncode == 0


def test_a_process_that_ends_is_told_of(peer: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text("raise SystemExit(3)")
    monkeypatch.setattr(peer, "WORKER", tmp_path / "worker.py")
    with pytest.raises(SystemExit) as ended:
        peer.JoeyNMT(Path(sys.executable), {}, (10, 10), Decoding(), [])
    assert ended.value.code == (
        "JoeyNMT's process ended with status 3, and said why above; joeynmt_peer.py says how to install it"
    )
    with pytest.raises(SystemExit) as missing:
        peer.JoeyNMT(Path("no/python"), {}, (10, 10), Decoding(), [])
    assert missing.value.code == "--joeynmt no/python: No such file or directory; give the Python that has JoeyNMT"


def test_networks_have_the_shape_of_ours(peer: ModuleType) -> None:
    recurrent = peer.recurrent_network(RecurrentModel(kind="recurrent", hidden=512, encoder_layers=2))
    assert recurrent["encoder"]["embeddings"] == recurrent["decoder"]["embeddings"] == {"embedding_dim": 256}
    assert [recurrent[side]["hidden_size"] for side in ("encoder", "decoder")] == [512, 512]
    assert [recurrent[side]["num_layers"] for side in ("encoder", "decoder")] == [2, 1]
    assert (recurrent["encoder"]["bidirectional"], recurrent["decoder"]["attention"]) == (True, "bahdanau")
    transformer = peer.transformer_network(TransformerModel(kind="transformer", decoder_layers=2, tie="target"))
    assert [transformer[side]["num_layers"] for side in ("encoder", "decoder")] == [3, 2]
    assert (transformer["tied_embeddings"], transformer["tied_softmax"]) == (False, True)
