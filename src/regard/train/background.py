"""Work in a background thread of the training loop."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class Background:
    """Runs one job at a time in a thread. Its exception, if any, is raised by `settle`."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="background")
        self._job: Future[None] | None = None

    def begin(self, work: Callable[[], None]) -> None:
        """Starts a job after the previous one is settled."""
        self.settle()
        self._job = self._thread.submit(work)

    def settle(self, *, wait: bool = True) -> None:
        """Waits for the current job; without `wait`, only checks whether it has failed."""
        if self._job is not None and (wait or self._job.done()):
            try:
                self._job.result()
            finally:
                # If the wait was interrupted, the job's result has not been seen yet.
                if self._job.done():
                    self._job = None

    def close(self) -> None:
        """Waits for the current job; no other can be started."""
        self._thread.shutdown()
        self.settle()
