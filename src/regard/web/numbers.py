"""Arrays of an inspection as bytes: one head or all, their mean or maximum, by tokens or by words."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float32

from regard.errors import UsageError, counted
from regard.inspect import Inspection, fold

Head = int | Literal["all", "mean", "max"]


@dataclass(frozen=True)
class Numbers:
    """Numbers in their binary encoding."""

    values: np.ndarray
    largest: float
    signed: bool

    @property
    def headers(self) -> dict[str, str]:
        """How to read the bytes: the shape, the type of the numbers, and the value of the largest."""
        shape = ",".join(map(str, self.values.shape))
        return {"x-shape": shape, "x-type": self.values.dtype.name, "x-largest": repr(self.largest)}

    @property
    def body(self) -> bytes:
        return np.ascontiguousarray(self.values).tobytes()


def numbers(
    inspection: Inspection, name: str, head: Head = "all", *, words: bool = False, exact: bool = False, most: int = 0
) -> Numbers:
    """An array in 8 bits, as shares of its largest absolute value, or exactly in 32; `most` is the largest number of
    rows and columns, beyond which each number is the largest of several."""
    array = inspection[name]
    values, axes = array.values, array.axes
    if axes[:1] == ("head",) and head != "all":
        values, axes = _head(values, head), axes[1:]
    elif head not in ("all", "mean", "max"):
        raise UsageError(f"{name!r} has no heads, so that head {head} cannot be chosen")
    if words:
        values = _by_words(inspection, values, axes)
    if most:
        values = _pooled(values, most)
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    signed = bool((values < 0).any())
    if exact:
        return Numbers(values.astype("<f4"), largest, signed)
    steps = 127 if signed else 255
    scaled = np.nan_to_num(values / (largest or 1.0), posinf=1.0, neginf=-1.0) * steps
    return Numbers(np.rint(scaled).astype(np.int8 if signed else np.uint8), largest, signed)


def _head(values: Float32[np.ndarray, "H ..."], head: Head) -> Float32[np.ndarray, "..."]:
    if head == "mean" or head == "max":
        found: np.ndarray = values.mean(axis=0) if head == "mean" else values.max(axis=0)
        return found
    assert isinstance(head, int)
    if not 0 <= head < len(values):
        raise UsageError(f"there is no head {head}; there are {counted(len(values), 'head')}, counted from 0")
    chosen: np.ndarray = values[head]
    return chosen


def _by_words(inspection: Inspection, values: np.ndarray, axes: tuple[str, ...]) -> np.ndarray:
    """Weights between words, without positions that belong to no word."""
    rows, columns = (inspection.words.get(axis) for axis in axes[-2:]) if len(axes) > 1 else (None, None)
    if rows is None or columns is None:
        raise UsageError(f"the axes {', '.join(axes)} have no words to fold into; ask without words")
    heads = values[None] if values.ndim == 2 else values
    folded = np.stack([fold(each, rows, columns).weights for each in heads]).astype(np.float32)
    return folded[0] if values.ndim == 2 else folded


def _pooled(values: np.ndarray, most: int) -> np.ndarray:
    """The array, reduced to `most` rows and columns; each keeps the largest absolute value of its block."""
    signed = bool((values < 0).any())
    for axis in range(max(0, values.ndim - 2), values.ndim):
        size = values.shape[axis]
        if size > most:
            # By slices, which is several times as fast as `reduceat`.
            parts = np.split(values, np.linspace(0, size, most, endpoint=False).astype(int)[1:], axis)
            values = np.stack([part.max(axis) for part in parts], axis)
            if signed:
                down = np.stack([part.min(axis) for part in parts], axis)
                values = np.where(values >= -down, values, down)
    return values
