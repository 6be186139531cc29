"""Runs a model over given sources and targets and keeps where it looked."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import PAD, Padded, PairBatch
from regard.errors import UsageError
from regard.models.generator import Generator
from regard.tap import Seen, record

Weights = dict[str, Float[np.ndarray, "H T S"]]
"""The attention of one example: for each tap a matrix for every head, without padding."""


def watch(
    model: Generator,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    pattern: str | None = None,
    batch_tokens: int = 4096,
) -> list[Weights]:
    """The attention weights of every example while the model reads its target (teacher forcing), in the given order.

    Sources and targets are tokens without specials. The model reads them with END added, so the weights of an example
    have a row for every target token and one for END, and a column for every source token and one for END.
    Without a pattern these are the model's `cross_taps`. With one, any attention is shown: self-attention of the
    encoder has a row and a column for every source token and END; that of the decoder for BEGIN and every target token.
    Examples run together as long as rows × longest, padding included, is within `batch_tokens`.
    """
    if len(sources) != len(targets):
        raise UsageError(f"{len(sources)} sources cannot be watched with {len(targets)} targets; give one for each")
    if pattern is None and not model.cross_taps:
        raise UsageError("this model never looks at its source: it has no attention to show")
    device = next(model.parameters()).device
    was_training = model.training
    found: dict[int, Weights] = {}
    model.eval()
    try:
        for examples in _together(sources, targets, batch_tokens):
            batch = PairBatch.of([list(sources[i]) for i in examples], [list(targets[i]) for i in examples], examples)
            found |= dict(zip(examples, _watch_batch(model, batch.to(device), pattern), strict=True))
    finally:
        model.train(was_training)
    return [found[example] for example in range(len(sources))]


def _together(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], batch_tokens: int
) -> Iterator[list[int]]:
    """Groups of examples of like length whose padded size is within the budget; one alone may exceed it."""
    sizes = [1 + max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
    group: list[int] = []
    for example in sorted(range(len(sizes)), key=sizes.__getitem__):
        if group and (len(group) + 1) * sizes[example] > batch_tokens:
            yield group
            group = []
        group.append(example)
    if group:
        yield group


@torch.inference_mode()
def _watch_batch(model: Generator, batch: PairBatch, pattern: str | None) -> list[Weights]:
    source, given = batch.source, batch.given
    if given.tokens.shape[1] == source.tokens.shape[1]:
        # One more column of padding, which changes nothing, so that an axis' width tells which side it runs over.
        given = Padded(torch.nn.functional.pad(given.tokens, (0, 1), value=PAD), given.lengths)
    with ExitStack() as stack:
        patterns = model.cross_taps if pattern is None else (pattern,)
        recordings = [stack.enter_context(record(model, each)) for each in patterns]
        model.advance(given.tokens, model.start(source, given.tokens.shape[1]))
    seen = Seen({name: passed for recording in recordings for name, passed in recording.items()})
    lengths = {side.tokens.shape[1]: side.lengths.tolist() for side in (source, given)}
    whole = {name: _joined(name, passed, lengths) for name, passed in seen.items()}
    return [
        {
            name: weights[row, :, : lengths[weights.shape[2]][row], : lengths[weights.shape[3]][row]].copy()
            for name, weights in whole.items()
        }
        for row in range(len(batch.examples))
    ]


def _joined(name: str, passed: list[Tensor], lengths: dict[int, list[int]]) -> Float[np.ndarray, "B H Q K"]:
    """What passed a tap in one or several pieces, as one array; refuses what is no attention."""
    shapes = [tuple(tensor.shape) for tensor in passed]
    if not passed or any(len(shape) != 4 for shape in shapes):
        seen = shapes[0] if shapes else "nothing"
        raise UsageError(
            f"the tap {name!r} shows no attention weights (examples, heads, queries, keys): what passed it was {seen}; "
            "choose a pattern that ends in 'weights', or use regard.record"
        )
    joined = torch.cat(passed, dim=2)
    if joined.shape[2] not in lengths or joined.shape[3] not in lengths:
        raise UsageError(
            f"the tap {name!r} looks neither at the source nor at the target: its weights are {joined.shape[2]} × "
            f"{joined.shape[3]}, the examples {' and '.join(map(str, lengths))} tokens long; use regard.record"
        )
    array: Float[np.ndarray, "B H Q K"] = joined.float().cpu().numpy()
    return array
