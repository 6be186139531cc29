"""Learning from counts, as a run does it: stopped and resumed, in little memory, the same bits."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from vector_strategies import equal

from regard.recipe import GloveVectors, HellingerVectors, LearnedVectors, SvdVectors
from regard.vectors import Vectors, cooccurrence, glove
from regard.vectors.checkpoints import Checkpoints
from regard.vectors.corpus import Corpus, Vocabulary
from regard.vectors.learning import LEARNERS
from regard.vectors.learning_method import Advance

METHODS: list[LearnedVectors] = [
    SvdVectors(kind="svd", dimension=4, window=2),
    SvdVectors(kind="svd", dimension=4, window=2, scaling="sqrt", weighting="flat"),
    HellingerVectors(kind="hellinger", dimension=4, window=2, contexts=12),
    GloveVectors(kind="glove", dimension=4, window=3, epochs=6),
]
IDS = ["ppmi", "sqrt", "hellinger", "glove"]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Lines of two kinds, each with words of its own and a few of the other's."""
    rng = np.random.default_rng(0)
    kinds = (np.arange(200)[:, None] + (rng.random((200, 9)) < 0.1)) % 2
    lines = rng.integers(0, 10, (200, 9)) + 10 * kinds
    tokens = np.hstack([lines, np.full((200, 1), -1)]).ravel().astype(np.int32)
    counts = np.bincount(tokens[tokens >= 0], minlength=20)
    return Corpus(Vocabulary([f"w{number}" for number in range(20)], counts), tokens, "text")


def run(settings: LearnedVectors, corpus: Corpus, folder: Path, every: float = 1e9) -> Iterator[Advance | Vectors]:
    return LEARNERS[settings.kind](settings, corpus, 7, Checkpoints(folder / "checkpoints", every, corpus.fingerprint))


def vectors_of(events: Iterator[Advance | Vectors]) -> Vectors:
    *advances, last = events
    assert isinstance(last, Vectors)
    words = [advance.words for advance in advances if isinstance(advance, Advance)]
    assert len(words) == len(advances)
    assert words == sorted(words)
    return last


@pytest.mark.parametrize("settings", METHODS, ids=IDS)
def test_words_of_one_kind_of_line_are_near(settings: LearnedVectors, corpus: Corpus, tmp_path: Path) -> None:
    found = vectors_of(run(settings.model_copy(update={"epochs": 60}), corpus, tmp_path))
    assert (len(found), found.width) == (20, 4)
    near = np.array([[found.similarity(one, other) for other in found.words] for one in found.words])
    same, different = near[:10, :10][np.triu_indices(10, 1)], near[:10, 10:]
    assert same.mean() > different.mean() + 0.3
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("settings", METHODS, ids=IDS)
def test_little_memory_gives_the_same_counts(
    settings: LearnedVectors, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = vectors_of(run(settings, corpus, tmp_path))
    monkeypatch.setattr(cooccurrence, "BYTES_A_PAIR", 1 << 30)
    monkeypatch.setattr(cooccurrence, "LEAST_PAIRS", 2000)
    assert equal(vectors_of(run(settings, corpus, tmp_path)), expected)


@pytest.mark.parametrize("settings", METHODS, ids=IDS)
@pytest.mark.parametrize("stop", [1, 2, 5])
def test_stopped_and_resumed_is_not_stopped(
    settings: LearnedVectors, corpus: Corpus, tmp_path: Path, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glove, "BYTES_AN_ENTRY", 1 << 22)  # several parts in an epoch
    monkeypatch.setattr(cooccurrence, "BYTES_A_PAIR", 1 << 30)  # several runs
    monkeypatch.setattr(cooccurrence, "LEAST_PAIRS", 3000)
    whole = vectors_of(run(settings, corpus, tmp_path / "whole"))
    stopped = run(settings, corpus, tmp_path / "stopped", every=0)
    for _ in range(stop):
        next(stopped)
    stopped.close()  # type: ignore[attr-defined]
    assert equal(vectors_of(run(settings, corpus, tmp_path / "stopped")), whole)


def test_counts_of_another_window_are_counted_anew(corpus: Corpus, tmp_path: Path) -> None:
    narrow, wide = (SvdVectors(kind="svd", dimension=4, window=window) for window in (1, 4))
    expected = vectors_of(run(wide, corpus, tmp_path / "wide"))
    begun = run(narrow, corpus, tmp_path / "both")
    while not (isinstance(step := next(begun), Advance) and step.stage == "factorizing"):
        pass
    assert (tmp_path / "both" / "checkpoints-counts" / "whole").exists()
    assert equal(vectors_of(run(wide, corpus, tmp_path / "both")), expected)


def test_stages_are_named(corpus: Corpus, tmp_path: Path) -> None:
    stages = [step.stage for step in run(METHODS[0], corpus, tmp_path) if isinstance(step, Advance)]
    assert set(stages) == {"counting", "factorizing"}
    stages = [step.stage for step in run(METHODS[3], corpus, tmp_path) if isinstance(step, Advance)]
    assert stages[0] == "counting"
    assert stages[-1].startswith("loss 0.")
