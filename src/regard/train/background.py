"""Work that is done beside the training loop."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class Background:
    """Does one thing at a time, in a thread, while the caller goes on. What that raises is raised by `settle`."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="beside")
        self._begun: Future[None] | None = None

    def begin(self, work: Callable[[], None]) -> None:
        """Begins when what was begun before is settled."""
        self.settle()
        self._begun = self._thread.submit(work)

    def settle(self, *, wait: bool = True) -> None:
        """Waits for what was begun; without `wait`, only looks whether it has failed."""
        if self._begun is not None and (wait or self._begun.done()):
            try:
                self._begun.result()
            finally:
                # Who is interrupted while waiting has not been told yet what becomes of it.
                if self._begun.done():
                    self._begun = None

    def close(self) -> None:
        """Waits for what was begun; nothing can be begun any more."""
        self._thread.shutdown()
        self.settle()
