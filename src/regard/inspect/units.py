"""Statistics over the units of gates and states, at each step.

    seen = model.inspect("Das ist ein Haus .")
    found = over_units(seen)["encoder.stack.layers.0.ahead.gates.forget"]    # "statistic source"
    found.values[0]                                                          # the mean of its units

It is an inspection, which shows and saves itself.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from regard.errors import UsageError
from regard.inspect.inspection import Array, Inspection

STATISTICS = ("mean", "lowest tenth", "highest tenth", "open", "shut")
OPEN, SHUT = 0.9, 0.1


def states_in(inspection: Inspection) -> dict[str, Array]:
    """Arrays of gates and states: some units at each of some positions."""
    return {
        name: array
        for name, array in inspection.items()
        if len(array.axes) == 2 and array.axes[1] == "feature" and array.values.shape[1] > 1
    }


def over_units(inspection: Inspection) -> Inspection:
    """For every array of gates or states, at each position over its units:

    mean            of all
    lowest tenth    below which a tenth of them is, and
    highest tenth   above which a tenth is
    open, shut      of gates, the share that is above 0.9 and the share that is below 0.1 (Karpathy et al. 2015)
    """
    found = states_in(inspection)
    if not found:
        raise UsageError("there are no gates or states to measure here: this model is not recurrent")
    arrays = {name: Array(("statistic", array.axes[0]), _statistics(name, array)) for name, array in found.items()}
    labels = {**inspection.labels, "statistic": STATISTICS}
    return replace(inspection, arrays=arrays, labels=labels, shown=tuple(arrays), note="")


def _statistics(name: str, array: Array) -> Float[np.ndarray, "5 S"]:
    values = array.values.astype(np.float64)
    if len(values) == 0:
        return np.empty((len(STATISTICS), 0))
    rows = [values.mean(1), *np.quantile(values, (0.1, 0.9), axis=1)]
    # A candidate is not a gate: it passes through one.
    is_gate = ".gates." in name and not name.endswith(".candidate")
    shares = [(values > OPEN).mean(1), (values < SHUT).mean(1)]
    return np.stack([*rows, *(share if is_gate else np.full(len(values), np.nan) for share in shares)])
