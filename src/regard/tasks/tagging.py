"""Tagging: sentences of words in, a model that gives each word a tag."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from regard.checkpoint import ModelFolder
from regard.data.report import Report
from regard.data.sentence_batches import SentenceBatches
from regard.data.tagged import TaggedCorpora, TaggedSentence, load_tagged
from regard.data.tagged_batch import NumberedTagged, TaggedBatch
from regard.device import device_of
from regard.errors import DataError, ModelError, counted, one_of, with_short_paths
from regard.metrics.tagging import count_tags
from regard.models.tagger import WordTagger
from regard.recipe import TaggingCorpus, TaggingRecipe
from regard.tasks.fingerprints import refuse_other_text, write_fingerprint
from regard.tasks.loading import refuse_other_task
from regard.tasks.long_sentences import refuse_long_texts
from regard.tasks.ranks import gathered
from regard.tasks.task import BatchedTask
from regard.tasks.word_files import TAGS, WORDS, known_words
from regard.tokens.tag_schemes import Scheme
from regard.tokens.tag_set import MISSING, TagSet
from regard.tokens.word_vocabulary import WordVocabulary

SHOWN = 20
"""Tags that are named before training."""


def check(corpus: TaggingCorpus) -> Report:
    """What is wrong with tagged sentences, by file and line."""
    return report_of(load_tagged(corpus.data, corpus.seed))


def report_of(corpora: TaggedCorpora) -> Report:
    """What was found in the parts of a corpus."""
    holds: dict[str, str] = {name: part.holds for name, part in corpora.parts.items() if part.holds}
    return Report(holds, tuple(each for part in corpora.parts.values() for each in part.findings), corpora.notes)


class TaggingTask(BatchedTask):
    """A tagging recipe with its sentences, vocabulary and batches at hand."""

    def __init__(self, recipe: TaggingRecipe, corpora: TaggedCorpora, vocabulary: WordVocabulary, tags: TagSet) -> None:
        self.recipe: TaggingRecipe = recipe
        self.vocabulary, self.tags, self.fingerprint = vocabulary, tags, corpora.fingerprint
        self._train: list[TaggedSentence] = list(corpora.sentences("train"))
        self._dev: list[TaggedSentence] = list(corpora.sentences("dev"))
        train = NumberedTagged.of(self._train, vocabulary, tags)
        self._numbered_dev = NumberedTagged.of(self._dev, vocabulary, tags)
        settings = recipe.train
        self._batches = SentenceBatches(
            train.sentences.lengths,
            train.pick,
            seed=recipe.seed,
            batch_tokens=settings.batch_tokens,
            shapes=settings.shapes,
        )

    @classmethod
    def prepare(cls, recipe: TaggingRecipe, folder: Path, say: Callable[[str], None]) -> Self:
        """Checks the corpus and says what it found, and learns the words and the tags (or takes those of the model to
        start from)."""
        corpora = load_tagged(recipe.data, recipe.seed)
        report = report_of(corpora)
        for line in report.lines():
            say(with_short_paths(line))
        report.raise_if_refused()
        refuse_other_text(folder, corpora.fingerprint)
        refuse_long_texts(recipe.model.encoder, {split: corpora.sentences(split) for split in corpora.parts})
        train = corpora.sentences("train")
        vocabulary = known_words(recipe, folder, [sentence.words for sentence in train])
        tags = _known_tags(recipe, folder, corpora)
        more = "" if len(tags.tags) <= SHOWN else f" and {len(tags.tags) - SHOWN} more"
        say(f"{counted(vocabulary.size, 'word')} in the vocabulary, tags {', '.join(tags.tags[:SHOWN])}{more}")
        return cls(recipe, corpora, vocabulary, tags)

    def save(self, folder: Path) -> None:
        self.vocabulary.save(folder / WORDS)
        self.tags.save(folder / TAGS)
        write_fingerprint(folder, self.fingerprint)

    def build_model(self) -> WordTagger:
        return build_tagger(self.recipe, self.vocabulary, self.tags)

    def start(self, model: nn.Module) -> list[str]:
        assert isinstance(model, WordTagger)
        return model.words.start(self.vocabulary)

    def objective(self, model: nn.Module, batch: TaggedBatch, carry: None) -> tuple[Tensor, None]:
        assert isinstance(model, WordTagger)
        return model.loss(batch.sentences, batch.tags), None

    @torch.no_grad()
    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        """`loss` per word, without sentences that have a tag never seen in training; `accuracy`, and of spans `f1`."""
        assert isinstance(model, WordTagger)
        if not self._dev:
            return {}
        total, words, outputs = 0.0, 0, list[tuple[int, list[str]]]()
        for place, batch in enumerate(self._numbered_dev.batches(self.recipe.train.batch_tokens)):
            if place % world != rank:
                continue
            batch = batch.to(device_of(model))
            scores, lengths = model(batch.sentences), batch.sentences.lengths
            known = torch.where((batch.tags != MISSING).all(1), lengths, 0)
            total += model.output.loss(scores, batch.tags, known).item()
            words += int(known.sum())
            best = zip(batch.examples, model.output.best(scores, lengths).tolist(), lengths.tolist(), strict=True)
            outputs += [(example, self.tags.decode(row[:length])) for example, row, length in best]
        parts = gathered((total, words, outputs), world)
        ordered = [tags for _, tags in sorted(each for _, _, part in parts for each in part)]
        counts = count_tags(ordered, [sentence.tags for sentence in self._dev])
        loss = sum(total for total, _, _ in parts) / max(sum(words for _, words, _ in parts), 1)
        spans = {"f1": counts.f1().value} if self.tags.scheme != "none" else {}
        return {"loss": loss, "accuracy": counts.accuracy().value, **spans}

    def describe_batch(self, batch: TaggedBatch) -> Any:
        chosen = ((example, self._train[example]) for example in batch.examples)
        return [{"example": example, "words": each.words, "tags": each.tags} for example, each in chosen]


def build_tagger(recipe: TaggingRecipe, vocabulary: WordVocabulary, tags: TagSet) -> WordTagger:
    """A new model on the CPU, in float32, with weights initialized from torch's global generator."""
    return WordTagger(recipe.model, recipe.words, vocabulary, tags.tags, tags.learned)


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
    other = recipe.train.start_from
    if ModelFolder(folder).is_begun:
        return TagSet.load(folder / TAGS)
    if not other:
        return TagSet.of(train, scheme, learned)
    try:
        refuse_other_task(Path(other), recipe.task)
        known = TagSet.load(Path(other) / TAGS)
    except ModelError as error:
        raise ModelError(f"train.start_from: {error}") from None
    new = set(TagSet.of(train, scheme, known.learned).tags) - set(known.tags)
    if new:
        raise ModelError(
            f"train.start_from: {other}: this model does not know the tags {one_of(sorted(new))} of the training text; "
            "take over parts alone (train.start), such as 'words' and 'encoder'"
        )
    return TagSet(known.tags, scheme, known.learned)
