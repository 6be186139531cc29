"""The base class of recipe tables, and annotations of settings (paths, names of a registry, conditions)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, ValidationError, model_validator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from regard.errors import RecipeError, UsageError
from regard.registry import Registry

MOST = 2**31 - 1
Positive = Annotated[int, Field(ge=1, le=MOST)]
Count = Annotated[int, Field(ge=0, le=MOST)]
Width = Annotated[int, Field(ge=1, le=2**20)]
"""Number of dimensions of a vector."""
Layers = Annotated[int, Field(ge=1, le=1000)]
Length = Annotated[int, Field(ge=0, le=1_000_000)]
"""Tokens of one text."""
Outputs = Annotated[int, Field(ge=1, le=10_000)]
"""Outputs for one input, or hypotheses about it."""
Share = Annotated[float, Field(ge=0, lt=1)]
Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]


@dataclass(frozen=True)
class IsPath:
    """A setting that names a file or folder: relative ones start from the folder of the recipe."""


FilePath = Annotated[str, IsPath()]


@dataclass(frozen=True)
class Named:
    """A setting whose value is a name of a registry, or one of a few others."""

    registry: Registry[Any]
    others: tuple[str, ...] = ()

    def names(self) -> list[str]:
        return [*self.others, *self.registry]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def check(value: Any) -> Any:
            if not isinstance(value, str) or (value not in self.others and value not in self.registry):
                raise PydanticCustomError("unknown_name", "not a known name", {"known": self.names()})
            return value

        return core_schema.no_info_plain_validator_function(check)


@dataclass(frozen=True)
class ChosenBy:
    """A table whose `kind` is a name of a registry, each with settings of its own."""

    registry: Registry[Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices = {name: handler.generate_schema(table) for name, table in self.registry.tables().items()}
        return core_schema.tagged_union_schema(choices, discriminator="kind")


@dataclass(frozen=True)
class Not:
    """Every value except this one."""

    value: Any


class Only:
    """A setting that is used only for some values of another setting of its table: `Only(method=("sample",))`.

    Those values are a tuple, all but one (`Not`), or the names of a registry that say they use it.
    """

    def __init__(self, **condition: "tuple[Any, ...] | Not | Registry[Any]") -> None:
        ((self.other, self.values),) = condition.items()

    def allowed(self, setting: str) -> list[Any] | None:
        """The values of the other setting for which this one is used; None if all but one."""
        if isinstance(self.values, Not):
            return None
        return self.values.using(setting) if isinstance(self.values, Registry) else list(self.values)

    def holds(self, setting: str, value: Any) -> bool:
        if isinstance(self.values, Not):
            return bool(value != self.values.value)
        return value in (self.allowed(setting) or [])


def changed_settings(given: BaseModel, default: BaseModel, table: str) -> Iterator[tuple[str, Any]]:
    """The settings of a table and its subtables that differ from those of another one, by their full names."""
    for name in type(given).model_fields:
        value, other = getattr(given, name), getattr(default, name)
        if isinstance(value, BaseModel) and isinstance(other, BaseModel):
            yield from changed_settings(value, other, f"{table}.{name}")
        elif value != other:
            yield f"{table}.{name}", value


class Section(BaseModel):
    """A table of a recipe: strictly typed and immutable; refuses unknown names, and settings that its other settings
    leave unused."""

    # Schemas are built on first use, because a command needs few of them.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)

    def __init__(self, *unnamed: object, **settings: Any) -> None:
        if unnamed:
            raise UsageError(
                f"{type(self).__name__}: settings are given by name, as in kind='…', not as {unnamed[0]!r}"
            )
        try:
            super().__init__(**settings)
        except ValidationError as error:
            from regard.recipe.complaints import complaints

            raise RecipeError(complaints(error, type(self).title(), type(self))) from None

    # Tables inside a recipe are validated without it, so that errors have their location.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def title(cls) -> str:
        """Its name in messages: `decoding`."""
        words: list[str] = re.findall("[A-Z][a-z]*", cls.__name__.removesuffix("Settings"))
        return (words or [cls.__name__])[-1].lower()

    @model_validator(mode="after")
    def _nothing_is_unused(self) -> Self:
        for name in self.model_fields_set:
            field = type(self).model_fields[name]
            value = getattr(self, name)
            for only in (each for each in field.metadata if isinstance(each, Only)):
                other = getattr(self, only.other)
                if value != field.default and not only.holds(name, other):
                    ctx = {"setting": name, "other": only.other, "chosen": other, "used": only.allowed(name)}
                    raise PydanticCustomError("unused_setting", "not used", {"given": value, **ctx})
        return self
