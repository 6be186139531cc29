"""The whole recipe of each task, and the list of its settings.

Every setting has one name, one default and one sentence, in one place: the table it belongs to.
`regard recipes --settings` prints them all.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeVar, get_args, get_origin

from pydantic import BaseModel, model_validator
from pydantic.fields import FieldInfo

from regard.recipe.data import Data, Tokens
from regard.recipe.decoding import Decoding, Drawing, LanguageDecoding
from regard.recipe.language import LanguageData, LanguageTokenizer, LanguageTraining
from regard.recipe.language_models import LanguageModel, NgramModel, TransformerLanguageModel
from regard.recipe.model import Model
from regard.recipe.names import RecipeTaskName, TaskName
from regard.recipe.section import Section, Seed
from regard.recipe.training import Training
from regard.recipe.vectors import VectorsData, VectorsMethod


class AnyRecipe(Section):
    """The whole truth of a run: what recipes of every task have in common."""

    task: RecipeTaskName = "translation"
    """What the model is for; it decides which settings there are."""
    seed: Seed = 1
    """Seed of everything that is random: data order, initial weights, dropout, generated corpora."""


class Recipe(AnyRecipe):
    """What recipes of all models have in common that the trainer trains."""

    task: TaskName = "translation"
    data: Data | LanguageData
    """Where text comes from."""
    train: Training
    """The training loop."""
    decode: Drawing = Drawing()
    """How the model writes its output, unless a command says otherwise."""

    def needs_dev(self) -> str:
        """A setting that needs development text, in words; empty if none does."""
        validation = self.train.validation
        wishes = {
            "train.validation.patience": validation.patience > 0,
            "train.validation.target": validation.target is not None,
            f"train.validation.metric = {validation.metric!r}": validation.metric != "loss",
            "train.validation.decode": validation.decode,
            "train.schedule.kind = 'plateau'": self.train.schedule.kind == "plateau",
        }
        return next((name for name, wished in wishes.items() if wished), "")


class TranslationRecipe(Recipe):
    """A recipe for a translator."""

    task: Literal["translation"] = "translation"
    data: Data
    """Where examples come from."""
    tokens: Tokens = Tokens()
    """How text becomes tokens."""
    model: Model
    """The model."""
    decode: Decoding = Decoding()
    """How the model writes its output, unless a command says otherwise."""

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        if self.model.tie == "all" and not self.tokens.shared:
            raise ValueError("model.tie = 'all' shares one embedding between both sides; it needs tokens.shared = true")
        if self.model.tie == "all" and len(self.model.vectors.files) > 1:
            raise ValueError(
                "model.tie = 'all' shares one embedding between both sides, but model.vectors names a file for each; "
                "leave one of them out"
            )
        if self.train.r_drop and not self.model.drops:
            raise ValueError(
                f"train.r_drop = {self.train.r_drop} compares two passes with different dropout, but [model] drops "
                "nothing; set a dropout of the model, or train.r_drop = 0.0"
            )
        if self.train.pack and not self.model.packs:
            raise ValueError(
                "train.pack = true puts several pairs into a row, which only model.kind = 'transformer' without "
                "copying, with a Transformer encoder, keeps apart; set train.pack = false"
            )
        if self.train.coverage and not self.model.covers:
            raise ValueError(
                f"train.coverage = {self.train.coverage} needs a recurrent model that knows where it has looked; set "
                "model.attention.coverage = true, or train.coverage = 0.0"
            )
        source, target = self.tokens.source, self.tokens.source if self.tokens.shared else self.tokens.target
        if self.model.copying and (source.kind, source.lowercase) != (target.kind, target.lowercase):
            raise ValueError(
                f"model.copying needs both sides split alike, but tokens.source has kind = {source.kind!r} and "
                f"lowercase = {source.lowercase}, tokens.target {target.kind!r} and {target.lowercase}; "
                "set tokens.shared"
            )
        learned, longest = self.model.learned_positions, self.data.longest
        if learned is not None and longest + 1 > learned:
            raise ValueError(
                f"{self.model.longest_setting} = {learned} learned positions are too few for data.longest = {longest} "
                f"tokens and the end-of-sentence mark; raise {self.model.longest_setting} to {longest + 1}, or lower "
                "data.longest"
            )
        return _with_dev(self, self.data)


class LanguageRecipe(Recipe):
    """A recipe for a language model."""

    task: Literal["language"]
    data: LanguageData
    """Where text comes from."""
    tokens: LanguageTokenizer = LanguageTokenizer()
    """How text becomes tokens."""
    model: LanguageModel
    """The model."""
    train: LanguageTraining
    """The training loop."""
    decode: LanguageDecoding = LanguageDecoding()
    """How the model writes, unless a command says otherwise."""

    @model_validator(mode="before")
    @classmethod
    def _counting_ends_by_itself(cls, tables: Any) -> Any:
        """An n-gram model is counted in one step; its recipe need not say so."""
        match tables:
            case {"model": {"kind": "ngram"}, **rest} if isinstance(train := rest.get("train", {}), dict):
                return tables | {"train": {"steps": 1} | train}
        return tables

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        train = self.train
        if train.validation.metric != "loss" or train.validation.decode:
            raise ValueError("a language model is judged by its loss; leave train.validation.metric and .decode out")
        others = {f"train.{name}": getattr(train, name) for name in ("r_drop", "coverage", "pack")}
        for name, value in (others | {"tokens.dropout": self.tokens.dropout}).items():
            if value:
                raise ValueError(f"{name} = {str(value).lower()} is for translation alone; leave it out")
        if isinstance(self.model, NgramModel) and self.data.context != "lines":
            raise ValueError("an n-gram model is counted line by line; set data.context = 'lines'")
        learned = self.model.learned_positions if isinstance(self.model, TransformerLanguageModel) else None
        if learned is not None and learned < self.data.segment:
            raise ValueError(
                f"model.longest = {learned} learned positions are too few for data.segment = {self.data.segment}; "
                "raise model.longest, or lower data.segment"
            )
        if self.data.segment > train.batch_tokens:
            raise ValueError(
                f"a batch of train.batch_tokens = {train.batch_tokens} tokens has no room for a row of data.segment = "
                f"{self.data.segment}; raise train.batch_tokens or lower data.segment"
            )
        return _with_dev(self, self.data)


class VectorsRecipe(AnyRecipe):
    """A recipe for word vectors."""

    task: Literal["vectors"]
    data: VectorsData
    """Where text comes from."""
    vectors: VectorsMethod
    """How vectors are learned."""


RECIPES: dict[str, type[AnyRecipe]] = {
    "translation": TranslationRecipe,
    "language": LanguageRecipe,
    "vectors": VectorsRecipe,
}
"""The recipe of each task."""

R = TypeVar("R", bound=Recipe)


def _with_dev(recipe: R, data: Data | LanguageData) -> R:
    """The recipe, if the development text is there that its settings need."""
    wish = recipe.needs_dev()
    if wish and not data.has("dev"):
        raise ValueError(f"{wish} needs development text; set data.dev")
    return recipe


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
    task: str = ""
    """The task it belongs to; empty for all."""


TABLES = ("task", "seed", "data", "tokens", "model", "vectors", "train", "decode")
"""The order in which a recipe is written."""


def settings(task: str = "") -> list[Setting]:
    """Every setting of recipes for a task, or for all tasks, in the order of the tables."""
    chosen = [task] if task in RECIPES else list(RECIPES)
    found = {name: _once(_settings(RECIPES[name], "", "")) for name in chosen}
    # Names of tasks are settled before there is a recipe of one.
    first = next(setting for setting in _settings(AnyRecipe, "", "") if setting.name == "task")
    every = [first]
    for name, those in found.items():
        for setting in those[1:]:
            table = setting.name.split(".")[0]
            # A task without such a table (vectors have no [train]) does not make the table another.
            if all(setting in others for other, others in found.items() if table in RECIPES[other].model_fields):
                every += [setting] if setting not in every else []
            else:
                every.append(replace(setting, task=name))
    return sorted(every, key=lambda setting: TABLES.index(setting.name.split(".")[0]))


def _once(found: Iterator[Setting]) -> list[Setting]:
    """Each setting once: models of several kinds have the same encoders."""
    every: list[Setting] = []
    for setting in found:
        every += [setting] if setting not in every else []
    return every


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
            return "list of text" if get_args(annotation) == (str,) else "list of whole numbers"
        parts = [part for part in get_args(annotation) if part is not type(None)]
        if parts:
            return ", ".join(map(words, parts))
        return {int: "whole number", float: "number", bool: "true, false", str: "text"}[annotation]

    return words(field.annotation)
