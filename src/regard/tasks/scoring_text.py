"""Scores a text by a language model: the log-probability of every token, in memory independent of text and vocabulary
except for one number per token."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float32

from regard.data.batch import SegmentBatch
from regard.data.segments import reading_segments
from regard.data.stream import TokenText
from regard.models import LanguageModel
from regard.models.language import Carry, Reading
from regard.objectives.language import read_segment


@torch.no_grad()
def log_probs_of(
    model: LanguageModel,
    text: TokenText,
    context: str,
    *,
    segment: int,
    rows: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> Float32[np.ndarray, " tokens"]:
    """The natural log-probability of each token of a text, in its order.

    A stream is read in `rows` stretches side by side, each of which begins without its past; with one row, no word
    loses its past. State is carried from one segment to the next. `on_progress` is called with the tokens done and
    their total."""
    found, done = np.zeros(len(text), dtype=np.float32), 0
    for batch, places, reading in readings_of(model, text, context, segment=segment, rows=rows):
        log_probs, _ = model.readout_of(reading.state).log_probs(reading.features, batch.wanted.tokens)
        values = log_probs.cpu().numpy()
        for place, length, row in zip(places, batch.wanted.lengths.tolist(), values, strict=True):
            found[place : place + length] = row[:length]
        done += batch.count
        if on_progress is not None:
            on_progress(done, len(text))
    return found


def readings_of(
    model: LanguageModel, text: TokenText, context: str, *, segment: int, rows: int = 1
) -> Iterator[tuple[SegmentBatch, Sequence[int], Reading]]:
    """A model's readings of a text, segment by segment: each with the place in the text at which each of its rows
    begins."""
    carry: Carry | None = None
    for batch, places in reading_segments(text, context, rows=rows, segment=segment).once():
        here = batch.to(model.like.device)
        reading = read_segment(model, here, carry)
        yield here, places.tolist(), reading
        carry = model.carried(reading.state) or None
