"""Tagging: sentences of words in, a model that gives each word a tag."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.data.sentence_batches import SentenceBatches
from regard.data.tagged import TaggedCorpora, TaggedSentence, load_tagged
from regard.data.tagged_batch import NumberedTagged, TaggedBatch
from regard.device import device_of
from regard.errors import DataError, counted, with_short_paths
from regard.metrics.tagging import count_tags
from regard.models.tagger import WordTagger
from regard.recipe import TaggingRecipe
from regard.tasks.fingerprints import refuse_other_text, write_fingerprint
from regard.tasks.known_tags import known_tags, listed
from regard.tasks.long_sentences import refuse_long_texts
from regard.tasks.ranks import gathered
from regard.tasks.task import BatchedTask
from regard.tasks.word_files import LABELS, TAGS, WORDS, known_words
from regard.tokens.tag_schemes import Scheme
from regard.tokens.tag_set import MISSING, TagSet
from regard.tokens.word_vocabulary import WordVocabulary


class TaggingTask(BatchedTask):
    """A tagging recipe with its sentences, vocabulary and batches at hand."""

    def __init__(
        self,
        recipe: TaggingRecipe,
        corpora: TaggedCorpora,
        vocabulary: WordVocabulary,
        tags: TagSet,
        labels: TagSet | None = None,
    ) -> None:
        self.recipe: TaggingRecipe = recipe
        self.vocabulary, self.tags, self.labels, self.fingerprint = vocabulary, tags, labels, corpora.fingerprint
        self._train: list[TaggedSentence] = list(corpora.sentences("train"))
        self._dev: list[TaggedSentence] = list(corpora.sentences("dev"))
        train = NumberedTagged.of(self._train, vocabulary, tags, labels)
        self._numbered_dev = NumberedTagged.of(self._dev, vocabulary, tags, labels)
        settings = recipe.train
        self._batches = SentenceBatches(
            train.sentences.lengths,
            train.pick,
            seed=recipe.seed,
            batch_tokens=settings.batch_tokens,
            shapes=settings.fixed_shapes,
        )

    @classmethod
    def prepare(cls, recipe: TaggingRecipe, folder: Path, say: Callable[[str], None]) -> Self:
        """Checks the corpus and says what it found, and learns the words, tags and labels (or takes those of the model
        to start from)."""
        corpora = load_tagged(recipe.data, recipe.seed)
        report = corpora.report
        for line in report.lines():
            say(with_short_paths(line))
        report.raise_if_refused()
        refuse_other_text(folder, corpora.fingerprint)
        refuse_long_texts(recipe.model.encoder, {split: corpora.sentences(split) for split in corpora.parts})
        train = corpora.sentences("train")
        vocabulary = known_words(recipe, folder, [sentence.words for sentence in train])
        tags = _known_tags(recipe, folder, corpora)
        labels = (
            known_tags(recipe, folder, LABELS, [[each.label] for each in train]) if recipe.data.has_labels else None
        )
        told = [f"tags {listed(tags)}", *([f"labels {listed(labels)}"] if labels else [])]
        say(f"{counted(vocabulary.size, 'word')} in the vocabulary, {', '.join(told)}")
        return cls(recipe, corpora, vocabulary, tags, labels)

    def save(self, folder: Path) -> None:
        self.vocabulary.save(folder / WORDS)
        self.tags.save(folder / TAGS)
        if self.labels is not None:
            self.labels.save(folder / LABELS)
        write_fingerprint(folder, self.fingerprint)

    def build_model(self) -> WordTagger:
        return build_tagger(self.recipe, self.vocabulary, self.tags, self.labels)

    def start(self, model: nn.Module) -> list[str]:
        assert isinstance(model, WordTagger)
        return model.words.start(self.vocabulary)

    def objective(self, model: nn.Module, batch: TaggedBatch, carry: None) -> tuple[Tensor, None]:
        assert isinstance(model, WordTagger)
        return model.loss(model(batch.sentences), batch.tags, batch.sentences.lengths, batch.labels), None

    @torch.no_grad()
    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        """`loss` per word and label, without sentences that have a tag never seen in training and without such labels;
        `accuracy`, of spans `f1`, and of labels `label_accuracy` and `exact`."""
        assert isinstance(model, WordTagger)
        if not self._dev:
            return {}
        total, targets, outputs = 0.0, 0, list[tuple[int, list[str], str]]()
        for place, batch in enumerate(self._numbered_dev.batches(self.recipe.train.batch_tokens)):
            if place % world != rank:
                continue
            batch = batch.to(device_of(model))
            scores, lengths = model(batch.sentences), batch.sentences.lengths
            known = torch.where((batch.tags != MISSING).all(1), lengths, 0)
            total += model.loss(scores, batch.tags, known, batch.labels).item()
            targets += int(known.sum() + (batch.labels != MISSING).sum())
            best = zip(model.output.best(scores[0], lengths).tolist(), lengths.tolist(), strict=True)
            tags = [self.tags.decode(row[:length]) for row, length in best]
            outputs += zip(batch.examples, tags, self._best_labels(scores[1], len(tags)), strict=True)
        parts = gathered((total, targets, outputs), world)
        ordered = sorted(each for _, _, part in parts for each in part)
        labels = [label for *_, label in ordered], [sentence.label for sentence in self._dev]
        counts = count_tags([tags for _, tags, _ in ordered], [sentence.tags for sentence in self._dev], labels)
        loss = sum(total for total, _, _ in parts) / max(sum(targets for _, targets, _ in parts), 1)
        spans = {"f1": counts.f1().value} if self.tags.scheme != "none" else {}
        of_labels = {"label_accuracy": counts.label_accuracy().value, "exact": counts.exact().value}
        return {"loss": loss, "accuracy": counts.accuracy().value, **spans, **(of_labels if self.labels else {})}

    def _best_labels(self, scores: Float[Tensor, "B L"] | None, rows: int) -> list[str]:
        """The likeliest label of each sentence; empty if there are no labels."""
        if scores is None or self.labels is None:
            return [""] * rows
        return [self.labels.tags[number] for number in scores.argmax(1).tolist()]

    def describe_batch(self, batch: TaggedBatch) -> Any:
        chosen = ((example, self._train[example]) for example in batch.examples)
        return [
            {"example": example, "words": each.words, "tags": each.tags, "label": each.label}
            for example, each in chosen
        ]


def build_tagger(
    recipe: TaggingRecipe, vocabulary: WordVocabulary, tags: TagSet, labels: TagSet | None = None
) -> WordTagger:
    """A new model on the CPU, in float32, with weights initialized from torch's global generator."""
    known = len(labels.tags) if labels else 0
    return WordTagger(recipe.model, recipe.words, vocabulary, tags.tags, tags.learned, known)


def _known_tags(recipe: TaggingRecipe, folder: Path, corpora: TaggedCorpora) -> TagSet:
    """The tags of the training text, or of the model to start from."""
    scheme, train = corpora.scheme, [sentence.tags for sentence in corpora.sentences("train")]
    learned: Scheme = scheme if recipe.model.scheme == "data" else recipe.model.scheme
    wishes = {
        f"model.scheme = {learned!r}": learned != "none",
        "model.forbid = true": recipe.model.forbid,
        "train.validation.metric = 'f1'": recipe.train.validation.metric == "f1",
    }
    if scheme == "none" and (wish := next((name for name, wished in wishes.items() if wished), "")):
        raise DataError(f"{wish} is for tags that mark spans of words, but those of the data do not; leave it out")
    return known_tags(recipe, folder, TAGS, train, scheme, learned)
