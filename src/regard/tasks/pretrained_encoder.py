"""A pre-trained encoder.

encoder = regard.load("runs/encoder")
best = encoder.fill(["The ___ barks ."])[0]            # best.text, best.guesses
encoder.inspect("The dog barks .")                     # how well each word can be guessed, attention, gates and states
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.checkpoint import ModelFolder, load_weights, put_weights
from regard.data.masking import mask
from regard.data.sentence_batches import plan_sentences
from regard.data.sentences import NumberedSentences, Sentences
from regard.device import choose_device, device_of
from regard.display import Listed, html_table
from regard.errors import UsageError
from regard.inspect import Array, Inspection
from regard.inspect.watch import CANDIDATES, INSIDE, recorded
from regard.metrics import MetricScore
from regard.metrics.score import Scores
from regard.misuse import explained
from regard.models.word_predictor import ROWS_AT_ONCE, WordPredictor
from regard.nn.undrawn import Undrawn
from regard.recipe import HeldOut, PretrainingRecipe
from regard.tasks.loading import refuse_company, refuse_other_task
from regard.tasks.long_sentences import refuse_long_text
from regard.tasks.pretraining import PlainSentences, build_predictor, judge, masking_of
from regard.tasks.trained import LoadedModel
from regard.tasks.validating import words_of, words_to_look_at
from regard.tasks.word_files import WORDS
from regard.tokens.vocabulary import SPECIAL_NAMES
from regard.tokens.word_vocabulary import WordVocabulary

BLANK = "___"
"""A blank to be filled in."""
BATCH_WORDS = 4096
"""Words that are read together, padding included."""

Guesses = tuple[tuple[str, float], ...]
"""The likeliest words for a blank, each with its probability."""


@dataclass(frozen=True, repr=False)
class Filled:
    """A sentence whose blanks have been filled in."""

    words: tuple[str, ...]
    guesses: tuple[Guesses, ...]
    """For each blank, likeliest first."""

    @property
    def text(self) -> str:
        """The words joined by spaces."""
        return " ".join(self.words)

    def __repr__(self) -> str:
        return f"<Filled: {self.text}>"

    def _repr_html_(self) -> str:
        rows = [
            (str(blank), word, f"{share:.4f}")
            for blank, guesses in enumerate(self.guesses, start=1)
            for word, share in guesses
        ]
        return html_table(rows, title=self.text, heading=("blank", "word", "probability"))


@explained
class PretrainedEncoder(LoadedModel[PretrainingRecipe, WordPredictor]):
    """A pre-trained encoder with its words, ready to guess them."""

    def __init__(self, recipe: PretrainingRecipe, model: WordPredictor, vocabulary: WordVocabulary) -> None:
        self.recipe, self.model, self.vocabulary = recipe, model.eval(), vocabulary

    @classmethod
    def load(cls, folder: Path, *, device: str = "auto") -> Self:
        """The model in a folder."""
        recipe = ModelFolder(folder).read_recipe(PretrainingRecipe)
        vocabulary = WordVocabulary.load(recipe.words, folder / WORDS)
        with Undrawn():
            model = build_predictor(recipe, vocabulary)
        put_weights(model, load_weights(folder), folder)
        return cls(recipe, model.to(choose_device(device)), vocabulary)

    @property
    def _facts(self) -> dict[str, str]:
        guesses = "the next word" if self.model.is_causal else "masked words"
        return {"guesses": guesses, "words": f"{self.vocabulary.size:,}", "on": str(device_of(self.model))}

    def fill(self, sentences: Sequence[str] | Sequence[Sequence[str]], *, guesses: int = CANDIDATES) -> list[Filled]:
        """Fills in the blanks (`___`) of sentences, each a text of space-separated words, or a list of words. Each is
        guessed by itself, while the others are masked; by a causal encoder, from the words before it."""
        words = words_of("sentences", sentences)
        for place, sentence in enumerate(words):
            self.refuse_long(len(sentence), f"sentences[{place}]: ")
        if guesses < 1:
            raise UsageError(f"guesses = {guesses}: give at least 1")
        found = Listed(Filled(sentence, ()) for sentence in words)
        there = [place for place, sentence in enumerate(words) if BLANK in sentence]
        numbered = NumberedSentences.of([words[place] for place in there], self.vocabulary)
        with torch.inference_mode():
            for chosen in plan_sentences(numbered.lengths, BATCH_WORDS):
                rows = [words[there[row]] for row in chosen.tolist()]
                batch = numbered.pick(chosen)
                blank = torch.zeros(batch.tokens.shape, dtype=torch.bool)
                for row, sentence in enumerate(rows):
                    blank[row, : len(sentence)] = torch.tensor([word == BLANK for word in sentence])
                likeliest = iter(self._guessed(batch, blank, guesses))
                for row, sentence in zip(chosen.tolist(), rows, strict=True):
                    every = [next(likeliest) if word == BLANK else ((word, 1.0),) for word in sentence]
                    of_blanks = (guess for guess, word in zip(every, sentence, strict=True) if word == BLANK)
                    found[there[row]] = Filled(tuple(guess[0][0] for guess in every), tuple(of_blanks))
        return found

    def _guessed(self, batch: Sentences, blank: Bool[Tensor, "B S"], count: int) -> list[Guesses]:
        """The likeliest words of each blank, one row after the other."""
        device = device_of(self.model)
        features = self.model(mask(batch, blank).to(device))[blank.to(device)]
        return [guess for some in torch.split(features, ROWS_AT_ONCE) for guess in self._likeliest(some, count)]

    def _likeliest(self, features: Float[Tensor, "N E"], count: int) -> list[Guesses]:
        shares = self._of_words(features)
        best = shares.topk(min(count, shares.shape[1] - len(SPECIAL_NAMES)))
        return [
            tuple((self.vocabulary.vocabulary[word], share) for word, share in zip(words, row, strict=True))
            for words, row in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]

    def _of_words(self, features: Float[Tensor, "N E"]) -> Float[Tensor, "N V"]:
        """Probabilities of all words; special tokens get none."""
        logits = self.model.readout.logits(features).float()
        logits[:, : len(SPECIAL_NAMES)] = -torch.inf
        return logits.softmax(-1)

    def evaluate(self, split: HeldOut) -> tuple[MetricScore, ...]:
        """How well it guesses words of the development or test text of its recipe: perplexity, and accuracy in
        percent."""
        if not self.recipe.data.has(split):
            raise UsageError(f"the model's recipe names no {split} text (data.{split}); set it in the recipe")
        sentences = NumberedSentences.of(PlainSentences(self.recipe.data, split), self.vocabulary)
        masking = masking_of(self.recipe, self.vocabulary)
        with torch.inference_mode():
            loss, right, words = judge(self.model, sentences, masking, BATCH_WORDS)
        if not words:
            raise UsageError(f"data.{split}: the model knows none of its words, so there is nothing to guess")
        known = f"known:{self.vocabulary.size}"
        signature = f"{'next word' if self.model.is_causal else f'masked:{masking.share}'}|words:{words}|{known}"
        perplexity = float(np.exp(min(loss / words, 700.0)))
        return Scores(
            (
                MetricScore("perplexity per word", perplexity, signature),
                MetricScore("accuracy", 100 * right / words, signature),
            )
        )

    def inspect(self, *texts: str) -> Inspection:
        """An inspection of the model on a sentence, and its guess of each word: masked while all others are visible, or
        from the words before it. For a blank (`___`) the likeliest words are shown."""
        words = words_to_look_at("a pre-trained encoder", "sentence", texts)
        self.refuse_long(len(words))
        device, length = device_of(self.model), len(words)
        numbered = NumberedSentences.of([words], self.vocabulary)
        blank = torch.tensor([[word == BLANK for word in words]])
        batch = mask(numbered.pick(np.arange(1)), blank).to(device)
        with torch.inference_mode():
            patterns = [f"encoder.{pattern}" for pattern in INSIDE]
            (arrays,), features = recorded(self.model, patterns, {"source": [length]}, lambda: self.model(batch))
            features = features[0] if self.model.is_causal else self._each_masked(numbered, blank)
            shares = self._of_words(features).cpu()
        likeliest = shares.topk(min(CANDIDATES, shares.shape[1] - len(SPECIAL_NAMES)))
        names = self.vocabulary.vocabulary
        found = [[names[word] for word in row] for row in likeliest.indices.tolist()]
        arrays["candidates"] = Array(
            ("source", "rank"), likeliest.values.numpy(), np.array(found, dtype=object).reshape(likeliest.values.shape)
        )
        # No probability for out-of-vocabulary words, nor for blanks.
        tokens = numbered.words.values
        known = (tokens < shares.shape[1]) & ~blank[0].numpy()
        of_words = shares[torch.arange(length), torch.from_numpy(np.where(known, tokens, 0)).long()].numpy()
        arrays["probabilities"] = Array(("source",), of_words)
        attention = tuple(name for name, array in arrays.items() if "head" in array.axes)
        return Inspection(
            arrays, {"source": words}, title=" ".join(words), shown=("candidates", "probabilities", *attention)
        )

    def _each_masked(self, numbered: NumberedSentences, blank: Bool[Tensor, "1 S"]) -> Float[Tensor, "S E"]:
        """The features of each word of a sentence while that word is masked."""
        found, length, device = [], blank.shape[1], device_of(self.model)
        for places in torch.split(torch.arange(length), max(1, BATCH_WORDS // length)):
            rows = numbered.pick(np.zeros(len(places), dtype=np.int64))
            masked = blank | (torch.arange(length) == places[:, None])
            found.append(self.model(mask(rows, masked).to(device))[torch.arange(len(places)), places.to(device)])
        return torch.cat(found)

    def refuse_long(self, words: int, where: str = "") -> None:
        """Refuses a sentence of more words than the model has learned positions for."""
        refuse_long_text(self.recipe.model.encoder, words, where)


def load_encoder(
    folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()
) -> PretrainedEncoder:
    """The pre-trained encoder in a folder."""
    refuse_company(folder, "pre-trained encoder", others, changes)
    refuse_other_task(Path(folder), "pretraining")
    return PretrainedEncoder.load(Path(folder), device=device)
