"""Batches prepared in a background thread while the device is busy with earlier ones."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

AHEAD = 32
"""Largest number of items prepared ahead: enough to hide the planning of the next shard."""


class Prefetched(Iterator[T], Generic[T]):
    """The items of an iterator in their order, each after `prepare`.

    Errors in the thread are raised here, in the place of their item. `close` ends the thread and discards prefetched
    items, so a run resumes after the last item taken.
    """

    def __init__(self, items: Iterator[T], prepare: Callable[[T], T], ahead: int = AHEAD) -> None:
        self._items, self._prepare, self._ahead = items, prepare, ahead
        self._made: deque[T] = deque()
        self._error: BaseException | None = None
        self._closed = False
        self._changed = threading.Condition()
        # A daemon thread, so that it does not keep a program from exiting.
        self._thread = threading.Thread(target=self._work, name="batches", daemon=True)
        self._thread.start()

    def __next__(self) -> T:
        with self._changed:
            self._changed.wait_for(lambda: self._made or self._error or self._closed)
            if self._made:
                item = self._made.popleft()
                self._changed.notify_all()
                return item
            raise self._error or StopIteration

    def close(self) -> None:
        """Stops the thread and waits for it."""
        with self._changed:
            self._closed = True
            self._made.clear()
            self._changed.notify_all()
        self._thread.join()

    def _work(self) -> None:
        try:
            for item in self._items:
                if not self._put(self._prepare(item)):
                    return
            error: BaseException = StopIteration()
        except BaseException as raised:  # raised again in the consumer's thread
            error = raised
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def _put(self, item: T) -> bool:
        """Waits until there is room; returns False if the consumer is gone."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._made) < self._ahead or self._closed)
            if not self._closed:
                self._made.append(item)
                self._changed.notify_all()
            return not self._closed
