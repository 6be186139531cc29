"""A language model reads a text: the log-probability of every token, in memory that grows with neither text nor
vocabulary but for one number a token."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from regard.data.segments import reading_segments
from regard.data.stream import TokenText
from regard.models import LanguageModel
from regard.objectives.language import segment_log_probs


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

    A stream is read in `rows` stretches side by side, each of which begins without what stands before it; with one, no
    word is without its past. State is carried from one segment to the next. `on_progress` is told tokens and tokens."""
    found = np.zeros(len(text), dtype=np.float32)
    device, done = model.like.device, 0
    carry: Mapping[str, Tensor] | None = None
    for batch, places in reading_segments(text, context, rows=rows, segment=segment).once():
        log_probs, carry = segment_log_probs(model, batch.to(device), carry)
        values = log_probs.cpu().numpy()
        for place, length, row in zip(places.tolist(), batch.wanted.lengths.tolist(), values, strict=True):
            found[place : place + length] = row[:length]
        done += batch.count
        if on_progress is not None:
            on_progress(done, len(text))
    return found
