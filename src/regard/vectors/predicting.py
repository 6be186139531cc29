"""Learning vectors by skip-gram or CBOW, over spans of the text in parallel."""

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from typing import Protocol

import numpy as np
from jaxtyping import Float32, Int32

from regard.errors import UsageError
from regard.recipe import LearnedVectors, PredictingVectors
from regard.vectors.averaged import averaged
from regard.vectors.checkpoints import Checkpoints
from regard.vectors.corpus import Corpus
from regard.vectors.drawing import MOST_LINE, logistic_table
from regard.vectors.learning_method import Advance
from regard.vectors.sampling import keeping, negatives, start
from regard.vectors.skipgram import skipgram
from regard.vectors.stream import LINE_END
from regard.vectors.subwords import SubwordRows, rows_of_words
from regard.vectors.vectors import Vectors

Matrices = Mapping[str, Float32[np.ndarray, "R D"]]


class Engine(Protocol):
    """Learns from spans of a text on some device."""

    span: int
    """Length of a span in words."""
    workers: int
    """Spans that may be processed in parallel."""

    def load(self, arrays: Matrices) -> None:
        """Sets the matrices."""

    def arrays(self) -> Matrices:
        """The current matrices."""

    def learn(self, begin: int, end: int, epoch: int, rates: tuple[float, float]) -> None:
        """Learns from a span of the text, with a rate that changes linearly."""


class CpuEngine:
    """Learns on a CPU. Threads update the shared matrices without locks (Recht et al. 2011)."""

    span = 100_000

    def __init__(self, settings: PredictingVectors, corpus: Corpus, seed: int) -> None:
        self.settings, self.corpus, self.seed, self.workers = settings, corpus, seed, settings.workers
        counts, targets = corpus.vocabulary.counts, settings.negatives + 1
        table = negatives(counts)
        self._given: tuple[np.ndarray, ...]
        self._given = keeping(counts, settings.sample), table.odds, table.alias, logistic_table()
        if settings.kind == "skipgram" and not settings.longest:
            self._loop = skipgram(settings.dimension, targets)
        else:
            self._loop = averaged(settings.dimension, targets, settings.kind == "cbow")
            self._given += rows_of(settings, corpus)

    def load(self, arrays: Matrices) -> None:
        self._inputs, self._outputs = arrays["inputs"], arrays["outputs"]

    def arrays(self) -> Matrices:
        return {"inputs": self._inputs, "outputs": self._outputs}

    def learn(self, begin: int, end: int, epoch: int, rates: tuple[float, float]) -> None:
        # A copy, so that the loop is compiled for one kind of array, memory-mapped or not.
        tokens = np.array(self.corpus.tokens[begin:end])
        state = start(self.seed, epoch, begin)
        window, dynamic = self.settings.window, self.settings.dynamic
        self._loop(tokens, self._inputs, self._outputs, *self._given, window, dynamic, rates, state)


def predict(
    settings: LearnedVectors, corpus: Corpus, seed: int, checkpoints: Checkpoints
) -> Iterator[Advance | Vectors]:
    """Learns vectors by skip-gram or CBOW; the steps of a checkpoint are spans."""
    assert isinstance(settings, PredictingVectors)
    engine = make_engine(settings, corpus, seed)
    length = len(corpus.tokens)
    spans, total = -(-length // engine.span), corpus.vocabulary.total * settings.epochs
    steps, saved = spans * settings.epochs, checkpoints.load()
    engine.load(saved.arrays if saved else initial(settings, corpus, seed))
    done = begun = saved.done if saved else 0

    def learn(step: int) -> None:
        epoch, number = divmod(step, spans)
        begin, end = cut(corpus.tokens, number * engine.span), cut(corpus.tokens, (number + 1) * engine.span)
        rates = rate_at(settings, epoch + begin / length), rate_at(settings, epoch + end / length)
        engine.learn(begin, end, epoch, rates)

    with ThreadPoolExecutor(engine.workers) as pool:
        pending: deque[Future[None]] = deque()
        while done < steps:
            while begun < steps and len(pending) < 2 * engine.workers:
                pending.append(pool.submit(learn, begun))
                begun += 1
            pending.popleft().result()
            done += 1
            if checkpoints.due():
                while pending:
                    pending.popleft().result()
                    done += 1
                checkpoints.save(engine.arrays(), done)
            yield Advance(total * done // steps, total)
    yield Vectors(corpus.vocabulary.words, _words_of(engine.arrays()["inputs"], settings, corpus))


def make_engine(settings: PredictingVectors, corpus: Corpus, seed: int) -> Engine:
    """The engine for the device of the settings; n-grams are learned on the CPU."""
    if settings.device == "cpu" or (settings.device == "auto" and settings.longest):
        return CpuEngine(settings, corpus, seed)
    from regard.device import choose_device, runs_triton

    device = choose_device(settings.device)
    if not runs_triton(device):
        if settings.device == "auto":
            return CpuEngine(settings, corpus, seed)
        raise UsageError(f"vectors.device = {settings.device!r}: vectors are learned on 'cpu' or 'cuda'")
    if find_spec("triton") is None:
        raise UsageError("learning vectors on a GPU needs Triton, which is not installed; install the extra 'gpu'")
    from regard.vectors.gpu import CudaEngine

    return CudaEngine(settings, corpus, seed, device)


def initial(settings: PredictingVectors, corpus: Corpus, seed: int) -> Matrices:
    """Initial matrices: inputs uniform within ± 1 / dimension, outputs zero, as in gensim; with half of that, as in
    word2vec, CBOW learns syntactic analogies slightly less well."""
    words, dimension = len(corpus.vocabulary), settings.dimension
    rows = words + (settings.buckets if settings.longest else 0)
    inputs = np.random.default_rng(start(seed, 0, -1)).random((rows, dimension), dtype=np.float32)
    inputs -= np.float32(0.5)
    inputs *= np.float32(2 / dimension)
    return {"inputs": inputs, "outputs": np.zeros((words, dimension), dtype=np.float32)}


def rate_at(settings: PredictingVectors, epochs: float) -> float:
    """The learning rate after a number of epochs."""
    return settings.last_rate + (settings.rate - settings.last_rate) * (1 - epochs / settings.epochs)


def cut(tokens: Int32[np.ndarray, " N"], place: int) -> int:
    """The end of a span that should end at `place`: after the line there, unless that is very long."""
    if place <= 0 or place >= len(tokens):
        return min(max(place, 0), len(tokens))
    ends = np.flatnonzero(tokens[place - 1 : place - 1 + MOST_LINE] == LINE_END)
    if len(ends):
        return place + int(ends[0])
    return place if place + MOST_LINE < len(tokens) else len(tokens)


def rows_of(settings: PredictingVectors, corpus: Corpus) -> SubwordRows:
    """The rows that are averaged for each word."""
    return rows_of_words(corpus.vocabulary.words, settings.shortest, settings.longest, settings.buckets)


def _words_of(
    inputs: Float32[np.ndarray, "R D"], settings: PredictingVectors, corpus: Corpus
) -> Float32[np.ndarray, "V D"]:
    """The vectors of the words: their rows, or the averages of those with the rows of their n-grams."""
    if not settings.longest:
        return inputs
    rows, starts = rows_of(settings, corpus)
    sums = np.empty((len(starts) - 1, inputs.shape[1]), dtype=np.float32)
    for word in range(len(sums)):
        sums[word] = inputs[rows[starts[word] : starts[word + 1]]].mean(axis=0)
    return sums
