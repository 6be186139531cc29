"""Panels: the matrices of an inspection as they are drawn, each with a label for every row and column."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from regard.errors import UsageError, one_of
from regard.inspect.inspection import Array, Inspection, Links
from regard.inspect.labels import readable, runs_right_to_left

MEANINGS = {"target": "written", "source": "source", "past": "read before", "feature": "units", "rank": "likeliest"}
"""The meaning of an axis's positions, in a word or two."""
NUMBERED = 16
"""Without labels, up to this many positions are all numbered; of more, every tenth is, and so on."""


@dataclass(frozen=True)
class Panel:
    """One matrix with its labels."""

    name: str
    axes: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Float[np.ndarray, "R C"]
    texts: np.ndarray | None = None
    """The text of each cell, if any."""
    gold: Links = frozenset()
    """Pairs (column, row) that are framed."""

    @property
    def meaning(self) -> str:
        """The meaning of rows and columns."""
        sides = zip(("rows", "columns"), self.axes, strict=True)
        return ", ".join(f"{side}: {MEANINGS.get(axis.partition('+')[0], axis)}" for side, axis in sides if axis)

    @property
    def leftward(self) -> bool:
        """Whether its columns run from right to left, as their labels do."""
        return runs_right_to_left(self.columns)

    @property
    def largest(self) -> float:
        """The largest absolute value."""
        return float(np.abs(self.values[np.isfinite(self.values)]).max(initial=0.0)) or 1.0

    @property
    def signed(self) -> bool:
        return bool((self.values < 0).any())


def panels(inspection: Inspection, show: str | None = None, head: int | None = None) -> list[Panel]:
    """A panel for each matching array, the mean of its heads unless one is chosen; then of those that have heads.

    Where nothing is chosen, arrays of attention over the same axes are one panel, their mean.
    """
    every = inspection.matching(show)
    found = {name: array for name, array in every.items() if head is None or "head" in array.axes} or every
    if not found:
        raise UsageError("there is nothing to draw; this inspection has no arrays")
    groups: dict[object, dict[str, Array]] = {}
    for name, array in found.items():
        together = show is None and "head" in array.axes
        groups.setdefault(array.axes if together else name, {})[name] = array
    return [_panel(inspection, group, head) for group in groups.values()]


def _panel(inspection: Inspection, group: Mapping[str, Array], head: int | None) -> Panel:
    names, first = list(group), next(iter(group.values()))
    name = names[0] if len(names) == 1 else f"mean of {len(names)} layers"
    axes, values, texts = first.axes, first.values, first.texts
    if axes[:1] == ("head",):
        values, axes = choose({key: array.values for key, array in group.items()}, None, head), axes[1:]
    elif head is not None:
        raise UsageError(f"{name!r} has no heads, so that head {head} cannot be chosen")
    if len(axes) > 2:
        raise UsageError(f"{name!r} cannot be drawn: it has the axes {', '.join(axes)}, and a picture has two")
    labels = [_labels(inspection, axis, size) for axis, size in zip(axes, values.shape, strict=True)]
    while len(labels) < 2:  # a list is a column, and a number a list of one
        labels.append((name.rpartition(".")[2],) if labels else ("",))
        axes, values = (*axes, ""), values[..., None]
    if axes[1] == "" or texts is not None:
        texts = _texts(values, None if texts is None else texts.reshape(values.shape))
    gold = inspection.gold if axes == ("target", "source") else frozenset()
    return Panel(name, (axes[0], axes[1]), labels[0], labels[1], values, texts, gold)


def _texts(values: Float[np.ndarray, "R C"], texts: np.ndarray | None) -> np.ndarray:
    """The text of the cells: numbers, after their texts if they have any."""
    names = [""] * values.size if texts is None else [f"{readable(str(text))} " for text in texts.flat]
    written = [f"{name}{value:.2f}" for name, value in zip(names, values.flat, strict=True)]
    return np.array(written, dtype=object).reshape(values.shape)


def _labels(inspection: Inspection, axis: str, size: int) -> tuple[str, ...]:
    """Labels as they are drawn; numbers, and not all of many, where an axis has none."""
    known = inspection.labels_of(axis)
    if known is not None:
        return tuple(map(readable, known))
    step = 1
    while size > NUMBERED * step:
        step *= 10
    return tuple(str(place) if place % step == 0 else "" for place in range(size))


def choose(
    weights: Mapping[str, Float[np.ndarray, "H T S"]], layer: str | None = None, head: int | None = None
) -> Float[np.ndarray, "T S"]:
    """The weights of one head of one layer; without a head the mean of its heads, without a layer the mean of all.

    A layer is named by its tap; every layer counts the same in the mean, however many heads it has.
    """
    if layer is not None and layer not in weights:
        raise UsageError(f"there are no weights of a layer {layer!r}; there are {one_of(weights, layer)}")
    chosen = list(weights.values()) if layer is None else [weights[layer]]
    fewest = min(len(heads) for heads in chosen)
    if head is not None and not 0 <= head < fewest:
        raise UsageError(f"there is no head {head}; heads are counted from 0 to {fewest - 1}")
    means = [heads.mean(axis=0) if head is None else heads[head] for heads in chosen]
    mean: Float[np.ndarray, "T S"] = np.mean(means, axis=0)
    return mean
