"""Gradients of an output: their norms at each position, and attributions of the output to each input.

    outputs = model.outputs("the company said")
    gradient_norms(outputs, -1)                      # an Inspection: ‖∂ log p / ∂ vector‖ at each position
    gradient_norms(outputs)                          # for every output: how it vanishes or explodes over time
    attributions(outputs, -1)                        # integrated gradients, gradient × input, leave-one-out

At the states of recurrent layers, gradients shrink or grow by about a factor at each step back (Bengio et al. 1994,
Pascanu et al. 2013).
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import ModelError
from regard.inspect.inspection import Array, Inspection
from regard.inspect.outputs import Outputs
from regard.nn.recurrent import RecurrentLayer
from regard.tap import Tap, intervene

STATES = ("*.state",)
"""Taps shown beside the inputs: the states of recurrent layers."""
TOLERANCE = 0.01
"""Largest relative error of the sum of integrated gradients."""
LEAST = 1e-3
"""Smallest change of probability that a relative error is taken of."""
FEWEST_STEPS, MOST_STEPS = 32, 2048
POWER = 4
"""How much shorter the first steps are near zero."""
WHAT = "norm of the gradient, by the vector at each position, of the log-probability of"


def gradient_norms(
    outputs: Outputs,
    place: int | None = None,
    *,
    choice: int | str | None = None,
    patterns: Sequence[str] = STATES,
) -> Inspection:
    """How strongly the log-probability of an output depends on the vector at each position: the Euclidean norm of its
    gradient by the vectors of the inputs, and by those that pass taps that match the patterns.

    Without a place, every array has a row for each place of the outputs, and two more arrays show how gradients vanish
    or explode: `… by distance`, the median over the outputs at each distance from them (`_distances`), and `… factor`,
    by which each further step multiplies it: that of an exponential fitted to these medians.
    """
    outputs.input_axis()
    inputs = [each.tap for each in outputs.inputs.values()]
    watched = {
        name: part.axes[1]
        for name, part in outputs.model.named_modules()
        if isinstance(part, Tap)
        and part.axes[0:3:2] == ("row", "feature")
        and (name in inputs or any(fnmatchcase(name, pattern) for pattern in patterns))
    }
    if place is not None:
        norms = _norms_at(outputs, place, choice, watched)
        labels = {axis: names[: outputs.length(axis, place)] for axis, names in outputs.labels.items()}
        arrays = {name: Array((watched[name],), norm) for name, norm in norms.items()}
        return Inspection(arrays, labels, title=outputs.title, note=f"{WHAT} {outputs.told(place, choice)}")
    rows = [_norms_at(outputs, each, choice, watched) for each in range(len(outputs))]
    # What is read before a place grows with it.
    tables = {name: [row[name] for row in rows] for name in rows[-1]}
    arrays = {name: Array((outputs.axis, watched[name]), _filled(table)) for name, table in tables.items()}
    shown, reads = tuple(arrays), _ways_of_reading(outputs)
    for name in shown:
        apart = _distances(outputs, watched[name], reads.get(name, 0), arrays[name].values.shape)
        medians = _medians(arrays[name].values, apart)
        arrays[f"{name} by distance"] = Array(("distance",), medians)
        arrays[f"{name} factor"] = Array((), np.array(_factor(medians)))
    return Inspection(arrays, outputs.labels, title=outputs.title, shown=shown, note=f"{WHAT} each output")


def _distances(outputs: Outputs, axis: str, reads: int, shape: tuple[int, int]) -> Int[np.ndarray, "T S"]:
    """Steps from each output back to each position, -1 where no state passes between them. In the text of the outputs
    themselves they are counted from where the choice is made; in a text that is read before, by way of its end. `reads`
    is 1 for states of a forward cell, -1 for those of a backward one, 0 for inputs of both."""
    outward, positions = np.indices(shape)
    if axis in outputs.made_at:
        back = outward + outputs.made_at[axis] - positions
        back = np.abs(back) if reads == 0 and axis != "past" else back * (reads or 1)
        seen: np.ndarray = np.maximum(back, -1)
        return seen
    left = positions if reads < 0 else shape[1] - 1 - positions
    steps: np.ndarray = left + outward
    return steps


def _medians(norms: Float[np.ndarray, "T S"], distances: Int[np.ndarray, "T S"]) -> Float[np.ndarray, " D"]:
    """The median of the norms at each distance."""
    return np.array([np.median(norms[distances == each]) for each in range(distances.max(initial=-1) + 1)])


def _factor(medians: Float[np.ndarray, " D"]) -> float:
    """The growth of the medians per step: a least-squares fit of their logarithms; NaN for fewer than three."""
    steps = np.flatnonzero(medians > 0)
    if len(steps) < 3:
        return float("nan")
    slope, _ = np.polyfit(steps, np.log(medians[steps].astype(np.float64)), 1)
    return float(np.exp(slope))


def _filled(rows: Sequence[Float[np.ndarray, " _"]]) -> Float[np.ndarray, "T S"]:
    longest = max(map(len, rows))
    return np.stack([np.pad(row, (0, longest - len(row))) for row in rows])


def _norms_at(
    outputs: Outputs, place: int, choice: int | str | None, watched: Mapping[str, str]
) -> dict[str, Float[np.ndarray, " S"]]:
    passed: dict[str, list[Tensor]] = {name: [] for name in watched}

    def keeping(name: str) -> Callable[[Tensor], Tensor]:
        def keep(value: Tensor) -> Tensor:
            value = value if value.requires_grad else value.requires_grad_()
            passed[name].append(value)
            return value

        return keep

    with torch.enable_grad(), ExitStack() as stack:
        for name in watched:
            stack.enter_context(intervene(outputs.model, name, keeping(name)))
        log_prob = outputs.log_probs(place)[0, outputs.choice(place, choice)]
        every = [value for values in passed.values() for value in values]
        gradients = iter(torch.autograd.grad(log_prob, every, allow_unused=True))
    ways = _ways_of_reading(outputs)
    norms: dict[str, Float[np.ndarray, " S"]] = {}
    for name, values in passed.items():
        found = [_norm(value, next(gradients)) for value in values]
        if found:
            norm = torch.cat(found[::-1] if ways.get(name) == -1 else found)
            norms[name] = norm.float().cpu().numpy()
    return norms


def _norm(value: Float[Tensor, "1 S E"], gradient: Float[Tensor, "1 S E"] | None) -> Float[Tensor, " S"]:
    """Zero where the output does not depend on a value."""
    return value.new_zeros(value.shape[1]) if gradient is None else gradient[0].norm(dim=-1)


def _ways_of_reading(outputs: Outputs) -> dict[str, int]:
    """For each tap in a recurrent cell, 1 if the cell reads forward, and -1 if its steps pass in reverse."""
    every = dict(outputs.model.named_modules())
    layers = [name for name, part in every.items() if isinstance(part, RecurrentLayer)]
    sides = {f"{layer}.{side}.": way for layer in layers for side, way in (("ahead", 1), ("back", -1))}
    return {name: way for name in every for side, way in sides.items() if name.startswith(side)}


@dataclass(frozen=True, eq=False)
class Integrated:
    """Integrated gradients of a probability, and whether they add up."""

    values: Float[np.ndarray, " S"]
    probability: float
    without: float
    """The probability at the baseline, with zeros for all vectors."""
    steps: int

    @property
    def error(self) -> float:
        """The relative error of the sum against the difference between the probabilities (completeness); for a small
        difference, relative to `LEAST`."""
        difference = self.probability - self.without
        return abs(float(self.values.sum()) - difference) / max(abs(difference), LEAST)


def integrated_gradients(
    outputs: Outputs, place: int, *, choice: int | str | None = None, axis: str | None = None
) -> Integrated:
    """How much each position along an axis of the inputs adds to the probability of a choice (Sundararajan et al.
    2017), from vectors of zeros to those of the example, in straight line.

    The integral is a sum over steps. Those over which the gradient does not account for the change of the probability
    are halved until all together account for it within `TOLERANCE`: with layer norms, small vectors make large changes.
    """
    axis, chosen = outputs.input_axis(axis), outputs.choice(place, choice)
    edges = np.linspace(0, 1, FEWEST_STEPS + 1) ** POWER
    values, _ = _along(outputs, place, chosen, axis, edges)
    allowed = TOLERANCE * max(abs(values[-1] - values[0]), LEAST)
    known: dict[float, tuple[float, Float[np.ndarray, " S"]]] = {}
    while True:
        middles, lengths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
        new = np.array([middle for middle in middles.tolist() if middle not in known])
        known |= dict(zip(new.tolist(), zip(*_along(outputs, place, chosen, axis, new), strict=True), strict=True))
        slopes = np.stack([known[middle][1] for middle in middles.tolist()])
        missed = abs(np.diff(values) - lengths * slopes.sum(1))
        if not np.isfinite(missed).all():
            raise ModelError(
                f"output {place}: its probability or gradient is not finite, so that nothing can be attributed: the "
                "weights are damaged or training diverged; take an earlier checkpoint, or compute in float32"
            )
        if missed.sum() <= allowed or len(lengths) >= MOST_STEPS:
            return Integrated(lengths @ slopes, values[-1], values[0], len(lengths))
        (halved,) = np.nonzero(missed > allowed / len(missed))
        edges = np.insert(edges, halved + 1, middles[halved])
        values = np.insert(values, halved + 1, [known[middle][0] for middle in middles[halved].tolist()])


def _along(
    outputs: Outputs, place: int, choice: int, axis: str, shares: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n S"]]:
    """At points on the straight line from zeros to the vectors of an example, the probability of a choice, and its
    gradient with respect to each vector times the vector of the example."""
    found, slopes = np.zeros(len(shares)), np.zeros((len(shares), outputs.length(axis, place)))
    read = slopes.shape[1] - outputs.inputs[axis].first
    for start in range(0, len(shares), outputs.rows_at_once):
        rows = slice(start, start + outputs.rows_at_once)
        some, leaves = torch.from_numpy(shares[rows]), list[Tensor]()

        def shrink(vectors: Float[Tensor, "R S E"], some: Tensor = some, leaves: list[Tensor] = leaves) -> Tensor:
            # A window of words has padding before them.
            padding, own = torch.split(vectors.detach(), [vectors.shape[1] - read, read], 1)
            point = (own * some.to(own)[:, None, None]).requires_grad_()
            leaves += [point, own]
            return torch.cat([padding, point], 1)

        with torch.enable_grad(), intervene(outputs.model, outputs.inputs[axis].tap, shrink):
            probabilities = outputs.log_probs(place, axis=axis, without=[()] * len(some))[:, choice].exp()
            point, own = leaves
            (gradient,) = torch.autograd.grad(probabilities.sum(), [point])
        found[rows] = probabilities.detach().double().cpu().numpy()
        slopes[rows, slopes.shape[1] - read :] = (gradient * own).double().sum(2).cpu().numpy()
    return found, slopes


def gradient_times_input(
    outputs: Outputs, place: int, *, choice: int | str | None = None, axis: str | None = None
) -> Float[np.ndarray, " S"]:
    """The first-order estimate of what each position adds to the probability of a choice: its vector times the gradient
    by it."""
    _, slopes = _along(outputs, place, outputs.choice(place, choice), outputs.input_axis(axis), np.ones(1))
    first: Float[np.ndarray, " S"] = slopes[0]
    return first


def leave_one_out(
    outputs: Outputs, place: int, *, choice: int | str | None = None, axis: str | None = None
) -> Float[np.ndarray, " S"]:
    """The drop in the probability of a choice when each position is removed from the example; NaN for those that cannot
    be removed."""
    axis, chosen = outputs.input_axis(axis), outputs.choice(place, choice)
    single = sorted(position for word in outputs.removable(place, axis) for position in word)
    found = outputs.probabilities(place, axis=axis, without=[(), *((position,) for position in single)])[:, chosen]
    drops = np.full(outputs.length(axis, place), np.nan)
    drops[single] = (found[0] - found[1:]).double().cpu().numpy()
    return drops


def attributions(
    outputs: Outputs, place: int, *, choice: int | str | None = None, axis: str | None = None
) -> Inspection:
    """Attributions of the probability of an output to the positions of the input, by three methods."""
    axis = outputs.input_axis(axis)
    integrated = integrated_gradients(outputs, place, choice=choice, axis=axis)
    rows = {
        "integrated-gradients": integrated.values,
        "gradient×input": gradient_times_input(outputs, place, choice=choice, axis=axis),
        "leave-one-out": leave_one_out(outputs, place, choice=choice, axis=axis),
    }
    return Inspection(
        {
            "attributions": Array(("measure", axis), np.stack(list(rows.values()))),
            "probability": Array((), np.array(integrated.probability)),
            "probability of zeros": Array((), np.array(integrated.without)),
            "completeness error": Array((), np.array(integrated.error)),
        },
        {"measure": tuple(rows), axis: outputs.labels[axis][: outputs.length(axis, place)]},
        title=outputs.title,
        shown=("attributions",),
        note=f"what each position adds to the probability of {outputs.told(place, choice)}",
    )
