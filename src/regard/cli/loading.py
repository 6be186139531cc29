"""Loading a model at the start of a command, as soon as may be."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """For the import of torch and the loading of models: the garbage collector would look again and again at all that
    is made there, none of which is garbage, and takes a tenth of the time for it."""
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()
