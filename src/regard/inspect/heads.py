"""Statistics of attention heads; and the attention of several layers combined.

    seen = model.inspect("Das ist ein Haus .")
    head_statistics(seen)["entropy"]                 # "layer head": which heads look at one place, which everywhere
    over_layers(seen)["encoder.layers.rollout"]      # "source source": what reaches the top from each token

Both give inspections, which show and save themselves.
"""

from dataclasses import replace
from itertools import takewhile
from unicodedata import category

import numpy as np
from jaxtyping import Bool, Float

from regard.errors import UsageError
from regard.inspect.inspection import Array, Inspection, Links

STATISTICS = ("entropy", "distance", "previous", "own", "next", "punctuation", "special", "aligned")


def attention_in(inspection: Inspection, pattern: str | None = None) -> dict[str, Array]:
    """The arrays of heads, "head queries keys", lowest layer first."""
    matching = inspection.matching(pattern or "*")
    found = {name: array for name, array in matching.items() if len(array.axes) == 3 and array.axes[0] == "head"}
    if not found:
        raise UsageError("there are no attention heads to measure here: this model has none, or none at this place")
    return found


def head_statistics(inspection: Inspection, pattern: str | None = None, *, links: Links | None = None) -> Inspection:
    """For every head, over its queries, the mean of

        entropy      of its weights, in bits
        distance     between query and key, in positions
        previous, own, next, punctuation, special
                     the weight of the token before, the token itself, the one after, of punctuation, of tokens that are
                     no word (the end of a sentence)
        aligned      the weight of the tokens that `links` (by default those of `token_links`) join to the query

    each as "layer head". Undefined values are NaN: distances and neighbors between two different texts, links within
    one, and heads that a layer does not have.
    """
    found = attention_in(inspection, pattern)
    links = token_links(inspection) if links is None else links
    most = max(len(array.values) for array in found.values())
    tables = {name: np.full((len(found), most), np.nan, dtype=np.float32) for name in STATISTICS}
    for layer, array in enumerate(found.values()):
        for name, values in _statistics(inspection, array, links).items():
            tables[name][layer, : len(values)] = values
    arrays = {name: Array(("layer", "head"), values) for name, values in tables.items() if not np.isnan(values).all()}
    return Inspection(arrays, {"layer": tuple(found)}, title=inspection.title)


def token_links(inspection: Inspection) -> Links:
    """The true links between source and target; where they are not known, each target token with the source token that
    it is aligned with: by the `alignment` that was chosen, or else by the mean of all layers."""
    if inspection.gold or "target" not in inspection.labels:
        return inspection.gold
    found = [array.values for array in inspection.values() if array.axes == ("head", "target", "source")]
    if "alignment" in inspection:
        weights = inspection["alignment"].values
    elif found:
        weights = np.mean([values.mean(0) for values in found], axis=0)
    else:
        return frozenset()
    rows, columns = (inspection.words.get(axis, range(len(inspection.labels[axis]))) for axis in ("target", "source"))
    pairs = enumerate(weights.argmax(1).tolist())
    return frozenset((best, row) for row, best in pairs if rows[row] is not None and columns[best] is not None)


def _statistics(inspection: Inspection, array: Array, links: Links) -> dict[str, Float[np.ndarray, " H"]]:
    weights = array.values.astype(np.float64)
    _, queries, keys = weights.shape
    _, of_queries, of_keys = array.axes
    found = {"entropy": _entropy(weights).mean(1)}
    if are_positions_of_one_text(of_queries, of_keys):
        apart = np.arange(keys) - np.arange(queries)[:, None]
        found["distance"] = (weights * abs(apart)).sum(2).mean(1)
        for name, offset in (("previous", -1), ("own", 0), ("next", 1)):
            found[name] = _mean_weight(weights, apart == offset)
    elif links and (of_queries, of_keys) == ("target", "source"):
        joined = np.zeros((queries, keys), dtype=bool)
        for source, target in links:
            joined[target, source] = True
        found["aligned"] = _mean_weight(weights, joined)
    labels = inspection.labels_of(of_keys)
    if labels is not None:
        words = (*inspection.words.get(of_keys, ()), *[0] * keys)[:keys]
        special = np.array([word is None for word in words])
        points = np.array([is_punctuation(label) for label in labels]) & ~special
        found |= {"punctuation": weights[:, :, points].sum(2).mean(1), "special": weights[:, :, special].sum(2).mean(1)}
    return found


def are_positions_of_one_text(queries: str, keys: str) -> bool:
    return queries == keys or (queries, keys) == ("target", "past")


def is_punctuation(label: str) -> bool:
    text = label.strip()
    return bool(text) and all(category(character)[0] == "P" for character in text)


def _entropy(weights: Float[np.ndarray, "... K"]) -> Float[np.ndarray, "..."]:
    logs = np.log2(weights, out=np.zeros_like(weights), where=weights > 0)
    entropy: Float[np.ndarray, ...] = -(weights * logs).sum(-1)
    return entropy


def _mean_weight(weights: Float[np.ndarray, "H Q K"], joined: Bool[np.ndarray, "Q K"]) -> Float[np.ndarray, " H"]:
    """The mean weight on the joined keys, over the queries that have any."""
    some = joined.any(1)
    if not some.any():
        return np.full(len(weights), np.nan)
    mean: Float[np.ndarray, " H"] = (weights * joined).sum(2)[:, some].mean(1)
    return mean


def over_layers(inspection: Inspection, pattern: str | None = None) -> Inspection:
    """The attention of all heads and layers over the same axes as one matrix: their mean, their maximum, and, where a
    text attends to itself, rollout (Abnar and Zuidema 2020): with Ā the mean of a layer's heads and ½ (Ā + I) for its
    residual connection, the product of all layers, the lowest on the right."""
    groups: dict[tuple[str, ...], dict[str, Array]] = {}
    for name, array in attention_in(inspection, pattern).items():
        groups.setdefault((_stack(name), *array.axes), {})[name] = array
    arrays: dict[str, Array] = {}
    for (stack, *axes), group in groups.items():
        layers = [array.values.astype(np.float64) for array in group.values()]
        if len({layer.shape[1:] for layer in layers}) > 1:
            raise UsageError(f"the layers of {stack!r} are of different sizes, so that they have no mean; choose some")
        own = tuple(axes[1:])
        arrays[f"{stack}.mean"] = Array(own, np.mean([layer.mean(0) for layer in layers], axis=0))
        arrays[f"{stack}.maximum"] = Array(own, np.max([layer.max(0) for layer in layers], axis=0))
        if are_positions_of_one_text(axes[1], axes[2]) and layers[0].shape[1] == layers[0].shape[2]:
            arrays[f"{stack}.rollout"] = Array(own, rollout([layer.mean(0) for layer in layers]))
    return replace(inspection, arrays=arrays, shown=tuple(arrays), note="")


def _stack(name: str) -> str:
    """The name of a tap without its layer's number and without `weights`: `decoder.layers.cross`."""
    parts = name.split(".")
    before = list(takewhile(lambda part: not part.isdigit(), parts))
    within = [part for part in parts[len(before) :] if not part.isdigit() and part != "weights"]
    return ".".join([*before, *within]) if len(before) < len(parts) else name


def rollout(layers: list[Float[np.ndarray, "T T"]]) -> Float[np.ndarray, "T T"]:
    """How much of each input position reaches each output position, if layers mix by attention with a residual."""
    reached = np.eye(len(layers[0]))
    for weights in layers:
        mixed = (weights + np.eye(len(weights))) / 2
        # A fully masked query passes on its own value.
        reached = mixed / mixed.sum(1, keepdims=True) @ reached
    return reached
