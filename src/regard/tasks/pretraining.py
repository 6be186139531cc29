"""Pre-training: plain text in, an encoder that has learned to guess its words."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from regard.data.examples import Split
from regard.data.masking import MaskedBatch, MaskedBatches, Masking
from regard.data.sentence_batches import plan_sentences
from regard.data.sentences import NumberedSentences
from regard.data.text import Text
from regard.device import device_of
from regard.errors import DataError, counted, with_short_paths
from regard.models.word_predictor import WordPredictor
from regard.recipe import PretrainingData, PretrainingRecipe
from regard.tasks.checking import check_plain_text
from regard.tasks.fingerprints import refuse_other_text, write_fingerprint
from regard.tasks.ranks import gathered
from regard.tasks.task import BatchedTask
from regard.tasks.word_files import WORDS, known_words
from regard.tokens.vocabulary import SPECIAL_NAMES
from regard.tokens.word_vocabulary import WordVocabulary

SAY_EVERY = 500_000
"""Sentences between progress messages while text is read."""


@dataclass(frozen=True)
class PlainSentences(Iterable[tuple[str, ...]]):
    """The sentences of a part of a corpus, read again for each pass so that they need not fit in memory."""

    data: PretrainingData
    split: Split
    say: Callable[[str], None] = lambda line: None

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        number, longest = 0, self.data.longest
        for line in Text(self.split, self.data.lines):
            words = tuple(line.split())
            for start in range(0, len(words), longest):
                number += 1
                if number % SAY_EVERY == 0:
                    self.say(f"{self.split}: {number:,} sentences read")
                yield words[start : start + longest]


class PretrainingTask(BatchedTask):
    """A pre-training recipe with its sentences, vocabulary and batches at hand."""

    def __init__(
        self,
        recipe: PretrainingRecipe,
        vocabulary: WordVocabulary,
        train: Iterable[tuple[str, ...]],
        dev: Iterable[tuple[str, ...]] = (),
    ) -> None:
        self.recipe: PretrainingRecipe = recipe
        self.vocabulary = vocabulary
        self._train, self._dev = (NumberedSentences.of(each, vocabulary) for each in (train, dev))
        settings = recipe.train
        self._batches = MaskedBatches(
            self._train,
            masking_of(recipe, vocabulary),
            seed=recipe.seed,
            batch_tokens=settings.batch_tokens,
            shapes=settings.fixed_shapes,
        )

    @classmethod
    def prepare(cls, recipe: PretrainingRecipe, folder: Path, say: Callable[[str], None]) -> Self:
        """Checks the text and says what it found, and learns the words (or takes those of the model to start from)."""
        report = check_plain_text(recipe)
        for line in report.lines():
            say(with_short_paths(line))
        report.raise_if_refused()
        train = PlainSentences(recipe.data, "train", say)
        vocabulary = known_words(recipe, folder, train)
        if vocabulary.size - vocabulary.unseen == len(SPECIAL_NAMES):
            least = recipe.words.least
            raise DataError(
                f"words.least = {least}: no word of the training text occurs so often, so none can be guessed; lower it"
            )
        guessed = "the next word" if recipe.model.encoder.is_causal else f"{100 * recipe.train.masked:g} % of words"
        say(f"{counted(vocabulary.size, 'word')} in the vocabulary; the encoder learns to guess {guessed}")
        task = cls(recipe, vocabulary, train, PlainSentences(recipe.data, "dev") if recipe.data.has("dev") else ())
        refuse_other_text(folder, task.fingerprint)
        return task

    @property
    def fingerprint(self) -> str:
        """A hash that identifies the text."""
        found = sha256(repr((self.vocabulary.vocabulary.tokens, self.recipe.data.longest)).encode("utf-8", "replace"))
        for part in (self._train, self._dev):
            for rows in (part.words, part.forms, part.spellings):
                if rows is not None:
                    found.update(rows.values.tobytes() + rows.bounds.tobytes())
        return found.hexdigest()

    def save(self, folder: Path) -> None:
        self.vocabulary.save(folder / WORDS)
        write_fingerprint(folder, self.fingerprint)

    def build_model(self) -> WordPredictor:
        return build_predictor(self.recipe, self.vocabulary)

    def start(self, model: nn.Module) -> list[str]:
        assert isinstance(model, WordPredictor)
        return model.words.start(self.vocabulary)

    def objective(self, model: nn.Module, batch: MaskedBatch, carry: None) -> tuple[Tensor, None]:
        assert isinstance(model, WordPredictor)
        return model.loss(batch), None

    @torch.no_grad()
    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        """`loss` per target word, its `perplexity`, and the `accuracy` of the likeliest words."""
        assert isinstance(model, WordPredictor)
        if not len(self._dev):
            return {}
        masking = masking_of(self.recipe, self.vocabulary)
        share = judge(model, self._dev, masking, self.recipe.train.batch_tokens, rank, world)
        loss, right, words = (sum(column) for column in zip(*gathered(share, world), strict=True))
        if not words:
            raise DataError("data.dev: the model knows none of its words; give text like that of data.train")
        mean = loss / words
        return {"loss": mean, "perplexity": math.exp(min(mean, 700.0)), "accuracy": 100 * right / words}

    def describe_batch(self, batch: MaskedBatch) -> Any:
        names = self.vocabulary.vocabulary
        rows = zip(batch.examples, batch.words.tolist(), batch.sentences.lengths.tolist(), strict=False)
        wanted = batch.wanted.tolist()
        return [
            {
                "example": example,
                "words": [names[word] for word in words[:length]],
                "wanted": [place for place in range(length) if wanted[row][place]],
            }
            for row, (example, words, length) in enumerate(rows)
        ]


def build_predictor(recipe: PretrainingRecipe, vocabulary: WordVocabulary) -> WordPredictor:
    """A new model on the CPU, in float32, with weights initialized from torch's global generator."""
    return WordPredictor(recipe.model, recipe.words, vocabulary)


def masking_of(recipe: PretrainingRecipe, vocabulary: WordVocabulary) -> Masking:
    """The masking of words in training."""
    share = None if recipe.model.encoder.is_causal else recipe.train.masked
    return Masking(vocabulary.size - vocabulary.unseen, share, recipe.train.kept, recipe.seed)


def judge(
    model: WordPredictor,
    sentences: NumberedSentences,
    masking: Masking,
    batch_tokens: int,
    rank: int = 0,
    world: int = 1,
) -> tuple[float, int, int]:
    """The summed loss of the target words of every world-th batch, how many of them are guessed, and their number.
    Regardless of the seed, the same words are targets, and none of them is visible."""
    masking = replace(masking, kept=0.0, seed=0)
    total, right, words = 0.0, 0, 0
    for chosen in plan_sentences(sentences.lengths, batch_tokens)[rank::world]:
        batch = masking.batch(sentences, chosen).to(device_of(model))
        loss, guessed = model.judge(batch)
        total, right, words = total + loss, right + guessed, words + batch.count
    return total, right, words
