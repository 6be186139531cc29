"""Which packages a recipe needs besides Regard."""

from collections.abc import Iterator

from pydantic import BaseModel

from regard.recipe.kinds import TASKS
from regard.recipe.recipe import AnyRecipe
from regard.recipe.section import ChosenBy, Named
from regard.recipe.settings import marks_of
from regard.registry import Package


def packages_of(recipe: AnyRecipe) -> dict[str, str]:
    """Name and version of each package that provides something a recipe names, as model folders record them."""
    found = [TASKS.entry(recipe.task).package, *_packages(recipe)]
    return {package.name: package.version for package in found if package.version}


def _packages(section: BaseModel) -> Iterator[Package]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        for mark in marks_of(field):
            if isinstance(mark, Named) and value in mark.registry:
                yield mark.registry.entry(value).package
            if isinstance(mark, ChosenBy) and value is not None:
                yield mark.registry.entry(value.kind).package
        if isinstance(value, BaseModel):
            yield from _packages(value)
