"""Learning vectors on a GPU: one step as computed by hand, and what a CPU learns from the same text."""

from pathlib import Path

import numpy as np
import pytest
import torch
from vector_texts import corpus_of

from regard.recipe import CbowVectors, PredictingVectors, SkipgramVectors
from regard.vectors import Vectors
from regard.vectors.checkpoints import Checkpoints
from regard.vectors.corpus import Corpus, Vocabulary
from regard.vectors.predicting import Engine, make_engine, predict

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]

WIDTH, RATE = 10, 0.01
KINDS = ["skipgram", "cbow"]


def settings(kind: str, **changes: object) -> PredictingVectors:
    build = {"skipgram": SkipgramVectors, "cbow": CbowVectors}[kind]
    common = {"kind": kind, "dimension": WIDTH, "window": 2, "negatives": 1, "sample": 0.0, "device": "cuda"}
    return build.model_validate({**common, **changes})


def engine(kind: str, tokens: list[int], **changes: object) -> Engine:
    """A text of the words 0 to 3; nearly all negatives are word 4, which does not occur in it."""
    vocabulary = Vocabulary(list("abcde"), np.array([1, 1, 1, 1, 10**15]))
    return make_engine(settings(kind, **changes), Corpus(vocabulary, np.array(tokens, dtype=np.int32), "a text"), 1)


def matrices() -> dict[str, np.ndarray]:
    """Word 4 begins with an output of zeros, so that what it teaches is known."""
    draw = np.random.default_rng(1)
    made = {name: draw.normal(size=(5, WIDTH)).astype(np.float32) for name in ("inputs", "outputs")}
    made["outputs"][4] = 0
    return made


def by_hand(kind: str, line: list[int], inputs: np.ndarray, outputs: np.ndarray) -> None:
    for place, word in enumerate(line):
        company = line[max(0, place - 2) : place] + line[place + 1 : place + 3]
        for members in [company] if kind == "cbow" else [[other] for other in company]:
            hidden = inputs[members].mean(axis=0)
            for target, label in ((word, 1), (4, 0)):
                gradient = RATE * (label - 1 / (1 + np.exp(-hidden @ outputs[target])))
                inputs[members] += gradient * outputs[target]
                outputs[target] += gradient * hidden


@pytest.mark.parametrize("kind", KINDS)
def test_one_pass_is_what_is_computed_by_hand(kind: str) -> None:
    tokens = [0, 1, 2, -1, 3, -1, 1, 3]
    made = engine(kind, tokens, dynamic=False)
    made.load(matrices())
    made.learn(0, len(tokens), 0, (RATE, RATE))
    expected = {name: matrix.astype(np.float64) for name, matrix in matrices().items()}
    by_hand(kind, [0, 1, 2], **expected)
    by_hand(kind, [1, 3], **expected)
    for name, matrix in made.arrays().items():
        assert not np.allclose(matrix, matrices()[name], atol=1e-3)
        # A window learns in a few turns here, or all at once, and one word after the other by hand.
        np.testing.assert_allclose(matrix, expected[name], atol=5e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_rate_or_company_nothing_changes(kind: str) -> None:
    for tokens, rate in (([0, 1, 2, -1, 3, 1], 0.0), ([0, -1, 1, -1, -1, 2], 0.1)):
        made = engine(kind, tokens)
        made.load(matrices())
        made.learn(0, len(tokens), 0, (rate, rate))
        for name, matrix in made.arrays().items():
            assert (matrix == matrices()[name]).all()


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    draw = np.random.default_rng(1)
    kinds = [[f"{kind}{letter}" for letter in "abcdefgh"] for kind in ("cat", "dog")]
    return corpus_of("\n".join(" ".join(draw.choice(kinds[number % 2], 6)) for number in range(3000)), tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_words_of_a_kind_come_together(corpus: Corpus, tmp_path: Path, kind: str) -> None:
    chosen = settings(kind, sample=0.1, negatives=5, epochs=8, rate=0.2)
    *_, vectors = predict(chosen, corpus, 1, Checkpoints(tmp_path / "states", 1e9, corpus.fingerprint))
    assert isinstance(vectors, Vectors)
    for word in ("cata", "dogc"):
        assert all(near.word.startswith(word[:3]) for near in vectors.most_similar(word, top=7))


def test_a_run_is_saved_and_goes_on(corpus: Corpus, tmp_path: Path) -> None:
    states = Checkpoints(tmp_path / "states", 1e9, corpus.fingerprint)
    events = predict(settings("skipgram", epochs=3), corpus, 1, states)
    next(events)
    states.asked = True
    next(events)
    saved = states.load()
    assert saved is not None
    assert 0 < saved.done <= 3
    *_, vectors = predict(
        settings("skipgram", epochs=3), corpus, 1, Checkpoints(states.folder, 1e9, corpus.fingerprint)
    )
    assert isinstance(vectors, Vectors)
    assert np.isfinite(vectors.matrix).all()
