"""n-gram models: counting, smoothing and scoring against definitions, KenLM and each other."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from ngram_references import (
    BEGIN,
    END,
    SIZE,
    UNKNOWN,
    WRITTEN,
    Probability,
    Text,
    add_k,
    contexts_of,
    kneser_ney,
    lines_of,
    log10_probs,
    occurrences,
    perplexity,
    stupid_backoff,
    texts,
)
from safetensors.torch import load, save

from regard.checkpoint import put_weights, weights_of
from regard.data.batch import Padded
from regard.errors import DataError, ModelError, UsageError
from regard.models.ngram import counting
from regard.models.ngram.arpa_reading import read_arpa
from regard.models.ngram.building import count
from regard.models.ngram.counting import Counts, count_ngrams, count_piece, merge
from regard.models.ngram.generator import NgramLanguageModel, build
from regard.models.ngram.smoothing import SMOOTHINGS
from regard.models.ngram.table import NEVER, NgramTable, unread_table
from regard.recipe import NgramModel

HERE = Path(__file__).parent
PTB = Path(os.environ.get("PTB", Path(__file__).parents[3] / "shared" / "data" / "ptb"))
LN10 = np.log(10)
SOME = [[4, 5, 6], [4, 5], [], [7, 4, 5, 6, 8], [5, 5, 5], [8, 4, 5]]

orders = st.integers(1, 4)
smoothings = st.sampled_from(list(SMOOTHINGS))


def settings_of(order: int, smoothing: str = "kneser_ney") -> NgramModel:
    own = {"k": 0.3} if smoothing == "add_k" else {}
    return NgramModel(kind="ngram", order=order, smoothing=smoothing, **own)


def model_of(lines: Sequence[Text], order: int, smoothing: str = "kneser_ney") -> NgramLanguageModel:
    return count(lines, settings_of(order, smoothing), SIZE)


def reference_of(lines: Sequence[Text], order: int, smoothing: str) -> Probability:
    if smoothing == "kneser_ney":
        return kneser_ney(lines, order)
    if smoothing == "add_k":
        return add_k(lines, order, 0.3)
    return stupid_backoff(lines, order, 0.4)


def grams_of(counts: Counts) -> dict[tuple[int, ...], int]:
    """Every n-gram of two words or more with its count."""
    found, shorter = {}, [(word,) for word in range(len(counts.words))]
    for level in counts.levels:
        parents = np.repeat(np.arange(len(level.first) - 1), np.diff(level.first))
        grams = [(*shorter[parent], int(word)) for parent, word in zip(parents, level.words, strict=True)]
        assert grams == sorted(set(grams))
        found.update(zip(grams, level.counts.tolist(), strict=True))
        shorter = grams
    return found


def rows(number: int) -> Padded:
    return Padded(torch.zeros(number, 0, dtype=torch.long), torch.zeros(number, dtype=torch.long))


@given(lines=texts, order=orders)
def test_every_ngram_is_counted(lines: list[list[int]], order: int) -> None:
    counts = count_ngrams(lines, order, SIZE)
    assert counts.order == order
    wanted = {gram: number for length in range(2, order + 1) for gram, number in occurrences(lines, length).items()}
    assert grams_of(counts) == wanted
    words = occurrences(lines, 1)
    assert counts.words.tolist() == [words[(word,)] for word in range(SIZE)]
    assert counts.nodes == SIZE + len(wanted)


@given(lines=texts, order=orders, data=st.data())
def test_counted_in_pieces_is_counted_at_once(lines: list[list[int]], order: int, data: st.DataObject) -> None:
    whole = count_ngrams(lines, order, SIZE)
    cut = data.draw(st.integers(0, len(lines)))
    halves = [count_ngrams(part, order, SIZE) for part in (lines[:cut], lines[cut:])]
    merged = merge(*halves)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_bytes_per_position", lambda order: counting.MEBIBYTE)
        by_line = count_ngrams(lines, order, SIZE, memory=4)
    for found in (merged, by_line):
        assert grams_of(found) == grams_of(whole)
        assert np.array_equal(found.words, whole.words)


def test_arrays_and_lists_are_counted_alike_and_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_REPORT_EVERY", 5)
    told: list[int] = []
    arrays = count_ngrams((np.array(text, np.int64) for text in SOME), 3, SIZE, on_progress=told.append)
    assert grams_of(arrays) == grams_of(count_ngrams(SOME, 3, SIZE))
    assert told == sorted(told)
    assert told[-1] == len(lines_of(SOME))
    assert len(told) > 3


@pytest.mark.parametrize("token", [0, SIZE, -1])
def test_what_is_no_token_of_text_is_refused(token: int) -> None:
    with pytest.raises(UsageError) as error:
        count_ngrams([[4, token, 5]], 3, SIZE)
    assert str(error.value) == (
        f"counting n-grams: {token} is not a token of text; with a vocabulary of 9 those are 1 (unknown) and 4 to 8; "
        "encode the text with the tokenizer of this vocabulary"
    )


@pytest.mark.parametrize(("token", "does"), [(BEGIN, "begins"), (END, "ends")])
def test_marks_inside_a_text_are_refused(token: int, does: str) -> None:
    for text in ([4, token, 5], [token, 4], [4, token]):
        with pytest.raises(UsageError) as error:
            count_ngrams([text], 3, SIZE)
        assert str(error.value) == (
            f"counting n-grams: {token} is inside a text, but it marks where one {does}; "
            "give each line as a separate text, without such marks"
        )


def test_more_ngrams_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "PEAK", 2**20)
    with pytest.raises(DataError) as error:
        count_ngrams(SOME, 3, SIZE, memory=20)
    assert str(error.value) == (
        "counting n-grams: 36 distinct n-grams of up to 3 words need 36 MiB, but model.memory = 20; "
        "set it to 72 or more, lower model.order, or count less text"
    )
    monkeypatch.setattr(counting, "MOST_NODES", 30)
    with pytest.raises(DataError) as error:
        count_ngrams(SOME, 3, SIZE, memory=40)
    assert str(error.value) == (
        "counting n-grams: 36 distinct n-grams, but a model holds 30 at most; "
        "lower model.order (now 3), or count less text"
    )


@given(lines=texts, order=orders, smoothing=smoothings, heard=texts)
def test_probabilities_are_as_defined(
    lines: list[list[int]], order: int, smoothing: str, heard: list[list[int]]
) -> None:
    """Of every word after every context of other text, by the generator; and of that text, by the fast path."""
    if smoothing == "add_k":  # whose contexts are whole: as many words as the order has, or from BEGIN on
        heard = [text[: order - 1] for text in heard]
    model, probability = model_of(lines, order, smoothing), reference_of(lines, order, smoothing)
    scores = iter(log10_probs(model.table, lines_of(heard)))
    for text in heard:
        features, _ = model.advance(torch.tensor([[BEGIN, *text]]), model.start(rows(1), len(text) + 1))
        logits = model.readout.logits(features)[0]
        assert next(scores) == 0
        for context, word, found in zip(contexts_of(text, order), (*text, END), logits, strict=True):
            wanted = np.array([probability(each, context) for each in WRITTEN])
            np.testing.assert_allclose(found[list(WRITTEN)].exp(), wanted / wanted.sum(), atol=2e-5)
            assert found[[0, BEGIN]].max() < -200
            expected = np.log10(wanted[WRITTEN.index(word)]) if wanted[WRITTEN.index(word)] else NEVER
            assert next(scores) == pytest.approx(expected, abs=1e-4) or expected == NEVER


@given(lines=texts, order=orders, smoothing=smoothings)
def test_sums_over_the_vocabulary_are_known_for_every_context(
    lines: list[list[int]], order: int, smoothing: str
) -> None:
    model = model_of(lines, order, smoothing)
    trie, table = model.readout.trie, model.table
    contexts = torch.arange(table.contexts)
    logits = model.readout.logits(model.readout.features(contexts)).double()
    torch.testing.assert_close(logits.logsumexp(-1), torch.zeros(len(contexts)).double(), atol=1e-4, rtol=0)
    torch.testing.assert_close(logits.mean(-1), trie.means.double(), atol=1e-3, rtol=1e-5)
    assert smoothing == "stupid_backoff" or trie.totals.abs().max() < 1e-5
    assert model.sums_to_one == (trie.totals.abs().max() < 1e-3)


@given(lines=texts, order=orders, smoothing=smoothings, heard=texts)
def test_the_generator_says_of_lines_in_a_stream_what_the_fast_path_says(
    lines: list[list[int]], order: int, smoothing: str, heard: list[list[int]]
) -> None:
    """One stream of lines, of which END alone says where one ends."""
    model = model_of(lines, order, smoothing)
    stream = [token for token in lines_of(heard) if token != BEGIN]
    if not stream:
        return
    features, _ = model.advance(torch.tensor([[END, *stream[:-1]]]), model.start(rows(1), len(stream)))
    found, _ = model.readout.log_probs(features, torch.tensor([stream]))
    totals = model.readout.trie.totals[model.readout.nodes(features)]
    tokens = np.array(lines_of(heard), np.int32)
    wanted = np.array(log10_probs(model.table, tokens.tolist()))[tokens != BEGIN]
    np.testing.assert_allclose((found + totals)[0].numpy(), wanted * LN10, atol=1e-3, rtol=1e-5)
    assert log10_probs(model.table, [BEGIN, *stream])[1:] == wanted.tolist()


def toy_lines() -> list[list[str]]:
    return [line.split() for line in (HERE / "lmplz.txt").read_text().splitlines()]


@pytest.mark.parametrize("order", [2, 4])
def test_counted_and_smoothed_as_by_lmplz(order: int) -> None:
    """Against what KenLM's `lmplz -o ORDER --discount_fallback` made of the same lines."""
    theirs = read_arpa(HERE / f"lmplz_{order}.arpa")
    tokens = {word: token for token, word in enumerate(theirs.words)}
    lines = [[tokens[word] for word in line] for line in toy_lines()]
    ours = count(lines, settings_of(order), len(theirs.words)).table
    for name in ("bounds", "keys", "first", "links"):
        assert np.array_equal(getattr(ours, name), getattr(theirs.table, name)), name
    np.testing.assert_allclose(ours.log_probs, theirs.table.log_probs, atol=1e-6)
    np.testing.assert_allclose(ours.back_offs, theirs.table.back_offs, atol=1e-6)


@pytest.mark.long
@pytest.mark.skipif(not PTB.is_dir(), reason="needs the text of the Penn Treebank")
def test_perplexity_of_the_penn_treebank_is_that_of_kenlm() -> None:
    train, test = ((PTB / f"ptb.{part}.txt").read_text().splitlines() for part in ("train", "test"))
    tokens: dict[str, int] = {}
    lines = [[tokens.setdefault(word, len(tokens) + 4) for word in line.split()] for line in train]
    model = count(lines, settings_of(5), len(tokens) + 4)
    heard = [[tokens[word] for word in line.split()] for line in test]
    assert perplexity(model.table, heard) == pytest.approx(141.1862, abs=1e-3)


def test_words_beyond_the_vocabulary_are_read_as_unknown() -> None:
    model = model_of([[UNKNOWN, 5], [4, 6]], 3)
    found = [model.advance(torch.tensor([[BEGIN, word]]), model.start(rows(1), 2))[0] for word in (SIZE + 3, UNKNOWN)]
    assert torch.equal(*found)


def test_large_numbers_of_contexts_survive_as_features() -> None:
    readout = model_of(SOME, 2).readout
    nodes = torch.tensor([0, 2**20 - 1, 2**20, 2**24 + 1, 2**31 - 1])
    features = readout.features(nodes)
    assert features.dtype == torch.float32
    assert torch.equal(readout.nodes(features), nodes)


def test_a_saved_model_is_put_into_one_that_has_read_nothing() -> None:
    model = model_of(SOME, 3)
    saved = load(save(weights_of(model)))
    other = build(settings_of(3), SIZE)
    tokens = torch.tensor([[BEGIN, 4, 5]])
    before = other.readout.logits(other.advance(tokens, other.start(rows(1), 3))[0])
    torch.testing.assert_close(before[..., list(WRITTEN)].exp(), torch.full((1, 3, len(WRITTEN)), 1 / len(WRITTEN)))
    other.make_room(saved)
    put_weights(other, saved, "here")
    found = [one.readout.logits(one.advance(tokens, one.start(rows(1), 3))[0]) for one in (model, other)]
    assert torch.equal(*found)
    assert isinstance(other.table, NgramTable)
    with pytest.raises(ModelError, match="these are not the weights of an n-gram model of order 4; use the recipe"):
        build(settings_of(4), SIZE).make_room(saved)


def test_a_piece_may_be_empty() -> None:
    counts = count_piece(np.empty(0, np.int32), 3, SIZE)
    assert counts.nodes == SIZE
    table = count([], settings_of(3), SIZE).table
    np.testing.assert_allclose(table.log_probs, unread_table(3, SIZE).log_probs)
