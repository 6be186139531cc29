"""A device whose memory does not suffice: what a user can do about it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from regard.errors import TrainingError
from regard.recipe import Decoding, Training


@contextmanager
def enough_memory(step: int, settings: Training, decoding: Decoding | None = None) -> Iterator[None]:
    """Says in words that memory is full and which settings decide how much is needed; `decoding` are those of a
    validation that decodes."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        sizes = f"train.batch_tokens = {settings.batch_tokens}"
        if decoding is not None:
            sizes += f" or decode.batch_tokens = {decoding.batch_tokens}"
        raise TrainingError(
            f"step {step}: the device's memory is full; {sizes} is too large for this model on this device. Lower "
            "it in a new run (and raise train.accumulate by as much, so that a step still sees as many tokens), or "
            "make the model smaller"
        ) from error
