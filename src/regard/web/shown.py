"""Inspections as the page is told of them: everything but large arrays, which it fetches one by one."""

import numpy as np

from regard.inspect import Inspection
from regard.inspect.labels import readable, runs_right_to_left
from regard.inspect.panel import MEANINGS
from regard.web.messages import ArrayCard, Shown

FEW = 6000
"""Numbers of an array that are sent with its name; others are fetched when they are looked at."""


def shown(name: str, inspection: Inspection, texts: list[str], python: str) -> Shown:
    axes = {axis for array in inspection.values() for axis in array.axes}
    labels = {
        axis: [*map(readable, known)] for axis in sorted(axes) if (known := inspection.labels_of(axis)) is not None
    }
    return Shown(
        id=name,
        title=inspection.heading,
        note=inspection.note,
        labels=labels,
        words={axis: [*words] for axis, words in inspection.words.items()},
        leftward=[axis for axis, known in labels.items() if runs_right_to_left(known)],
        meanings={axis: MEANINGS.get(axis.partition("+")[0], axis) for axis in sorted(axes)},
        shown=[*inspection.shown],
        gold=sorted(inspection.gold),
        arrays=[_array_card(each, inspection) for each in inspection],
        texts=texts,
        python=python,
    )


def _array_card(name: str, inspection: Inspection) -> ArrayCard:
    array, plain = inspection[name], None
    values = array.values
    finite = values[np.isfinite(values)]
    # A tree cannot be drawn without all of its nodes.
    few = (
        (values.size <= FEW or array.axes == ("node",)) and array.axes[:1] != ("head",) and "feature" not in array.axes
    )
    if few:
        plain = [number if np.isfinite(number) else str(number) for number in values.ravel().tolist()]
    return ArrayCard(
        name=name,
        axes=[*array.axes],
        shape=[*values.shape],
        largest=float(np.abs(finite).max(initial=0.0)),
        signed=bool((finite < 0).any()),
        values=plain,
        texts=None if array.texts is None else [readable(str(text)) for text in np.ravel(array.texts)],
    )
