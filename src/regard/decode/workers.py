"""Several batches at a time on a CPU, each in a thread of its own, with its share of torch's threads.

Batches that do not wait for each other are done sooner than one after another with all threads, which wait for each
other after every operation. On a CUDA device there is one at a time, which may be larger in the same memory.
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
"""Most workers on a CPU."""


def workers_on(device: torch.device) -> int:
    """How many workers a device has."""
    return 1 if is_asynchronous(device) else min(torch.get_num_threads(), THREADS)


def each_done(function: Callable[[int, Job], Made], jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, Made]]:
    """Each job and what the function makes of it, given the number of the worker too, in the order they are done."""
    if min(workers, len(jobs)) < 2:
        for job in jobs:
            yield job, function(0, job)
        return
    mine, numbers, threads = threading.local(), count(), torch.get_num_threads()

    def begin() -> None:
        mine.number = next(numbers)
        torch.set_num_threads(max(threads // workers, 1))

    def work(job: Job) -> Made:
        return function(mine.number, job)

    pool = ThreadPoolExecutor(min(workers, len(jobs)), initializer=begin)
    try:
        futures = {pool.submit(work, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)
        # Threads that torch will start take what was said last.
        torch.set_num_threads(threads)
