"""What words of a source are called in its target: the same text, in numbers of the target."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import recipe
from regard.data.batch import PairBatch, Worded
from regard.data.batches import CorpusPosition, PairBatches, evaluation_batches
from regard.data.copying import Copying
from regard.tokens import END, TOKENIZERS, UNKNOWN, Tokenizer, train_tokenizer
from regard.tokens.rows import Rows

KNOWN_SOURCE = ["the cat sat on a mat", "the dog sat", "a cat a dog"]
KNOWN_TARGET = ["die katze sat auf the mat", "der hund sat"]
words = st.lists(st.sampled_from(["the", "cat", "mat", "sat", "hund", "Zoë", "4711", "x☃y", "<unk>"]), max_size=6)


def tokenizer(texts: list[str], kind: str = "words", **settings: object) -> Tokenizer:
    return train_tokenizer(recipe.TokenizerSettings(kind=kind, size=60, **settings), texts)


def text_of(copied_words: list[int], beyond: tuple[str, ...], target: Tokenizer) -> str:
    return target.decode(copied_words, beyond)


@pytest.mark.parametrize("kind", [kind for kind in TOKENIZERS if kind != "bytes"])
@given(source=words, target=words)
def test_the_words_of_a_source_read_as_the_source(kind: str, source: list[str], target: list[str]) -> None:
    left, right = tokenizer(KNOWN_SOURCE, kind), tokenizer(KNOWN_TARGET, kind)
    source_text, target_text = " ".join(source), " ".join(target)
    for one, other in ((left, right), (left, left)):
        copying = Copying(one, other)
        found = copying.copied(one.encode(source_text), source_text)
        assert len(found.words) == len(one.encode(source_text))
        assert UNKNOWN not in found.words
        assert text_of(found.words, found.beyond, other) == source_text
        assert len(set(found.beyond)) == len(found.beyond)
        assert not [name for name in found.beyond if name in other.vocabulary]
        plain = other.encode(target_text)
        wanted = copying.target(plain, target_text, found.beyond)
        for before, after in zip(plain, wanted, strict=True):
            assert before == after or (before == UNKNOWN and after >= other.size)


def test_unknown_words_get_one_number_each_and_the_target_the_same() -> None:
    left, right = tokenizer(KNOWN_SOURCE), tokenizer(KNOWN_TARGET)
    copying = Copying(left, right)
    source = "the Zoë cat Zoë 4711 hund mat"
    found = copying.copied(left.encode(source), source)
    size = right.size
    find = right.vocabulary.find
    assert found.beyond == ("Zoë", "cat", "4711")
    assert found.words == [find("the"), size, size + 1, size, size + 2, find("hund"), find("mat")]
    target = "der 4711 Anna Zoë sat cat"
    wanted = copying.target(right.encode(target), target, found.beyond)
    assert wanted == [find("der"), size + 2, UNKNOWN, size, find("sat"), size + 1]
    assert right.decode(wanted, found.beyond) == "der 4711 \ufffd Zoë sat cat"
    assert copying.target(right.encode(target), target, ()) == right.encode(target)


def test_text_that_looks_like_a_special_token_is_a_word() -> None:
    left, right = tokenizer(["<unk> </s> a"]), tokenizer(["<unk> b"])
    found = Copying(left, right).copied(left.encode("<unk> </s>"), "<unk> </s>")
    assert found.words == [right.vocabulary.find("<unk>"), right.size]
    assert found.beyond == ("</s>",)


def test_words_that_are_unknown_are_unknown_however_subwords_are_drawn() -> None:
    both = tokenizer(KNOWN_SOURCE, "bpe", dropout=0.5)
    text = "the ☃ cat é sat☃"
    copying = Copying(both, both)
    for seed in range(5):
        (drawn,) = both.sampled(Rows.of([both.encode(text)]), np.array([seed], dtype=np.uint64)).lists()
        found = copying.copied(drawn, text)
        assert found.beyond == ("☃", "é")
        assert both.decode(found.words, found.beyond) == text


class Listed:
    """Pairs of texts as the batches of a run see them."""

    def __init__(self, pairs: list[tuple[str, str]], left: Tokenizer, right: Tokenizer) -> None:
        self.pairs, self.tokenizers = pairs, (left, right)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def lengths(self) -> np.ndarray:
        return np.stack([side.lengths for side in self.sides(np.arange(len(self)))], axis=1).astype(np.int32)

    def sides(self, examples: np.ndarray) -> tuple[Rows, Rows]:
        texts = zip(*(self.pairs[example] for example in examples), strict=True)
        left, right = (Rows.of(one.encode_all(side)) for one, side in zip(self.tokenizers, texts, strict=True))
        return left, right

    def text(self, index: int) -> tuple[str, str]:
        return self.pairs[index]


PAIRS = [("the Zoë sat", "der Zoë sat"), ("a cat", "katze auf"), ("dog 4711", "hund 4711 Anna")]


@pytest.mark.parametrize("shapes", [0, 2])
def test_batches_know_the_words_of_their_sources(shapes: int) -> None:
    left, right = tokenizer(KNOWN_SOURCE), tokenizer(KNOWN_TARGET)
    pairs, copying = Listed(PAIRS, left, right), Copying(left, right)
    batches = PairBatches(pairs, seed=1, batch_tokens=64, shapes=shapes, copying=copying)
    batch, _ = next(iter(batches.from_position(CorpusPosition())))
    plain, _ = next(iter(PairBatches(pairs, seed=1, batch_tokens=64, shapes=shapes).from_position(CorpusPosition())))
    assert batch.source.tokens.equal(plain.source.tokens)
    assert not isinstance(plain.source, Worded)
    check(batch, copying, right)
    sources, targets = (side.lists() for side in pairs.sides(np.arange(3)))
    words, wanted = copying.both(sources, targets, PAIRS)
    (batch,) = evaluation_batches(sources, wanted, 64, words)
    check(batch, copying, right)
    share = batch.rows(1, 2)
    assert share.source.words.equal(batch.source.words[1::2])


def check(batch: PairBatch, copying: Copying, right: Tokenizer) -> None:
    assert isinstance(batch.source, Worded)
    assert batch.source.words.shape == batch.source.tokens.shape
    for row, example in enumerate(batch.examples):
        source, target = PAIRS[example]
        words = batch.source.words[row, : batch.source.lengths[row]].tolist()
        assert words.pop() == END
        found = copying.copied(copying._source.encode(source), source)
        assert right.decode(words, found.beyond) == source
        assert right.decode(batch.wanted.tokens[row].tolist(), found.beyond) == target.replace("Anna", "\ufffd")
        assert batch.given.tokens[row, 1 : len(target.split()) + 1].equal(
            batch.wanted.tokens[row, : len(target.split())]
        )
