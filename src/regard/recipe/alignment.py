"""The recipe of an aligner: `[data]` is parallel text, and nothing else is needed."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from regard.recipe.data import Data
from regard.recipe.recipe import AnyRecipe, Recipe
from regard.recipe.section import ChosenBy, Count, Positive, Section, Share, changed_settings
from regard.recipe.training import Training
from regard.registry import Entry, Registry


class AlignmentData(Data):
    """Where pairs come from, and what counts as a word. All are trained on: there are no true links to keep apart."""

    units: Literal["auto", "blanks", "characters"] = "auto"
    """What is linked: words between spaces, characters in scripts without spaces, or either, line by line."""
    lowercase: bool = True
    """Whether words are compared in lower case; links refer to the original words."""

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
    """Passes over the text at the start that use words alone (model 1 of Brown et al. 1993)."""
    order_rounds: Count = 5
    """Passes over the text that also use the distance between the partners of neighboring words; 0 ignores word order,
    in training and in alignments."""
    alone: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Prior probability that a word has no partner."""
    strength: Annotated[float, Field(gt=0)] = 3.0
    """Strength of the prior for the translations of a word (from stems, spelling, and frequency), as a number of
    occurrences."""
    sharpness: Annotated[float, Field(ge=1)] = 1.5
    """Power to which the product of both directions' probabilities is raised when links are counted: the larger it is,
    the less uncertain links count."""
    stem: Count = 4
    """Length of the prefix by which rare words share their translations, in letters; 0 means none."""
    stem_share: Share = 0.8
    """Share of the stem in the prior of a word; the rest is its frequency."""
    spelling: Share = 0.3
    """Share of words that are likely to be spelled like their translations; 0 for none."""


ALIGNERS: Registry[Any] = Registry(
    "aligner", {"hmm": Entry("regard.models.alignment.learning:learn", table=HmmAligner)}
)
"""Aligners by name."""

AlignerModel = Annotated[HmmAligner, ChosenBy(ALIGNERS)]


class AlignmentCorpus(AnyRecipe):
    """The settings for reading and checking parallel text."""

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
        for name, value in changed_settings(self.train, Training(steps=1), "train"):
            raise ValueError(
                f"{name} = {value!r} is not used by task = {self.task!r}, which is trained in a few passes "
                "(model.word_rounds, model.order_rounds); leave it out"
            )
        return self
