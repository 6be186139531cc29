"""Classifying: texts in, a model that gives each a label, or several."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from regard.data.labelled import LabelledCorpora, LabelledText, load_labelled
from regard.data.labelled_batch import LabelledBatch, NumberedLabelled
from regard.device import device_of
from regard.errors import DataError, counted, with_short_paths
from regard.metrics.classifying import count_labels
from regard.models.classifier import TextClassifier
from regard.recipe import ClassifyingRecipe
from regard.tasks.fingerprints import refuse_other_text, write_fingerprint
from regard.tasks.known_tags import known_tags, listed
from regard.tasks.long_sentences import refuse_long_texts
from regard.tasks.ranks import gathered
from regard.tasks.task import BatchedTask
from regard.tasks.word_files import LABELS, WORDS, known_words
from regard.tokens.tag_set import TagSet
from regard.tokens.word_vocabulary import WordVocabulary


class ClassifyingTask(BatchedTask):
    """A classifying recipe with its texts, vocabulary and batches at hand."""

    def __init__(
        self, recipe: ClassifyingRecipe, corpora: LabelledCorpora, vocabulary: WordVocabulary, labels: TagSet
    ) -> None:
        self.recipe: ClassifyingRecipe = recipe
        self.vocabulary, self.labels, self.fingerprint = vocabulary, labels, corpora.fingerprint
        self._train: list[LabelledText] = list(corpora.texts("train"))
        self._dev: list[LabelledText] = list(corpora.texts("dev"))
        reach, settings = recipe.model.context.texts_before, recipe.train
        train = NumberedLabelled.of(self._train, vocabulary, labels, reach)
        self._numbered_dev = NumberedLabelled.of(self._dev, vocabulary, labels, reach)
        self._batches = train.training_batches(recipe.seed, settings.batch_tokens, settings.fixed_shapes)

    @classmethod
    def prepare(cls, recipe: ClassifyingRecipe, folder: Path, say: Callable[[str], None]) -> Self:
        """Checks the corpus and says what it found, and learns the words and the labels (or takes those of the model
        to start from)."""
        corpora = load_labelled(recipe.data, recipe.seed)
        report = corpora.report
        for line in report.lines():
            say(with_short_paths(line))
        report.raise_if_refused()
        refuse_other_text(folder, corpora.fingerprint)
        refuse_long_texts(recipe.model.encoder, {split: corpora.texts(split) for split in corpora.parts})
        train = corpora.texts("train")
        vocabulary = known_words(recipe, folder, [text.words for text in train])
        labels = _known_labels(recipe, folder, corpora)
        say(f"{counted(vocabulary.size, 'word')} in the vocabulary, labels {listed(labels)}")
        return cls(recipe, corpora, vocabulary, labels)

    def save(self, folder: Path) -> None:
        self.vocabulary.save(folder / WORDS)
        self.labels.save(folder / LABELS)
        write_fingerprint(folder, self.fingerprint)

    def build_model(self) -> TextClassifier:
        return build_classifier(self.recipe, self.vocabulary, self.labels)

    def start(self, model: nn.Module) -> list[str]:
        assert isinstance(model, TextClassifier)
        return model.words.start(self.vocabulary)

    def objective(self, model: nn.Module, batch: LabelledBatch, carry: None) -> tuple[Tensor, None]:
        assert isinstance(model, TextClassifier)
        return model.loss(model(batch.texts), batch.labels, batch.known), None

    @torch.no_grad()
    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        """`loss` per text, without texts that have a label never seen in training; `accuracy`, `macro_f1` and
        `micro_f1`."""
        assert isinstance(model, TextClassifier)
        if not self._dev:
            return {}
        total, texts, outputs = 0.0, 0, list[tuple[int, list[str]]]()
        for place, batch in enumerate(self._numbered_dev.batches(self.recipe.train.batch_tokens)):
            if place % world != rank:
                continue
            batch = batch.to(device_of(model))
            scores = model(batch.texts)
            total += model.loss(scores, batch.labels, batch.known).item()
            texts += batch.count
            outputs += zip(batch.examples, names_of(model.chosen(scores), self.labels), strict=True)
        parts = gathered((total, texts, outputs), world)
        ordered = [labels for _, labels in sorted(each for _, _, part in parts for each in part)]
        counts = count_labels(ordered, [text.labels for text in self._dev])
        loss = sum(total for total, _, _ in parts) / max(sum(texts for _, texts, _ in parts), 1)
        accuracy, macro, micro = (score.value for score in counts.scores())
        return {"loss": loss, "accuracy": accuracy, "macro_f1": macro, "micro_f1": micro}

    def describe_batch(self, batch: LabelledBatch) -> Any:
        chosen = ((example, self._train[example]) for example in batch.examples)
        return [{"example": example, "words": each.words, "labels": each.labels} for example, each in chosen]


def names_of(chosen: Bool[Tensor, "B L"], labels: TagSet) -> list[list[str]]:
    """The labels that are True in each row."""
    return [[name for name, there in zip(labels.tags, row, strict=True) if there] for row in chosen.tolist()]


def build_classifier(recipe: ClassifyingRecipe, vocabulary: WordVocabulary, labels: TagSet) -> TextClassifier:
    """A new model on the CPU, in float32, with weights initialized from torch's global generator."""
    return TextClassifier(recipe.model, recipe.words, vocabulary, len(labels.tags), multiple=recipe.data.multiple)


def _known_labels(recipe: ClassifyingRecipe, folder: Path, corpora: LabelledCorpora) -> TagSet:
    """The labels of the training text, or of the model to start from."""
    rows = [text.labels for text in corpora.texts("train")]
    found, least = {label for row in rows for label in row}, 1 if recipe.data.multiple else 2
    if len(found) < least:
        raise DataError(
            f"data.train: {counted(len(found), 'different label')}, and nothing to choose from; give "
            f"texts with at least {least}"
        )
    return known_tags(recipe, folder, LABELS, rows)
