"""An inspection: one example inside a model, as named arrays with labelled axes.

    seen = model.inspect("Das ist ein Haus .")     # any trained model
    seen                                           # in a notebook: a picture and a list of what there is
    seen["decoder.layers.0.cross.weights"]         # an Array: axes ("head", "target", "source") and values
    seen.matching("encoder.*")                     # several, by a pattern
    seen.labels["target"]                          # the tokens
    seen.save("look.html")                         # or .png, .svg, .pdf, .json

Pictures, pages and JSON are made from inspections alone. The names of axes are those of `regard.tap`; an axis without
labels is counted from 0.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self

import numpy as np
from jaxtyping import Float32

from regard.disk import parse_json
from regard.errors import DataError, UsageError, counted, one_of
from regard.inspect.labels import readable

Links = frozenset[tuple[int, int]]
"""Pairs (source position, target position), counted from 0."""

LONE = re.compile("[\ud800-\udfff]")
"""Surrogates, which no file in UTF-8 can hold."""
FORMAT = 1
"""Incremented when older versions cannot read the JSON."""


@dataclass(frozen=True, eq=False)
class Array:
    """Numbers over named axes and, for some, a text beside each number."""

    axes: tuple[str, ...]
    values: Float32[np.ndarray, "..."]
    texts: np.ndarray | None = None
    """Strings in the shape of the values, such as the candidates whose probabilities these are."""

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float32)
        if values.ndim != len(self.axes):
            raise UsageError(f"values of shape {values.shape} do not have the axes {', '.join(self.axes) or '(none)'}")
        if self.texts is not None and np.shape(self.texts) != values.shape:
            raise UsageError(f"texts of shape {np.shape(self.texts)} do not fit values of shape {values.shape}")
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return " × ".join(f"{axis} {size}" for axis, size in zip(self.axes, self.values.shape, strict=True)) or "number"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=copy)


@dataclass(frozen=True, eq=False, repr=False)
class Inspection(Mapping[str, Array]):
    """Named arrays of one example, with the labels of their axes."""

    arrays: Mapping[str, Array]
    """By name: the names of taps, `probabilities`, `surprisals` and `candidates`, and whatever a task adds."""
    labels: Mapping[str, tuple[str, ...]]
    """By axis: the label of each of its positions, mostly a token."""
    title: str = ""
    words: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)
    """By axis: the word that each position is a piece of; None for END and the like."""
    shown: tuple[str, ...] = ()
    """Names of the arrays that are drawn unless others are chosen."""
    gold: Links = frozenset()
    """The true links between source and target, where they are known."""
    note: str = ""
    """What the reader must know first, in one sentence."""

    def __post_init__(self) -> None:
        for name, array in self.arrays.items():
            for axis, size in zip(array.axes, array.values.shape, strict=True):
                labels = self.labels_of(axis)
                if labels is not None and len(labels) != size:
                    raise UsageError(
                        f"{name!r} has {size} positions along {axis!r}, but there are {len(labels)} labels"
                    )
        for axis, words in self.words.items():
            if len(words) != len(self.labels.get(axis, ())):
                raise UsageError(f"{len(words)} words do not fit the labels of {axis!r}; give one for each, or None")
        if unknown := next((name for name in self.shown if name not in self.arrays), None):
            raise UsageError(f"{unknown!r} cannot be shown; there is {one_of(self.arrays, unknown) or 'nothing'}")
        sizes = tuple(len(self.labels.get(axis, ())) for axis in ("source", "target"))
        for source, target in sorted(self.gold):
            if not (0 <= source < sizes[0] and 0 <= target < sizes[1]):
                raise UsageError(
                    f"gold link {source}-{target} is outside of {sizes[0]} source and {sizes[1]} target labels"
                )

    def __getitem__(self, name: str) -> Array:
        if name not in self.arrays:
            raise UsageError(self._missing(name))
        return self.arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __repr__(self) -> str:
        return f"Inspection({self.heading!r}, {counted(len(self), 'array')}: {one_of(self, most=3)})"

    @property
    def heading(self) -> str:
        """The title on one line, with nothing invisible in it but spaces."""
        return " ".join(map(readable, self.title.split()))

    def labels_of(self, axis: str) -> tuple[str, ...] | None:
        """The labels along an axis, of each part of `a+b` in turn; None if its positions are counted from 0."""
        parts = axis.split("+")
        if not any(part in self.labels for part in parts):
            return None
        return tuple(label for part in parts for label in self.labels.get(part, (part,)))

    def matching(self, pattern: str | None = None) -> dict[str, Array]:
        """The arrays whose names match a shell-style pattern; without one, those that are shown."""
        if pattern is None:
            return {name: self.arrays[name] for name in self.shown or self.arrays}
        found = {name: array for name, array in self.arrays.items() if fnmatchcase(name, pattern)}
        if not found:
            raise UsageError(self._missing(pattern))
        return found

    def only(self, pattern: str | None) -> Self:
        """The inspection with the matching arrays alone; without a pattern, the same."""
        if pattern is None:
            return self
        arrays = self.matching(pattern)
        return replace(self, arrays=arrays, shown=tuple(name for name in self.shown if name in arrays))

    def only_head(self, head: int | None) -> Self:
        """The inspection with one head, whose number is its label, and with the arrays that have no heads."""
        if head is None:
            return self
        heads = {name: len(array.values) for name, array in self.arrays.items() if array.axes[:1] == ("head",)}
        if not 0 <= head < (most := max(heads.values(), default=0)):
            there = f"heads are counted from 0 to {most - 1}" if most else "nothing that is shown here has heads"
            raise UsageError(f"there is no head {head}; {there}")
        arrays, only = dict[str, Array](), slice(head, head + 1)
        for name, array in self.arrays.items():
            if name not in heads:
                arrays[name] = array
            elif head < heads[name]:
                texts = None if array.texts is None else array.texts[only]
                arrays[name] = replace(array, values=array.values[only], texts=texts)
        labels = {**self.labels, "head": (self.labels.get("head") or tuple(map(str, range(most))))[only]}
        return replace(self, arrays=arrays, labels=labels, shown=tuple(name for name in self.shown if name in arrays))

    def save(self, path: str | Path, *, show: str | None = None, head: int | None = None) -> None:
        """Writes a picture (.png, .svg, .pdf), a page (.html) or .json, by the suffix of the file; `show` is a pattern
        of names, `head` one of the heads."""
        from regard.inspect.saving import save

        save(self, path, show=show, head=head)

    def _repr_html_(self) -> str:
        from regard.inspect.notebook import cell

        return cell(self)

    def plain(self, digits: int | None = None) -> dict[str, Any]:
        """Everything as lists, texts and numbers; with `digits`, rounded for display: weights of heads, of which there
        may be millions, to that many decimals, and all others to one more significant digit."""
        return {
            "inspection": FORMAT,
            "title": self.title,
            "note": self.note,
            "labels": {axis: list(labels) for axis, labels in self.labels.items()},
            "words": {axis: list(words) for axis, words in self.words.items()},
            "shown": list(self.shown),
            "gold": sorted(map(list, self.gold)),
            "arrays": {name: _plain(array, digits) for name, array in self.arrays.items()},
        }

    def to_json(self) -> str:
        """Compact JSON, from which `from_json` makes the same inspection."""
        plain = self.plain()
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        if LONE.search(text):  # these can only be written as escapes
            return json.dumps(plain, separators=(",", ":"), allow_nan=False)
        return text

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The inspection that `to_json` wrote. Nothing in it is run."""
        try:
            given = parse_json(text)
            if given["inspection"] != FORMAT:
                raise DataError(
                    f"this inspection has format {given['inspection']!r}, and this version reads {FORMAT}; upgrade "
                    "Regard, or inspect again"
                )
            return cls(
                {name: _array(array) for name, array in given["arrays"].items()},
                {axis: tuple(map(str, labels)) for axis, labels in given["labels"].items()},
                title=str(given["title"]),
                note=str(given["note"]),
                words={axis: tuple(words) for axis, words in given["words"].items()},
                shown=tuple(given["shown"]),
                gold=frozenset((int(source), int(target)) for source, target in given["gold"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError, UsageError) as error:
            raise DataError(f"this is not an inspection as to_json writes it ({error}); inspect again") from None

    def _missing(self, name: str) -> str:
        note = f". {self.note[:1].upper()}{self.note[1:]}" if self.note else ""
        return f"nothing here matches {name!r}; there is {one_of(self.arrays, name) or 'nothing'}{note}"


def _plain(array: Array, digits: int | None) -> dict[str, Any]:
    values = array.values.ravel()
    if digits is not None and array.axes[:1] != ("head",):
        values, digits = np.array([float(f"{value:.{digits + 1}g}") for value in values.tolist()]), None
    plain: dict[str, Any] = {
        "axes": list(array.axes),
        "shape": list(array.values.shape),
        "values": _numbers(values, digits),
    }
    if array.texts is not None:
        plain["texts"] = [str(text) for text in np.ravel(array.texts)]
    return plain


def _numbers(values: Float32[np.ndarray, " n"], digits: int | None) -> list[float | str]:
    """The shortest decimals that round to these numbers; NaN and infinities, which JSON does not have, as text."""
    exact = values.astype(str) if digits is None else values
    wide = exact.astype(np.float64) if digits is None else exact.astype(np.float64).round(digits)
    if np.isfinite(wide).all():
        found: list[float | str] = wide.tolist()
        return found
    return [number if np.isfinite(number) else str(number) for number in wide.tolist()]


def _array(given: Mapping[str, Any]) -> Array:
    shape: Sequence[int] = tuple(given["shape"])
    values = np.array([float(number) for number in given["values"]], dtype=np.float32).reshape(shape)
    texts = np.array(given["texts"], dtype=object).reshape(shape) if "texts" in given else None
    return Array(tuple(given["axes"]), values, texts)
