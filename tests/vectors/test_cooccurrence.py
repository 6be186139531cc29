"""Counts of company: against a plain loop, and however often the buffer goes to disk."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.vectors import cooccurrence
from regard.vectors.cooccurrence import Cooccurrence, Weighting, counting, merged

SIZE = 6
streams = st.lists(st.integers(-1, SIZE - 1), max_size=60)
weightings = st.sampled_from(get_args(Weighting))


def count(tokens: list[int], folder: Path, window: int, weighting: Weighting, room: int = 1 << 20) -> Cooccurrence:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cooccurrence, "LEAST_PAIRS", room)
        given = np.array(tokens, np.int32)
        done = list(counting(given, SIZE, folder, window=window, weighting=weighting, memory=0))
    assert done == sorted(set(done))
    assert done[-1:] == [len(tokens)] * bool(tokens)
    return Cooccurrence.load(folder)


def dense(counts: Cooccurrence) -> np.ndarray:
    found = np.zeros((counts.size, counts.size), np.float32)
    found[counts.rows(), counts.columns] = counts.counts
    assert np.count_nonzero(found) == len(counts.counts)
    return found


def plain(tokens: list[int], window: int, weighting: Weighting) -> np.ndarray:
    weights = {"flat": lambda d: 1.0, "dynamic": lambda d: (window - d + 1) / window, "harmonic": lambda d: 1 / d}
    found = np.zeros((SIZE, SIZE))
    for place, word in enumerate(tokens):
        for distance in range(1, window + 1):
            for other in (place - distance, place + distance):
                between = tokens[min(place, other) : max(place, other) + 1]
                if 0 <= other < len(tokens) and min(between) >= 0:
                    found[word, tokens[other]] += weights[weighting](distance)
    return found


@given(streams, st.integers(1, 4), weightings, st.integers(1, 40))
def test_counts_are_those_of_a_plain_loop(
    tmp_path_factory: pytest.TempPathFactory, tokens: list[int], window: int, weighting: Weighting, room: int
) -> None:
    folder = tmp_path_factory.mktemp("counts")
    whole, spilled = (count(tokens, folder / str(r), window, weighting, room=r) for r in (1 << 20, room))
    np.testing.assert_allclose(dense(whole), plain(tokens, window, weighting), rtol=1e-6)
    assert np.array_equal(dense(whole), dense(whole).T)
    for one, other in zip(vars(whole).values(), vars(spilled).values(), strict=True):
        assert one.tobytes() == other.tobytes()
    assert sorted(path.name for path in (folder / str(room)).iterdir()) == [
        *("columns.int32", "counts.float32", "starts.int64")
    ]


@given(st.lists(st.lists(st.integers(0, 50), min_size=1, unique=True), min_size=1, max_size=5), st.integers(1, 30))
def test_parts_of_a_merge_are_small_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, runs: list[list[int]], room: int
) -> None:
    folder, paths = tmp_path_factory.mktemp("runs"), []
    for number, run in enumerate(runs):
        paths.append(folder / str(number))
        paths[-1].mkdir()
        np.save(paths[-1] / "pairs.npy", np.array(sorted(run), np.int64))
        np.save(paths[-1] / "units.npy", np.full(len(run), number + 1, np.int64))
    parts = list(merged(paths, room))
    pairs, units = (np.concatenate([part[side] for part in parts]).tolist() for side in (0, 1))
    assert pairs == sorted({pair for run in runs for pair in run})
    assert units == [sum(number + 1 for number, run in enumerate(runs) if pair in run) for pair in pairs]
    made_of = [sum(len({*part[0].tolist()} & {*run}) for run in runs) for part in parts]
    assert max(made_of) <= max(room, 2 * len(runs))


def test_too_many_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"pairs of 4,000,000,000 words are too many to number; lower data\.most"):
        list(counting(np.zeros(1, np.int32), 4_000_000_000, tmp_path, window=5))
