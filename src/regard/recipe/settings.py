"""The whole recipe, and the list of its settings.

Every setting has one name, one default and one sentence, in one place: the table it belongs to.
`regard recipes --settings` prints them all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, model_validator
from pydantic.fields import FieldInfo

from regard.recipe.data import Data, Tokens
from regard.recipe.decoding import Decoding
from regard.recipe.model import Model
from regard.recipe.names import TaskName
from regard.recipe.section import Section, Seed
from regard.recipe.training import Training


class Recipe(Section):
    """The whole truth of a run."""

    task: TaskName = "translation"
    """What the model is for."""
    seed: Seed = 1
    """Seed of everything that is random: data order, initial weights, dropout, generated corpora."""
    data: Data
    """Where examples come from."""
    tokens: Tokens = Tokens()
    """How text becomes tokens."""
    model: Model
    """The model."""
    train: Training
    """The training loop."""
    decode: Decoding = Decoding()
    """How the model writes its output, unless a command says otherwise."""

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        if self.model.tie == "all" and not self.tokens.shared:
            raise ValueError("model.tie = 'all' shares one embedding between both sides; it needs tokens.shared = true")
        if self.train.r_drop and not self.model.drops:
            raise ValueError(
                f"train.r_drop = {self.train.r_drop} compares two passes with different dropout, but [model] drops "
                "nothing; set a dropout of the model, or train.r_drop = 0.0"
            )
        learned, longest = self.model.learned_positions, self.data.longest
        if learned is not None and longest + 1 > learned:
            raise ValueError(
                f"model.longest = {learned} learned positions are too few for data.longest = {longest} tokens and the "
                f"end-of-sentence mark; raise model.longest to {longest + 1}, or lower data.longest"
            )
        needs_dev = {
            "train.validation.patience": self.train.validation.patience > 0,
            "train.validation.target": self.train.validation.target is not None,
            f"train.validation.metric = {self.train.validation.metric!r}": self.train.validation.metric != "loss",
            "train.validation.decode": self.train.validation.decode,
            "train.schedule.kind = 'plateau'": self.train.schedule.kind == "plateau",
        }
        for name, wished in needs_dev.items():
            if wished and self.data.corpus == "files" and not self.data.dev:
                raise ValueError(f"{name} needs development text; set data.dev")
        return self


@dataclass(frozen=True)
class Setting:
    """One setting, for lists and messages."""

    name: str
    kind: str
    """What values it takes, in words."""
    default: Any
    """None if there is none."""
    required: bool
    """Whether it must be given."""
    sentence: str
    only_for: str
    """The kind of model it belongs to; empty for all."""


def settings() -> list[Setting]:
    """Every setting of a recipe, in the order of the tables."""
    return list(_settings(Recipe, "", ""))


def _settings(section: type[BaseModel], prefix: str, only_for: str) -> Iterator[Setting]:
    for name, field in section.model_fields.items():
        parts = get_args(field.annotation) or (field.annotation,)
        tables = [part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)]
        for table in tables:
            variant = get_args(table.model_fields["kind"].annotation)[0] if len(tables) > 1 else only_for
            yield from _settings(table, f"{prefix}{name}.", variant)
        if not tables:
            default = None if field.is_required() else field.default
            sentence = " ".join((field.description or "").split())
            yield Setting(prefix + name, _kind(field), default, field.is_required(), sentence, only_for)


def _kind(field: FieldInfo) -> str:
    def words(annotation: Any) -> str:
        if get_origin(annotation) is Literal:
            return ", ".join(map(str, get_args(annotation)))
        if get_origin(annotation) is list:
            return "list of text"
        parts = [part for part in get_args(annotation) if part is not type(None)]
        if parts:
            return ", ".join(map(words, parts))
        return {int: "whole number", float: "number", bool: "true, false", str: "text"}[annotation]

    return words(field.annotation)
