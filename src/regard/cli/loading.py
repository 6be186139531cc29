"""Fast loading of a model at the start of a command."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Disables garbage collection while torch is imported and models are loaded: it would take a tenth of the time, and
    nothing made there is garbage."""
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()
