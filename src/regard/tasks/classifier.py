"""A trained classifier.

classifier = regard.load("runs/mine")
best = classifier.classify(["a lovely film"])[0]       # best.label, best.labels, best.probabilities
classifier.inspect("a lovely film")                    # probabilities of labels, weights of words, gates and states
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch

from regard.checkpoint import ModelFolder, load_weights, put_weights
from regard.data.labelled import LabelledText, load_labelled
from regard.data.labelled_batch import NumberedLabelled
from regard.device import choose_device, device_of
from regard.display import html_table
from regard.errors import UsageError
from regard.inspect import Inspection, Outputs
from regard.inspect.outputs import Input, log_of, without_positions
from regard.inspect.watch import INSIDE, recorded
from regard.metrics import MetricScore
from regard.metrics.classifying import count_labels
from regard.misuse import explained
from regard.models.classifier import TextClassifier
from regard.nn.undrawn import Undrawn
from regard.recipe import ClassifyingRecipe, HeldOut
from regard.tasks.chosen_labels import label_arrays, likeliest_first
from regard.tasks.classifying import build_classifier, names_of
from regard.tasks.loading import refuse_other_task
from regard.tasks.long_sentences import refuse_long_text
from regard.tasks.trained import LoadedModel
from regard.tasks.validating import words_of, words_to_look_at
from regard.tasks.word_files import LABELS, WORDS
from regard.tokens.tag_set import TagSet
from regard.tokens.word_vocabulary import WordVocabulary

BATCH_WORDS = 4096
"""Words that are read together, padding included."""


@dataclass(frozen=True, repr=False)
class Classified:
    """A text with its labels."""

    words: tuple[str, ...]
    labels: tuple[str, ...]
    """One, the likeliest; or where a text may have several, those that are likelier than not, likeliest first."""
    probabilities: Mapping[str, float]
    """Of every label, likeliest first."""

    @property
    def label(self) -> str:
        """The likeliest label, chosen or not."""
        return next(iter(self.probabilities))

    def __repr__(self) -> str:
        return f"<Classified: {', '.join(f'{label} {self.probabilities[label]:.4f}' for label in self.labels)}>"

    def _repr_html_(self) -> str:
        rows = [(label, f"{share:.4f}") for label, share in self.probabilities.items()]
        return html_table(rows, title=" ".join(self.words), heading=("label", "probability"))


@explained
class Classifier(LoadedModel[ClassifyingRecipe, TextClassifier]):
    """A classifier with its words and labels, ready for use."""

    def __init__(
        self, recipe: ClassifyingRecipe, model: TextClassifier, vocabulary: WordVocabulary, labels: TagSet
    ) -> None:
        self.recipe, self.model, self.vocabulary, self.labels = recipe, model.eval(), vocabulary, labels

    @classmethod
    def load(cls, folder: Path, *, device: str = "auto") -> Self:
        """The model in a folder."""
        recipe = ModelFolder(folder).read_recipe(ClassifyingRecipe)
        vocabulary, labels = WordVocabulary.load(recipe.words, folder / WORDS), TagSet.load(folder / LABELS)
        with Undrawn():
            model = build_classifier(recipe, vocabulary, labels)
        put_weights(model, load_weights(folder), folder)
        return cls(recipe, model.to(choose_device(device)), vocabulary, labels)

    @property
    def _facts(self) -> dict[str, str]:
        sizes = {"words": f"{self.vocabulary.size:,}", "labels": f"{len(self.labels.tags)}"}
        return {**sizes, "on": str(device_of(self.model))}

    def classify(self, texts: Sequence[str] | Sequence[Sequence[str]]) -> list[Classified]:
        """The labels of texts, each with blanks between its words, or a list of words."""
        words = words_of("texts", texts)
        for place, text in enumerate(words):
            self.refuse_long(len(text), f"texts[{place}]: ")
        found: dict[int, Classified] = {}
        numbered = self._numbered(words)
        with torch.inference_mode():
            for batch in numbered.batches(BATCH_WORDS):
                scores = self.model(batch.texts.to(device_of(self.model)))
                shares = self.model.probabilities(scores).tolist()
                chosen = names_of(self.model.chosen(scores), self.labels)
                for example, labels, row in zip(batch.examples, chosen, shares, strict=True):
                    ordered = likeliest_first(row, self.labels)
                    best = tuple(name for name in ordered if name in labels)
                    found[example] = Classified(words[example], best, ordered)
        return [found[place] for place in range(len(words))]

    def _numbered(self, words: Sequence[tuple[str, ...]]) -> NumberedLabelled:
        return NumberedLabelled.of([LabelledText(text, ()) for text in words], self.vocabulary, self.labels)

    def evaluate(self, split: HeldOut) -> tuple[MetricScore, ...]:
        """How good it is on the development or test text of its recipe: accuracy, macro F1 and micro F1, in percent."""
        if not self.recipe.data.has(split):
            raise UsageError(
                f"the model's recipe names no {split} text (data.{split}); label a file with `regard classify`"
            )
        corpora = load_labelled(self.recipe.data, self.recipe.seed, [split])
        corpora.report.raise_if_refused()
        texts = corpora.texts(split)
        outputs = [found.labels for found in self.classify([text.words for text in texts])]
        return count_labels(outputs, [text.labels for text in texts]).scores(margins=True)

    def inspect(self, *texts: str) -> Inspection:
        """What happens inside the model while it reads a text: the probabilities of labels, the weight of each word
        where attention pools them, and attention, gates and states where the encoder has them."""
        words = words_to_look_at("a classifier", "text", texts)
        self.refuse_long(len(words))
        batch = self._numbered([words]).pick(np.arange(1)).texts.to(device_of(self.model))
        patterns = [f"{part}.{pattern}" for part in ("encoder", "pooling") for pattern in INSIDE]
        with torch.inference_mode():
            (arrays,), scores = recorded(self.model, patterns, {"source": [len(words)]}, lambda: self.model(batch))
            shares = self.model.probabilities(scores)[0].cpu()
        arrays |= label_arrays(shares, self.labels)
        weights = tuple(name for name, array in arrays.items() if name.startswith("pooling.") or "head" in array.axes)
        return Inspection(
            arrays,
            {"source": words, "label": self.labels.tags},
            title=" ".join(words),
            shown=("labels", *sorted(weights, key=lambda name: not name.startswith("pooling."))),
        )

    def outputs(self, *texts: str) -> Outputs:
        """The label of a text, as a function of what passes inside the model while it reads it; where it may have
        several, whether it has each."""
        words = words_to_look_at("a classifier", "text", texts)
        self.refuse_long(len(words))
        labels, several = self.labels.tags, self.model.multiple

        def shares_without(without: Sequence[Collection[int]]) -> torch.Tensor:
            batch = self._numbered([tuple(without_positions(words, gone)) for gone in without])
            read = batch.pick(np.arange(len(without))).texts.to(device_of(self.model))
            return self.model.probabilities(self.model(read))

        def run(place: int, axis: str, without: Sequence[Collection[int]]) -> torch.Tensor:
            shares = shares_without(without)
            return log_of(torch.stack([1 - shares[:, place], shares[:, place]], 1) if several else shares)

        with torch.no_grad():
            (shares,) = shares_without([()]).tolist()
        return Outputs(
            self.model,
            "label" if several else "output",
            {"source": words} | ({"label": labels} if several else {"output": ("label",)}),
            [int(share > 0.5) for share in shares] if several else [shares.index(max(shares))],
            ("no", "yes").__getitem__ if several else labels.__getitem__,
            {"source": Input("words.output")},
            run,
            title=" ".join(words),
        )

    def refuse_long(self, words: int, where: str = "") -> None:
        """Refuses a text of more words than the model has learned positions for."""
        refuse_long_text(self.recipe.model.encoder, words, where)


def load_classifier(
    folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()
) -> Classifier:
    """The classifier in a folder."""
    if others:
        raise UsageError(f"{folder}: is a classifier, which works alone; name one folder")
    if changes:
        raise UsageError(f"--set {changes[0]!r}: a trained classifier stays as it is; leave it out")
    refuse_other_task(Path(folder), "classifying")
    return Classifier.load(Path(folder), device=device)
