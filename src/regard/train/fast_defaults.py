"""Settings for speed that a recipe leaves to the device (`auto`); the choices are in the folder's recipe."""

from typing import Any

import torch

from regard.device import captures, prefers_bfloat16
from regard.recipe import Recipe

SHAPES = 16
"""Number of batch shapes if steps are captured and rows are not packed."""


LEFT = ("precision", "pack", "shapes")
"""Settings of `[train]` that may be left to the device."""


def settled(recipe: Recipe, device: torch.device, begun: Recipe | None = None) -> Recipe:
    """The recipe with each `auto` replaced by what is fastest on this device, or by the choice of the run that is
    resumed (`begun`)."""
    left = [name for name in LEFT if getattr(recipe.train, name, None) == "auto"]
    chosen = _fastest(recipe, device) if begun is None else {name: getattr(begun.train, name) for name in left}
    train = recipe.train.model_copy(update={name: chosen[name] for name in left})
    return recipe.model_copy(update={"train": train})


def _fastest(recipe: Recipe, device: torch.device) -> dict[str, Any]:
    captured = captures(device)
    pack = captured and getattr(getattr(recipe, "model", None), "packs", False)
    packed = pack if getattr(recipe.train, "pack", "auto") == "auto" else recipe.train.pack  # type: ignore[attr-defined]
    return {
        "precision": "bfloat16" if prefers_bfloat16(device) else "float32",
        "pack": pack,
        "shapes": SHAPES if captured and not packed else 0,
    }
