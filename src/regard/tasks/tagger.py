"""A trained tagger.

tagger = regard.load("runs/mine")
best = tagger.tag(["EU rejects German call"])[0]       # best.tags, best.spans, best.label, best.probabilities
tagger.inspect("EU rejects German call")               # tags with their probabilities, attention, gates and states
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
import torch

from regard.checkpoint import ModelFolder, load_weights, put_weights
from regard.data.fill_rows import Indices
from regard.data.sentence_batches import plan_sentences
from regard.data.sentences import NumberedSentences
from regard.data.tagged import load_tagged
from regard.device import choose_device, device_of
from regard.display import Listed, html_table
from regard.errors import UsageError
from regard.inspect import BEGIN_LABEL, END_LABEL, Array, Inspection, Outputs
from regard.inspect.outputs import Input, log_of, without_positions
from regard.inspect.watch import CANDIDATES, INSIDE, recorded
from regard.metrics import MetricScore
from regard.metrics.score import Scores
from regard.metrics.tagging import count_tags
from regard.misuse import explained
from regard.models.crf import CRF, FORBIDDEN
from regard.models.tagger import CrfOutput, WordTagger
from regard.nn.undrawn import Undrawn
from regard.recipe import HeldOut, TaggingRecipe
from regard.tasks.chosen_labels import label_arrays, likeliest_first
from regard.tasks.loading import refuse_company, refuse_other_task
from regard.tasks.long_sentences import refuse_long_text
from regard.tasks.tagging import build_tagger
from regard.tasks.trained import LoadedModel
from regard.tasks.validating import words_of, words_to_look_at
from regard.tasks.word_files import LABELS, TAGS, WORDS
from regard.tokens.tag_schemes import spans
from regard.tokens.tag_set import TagSet
from regard.tokens.word_vocabulary import WordVocabulary

BATCH_WORDS = 4096
"""Words that are tagged together, padding included."""


@dataclass(frozen=True, repr=False)
class Tagged:
    """A sentence with its tags, and its label if the model gives one."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    probabilities: tuple[float, ...]
    """Of each tag, given the sentence; empty if not requested. A tag of a span is written in the scheme of the data,
    and has the probability of the one that the model chose for the word."""
    label_probabilities: Mapping[str, float] = field(default_factory=dict)
    """Of every label of the sentence, likeliest first; empty if sentences have no label, or no words."""

    @property
    def label(self) -> str:
        """The likeliest label; empty if there is none."""
        return next(iter(self.label_probabilities), "")

    @property
    def spans(self) -> list[tuple[str, str]]:
        """The spans as text, each with its type: `("New York", "LOC")`."""
        return [(" ".join(self.words[start:end]), kind) for start, end, kind in spans(self.tags)]

    def __repr__(self) -> str:
        pairs = " ".join(f"{word}/{tag}" for word, tag in zip(self.words, self.tags, strict=True))
        return f"<Tagged: {pairs}{f' ({self.label})' if self.label else ''}>"

    def _repr_html_(self) -> str:
        shares = [f"{share:.4f}" for share in self.probabilities] or [""] * len(self.words)
        rows = zip(self.words, self.tags, shares, strict=True)
        return html_table(rows, title=self.label, heading=("word", "tag", "probability"))


@explained
class Tagger(LoadedModel[TaggingRecipe, WordTagger]):
    """A tagger with its words, tags and labels, ready for use."""

    def __init__(
        self,
        recipe: TaggingRecipe,
        model: WordTagger,
        vocabulary: WordVocabulary,
        tags: TagSet,
        labels: TagSet | None = None,
    ) -> None:
        self.recipe, self.model, self.vocabulary = recipe, model.eval(), vocabulary
        self.tags, self.labels = tags, labels

    @classmethod
    def load(cls, folder: Path, *, device: str = "auto") -> Self:
        """The model in a folder."""
        recipe = ModelFolder(folder).read_recipe(TaggingRecipe)
        vocabulary, tags = WordVocabulary.load(recipe.words, folder / WORDS), TagSet.load(folder / TAGS)
        labels = TagSet.load(folder / LABELS) if recipe.data.has_labels else None
        with Undrawn():
            model = build_tagger(recipe, vocabulary, tags, labels)
        put_weights(model, load_weights(folder), folder)
        return cls(recipe, model.to(choose_device(device)), vocabulary, tags, labels)

    @property
    def _facts(self) -> dict[str, str]:
        sizes = {"words": f"{self.vocabulary.size:,}", "tags": f"{len(self.tags.tags)}"}
        sizes |= {"labels": f"{len(self.labels.tags)}"} if self.labels else {}
        return {**sizes, "on": str(device_of(self.model))}

    def tag(self, sentences: Sequence[str] | Sequence[Sequence[str]], *, probabilities: bool = True) -> list[Tagged]:
        """The likeliest tags of sentences, each a text with blanks between its words, or a list of words; and the
        label of each, if the model gives one. Without probabilities of tags it is a little faster."""
        words = words_of("sentences", sentences)
        found = Listed([Tagged((), (), ())] * len(words))
        there = [place for place, sentence in enumerate(words) if sentence]
        for place in there:
            self.refuse_long(len(words[place]), f"sentences[{place}]: ")
        numbered = NumberedSentences.of([words[place] for place in there], self.vocabulary)
        with torch.inference_mode():
            for chosen in plan_sentences(numbered.lengths, BATCH_WORDS):
                for row, made in zip(chosen.tolist(), self._best(numbered, chosen, probabilities), strict=True):
                    found[there[row]] = Tagged(words[there[row]], *made)
        return found

    def _best(
        self, numbered: NumberedSentences, chosen: Indices, probabilities: bool
    ) -> Iterator[tuple[tuple[str, ...], tuple[float, ...], dict[str, float]]]:
        """Tags and their probabilities of some sentences, and those of labels."""
        batch = numbered.pick(chosen).to(device_of(self.model))
        (scores, of_labels), output = self.model(batch), self.model.output
        best = output.best(scores, batch.lengths)
        shares = torch.empty(len(chosen), 0)
        if probabilities:
            shares = output.marginals(scores, batch.lengths).gather(2, best.unsqueeze(2)).squeeze(2)
        labels = [dict[str, float]()] * len(chosen)
        if of_labels is not None and self.labels is not None:
            labels = [likeliest_first(row, self.labels) for row in of_labels.float().softmax(1).tolist()]
        rows = zip(best.tolist(), shares.tolist(), batch.lengths.tolist(), labels, strict=True)
        for row, share, length, label in rows:
            yield tuple(self.tags.decode(row[:length])), tuple(share[:length]), label

    def evaluate(self, split: HeldOut) -> tuple[MetricScore, ...]:
        """Its scores on the development or test text of its recipe: F1, precision and recall of spans, accuracy of
        words, and with labels their accuracy and the share of sentences that are all right; in percent."""
        if not self.recipe.data.has(split):
            raise UsageError(
                f"the model's recipe names no {split} text (data.{split}); tag a file with `regard tag --columns`"
            )
        data = self.recipe.data
        known = data if data.is_generated else data.model_copy(update={"scheme": self.tags.scheme})
        corpora = load_tagged(known, self.recipe.seed, [split])
        corpora.report.raise_if_refused()
        sentences = corpora.sentences(split)
        outputs = self.tag([sentence.words for sentence in sentences], probabilities=False)
        labels = [found.label for found in outputs], [sentence.label for sentence in sentences]
        counts = count_tags(
            [found.tags for found in outputs],
            [sentence.tags for sentence in sentences],
            labels if self.labels else None,
        )
        return Scores(counts.scores(spans=self.tags.scheme != "none", margins=True))

    def inspect(self, *texts: str) -> Inspection:
        """An inspection of the model on a sentence: the tags and the candidates of each word with their probabilities,
        the `scores` of each tag by itself and, of a CRF, those of `transitions` (NaN where one is forbidden), the
        `spans`, the labels of the sentence and the weights of words that attention pools, and attention, gates and
        states where the encoder has them."""
        words = words_to_look_at("a tagger", "sentence", texts)
        self.refuse_long(len(words))
        batch = NumberedSentences.of([words], self.vocabulary).pick(np.arange(1)).to(device_of(self.model))
        patterns = ["scores", *(f"{part}.{pattern}" for part in ("encoder", "pooling") for pattern in INSIDE)]
        with torch.inference_mode():
            (arrays,), (scores, of_labels) = recorded(
                self.model, patterns, {"source": [len(words)]}, lambda: self.model(batch)
            )
            best = self.model.output.best(scores, batch.lengths)[0].cpu()
            shares = self.model.output.marginals(scores, batch.lengths)[0].cpu()
        chosen = np.array([self.tags.tags[number] for number in best.tolist()], dtype=object)
        likeliest = shares.topk(min(CANDIDATES, len(self.tags.tags)))
        names = np.array([[self.tags.tags[each] for each in row] for row in likeliest.indices.tolist()], dtype=object)
        arrays |= {
            "tags": Array(("source",), shares.gather(1, best[:, None]).squeeze(1).numpy(), chosen),
            "candidates": Array(("source", "rank"), likeliest.values.numpy(), names),
            "marginals": Array(("source", "tag"), shares.numpy()),
        }
        named = {"source": words, "tag": self.tags.tags}
        if self.tags.scheme != "none":
            arrays["spans"] = _spans_of(words, [str(tag) for tag in chosen])
        if isinstance(self.model.output, CrfOutput):
            arrays["transitions"] = _transitions_of(self.model.output.crf)
            named |= {"before": (BEGIN_LABEL, *self.tags.tags), "after": (*self.tags.tags, END_LABEL)}
        attention = tuple(name for name, array in arrays.items() if "head" in array.axes)
        shown = [*attention]
        if of_labels is not None and self.labels is not None:
            arrays |= label_arrays(of_labels.float().softmax(1)[0].cpu(), self.labels)
            named["label"] = self.labels.tags
            shown = ["labels", *(name for name in arrays if name.startswith("pooling.")), *shown]
        return Inspection(arrays, named, title=" ".join(words), shown=("tags", "candidates", *shown))

    def outputs(self, *texts: str) -> Outputs:
        """The tag of each word, as a function of the model's inputs and activations."""
        words = words_to_look_at("a tagger", "sentence", texts)
        self.refuse_long(len(words))

        def run(place: int, axis: str, without: Sequence[Collection[int]]) -> torch.Tensor:
            rows = [without_positions(range(len(words)), gone) for gone in without]
            sentences = NumberedSentences.of([[words[word] for word in row] for row in rows], self.vocabulary)
            batch = sentences.pick(np.arange(len(rows))).to(device_of(self.model))
            scores, _ = self.model(batch)
            shares = self.model.output.marginals(scores, batch.lengths)
            return log_of(shares[torch.arange(len(rows)), [row.index(place) for row in rows]])

        with torch.no_grad():
            batch = NumberedSentences.of([words], self.vocabulary).pick(np.arange(1)).to(device_of(self.model))
            scores, _ = self.model(batch)
            best = self.model.output.best(scores, batch.lengths)[0].tolist()
        return Outputs(
            self.model,
            "source",
            {"source": words},
            best,
            self.tags.tags.__getitem__,
            {"source": Input("words.output")},
            run,
            made_at={"source": 0},
            bound=lambda place: (place,),
            title=" ".join(words),
        )

    def refuse_long(self, words: int, where: str = "") -> None:
        """Refuses a sentence of more words than the model has learned positions for."""
        refuse_long_text(self.recipe.model.encoder, words, where)


def _spans_of(words: Sequence[str], tags: Sequence[str]) -> Array:
    """First and last word of each span, with its type and its text."""
    found = spans(tags)
    texts = [[kind, " ".join(words[start:end])] for start, end, kind in found]
    edges = np.array([[start, end - 1] for start, end, _ in found]).reshape(-1, 2)
    return Array(("span", "edge"), edges, np.array(texts, dtype=object).reshape(-1, 2))


def _transitions_of(crf: CRF) -> Array:
    """Transition scores between tags, with BEGIN before and END after them."""
    start, transitions, end = (scores.detach().cpu().numpy() for scores in crf.scores())
    size = len(start)
    whole = np.full((size + 1, size + 1), np.nan, dtype=np.float32)
    whole[0, :size], whole[1:, :size], whole[1:, size] = start, transitions, end
    return Array(("before", "after"), np.where(whole <= FORBIDDEN, np.nan, whole))


def load_tagger(folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()) -> Tagger:
    """The tagger in a folder."""
    refuse_company(folder, "tagger", others, changes)
    refuse_other_task(Path(folder), "tagging")
    return Tagger.load(Path(folder), device=device)
