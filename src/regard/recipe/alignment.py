"""The recipe of an aligner: `[data]` is parallel text, and nothing else is needed."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from regard.recipe.data import Data
from regard.recipe.recipe import AnyRecipe, Recipe
from regard.recipe.section import ChosenBy, Count, Positive, Section, Share
from regard.recipe.training import Training
from regard.registry import Entry, Registry


class AlignmentData(Data):
    """Where pairs come from, and what in them is a word. All are trained on: there are no true links to keep apart."""

    units: Literal["auto", "blanks", "characters"] = "auto"
    """What is linked: words between blanks, characters where a script has no blanks, or either, line by line."""
    lowercase: bool = True
    """Whether words are compared in lower case; links are between the words as they stand."""

    @model_validator(mode="after")
    def _is_all_trained_on(self) -> Self:
        for name in ("dev", "test", "held_out", "tags"):
            if value := getattr(self, name):
                raise ValueError(
                    f"{name} = {value!r} is not used by task = 'alignment', which has no true links to keep apart; "
                    "leave it out, and name all text to learn from in train"
                )
        if self.over_long == "cut":
            raise ValueError("over_long = 'cut' would take translations away; choose 'drop' or 'refuse'")
        return self


class HmmAligner(Section):
    """Hidden Markov models of both directions, trained to agree (Vogel et al. 1996, Liang et al. 2006)."""

    kind: Literal["hmm"]
    """Which model."""
    word_rounds: Positive = 4
    """Passes over the text at the start that know words alone (model 1 of Brown et al. 1993)."""
    order_rounds: Count = 5
    """Passes over the text that know how far apart the partners of neighboring words are; 0 leaves word order out, in
    training and in alignments."""
    alone: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Probability that a word has no partner, before anything is known of it."""
    strength: Annotated[float, Field(gt=0)] = 3.0
    """Occurrences of a word that weigh as much as what is known of its translations before: by stems, spelling and
    frequency."""
    sharpness: Annotated[float, Field(ge=1)] = 1.5
    """Power to which the product of the probabilities of both directions is taken, where links are counted: the larger,
    the less counts what both are unsure of."""
    stem: Count = 4
    """Letters at the beginning of words by which rare words share their translations; 0 for none."""
    stem_share: Share = 0.8
    """Share of the stem in what is known of a word before, the rest being its frequency."""
    spelling: Share = 0.3
    """Share of words that are likely to be spelled as their translations are; 0 for none."""


ALIGNERS: Registry[Any] = Registry(
    "aligner", {"hmm": Entry("regard.models.alignment.learning:learn", table=HmmAligner)}
)
"""Aligners by name."""

AlignerModel = Annotated[HmmAligner, ChosenBy(ALIGNERS)]


class AlignmentCorpus(AnyRecipe):
    """What reading and checking of parallel text needs."""

    task: Literal["alignment"]
    data: AlignmentData
    """Where pairs come from."""


class AlignmentRecipe(AlignmentCorpus, Recipe):
    """A recipe for an aligner."""

    data: AlignmentData
    """Where pairs come from."""
    model: AlignerModel = HmmAligner(kind="hmm")
    """The model."""
    train: Training
    """The training loop; an aligner, which reads the text a few times and is done, uses none of it."""

    @model_validator(mode="before")
    @classmethod
    def _training_ends_by_itself(cls, tables: Any) -> Any:
        if isinstance(tables, dict) and isinstance(train := tables.get("train", {}), dict):
            return tables | {"train": {"steps": 1} | train}
        return tables

    @model_validator(mode="after")
    def _nothing_is_trained_in_steps(self) -> Self:
        for name in sorted(self.train.model_fields_set):
            default = 1 if name == "steps" else Training.model_fields[name].get_default(call_default_factory=True)
            if (value := getattr(self.train, name)) != default:
                raise ValueError(
                    f"train.{name} = {value!r} is not used by task = 'alignment', which is trained in a few passes "
                    "(model.word_rounds, model.order_rounds); leave it out"
                )
        return self
