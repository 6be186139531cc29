"""Checks by its recipe, before any data is read, that a model to start from has the shape of the new one."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.checkpoint import ModelFolder
from regard.errors import ModelError
from regard.recipe import Recipe


def refuse_other_shape(recipe: Recipe, build: Callable[[Any], nn.Module]) -> None:
    """Refuses a model to start from (`train.start_from`) whose weights have other shapes, by the settings that differ.
    `build` makes a model of the table `[model]`."""
    folder = Path(recipe.train.start_from)
    other_recipe: Any = ModelFolder(folder).read_recipe(type(recipe))
    ours, theirs = getattr(recipe, "model", None), other_recipe.model
    with torch.device("meta"):
        mine, other = (_shapes(build(each)) for each in (ours, theirs))
    if mine != other and (differ := differing(ours, theirs)):
        raise ModelError(
            f"train.start_from: {folder}: the weights there are of another shape: {', '.join(differ)}; give this "
            "recipe the same model, or take over parts alone (train.start)"
        )


def _shapes(model: nn.Module) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in model.state_dict().items()}


def differing(ours: Any, theirs: Any) -> list[str]:
    """Settings that both tables have with other values: `width = 16, there 32`."""
    mine, other = ({} if table is None else dict(_values(table.model_dump())) for table in (ours, theirs))
    names = [name for name in mine if name in other and mine[name] != other[name]]
    return [f"{name} = {mine[name]!r}, there {other[name]!r}" for name in names]


def _values(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The settings of a table and its nested tables, except dropout rates, which do not affect shapes."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _values(value, f"{before}{name}.")
        elif "dropout" not in f"{before}{name}":
            yield f"{before}{name}", value
