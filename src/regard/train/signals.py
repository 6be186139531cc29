"""Ctrl-C and SIGTERM: the step is finished, all is saved, and training ends. A second Ctrl-C leaves at once, or as soon
as a checkpoint that is being written is complete."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

STOPPING = "stopping after this step; again to leave at once"


class Asked:
    """Whether a signal has asked training to stop, and which one."""

    signal: int | None = None

    def __call__(self) -> bool:
        return self.signal is not None


@contextmanager
def asked_to_stop() -> Iterator[Asked]:
    """Yields a function that tells whether SIGINT or SIGTERM has arrived. Only the main thread gets signals."""
    asked = Asked()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def give_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def take_note(number: int, frame: FrameType | None) -> None:
        asked.signal = number
        give_back()
        # Bypasses Python's stream, which the signal may have interrupted; a separate line below a progress bar.
        with suppress(OSError, ValueError, AttributeError):
            os.write(sys.stderr.fileno(), f"{os.linesep * sys.stderr.isatty()}{STOPPING}{os.linesep}".encode())

    for number in before:
        signal.signal(number, take_note)
    try:
        yield asked
    finally:
        give_back()
