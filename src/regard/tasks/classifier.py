"""A trained classifier.

classifier = regard.load("runs/mine")
best = classifier.classify(["a lovely film"])[0]       # best.label, best.labels, best.probabilities
classifier.inspect("a lovely film")                    # probabilities of labels, weights of words, gates and states
classifier.classify_conversation([("A", "Hi !"), ("B", "Hello .")])     # each given those before it
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from regard.checkpoint import ModelFolder, load_weights, put_weights
from regard.data.conversations import TextsInContext
from regard.data.labelled import LabelledText, load_labelled
from regard.data.labelled_batch import NumberedLabelled
from regard.data.sentences import Sentences
from regard.device import choose_device, device_of
from regard.display import Listed, html_table
from regard.errors import DataError, UsageError
from regard.inspect import Array, Inspection, Outputs
from regard.inspect.outputs import Input, log_of, without_positions
from regard.inspect.watch import INSIDE, recorded
from regard.metrics import MetricScore
from regard.metrics.classifying import count_labels
from regard.metrics.score import Scores
from regard.misuse import explained
from regard.models.classifier import TextClassifier
from regard.nn.undrawn import Undrawn
from regard.recipe import ClassifyingRecipe, HeldOut
from regard.tasks.chosen_labels import label_arrays, likeliest_first
from regard.tasks.classifying import build_classifier, names_of
from regard.tasks.loading import refuse_company, refuse_other_task
from regard.tasks.long_sentences import refuse_long_text
from regard.tasks.trained import LoadedModel
from regard.tasks.validating import check_not_empty, words_of, words_to_look_at
from regard.tasks.word_files import LABELS, WORDS
from regard.tokens.tag_set import TagSet
from regard.tokens.word_vocabulary import WordVocabulary

BATCH_WORDS = 4096
"""Words that are read together, padding included."""


Utterances = Sequence[tuple[str, str] | str]
"""The utterances of a conversation: texts, or pairs of a speaker and a text."""


@dataclass(frozen=True, repr=False)
class Classified:
    """A text with its labels."""

    words: tuple[str, ...]
    labels: tuple[str, ...]
    """The likeliest; or if a text may have several, those with a probability above one half, likeliest first."""
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
        """The labels of texts, each with blanks between its words, or a list of words. Each is read by itself. A text
        without words gets labels too; `regard classify` leaves such lines empty."""
        words = words_of("texts", texts)
        return self._classified([LabelledText(text, (), f"texts[{place}]", place) for place, text in enumerate(words)])

    def classify_conversation(self, utterances: Utterances, before: Utterances = ()) -> list[Classified]:
        """The labels of the utterances of a conversation, each given the preceding ones: texts, or pairs of a speaker
        and a text if the training text has speakers. Those in `before` are context and not labelled."""
        earlier = self._said("before", before)
        texts = earlier[max(len(earlier) - self.recipe.model.context.texts_before, 0) :]
        texts += self._said("utterances", utterances)
        return Listed(self._classified(texts)[len(texts) - len(utterances) :])

    def _said(self, name: str, utterances: Utterances) -> list[LabelledText]:
        """The texts of one conversation."""
        data = self.recipe.data
        if not data.conversations:
            raise UsageError("this classifier was trained on single texts (data.conversations); call classify instead")
        given: Any = utterances
        speakers = [""] * len(utterances)
        if data.speaker_column and not isinstance(utterances, str):
            wrong = [pair for pair in given if isinstance(pair, str) or list(map(type, pair)) != [str, str]]
            if wrong:
                raise UsageError(
                    f"{name}: {wrong[0]!r:.60} is not a pair of a speaker and a text, such as ('A', 'Hello .')"
                )
            speakers, given = [pair[0] for pair in given], [pair[1] for pair in given]
        return [
            LabelledText(words, (), f"{name}[{place}]", 1, speaker)
            for place, (speaker, words) in enumerate(zip(speakers, words_of(name, given), strict=True))
        ]

    def _classified(self, texts: Sequence[LabelledText]) -> list[Classified]:
        for text in texts:
            self.refuse_long(len(text.words), f"{text.place}: ")
        found: dict[int, Classified] = {}
        numbered = self._numbered(texts)
        with torch.inference_mode():
            for batch in numbered.batches(BATCH_WORDS):
                scores = self.model(batch.texts.to(device_of(self.model)))
                shares = self.model.probabilities(scores).tolist()
                chosen = names_of(self.model.chosen(scores), self.labels)
                for example, labels, row in zip(batch.examples, chosen, shares, strict=True):
                    ordered = likeliest_first(row, self.labels)
                    best = tuple(name for name in ordered if name in labels)
                    found[example] = Classified(texts[example].words, best, ordered)
        return Listed(found[place] for place in range(len(texts)))

    def _numbered(self, texts: Sequence[LabelledText]) -> NumberedLabelled:
        return NumberedLabelled.of(texts, self.vocabulary, self.labels, self.recipe.model.context.texts_before)

    def evaluate(self, split: HeldOut) -> tuple[MetricScore, ...]:
        """Its scores on the development or test text of its recipe: accuracy, macro F1 and micro F1, in percent, with
        intervals by the bootstrap over texts, or over conversations if there are any."""
        if not self.recipe.data.has(split):
            raise UsageError(
                f"the model's recipe names no {split} text (data.{split}); label a file with `regard classify`"
            )
        corpora = load_labelled(self.recipe.data, self.recipe.seed, [split])
        corpora.report.raise_if_refused()
        texts = corpora.texts(split)
        outputs = [found.labels for found in self._classified(texts)]
        groups = [text.conversation for text in texts] if self.recipe.data.conversations else None
        return Scores(count_labels(outputs, [text.labels for text in texts], groups).scores(margins=True))

    def inspect(self, *texts: str) -> Inspection:
        """An inspection of the model on a text: the probabilities of labels, the weight of each word where attention
        pools them, and attention, gates and states where the encoder has them. Of a conversation, a line for each text
        as for `utterance`, the last is inspected, with the weight of each before it."""
        said = self._to_look_at(texts)
        words, alone, choose = said[-1].words, self._alone([said[-1].words]), self._choice_after(said)
        patterns = [f"{part}.{pattern}" for part in ("encoder", "pooling", "context") for pattern in INSIDE]
        lengths = {"source": [len(words)], "earlier": [len(said) - 1]}
        with torch.inference_mode():
            (arrays,), scores = recorded(self.model, patterns, lengths, lambda: choose(self.model.vectors(alone)))
            shares = self.model.probabilities(scores)[0].cpu()
        of_context = [name for name, array in arrays.items() if "earlier" in array.axes]
        for name in of_context:  # of the one text, nearest first as at the tap, so that changes use the same positions
            arrays[name] = Array(("earlier",), arrays[name].values[0, 0])
        arrays |= label_arrays(shares, self.labels)
        weights = [name for name, array in arrays.items() if name.startswith("pooling.") or "head" in array.axes]
        earlier = tuple(f"{text.speaker}: {' '.join(text.words)}".removeprefix(": ") for text in said[-2::-1])
        return Inspection(
            arrays,
            {"source": words, "label": self.labels.tags, "earlier": earlier},
            title=" ".join(words),
            shown=(
                "labels",
                *(of_context if earlier else ()),
                *sorted(weights, key=lambda name: not name.startswith("pooling.")),
            ),
        )

    def outputs(self, *texts: str) -> Outputs:
        """The label of a text, as a function of the model's inputs and activations; if it may have several, whether it
        has each. In a conversation, it is that of the last text, and those before it are fixed."""
        said = self._to_look_at(texts)
        words, choose = said[-1].words, self._choice_after(said)
        labels, several = self.labels.tags, self.model.multiple

        def shares_without(without: Sequence[Collection[int]]) -> torch.Tensor:
            read = self._alone([tuple(without_positions(words, gone)) for gone in without])
            return self.model.probabilities(choose(self.model.vectors(read)))

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

    def _to_look_at(self, texts: Sequence[str]) -> list[LabelledText]:
        """The text to inspect, after the preceding ones of its conversation that it depends on."""
        words, reach = words_to_look_at("a classifier", "text", texts), self.recipe.model.context.texts_before
        said = [LabelledText(words, ())]
        if self.recipe.data.conversations:
            lines = [line for line in texts[0].splitlines() if line.strip()]
            said = self._said("texts", [self.utterance(line, f"line {place}") for place, line in enumerate(lines, 1)])
            said = said[max(len(said) - 1 - reach, 0) :]
            check_not_empty("text", " ".join(said[-1].words))
        for text in said:
            self.refuse_long(len(text.words))
        return said

    def _alone(self, rows: Sequence[tuple[str, ...]]) -> Sentences:
        """Texts as read without their context."""
        numbered = NumberedLabelled.of([LabelledText(words, ()) for words in rows], self.vocabulary, self.labels)
        return numbered.sentences(np.arange(len(rows))).to(device_of(self.model))

    def _choice_after(self, said: Sequence[LabelledText]) -> Callable[[torch.Tensor], torch.Tensor]:
        """A function from the vector of the last text, in any number of rows, to scores, given the texts before it."""
        read = self._numbered(said).pick(np.array([len(said) - 1])).texts
        if not isinstance(read, TextsInContext):
            return self.model.choose
        place = read.to(device_of(self.model))
        with torch.no_grad():
            others = torch.cat([self.model.vectors(band) for band in place.bands])

        def choose(vectors: torch.Tensor) -> torch.Tensor:
            rows = len(vectors)
            asked = len(others) + torch.arange(rows, device=vectors.device)
            earlier, same = place.earlier.expand(rows, -1), place.same.expand(rows, -1)
            return self.model.choose(torch.cat([others, vectors]), TextsInContext((), asked, earlier, same))

        return choose

    def utterance(self, line: str, where: str) -> tuple[str, str] | str:
        """The utterance in a line: a text; or a speaker, a tab and a text, if the training text has speakers. Further
        columns are ignored."""
        speaker, tab, rest = line.partition("\t")
        with_speaker = self.recipe.data.speaker_column != 0
        if with_speaker and not (tab and speaker.strip()):
            raise DataError(f"{where}: there is no speaker with a tab after it; write the speaker, a tab and the text")
        text = rest.partition("\t")[0] if with_speaker else line
        self.refuse_long(len(text.split()), f"{where}: ")
        return (speaker.strip(), text) if with_speaker else text

    def refuse_long(self, words: int, where: str = "") -> None:
        """Refuses a text of more words than the model has learned positions for."""
        refuse_long_text(self.recipe.model.encoder, words, where)


def load_classifier(
    folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()
) -> Classifier:
    """The classifier in a folder."""
    refuse_company(folder, "classifier", others, changes)
    refuse_other_task(Path(folder), "classifying")
    return Classifier.load(Path(folder), device=device)
