"""One attention step by step: queries and keys, scores, weights, values and context.

    steps = model.attention_steps("3. März 2021")            # an Inspection, of a translator
    steps["scores"].values[0, 2]                              # of the third output to each token of the source
    steps["weights"].values @ steps["value"].values           # is the context

`query` and `key` are as the score compares them, so that its sum over the units can be followed: the score of a dot
product is the sum of query × key (a factor such as 1/√D is in the query), and that of an additive one is the sum of
`energy` × tanh(query + key).
"""

from contextlib import suppress
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Attention
from regard.attention.scores import Additive, Concatenation, DotScore, Score
from regard.errors import UsageError, one_of
from regard.inspect.inspection import Array

PARTS = ("query", "key", "value", "scores", "weights", "context")
DOT, ADDITIVE = "query × key, summed over the units", "energy × tanh(query + key), summed over the units"


def attention_of(model: nn.Module, layers: tuple[str, ...], layer: str | None = None) -> tuple[str, Attention]:
    """The attention module behind a layer's weights, given the name of their tap (by default the last layer), and the
    prefix of its taps' names."""
    if not layers:
        raise UsageError("this model never looks at its source: it has no attention to show step by step")
    if layer is not None and layer not in layers:
        raise UsageError(f"there is no attention {layer!r} to the source; there is {one_of(layers, layer)}")
    name = (layer or layers[-1]).rpartition(".")[0]
    module = model.get_submodule(name)
    found = module if isinstance(module, Attention) else getattr(module, "attention", None)
    if not isinstance(found, Attention):
        raise UsageError(f"the attention {name!r} is not computed from queries, keys and values, so it has no steps")
    return name, found


def followed_layers(model: nn.Module, layers: tuple[str, ...]) -> list[str]:
    """The layers whose attention `attention_of` finds."""
    found = []
    for layer in layers:
        with suppress(UsageError):
            attention_of(model, layers, layer)
            found.append(layer)
    return found


@torch.no_grad()
def as_compared(score: Score, arrays: dict[str, Array]) -> tuple[dict[str, Array], str]:
    """The arrays with queries as the score compares them, and its formula if it is a sum over units."""
    query, device = arrays["query"], next((each.device for each in score.parameters()), torch.device("cpu"))
    given = torch.from_numpy(query.values).to(device)
    if isinstance(score, DotScore):
        mapped = score.transform(given)
        mapped = mapped * (mapped.shape[-1] ** -0.5 if score.scale is None else score.scale)
        return arrays | {"query": _with(query, mapped)}, DOT
    if isinstance(score, Additive | Concatenation):
        mapped = torch.einsum("...qd,...de->...qe", given, score.halves()[0])
        energy = Array(("head", "feature"), score.energy.reshape(-1, score.energy.shape[-1]).float().cpu().numpy())
        return arrays | {"query": _with(query, mapped), "energy": energy}, ADDITIVE
    return arrays, ""


def _with(array: Array, values: Float[Tensor, "..."]) -> Array:
    return replace(array, values=values.float().cpu().numpy())
