"""Surprisal of words that are rare in training but seen before in the same document."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from language_runs import language_recipe

from regard.data.stream import TokenText
from regard.data.text import Text
from regard.errors import UsageError
from regard.tasks import load_writer
from regard.tokens import END, UNKNOWN
from regard.train import run


@pytest.fixture
def rare_words(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("rare_words")


def test_words_are_told_apart(rare_words: ModuleType) -> None:
    text = TokenText.of([([4, 5, END], True), ([4, UNKNOWN, END], False), ([4, 5, 5, END], True)])
    documents = rare_words.documents_of(text)
    assert documents.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    counts = np.array([0, 0, 0, 0, 100, 3])
    classes = rare_words.classify(text.stream, documents, counts, rare=3)
    names = [rare_words.CLASSES[place] if place >= 0 else "" for place in classes]
    assert names == [
        *("frequent, new", "rare, new", ""),
        *("frequent, seen before", "", ""),
        *("frequent, new", "rare, new", "rare, seen before", ""),
    ]


def test_models_are_compared_word_by_word(rare_words: ModuleType, tmp_path: Path) -> None:
    compare, classes = rare_words.compare, rare_words.CLASSES
    for kind in ("recurrent", "copying"):
        run(language_recipe(tmp_path, kind, train={"steps": 4}), tmp_path / kind, reporter=lambda event: None)
    writers = {kind: load_writer(tmp_path / kind, device="cpu") for kind in ("recurrent", "copying")}
    data = writers["recurrent"].recipe.data
    found = compare(writers, Text("test", data), Text("train", data), rare=35)
    assert [(row.model, row.words) for row in found] == [(kind, words) for kind in writers for words in classes]
    words = Path(data.test[0]).read_text().split()
    assert sum(row.count for row in found if row.model == "copying") == len(words)
    for name, writer in writers.items():
        scored = writer.score_text(Text("test", data))
        total = scored.log_probs[scored.text.stream != END].sum() / -np.log(2)
        assert sum(row.count * row.bits for row in found if row.model == name) == pytest.approx(total, rel=1e-4)
    assert all(row.margin >= 0 for row in found)
    plain, copying = found[: len(classes)], found[len(classes) :]
    assert all(row.change is None and row.change_margin is None for row in plain)
    assert [row.change for row in copying] == pytest.approx(
        [row.bits - other.bits for row, other in zip(copying, plain, strict=True)]
    )
    twice = compare(dict.fromkeys(("a", "b"), writers["copying"]), Text("test", data), Text("train", data))
    assert {(row.change, row.change_margin) for row in twice[len(classes) :]} == {(0.0, 0.0)}
    unknown = Text("test", data.model_copy(update={"documents": "none"}))
    with pytest.raises(UsageError, match="where documents begin is not known"):
        compare(writers, unknown, Text("train", data))
    run(
        language_recipe(tmp_path, train={"steps": 1}, tokens={"unknown": "cat"}),
        tmp_path / "other",
        reporter=lambda event: None,
    )
    with pytest.raises(UsageError, match="only if they have the same words"):
        compare(writers | {"other": load_writer(tmp_path / "other")}, Text("test", data), Text("train", data))
