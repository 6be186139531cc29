"""Learning vectors from counts: by factorizing them (PPMI and SVD, Hellinger PCA), or by GloVe."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from regard.recipe import CountingVectors, GloveVectors, HellingerVectors, LearnedVectors, SvdVectors
from regard.vectors.checkpoints import Checkpoints
from regard.vectors.cooccurrence import Cooccurrence, counting
from regard.vectors.corpus import Corpus
from regard.vectors.factorizing import check_dimension, hellinger, scaled, truncated
from regard.vectors.glove import Glove, GloveState, Shuffled
from regard.vectors.learning_method import Advance
from regard.vectors.vectors import Vectors

WHOLE = "whole"
"""File that marks complete counts and holds the fingerprint of their text and settings."""


def factorize(
    settings: LearnedVectors, corpus: Corpus, seed: int, checkpoints: Checkpoints
) -> Iterator[Advance | Vectors]:
    """Counts co-occurrences and factorizes the matrix; a resumed run reuses complete counts."""
    assert isinstance(settings, SvdVectors | HellingerVectors)
    total, size = corpus.vocabulary.total, len(corpus.vocabulary)
    most = settings.contexts if isinstance(settings, HellingerVectors) else 0
    check_dimension(settings.dimension, min(size, most or size))
    yield from _counted(settings, corpus, checkpoints, total)
    yield Advance(total, total, "factorizing")
    counts = Cooccurrence.load(_folder(checkpoints))
    if isinstance(settings, SvdVectors):
        matrix = scaled(counts, settings.scaling, smoothing=settings.smoothing, shift=settings.shift)
    else:
        matrix = hellinger(counts, contexts=settings.contexts)
    found = truncated(matrix, settings.dimension, power=settings.power, seed=seed)
    shutil.rmtree(_folder(checkpoints))
    yield Vectors(corpus.vocabulary.words, found)


def fit_glove(
    settings: LearnedVectors, corpus: Corpus, seed: int, checkpoints: Checkpoints
) -> Iterator[Advance | Vectors]:
    """Counts co-occurrences and learns by GloVe; the steps of a checkpoint are parts of an epoch."""
    assert isinstance(settings, GloveVectors)
    passed = corpus.vocabulary.total
    total = passed * (1 + settings.epochs)
    yield from _counted(settings, corpus, checkpoints, total)
    counts = Cooccurrence.load(_folder(checkpoints))
    entries = Shuffled(counts, _folder(checkpoints) / "shuffled", seed=seed, memory=settings.memory)
    glove = Glove(settings.rate, settings.ceiling, settings.exponent, settings.workers)
    saved = checkpoints.load()
    state = GloveState(**saved.arrays) if saved else GloveState.begin(counts.size, settings.dimension, seed)
    done = saved.done if saved else 0
    while done < len(entries) * settings.epochs:
        epoch, first = divmod(done, len(entries))
        for part in entries.parts(epoch, first):
            loss = glove.learn(state, part) / max(1, len(part))
            done += 1
            if checkpoints.due():
                checkpoints.save(state.arrays(), done)
            yield Advance(passed + passed * done // len(entries), total, f"loss {loss:.4f}")
    shutil.rmtree(_folder(checkpoints))
    yield Vectors(corpus.vocabulary.words, state.vectors())


def _counted(settings: CountingVectors, corpus: Corpus, checkpoints: Checkpoints, total: int) -> Iterator[Advance]:
    """Counts, unless complete counts exist."""
    folder = _folder(checkpoints)
    made_of = f"{corpus.fingerprint} {settings.window} {settings.weighting}\n"
    if (folder / WHOLE).exists() and (folder / WHOLE).read_text() == made_of:
        return
    shutil.rmtree(folder, ignore_errors=True)
    done = counting(
        corpus.tokens,
        len(corpus.vocabulary),
        folder,
        window=settings.window,
        weighting=settings.weighting,
        memory=settings.memory,
    )
    for place in done:
        yield Advance(corpus.vocabulary.total * place // len(corpus.tokens), total, "counting")
    (folder / WHOLE).write_text(made_of)


def _folder(checkpoints: Checkpoints) -> Path:
    """The folder of counts, next to the states of a run; deleted when the vectors are learned."""
    return checkpoints.folder.with_name(f"{checkpoints.folder.name}-counts")
