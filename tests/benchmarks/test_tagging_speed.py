"""How fast words are tagged: the measurement runs from files to its table, and the plain tagger tags every word."""

import json
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch
from tagging_runs import write_columns
from torch import nn


class ChoosesAlone(nn.Module):
    """Stands for the CRF of `pytorch-crf`: each tag by itself."""

    def __init__(self, tags: int, batch_first: bool) -> None:
        super().__init__()

    def decode(self, emissions: torch.Tensor, mask: torch.Tensor) -> list[list[int]]:
        best = emissions.argmax(2)
        return [row[there].tolist() for row, there in zip(best, mask, strict=True)]


@pytest.fixture
def tagging_speed(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    monkeypatch.setitem(sys.modules, "torchcrf", SimpleNamespace(CRF=ChoosesAlone))
    return import_module("tagging_speed")


def test_it_measures_taggers_and_steps_and_its_table_says_how_they_compare(
    tagging_speed: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part, (file,) in write_columns(tmp_path).items():
        name = {"train": "eng.train", "dev": "eng.testa"}.get(part, part)
        Path(file).rename(tmp_path / name)
    (tmp_path / "vectors.txt").write_text("".join(f"{word}{' 0.1' * 50}\n" for word in ("rome", "anna", "the")))
    out = tmp_path / "out.json"
    threads = torch.get_num_threads()
    arguments = ["--conll", tmp_path, "--vectors", tmp_path / "vectors.txt", "--out", out, "--threads", threads]
    monkeypatch.setattr(sys, "argv", ["tagging_speed.py", *map(str, arguments), "--turns", "1", "--steps", "1"])
    monkeypatch.setattr(tagging_speed, "find_spec", lambda name: name == "torchcrf")
    tagging_speed.main()
    record = json.loads(out.read_text())
    assert record["tagging"].keys() == {"regard", "torch and pytorch-crf"}
    assert min(*record["tagging"].values(), *record["training"].values()) > 0
    record |= {"tagging": {"regard": 3000.0, "flair": 1500.0}, "training": {"crf": 15.0, "softmax": 10.0}}
    made = import_module("tables").tagging_speed(record)
    assert made.lines[2:] == ["| Regard | 3,000 |  |", "| flair | 1,500 | 2.00 × |"]
    assert "15 ms with a CRF and 10 ms with a softmax, 1.50 times as long.[^]" in made.caption


def test_the_plain_tagger_tags_each_word_whatever_stands_beside_the_sentence(tagging_speed: ModuleType) -> None:
    torch.manual_seed(1)
    tagger = tagging_speed.PlainTagger(["anna", "rome", "sees"], ["O", "B-PER", "I-PER"])
    sentences = [["Anna", "sees", "Rome"], ["Oslo"], ["\u2026", "anna"]]
    found = tagger(sentences)
    assert [len(tags) for tags in found] == [3, 1, 2]
    assert found == [tagger([sentence])[0] for sentence in sentences]
