"""Runs a model with its taps recorded, and returns the recorded arrays of each example."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from fnmatch import fnmatchcase
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.data.batch import Padded
from regard.decode.corpus import batches_by_length, pairs_of
from regard.decode.modules import evaluating
from regard.device import device_of
from regard.errors import UsageError
from regard.inspect.inspection import Array
from regard.models.copying import CopyReadout
from regard.models.generator import Generator, Readout, State
from regard.tap import Seen, Tap, Watchable, record

INSIDE = ("*weights", "*.gates.*", "*.state", "*.memory", "*share")
"""Taps that an inspection shows: attention, gates and states, and the share of copying in a mixture."""
CANDIDATES = 5
"""Number of likeliest tokens shown at each position."""
LONGEST = 512
"""Most positions of an example whose activations are held in memory."""

Made = TypeVar("Made")


def recorded(
    model: Watchable, patterns: Iterable[str], lengths: Mapping[str, Sequence[int]], run: Callable[[], Made]
) -> tuple[list[dict[str, Array]], Made]:
    """What passes the matching taps during `run`, for each row separately and without padding; and the result of `run`.

    `lengths` says how many positions each row has along an axis. Patterns may match no tap. Taps over the spelling of
    words, each read once, have no rows and are left out.
    """
    every = {name: module for name, module in model.named_modules() if isinstance(module, Tap)}
    found = {
        name: tap
        for name, tap in every.items()
        if any(fnmatchcase(name, pattern) for pattern in patterns) and tap.axes[:1] != ("spelling",)
    }
    with record(model, *found) if found else nullcontext(Seen()) as seen:
        made = run()
    arrays: list[dict[str, Array]] = [{} for _ in next(iter(lengths.values()))]
    for name, tap in found.items():
        if seen[name]:
            whole = _whole(name, tap, seen[name])
            for row, into in enumerate(arrays):
                cut = tuple(slice(_length(axis, lengths, row)) for axis in tap.axes[1:])
                into[name] = Array(tap.axes[1:], whole[row][cut].copy())
    return arrays, made


def _whole(name: str, tap: Tap, passed: list[Tensor]) -> Float[np.ndarray, "rows ..."]:
    """The recorded values of a tap as one array; refuses a shape that contradicts the tap's axes. A recurrent decoder
    whose attention is intervened in passes one target position after another."""
    shapes = [tuple(tensor.shape) for tensor in passed]
    if len(shapes) > 1 and "target" in tap.axes and all(len(shape) == len(tap.axes) for shape in shapes):
        axis = tap.axes.index("target")
        others = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
        passed = [torch.cat(passed, axis)] if len(others) == 1 else passed
    elif len(shapes) > 1 and all(torch.equal(tensor, passed[0]) for tensor in passed):
        passed = passed[:1]  # the same keys and values, for one position after another
    if len(passed) > 1 or len(shapes[0]) != len(tap.axes) or tap.axes[:1] != ("row",):
        raise UsageError(
            f"the tap {name!r} names its axes ({', '.join(tap.axes)}), but what passed it was of shape "
            f"{', '.join(map(str, shapes))}; name all axes where the tap is made, rows first, and "
            "let all positions pass at once"
        )
    array: Float[np.ndarray, "rows ..."] = passed[0].float().cpu().numpy()
    return array


def _length(axis: str, lengths: Mapping[str, Sequence[int]], row: int) -> int | None:
    """Positions of a row along an axis; None for all of them."""
    parts = axis.split("+")
    if not any(part in lengths for part in parts):
        return None
    return sum(lengths[part][row] if part in lengths else 1 for part in parts)


def watch(
    model: Generator,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    patterns: Sequence[str] | None = None,
    batch_tokens: int = 4096,
    words: Sequence[Sequence[int]] | None = None,
) -> list[dict[str, Array]]:
    """The values at a model's taps while it reads given targets under teacher forcing, for each example, in order.

    Sources and targets are tokens without specials. The model reads them with END added, so an example has a position
    for every source token and one for END, and as many along the target. Without patterns these are the model's
    `cross_taps`. Examples run together as long as rows × longest, padding included, is within `batch_tokens`. `words`
    are those of the sources, for models that copy them.
    """
    if len(sources) != len(targets):
        raise UsageError(f"{len(sources)} sources cannot be watched with {len(targets)} targets; give one for each")
    if patterns is None and not model.cross_taps:
        raise UsageError("this model never looks at its source: it has no attention to show")
    found: dict[int, dict[str, Array]] = {}
    lengths = [1 + max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
    with evaluating(model), torch.inference_mode():
        for chosen in batches_by_length(lengths, batch_tokens):
            batch = pairs_of(chosen, sources, targets, words).to(device_of(model))
            read = partial(_read, model, batch.source, batch.given.tokens)
            sizes = {"source": batch.source.lengths.tolist(), "target": batch.given.lengths.tolist()}
            arrays, _ = recorded(model, patterns or model.cross_taps, sizes | {"past": sizes["target"]}, read)
            found.update(zip(chosen, arrays, strict=True))
    return [found[example] for example in range(len(sources))]


def _read(model: Generator, source: Padded, given: Int[Tensor, "N n"]) -> tuple[Float[Tensor, "N n E"], State]:
    return model.advance(given, model.start(source, given.shape[1]))


def refuse_long_look(tokens: int) -> None:
    """Refuses a text whose activations would not fit into memory."""
    if tokens > LONGEST:
        raise UsageError(f"a text of {tokens:,} tokens is too long to look at; give one of at most {LONGEST}")


@torch.inference_mode()
def watch_writing(
    model: Generator,
    source: Padded,
    given: Int[Tensor, "1 n"],
    wanted: Int[Tensor, "1 n"],
    name: Callable[[int], str],
    patterns: Sequence[str] = INSIDE,
) -> dict[str, Array]:
    """The arrays of a generator under teacher forcing, which reads `given` and must predict `wanted`: all taps, the
    `probabilities` of the wanted tokens, their `surprisals` in bits, and the likeliest `candidates` at each position.
    For a model that copies, also the `parts` that add up to each probability, and how much is `copied` from each
    position. `name` gives the text of a token."""
    refuse_long_look(max(given.shape[1], source.tokens.shape[1]))
    lengths = {"source": [source.tokens.shape[1]], "target": [given.shape[1]], "past": [given.shape[1]]}
    with evaluating(model):
        (arrays,), (features, state) = recorded(model, patterns, lengths, lambda: _read(model, source, given))
        readout = model.readout_of(state)
        wanted_log_probs, _ = readout.log_probs(features, wanted)
        logits = readout.logits(features)[0].float()
        arrays |= copies_in(readout, features, "source" if source.tokens.shape[1] else "past")
        parts = parts_in(readout, features, wanted)
    likeliest = logits.softmax(-1).topk(min(CANDIDATES, logits.shape[-1]))
    texts = [[name(token) for token in row] for row in likeliest.indices.tolist()]
    log_probs = wanted_log_probs[0].float().cpu().numpy()
    arrays["probabilities"] = Array(("target",), np.exp(log_probs))
    arrays["surprisals"] = Array(("target",), -log_probs / np.float32(np.log(2)))
    arrays["candidates"] = Array(
        ("target", "rank"),
        likeliest.values.cpu().numpy(),
        np.array(texts, dtype=object).reshape(likeliest.values.shape),
    )
    if parts:
        arrays["parts"] = Array(("target", "part"), np.stack([*parts.values()], 1))
    return arrays


def part_labels(arrays: Mapping[str, Array]) -> dict[str, tuple[str, ...]]:
    """The names of the parts of a probability, where it has some."""
    copied = tuple(name for name in ("copied", "cache") if name in arrays)
    return {"part": ("vocabulary", *copied)} if copied else {}


def parts_in(
    readout: Readout, features: Float[Tensor, "1 n E"], targets: Int[Tensor, "1 n"]
) -> dict[str, Float[np.ndarray, " n"]]:
    """The mixture components of the probability of each target, where a readout copies."""
    if not isinstance(readout, CopyReadout):
        return {}
    return {name: part[0].float().cpu().numpy() for name, part in readout.parts(features, targets).items()}


def copies_in(readout: Readout, features: Float[Tensor, "1 n E"], axis: str) -> dict[str, Array]:
    """The probability of copying from each position, where a readout copies."""
    if not isinstance(readout, CopyReadout):
        return {}
    found = readout.copied(features)
    return {name: Array(("target", axis), part[0].float().cpu().numpy()) for name, part in found.items()}
