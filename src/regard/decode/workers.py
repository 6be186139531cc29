"""Several batches at a time on a CPU, each in its own thread with its share of torch's threads.

That is faster than one batch at a time with all threads, which synchronize after every operation. On a CUDA device
there is one worker, whose batches may be larger in the same memory.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import count
from typing import TypeVar

import torch

from regard.device import is_asynchronous

Job = TypeVar("Job")
Made = TypeVar("Made")

THREADS = 8
"""Maximum number of workers on a CPU."""


def workers_on(device: torch.device) -> int:
    return 1 if is_asynchronous(device) else min(torch.get_num_threads(), THREADS)


def each_done(function: Callable[[int, Job], Made], jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, Made]]:
    """Yields each job with its result, in order of completion; the function also gets the worker's number."""
    if min(workers, len(jobs)) < 2:
        for job in jobs:
            yield job, function(0, job)
        return
    local, numbers, threads = threading.local(), count(), torch.get_num_threads()

    def begin() -> None:
        local.number = next(numbers)
        torch.set_num_threads(max(threads // workers, 1))

    def work(job: Job) -> Made:
        return function(local.number, job)

    pool = ThreadPoolExecutor(min(workers, len(jobs)), initializer=begin)
    try:
        futures = {pool.submit(work, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)
        # Threads that torch starts later inherit the last setting.
        torch.set_num_threads(threads)
