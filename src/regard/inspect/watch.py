"""Runs a model over given sources and targets and keeps where it looked."""

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import Padded, PairBatch
from regard.decode.corpus import batches_by_length, pairs_of
from regard.decode.modules import evaluating
from regard.device import device_of
from regard.errors import UsageError
from regard.models.generator import Generator
from regard.tap import record

Weights = dict[str, Float[np.ndarray, "H T S"]]
"""The attention of one example: for each tap a matrix for every head, without padding."""


def watch(
    model: Generator,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    pattern: str | None = None,
    batch_tokens: int = 4096,
    words: Sequence[Sequence[int]] | None = None,
) -> list[Weights]:
    """The attention weights of every example while the model reads its target (teacher forcing), in the given order.

    Sources and targets are tokens without specials. The model reads them with END added, so the weights of an example
    have a row for every target token and one for END, and a column for every source token and one for END.
    Without a pattern these are the model's `cross_taps`. With one, any attention is shown: self-attention of the
    encoder has a row and a column for every source token and END; that of the decoder for BEGIN and every target token.
    Examples run together as long as rows × longest, padding included, is within `batch_tokens`. `words` are those of
    the sources, for models that copy them.
    """
    if len(sources) != len(targets):
        raise UsageError(f"{len(sources)} sources cannot be watched with {len(targets)} targets; give one for each")
    if pattern is None and not model.cross_taps:
        raise UsageError("this model never looks at its source: it has no attention to show")
    found: dict[int, Weights] = {}
    lengths = [1 + max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
    with evaluating(model), torch.inference_mode():
        for chosen in batches_by_length(lengths, batch_tokens):
            batch = pairs_of(chosen, sources, targets, words).to(device_of(model))
            found.update(zip(chosen, _watch_batch(model, batch, pattern), strict=True))
    return [found[example] for example in range(len(sources))]


def _watch_batch(model: Generator, batch: PairBatch, pattern: str | None) -> list[Weights]:
    source, target = batch.source, batch.given
    with ExitStack() as stack:
        patterns = model.cross_taps if pattern is None else (pattern,)
        recordings = [stack.enter_context(record(model, each)) for each in patterns]
        seen = {name: passed for recording in recordings for name, passed in recording.items()}
        state = model.start(source, target.tokens.shape[1])
        while_reading = {name for name, passed in seen.items() if passed}
        model.advance(target.tokens, state)
    sides = {name: _sides(name, name in while_reading, model, batch) for name in seen}
    whole = {name: _joined(name, passed, *sides[name]) for name, passed in seen.items()}
    lengths = {name: [side.lengths.tolist() for side in both] for name, both in sides.items()}
    return [
        {name: whole[name][row, :, : queries[row], : keys[row]].copy() for name, (queries, keys) in lengths.items()}
        for row in range(len(batch.examples))
    ]


def _sides(name: str, while_reading: bool, model: Generator, batch: PairBatch) -> tuple[Padded, Padded]:
    """What the queries and the keys of a tap run over: attention is within the source while that is read, and later
    from target to source or, beside the model's `cross_taps`, within the target."""
    if while_reading:
        return batch.source, batch.source
    crosses = _parent(name) in {_parent(cross) for cross in model.cross_taps}
    return batch.given, batch.source if crosses else batch.given


def _parent(name: str) -> str:
    """The attention that a tap belongs to."""
    return name.rpartition(".")[0]


def _joined(name: str, passed: list[Tensor], queries: Padded, keys: Padded) -> Float[np.ndarray, "B H Q K"]:
    """What passed a tap, as one array; refuses what is no attention from the one side to the other."""
    shapes = [tuple(tensor.shape) for tensor in passed]
    wanted = (queries.tokens.shape[1], keys.tokens.shape[1])
    if len(shapes) != 1 or len(shapes[0]) != 4 or shapes[0][2:] != wanted:
        raise UsageError(
            f"the tap {name!r} shows no attention weights (examples, heads, {wanted[0]} queries, {wanted[1]} keys): "
            f"what passed it was {', '.join(map(str, shapes)) or 'nothing'}; choose a pattern that ends in 'weights', "
            "or use regard.record"
        )
    array: Float[np.ndarray, "B H Q K"] = passed[0].float().cpu().numpy()
    return array
