"""Ctrl-C and SIGTERM: the step is finished, all is saved, and training ends. A second Ctrl-C leaves at once."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether a signal has come. Only the main thread gets signals; elsewhere none come."""
    came = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield came.is_set
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def give_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def take_note(number: int, frame: FrameType | None) -> None:
        came.set()
        give_back()

    for number in before:
        signal.signal(number, take_note)
    try:
        yield came.is_set
    finally:
        give_back()
