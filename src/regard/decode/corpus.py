"""Whole corpora: sorted by length, decoded or scored in batches, returned in their original order."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch

from regard.data.batch import PairBatch, padded_sources
from regard.decode.modules import evaluating, refuse_mixed_recording
from regard.decode.ranking import Hypothesis
from regard.decode.search import decode_batch
from regard.decode.session import Session
from regard.decode.stepping import Stepping
from regard.decode.workers import each_done
from regard.device import device_of
from regard.errors import UsageError
from regard.kernels.picking import plain_ways
from regard.models.generator import Generator
from regard.recipe import Decoding

FEW = 256
"""Up to this many source tokens, END included, translating takes less time than loading kernels for CPUs."""

OnProgress = Callable[[int, int], None]
"""Called after each batch with the number of examples done and their total."""


def decode_all(
    model: Generator | Session,
    sources: Sequence[Sequence[int]],
    settings: Decoding,
    *,
    prefixes: Sequence[Sequence[int]] | None = None,
    words: Sequence[Sequence[int]] | None = None,
    first: int = 0,
    stepping: Stepping | None = None,
    on_progress: OnProgress | None = None,
) -> list[list[Hypothesis]]:
    """The outputs for each source (tokens without special ones), best first, on the model's device. A session keeps its
    prepared copies and graphs for the next call.

    `words` are the source tokens in the output vocabulary, for models that copy them (`data.batch.Worded`). `first` is
    the number of the first source: samples are a function of a source's number. `stepping` defaults to the fastest one
    available."""
    if prefixes is not None:
        _check_counts("prefixes", prefixes, sources)
    session, found = Session.of(model), dict[int, list[Hypothesis]]()
    refuse_mixed_recording(session.model, settings, len(sources))
    device = session.device
    with session.writing(settings) as writer:
        steppings = [stepping] if stepping else session.steppings(writer, settings, forced=prefixes is not None)
        widths = [steppings[0].width(len(source) + 1) for source in sources]

        def write(worker: int, chosen: list[int]) -> list[list[Hypothesis]]:
            copied = None if words is None else [words[example] for example in chosen]
            batch = padded_sources([sources[example] for example in chosen], copied, widths[chosen[0]]).to(device)
            forced = None if prefixes is None else [prefixes[example] for example in chosen]
            limits = [settings.longest_output(len(sources[example])) for example in chosen]
            examples = [first + example for example in chosen]
            with plain_ways(few):
                return decode_batch(writer, batch, settings, limits, forced, examples, steppings[worker])

        # Depends only on the amount of work, so that the same call always gives the same bits.
        few = sum(map(len, sources)) + len(sources) <= FEW

        fit = partial(steppings[0].fit, sources=len(sources), workers=len(steppings))

        def size(chosen: list[int]) -> int:
            room = steppings[0].room(settings.longest_output(len(sources[chosen[0]])) + 1)
            return steppings[0].rows(len(chosen)) * (widths[chosen[0]] + room)

        # Largest first: running out of memory shows at once, and later batches reuse the memory.
        batches = sorted(batches_by_length(widths, settings.batch_tokens, fit), key=size, reverse=True)
        for chosen, outputs in each_done(write, batches, len(steppings)):
            found.update(zip(chosen, outputs, strict=True))
            if on_progress is not None:
                on_progress(len(found), len(sources))
    return [found[example] for example in range(len(sources))]


@torch.inference_mode()
def score_all(
    model: Generator,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    batch_tokens: int = Decoding().batch_tokens,
    *,
    words: Sequence[Sequence[int]] | None = None,
    on_progress: OnProgress | None = None,
) -> list[list[float]]:
    """The log-probability of each token of each target given its source, and of END after it."""
    _check_counts("targets", targets, sources)
    found: dict[int, list[float]] = {}
    lengths = [max(len(source), len(target)) + 1 for source, target in zip(sources, targets, strict=True)]
    with evaluating(model):
        for chosen in batches_by_length(lengths, batch_tokens):
            batch = pairs_of(chosen, sources, targets, words).to(device_of(model))
            state = model.start(batch.source, batch.given.tokens.shape[1])
            features, state = model.advance(batch.given.tokens, state)
            log_probs, _ = model.readout_of(state).log_probs(features, batch.wanted.tokens)
            for example, row in zip(chosen, log_probs.tolist(), strict=True):
                found[example] = row[: len(targets[example]) + 1]
            if on_progress is not None:
                on_progress(len(found), len(sources))
    return [found[example] for example in range(len(sources))]


def pairs_of(
    chosen: Sequence[int],
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    words: Sequence[Sequence[int]] | None,
) -> PairBatch:
    given, wanted = ([list(side[example]) for example in chosen] for side in (sources, targets))
    copied = None if words is None else [list(words[example]) for example in chosen]
    return PairBatch.of(given, wanted, list(chosen), words=copied)


def batches_by_length(
    lengths: Sequence[int], batch_tokens: int, fit: Callable[[int], int] = int
) -> Iterator[list[int]]:
    """Indices of examples in batches of similar length, whose rows × longest is at most `batch_tokens`.

    Longest first, so that running out of memory shows at once. An example longer than the budget gets a batch to
    itself. `fit` maps the number of rows that fit to the number to use.
    """
    batch: list[int] = []
    for example in sorted(range(len(lengths)), key=lambda example: -lengths[example]):
        if batch and len(batch) == fit(max(batch_tokens // lengths[batch[0]], 1)):
            yield batch
            batch = []
        batch.append(example)
    if batch:
        yield batch


def _check_counts(name: str, given: Sequence[Sequence[int]], sources: Sequence[Sequence[int]]) -> None:
    if len(given) != len(sources):
        raise UsageError(f"{len(given)} {name} for {len(sources)} sources: give one for each")
