"""Inspections as the explorer's page receives them: everything but large arrays, which it fetches one by one, or finds
packed into a page without a server."""

from base64 import b64encode
from typing import Any

import numpy as np
from jaxtyping import Float32

from regard.inspect.inspection import Array, Inspection
from regard.inspect.labels import readable, runs_right_to_left
from regard.inspect.panel import MEANINGS

FEW = 6000
"""Arrays of at most this many numbers are sent along; larger ones are fetched when they are viewed."""
EXACT = 200
"""Matrices of at most this many numbers are written into a page in full; larger ones are packed."""


def shown(
    name: str, inspection: Inspection, texts: list[str], python: str = "", *, packed: bool = False
) -> dict[str, Any]:
    """An inspection as JSON for the page; with `packed`, including the rest, which it cannot fetch."""
    axes = {axis for array in inspection.values() for axis in array.axes} | {*inspection.labels}
    labels = {
        axis: [*map(readable, known)] for axis in sorted(axes) if (known := inspection.labels_of(axis)) is not None
    }
    return {
        "id": name,
        "title": inspection.heading,
        "note": inspection.note,
        "labels": labels,
        "words": {axis: [*words] for axis, words in inspection.words.items()},
        "leftward": [axis for axis, known in labels.items() if runs_right_to_left(known)],
        "meanings": {axis: MEANINGS.get(axis.partition("+")[0], axis) for axis in sorted(axes)},
        "shown": [*inspection.shown],
        "gold": sorted(inspection.gold),
        "arrays": [_card(name, array, packed) for name, array in inspection.items()],
        "texts": texts,
        "python": python,
    }


def _card(name: str, array: Array, packed: bool) -> dict[str, Any]:
    values = array.values
    finite = values[np.isfinite(values)]
    # A tree cannot be drawn without all of its nodes.
    few = (
        (values.size <= FEW or array.axes == ("node",)) and array.axes[:1] != ("head",) and "feature" not in array.axes
    )
    card: dict[str, Any] = {
        "name": name,
        "axes": [*array.axes],
        "shape": [*values.shape],
        "largest": float(np.abs(finite).max(initial=0.0)),
        "signed": bool((finite < 0).any()),
        "texts": None if array.texts is None else [readable(str(text)) for text in np.ravel(array.texts)],
    }
    if (
        packed
        and few
        and (values.ndim < 2 or values.size <= EXACT or array.texts is not None or finite.size < values.size)
    ):
        card["values"] = [float(str(number)) if np.isfinite(number) else str(number) for number in values.ravel()]
    elif packed:
        card["packed"] = _packed(values, card["largest"], card["signed"])
    elif few:
        card["values"] = [number if np.isfinite(number) else str(number) for number in values.ravel().tolist()]
    return card


def _packed(values: Float32[np.ndarray, "..."], largest: float, signed: bool) -> dict[str, Any]:
    """The numbers as shares of the largest absolute one, in 16 bits; NaN becomes zero, infinity the largest."""
    kind, steps = ("int16", 32767) if signed else ("uint16", 65535)
    known = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=largest, neginf=-largest)
    shares = np.rint(known / (largest or 1.0) * steps).astype(f"<{kind[0]}2")
    return {"type": kind, "largest": largest, "data": b64encode(shares.tobytes()).decode()}
