"""Which attention of a translator its links come from: chosen once, without true links, and kept in its folder.

The mean of all layers is a poor choice: in most models one layer of the decoder aligns much better, and which one, and
whether a word's links are in the row that writes the word or in the one that reads it (Chen et al. 2020), depends on
the model. Where two translators of both directions attend to the same words, they are mostly right, so the choice is
that for which they agree most; for a single translator it is the one that agrees most with a statistical aligner.
"""

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field, TypeAdapter, ValidationError

from regard.checkpoint import ModelFolder
from regard.disk import replace_file
from regard.errors import ModelError, ModelWarning, counted
from regard.inspect import WordWeights, choose, link
from regard.inspect.symmetrization import by_probability
from regard.models.alignment.learning import learn
from regard.models.alignment.word_pairs import ParallelText, Sentence
from regard.models.generator import Generator
from regard.recipe.alignment import HmmAligner

FILE = "alignment.json"
FORMAT = 1
LEAST_GAIN = 0.005
"""Least gain in agreement for leaving out a layer or head; less may be chance."""

Row = Literal["written", "read"]
Part = TypeVar("Part", str, int)
Layers = Mapping[str, Float[np.ndarray, "H T S"]]


@dataclass(frozen=True)
class AttentionChoice:
    """The attention that links come from; without any choice, the mean of all layers."""

    layers: tuple[str, ...] | None = None
    """The names of the taps whose mean it is; None is all."""
    heads: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    """The heads of each whose mean it is; None is all."""
    row: Row = "written"
    """Whether a word's weights are those of the step that writes it, or of the next, which reads it."""
    marks_apart: bool = False
    """Whether punctuation is linked only with punctuation: attention without a better target rests there."""
    agreement: float | None = None
    """F1 of its links against those it was chosen by."""
    weights_file: str | None = None
    """The checkpoint and file of the weights that it was chosen for."""

    @classmethod
    def named(cls, layer: str | None, head: int | None) -> Self:
        """One layer, or the mean of all, and one head, or the mean of all."""
        return cls(None if layer is None else (layer,), None if head is None else (head,))

    def weights(self, layers: Layers) -> Float[np.ndarray, "T S"]:
        if self.layers is not None and len(self.layers) == 1:
            return self._mean_of_heads(layers, self.layers[0])
        return self._mean_of_heads(layers if self.layers is None else {name: layers[name] for name in self.layers})

    def _mean_of_heads(self, layers: Layers, layer: str | None = None) -> Float[np.ndarray, "T S"]:
        heads = (None,) if self.heads is None else self.heads
        mean: Float[np.ndarray, "T S"] = np.mean([choose(layers, layer, head) for head in heads], axis=0)
        return mean

    def token_weights(self, layers: Layers) -> Float[np.ndarray, "T S"]:
        """The same between tokens: a row for each written token. The step that would read END is never taken."""
        weights = self.weights(layers)
        return weights if self.row == "written" else np.concatenate([weights[1:], np.zeros_like(weights[:1])])

    def row_words(self, words: Sequence[int | None]) -> Sequence[int | None]:
        """The word that each row of weights belongs to, given the word of each token that is written, END last."""
        return words if self.row == "written" else [None, *words[:-1]]

    def without_marks(self, words: WordWeights, sources: Sequence[str], targets: Sequence[str]) -> WordWeights:
        """The weights, without those between punctuation and words if `marks_apart`."""
        if not self.marks_apart or not words.weights.size:
            return words
        columns, rows = (np.array([re.search(r"\w", word) is None for word in side]) for side in (sources, targets))
        return replace(words, weights=np.where(rows[:, None] == columns, words.weights, 0.0))

    @property
    def told(self) -> str:
        heads = "all heads" if self.heads is None else f"heads {', '.join(map(str, self.heads))}"
        layers = "all layers" if self.layers is None else " and ".join(self.layers)
        return f"{layers}, {heads}, in the row in which a word is {self.row}"

    def save(self, folder: Path) -> None:
        plain = {"format": FORMAT, **asdict(self)}
        replace_file(folder / FILE, (json.dumps(plain, indent=2) + "\n").encode())

    @classmethod
    def of(cls, folder: Path) -> Self | None:
        """The choice saved in the folder of a model; None if there is none."""
        try:
            text = (folder / FILE).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _damaged(folder, f"cannot be read: {error.strerror}") from None
        try:
            plain = json.loads(text)
            if plain.pop("format") != FORMAT:
                raise _damaged(folder, "is of a format that this version does not know; upgrade Regard")
            return TypeAdapter(cls).validate_python(plain, extra="forbid")
        except ValidationError as error:
            raise _damaged(folder, f"damaged: {error.errors()[0]['msg']}") from None
        except (ValueError, KeyError, AttributeError, TypeError):
            raise _damaged(folder, "damaged") from None


def kept_choice(folder: Path, model: Generator) -> AttentionChoice | None:
    """The choice for the weights in use in a folder; an invalid one is ignored with a warning."""
    try:
        choice = AttentionChoice.of(folder)
        if choice is None:
            return None
        _check_names(folder, choice, model)
    except ModelError as error:
        warnings.warn(str(error), ModelWarning, stacklevel=2)
        return None
    if choice.weights_file != weights_in_use(folder):
        warnings.warn(
            f"{folder / FILE}: was chosen for other weights than those in use, and is set aside; choose again with "
            f"`regard align {folder} SOURCE TARGET --choose`",
            ModelWarning,
            stacklevel=2,
        )
        return None
    return choice


def _check_names(folder: Path, choice: AttentionChoice, model: Generator) -> None:
    """Refuses layers and heads that a model does not have."""
    # Attention without several heads does not count them.
    heads = {tap: getattr(model.get_submodule(tap.rpartition(".")[0]), "heads", 1) for tap in model.cross_taps}
    for layer in heads if choice.layers is None else choice.layers:
        if layer not in heads:
            raise _damaged(folder, f"names the layer {layer!r}, which this model does not have")
        if lacking := [head for head in choice.heads or () if head >= heads[layer]]:
            raise _damaged(folder, f"names the head {lacking[0]}, and {layer} has {counted(heads[layer], 'head')}")


def weights_in_use(folder: Path) -> str:
    """The checkpoint and file of a model's weights."""
    return "/".join(ModelFolder(folder).chosen() or ())


def _damaged(folder: Path, problem: str) -> ModelError:
    return ModelError(
        f"{folder / FILE}: {problem}; it is set aside, and links come from all layers: delete it, or choose again with "
        f"`regard align {folder} SOURCE TARGET --choose`"
    )


def candidates(taps: Sequence[str]) -> Iterator[AttentionChoice]:
    """Every layer and the mean of all, in either row."""
    for row in ("written", "read"):
        for layers in (None, *((tap,) for tap in taps)):
            yield AttentionChoice(layers, row=row, marks_apart=True)


@dataclass(frozen=True)
class Watched:
    """The attention of a translator on some text, and what is needed to fold it into words."""

    taps: Sequence[str]
    layers: Sequence[Layers]
    fold: Callable[[int, Layers, AttentionChoice], WordWeights]
    """The weights between the words of a pair, given its place."""
    turned: bool = False
    """Whether it writes the source."""

    def links(self, choice: AttentionChoice) -> Bool[np.ndarray, " cells"]:
        """Which pairs of words of the whole text are linked, as source × target."""
        every = []
        for place, layers in enumerate(self.layers):
            words = self.fold(place, layers, choice)
            cells = np.zeros(words.weights.shape[::-1], dtype=bool)
            for source, target in link(words):
                cells[source, target] = True
            every.append((cells.T if self.turned else cells).ravel())
        return np.concatenate(every) if every else np.zeros(0, dtype=bool)

    def refined(self, choice: AttentionChoice, other: Bool[np.ndarray, " cells"]) -> AttentionChoice:
        """The choice without those of its layers, or if it is one, of its heads, that agree less with other links."""
        if not self.layers:
            return choice
        taps = self.taps if choice.layers is None else choice.layers
        if len(taps) > 1:
            return self._without(choice, tuple(taps), other, lambda each: replace(choice, layers=each))
        heads = tuple(range(len(self.layers[0][taps[0]])))
        return self._without(choice, heads, other, lambda each: replace(choice, heads=each))

    def _without(
        self,
        best: AttentionChoice,
        parts: tuple[Part, ...],
        other: Bool[np.ndarray, " cells"],
        made: Callable[[tuple[Part, ...]], AttentionChoice],
    ) -> AttentionChoice:
        """The best subset of parts, by greedily leaving out one after another as long as agreement improves."""
        while len(parts) > 1:
            fewer = [tuple(each for each in parts if each != left_out) for left_out in parts]
            tried = [(replace(made(each), agreement=agreement(self.links(made(each)), other)), each) for each in fewer]
            found, left = max(tried, key=lambda each: _agreement(each[0]))
            if _agreement(found) < _agreement(best) + LEAST_GAIN:
                break
            best, parts = found, left
        return best


def agreement(one: Bool[np.ndarray, " cells"], other: Bool[np.ndarray, " cells"]) -> float:
    """F1 of two sets of links."""
    return float(2 * (one & other).sum() / max(one.sum() + other.sum(), 1))


def choose_both(forward: Watched, backward: Watched) -> tuple[list[AttentionChoice], AttentionChoice, AttentionChoice]:
    """All compared choices, and the choice of each of two translators: that for which they agree most. If both have the
    same layers, it is the same layer and row of both."""
    ours, theirs = list(candidates(forward.taps)), list(candidates(backward.taps))
    there, back = [forward.links(each) for each in ours], [backward.links(each) for each in theirs]
    both = [
        (replace(one, agreement=agreement(a, b)), replace(other, agreement=agreement(a, b)))
        for one, a in zip(ours, there, strict=True)
        for other, b in zip(theirs, back, strict=True)
        if one == other or list(forward.taps) != list(backward.taps)
    ]
    one, other = max(both, key=lambda each: _agreement(each[0]))
    one = forward.refined(one, backward.links(other))
    # Leaving out parts of `one` may have changed their agreement.
    links = forward.links(one)
    other = backward.refined(replace(other, agreement=agreement(backward.links(other), links)), links)
    return [each for each, _ in both], replace(one, agreement=other.agreement), other


def choose_alone(forward: Watched, true: Bool[np.ndarray, " cells"]) -> tuple[list[AttentionChoice], AttentionChoice]:
    """All compared choices, and the one that agrees most with links found by another method."""
    every = [replace(each, agreement=agreement(forward.links(each), true)) for each in candidates(forward.taps)]
    return every, forward.refined(max(every, key=_agreement), true)


def statistical_links(
    sources: Sequence[Sentence], targets: Sequence[Sentence], count: int
) -> Bool[np.ndarray, " cells"]:
    """Links of the first pairs by an aligner that learns from all of them, as source × target."""
    aligner = learn(ParallelText.of(sources, targets), HmmAligner(kind="hmm"))
    every = []
    for found in aligner.posteriors(sources[:count], targets[:count]):
        cells = np.zeros(found.backward.shape, dtype=bool)
        for source, target in by_probability(found.forward, found.backward):
            cells[source, target] = True
        every.append(cells.ravel())
    return np.concatenate(every) if every else np.zeros(0, dtype=bool)


def _agreement(choice: AttentionChoice) -> float:
    return choice.agreement or 0.0
