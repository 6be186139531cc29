"""Learning goes through the text in spans: all of it, in the same bits with one worker, and on where it was left."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vector_texts import corpus_of

from regard.errors import ModelError, UsageError
from regard.recipe import CbowVectors, PredictingVectors, SkipgramVectors, VectorsData
from regard.vectors import Vectors
from regard.vectors.checkpoints import Checkpoints
from regard.vectors.corpus import Corpus, load_corpus
from regard.vectors.learning_method import Advance
from regard.vectors.predicting import CpuEngine, cut, initial, make_engine, predict, rate_at
from regard.vectors.sampling import start

SMALL = {"dimension": 6, "negatives": 2, "window": 2, "epochs": 4, "sample": 0.1, "rate": 0.2}
"""The width and the targets of the other tests, so that nothing is compiled twice."""


def settings(kind: str = "skipgram", **changes: object) -> PredictingVectors:
    build = {"skipgram": SkipgramVectors, "cbow": CbowVectors}[kind]
    return build.model_validate({"kind": kind, **SMALL, **changes})


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Sixteen words of two kinds; the text has several spans."""
    monkeypatch.setattr(CpuEngine, "span", 100)
    draw = np.random.default_rng(1)
    kinds = [[f"cat{letter}" for letter in "abcdefgh"], [f"dog{letter}" for letter in "abcdefgh"]]
    lines = [" ".join(draw.choice(kinds[number % 2], 6)) for number in range(300)]
    return corpus_of("\n".join(lines), tmp_path)


def never(folder: Path, corpus: Corpus) -> Checkpoints:
    return Checkpoints(folder, 1e9, corpus.fingerprint)


def learned(settings: PredictingVectors, corpus: Corpus, checkpoints: Checkpoints) -> Vectors:
    *advances, vectors = predict(settings, corpus, 1, checkpoints)
    assert isinstance(vectors, Vectors)
    assert all(isinstance(advance, Advance) for advance in advances)
    words = [advance.words for advance in advances if isinstance(advance, Advance)]
    assert words == sorted(words)
    assert words[-1] == corpus.vocabulary.total * settings.epochs
    return vectors


@pytest.mark.parametrize("kind", ["skipgram", "cbow"])
@pytest.mark.parametrize("ngrams", [{}, {"longest": 4, "buckets": 50}])
@pytest.mark.parametrize("workers", [1, 2])
def test_words_of_a_kind_come_together(
    corpus: Corpus, tmp_path: Path, kind: str, ngrams: dict[str, int], workers: int
) -> None:
    chosen = settings(kind, epochs=8, workers=workers, **ngrams)
    vectors = learned(chosen, corpus, never(tmp_path / "states", corpus))
    for word in ("cata", "dogc"):
        nearest = [neighbor.word for neighbor in vectors.most_similar(word, top=7)]
        assert all(other.startswith(word[:3]) for other in nearest)


@pytest.mark.parametrize("kind", ["skipgram", "cbow"])
def test_one_worker_gives_the_same_bits_again_and_another_seed_others(
    corpus: Corpus, tmp_path: Path, kind: str
) -> None:
    first, again = (learned(settings(kind), corpus, never(tmp_path / name, corpus)).matrix for name in "ab")
    assert (first == again).all()
    *_, other = predict(settings(kind), corpus, 2, never(tmp_path / "c", corpus))
    assert isinstance(other, Vectors)
    assert not np.allclose(first, other.matrix)


@pytest.mark.parametrize("ngrams", [{}, {"longest": 4, "buckets": 50}])
@pytest.mark.parametrize("stop", [1, 30, 70])
def test_stopped_and_resumed_it_ends_in_the_same_bits(
    corpus: Corpus, tmp_path: Path, stop: int, ngrams: dict[str, int]
) -> None:
    chosen = settings(**ngrams)
    whole = learned(chosen, corpus, never(tmp_path / "whole", corpus)).matrix
    states = never(tmp_path / "pieces", corpus)
    for number, _ in enumerate(predict(chosen, corpus, 1, states), start=1):
        if states.asked:
            break
        states.asked = number == stop
    assert len(list((tmp_path / "pieces").iterdir())) == 1
    resumed = learned(chosen, corpus, never(tmp_path / "pieces", corpus)).matrix
    assert (whole == resumed).all()


def test_states_are_saved_when_it_is_time_and_only_the_newest_is_kept(corpus: Corpus, tmp_path: Path) -> None:
    states = Checkpoints(tmp_path / "states", 0.0, corpus.fingerprint)
    steps = sum(isinstance(event, Advance) for event in predict(settings(), corpus, 1, states))
    saved = states.load()
    assert saved is not None
    assert saved.done > steps
    assert set(saved.arrays) == {"inputs", "outputs"}
    assert len(list((tmp_path / "states").iterdir())) == 1


def test_a_state_of_another_text_or_a_damaged_one_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    states = never(tmp_path / "states", corpus)
    states.save(initial(settings(), corpus, 1), 3)
    with pytest.raises(UsageError, match="this run was begun with another text; resume it with that text, or choose"):
        Checkpoints(states.folder, 1.0, "other").load()
    (states.folder / "000000000003" / "inputs.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(ModelError, match=r"000000000003: this state of the run is damaged \(.+\); delete the folder"):
        states.load()


def test_a_full_disk_is_told(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "states").write_text("a file where a folder should be")
    with pytest.raises(UsageError, match=r"states: cannot be written: .+; make room or choose another --out"):
        never(tmp_path / "states", corpus).save({}, 1)


@given(
    st.lists(st.integers(-1, 3), max_size=80).map(lambda numbers: np.array(numbers, dtype=np.int32)), st.integers(1, 20)
)
def test_spans_are_the_whole_text_cut_after_lines(tokens: np.ndarray, span: int) -> None:
    places = [cut(tokens, number * span) for number in range(-(-len(tokens) // span) + 1)]
    assert places == sorted(places)
    assert places[0] == 0
    assert places[-1] == len(tokens)
    assert all(tokens[place - 1] == -1 for place in places[1:-1] if place < len(tokens))


def test_a_line_without_end_is_cut_anyway() -> None:
    tokens = np.zeros(30_000, dtype=np.int32)
    assert cut(tokens, 100) == 100


def test_the_rate_falls_evenly_to_its_end() -> None:
    chosen = settings(rate=0.1, last_rate=0.02, epochs=4)
    assert [round(rate_at(chosen, epochs), 6) for epochs in (0, 1, 2, 4)] == [0.1, 0.08, 0.06, 0.02]


def test_matrices_begin_small_and_even(corpus: Corpus) -> None:
    begun = initial(settings(longest=4, buckets=50), corpus, 1)
    assert begun["inputs"].shape == (16 + 50, 6)
    assert not begun["outputs"].any()
    assert 0.9 / 6 < np.abs(begun["inputs"]).max() <= 1 / 6
    assert abs(begun["inputs"].mean()) < 0.02
    assert start(1, 0, -1) != start(1, 0, 0)


def test_devices_that_cannot_be_had_are_refused(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="device 'tpu' is not available here; available: "):
        make_engine(settings(device="tpu"), corpus, 1)
    assert isinstance(make_engine(settings(device="auto", longest=4), corpus, 1), CpuEngine)
    import torch

    monkeypatch.setattr("regard.device.choose_device", lambda name: torch.device("mps"))
    assert isinstance(make_engine(settings(device="auto"), corpus, 1), CpuEngine)
    with pytest.raises(UsageError, match=r"vectors.device = 'mps': vectors are learned on 'cpu' or 'cuda'"):
        make_engine(settings(device="mps"), corpus, 1)
    monkeypatch.setattr("regard.device.choose_device", lambda name: torch.device("cuda"))
    monkeypatch.setattr("regard.vectors.predicting.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs Triton, which is not installed; install the extra 'gpu'"):
        make_engine(settings(device="cuda"), corpus, 1)


@pytest.mark.long
@pytest.mark.parametrize("phrases", [0, 1])
def test_memory_does_not_grow_with_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phrases: int) -> None:
    for room in ("corpus", "phrases"):
        monkeypatch.setattr(f"regard.vectors.{room}.PIECE", 10_000)
    draw, most = np.random.default_rng(1), []
    words = np.array([f"word{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(100)])
    for lines in (25_000, 100_000):
        path = tmp_path / f"{lines}.txt"
        path.write_text("\n".join(map(" ".join, draw.choice(words, (lines, 8)))))
        assert path.stat().st_size > 1 << 20, "more than a block"
        tracemalloc.start()
        corpus = load_corpus(VectorsData(train=[str(path)], phrases=phrases), tmp_path / str(lines))
        learned(settings(epochs=1), corpus, never(tmp_path / "states", corpus))
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[1] < most[0] * 1.1 + 100_000, most
