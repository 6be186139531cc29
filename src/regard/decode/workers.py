"""Several batches at a time, each in a thread of its own.

On a CPU a worker has its share of torch's threads: batches that do not wait for each other are done sooner than one
after another with all threads, which wait for each other after every operation. On a CUDA device a worker has a stream:
the kernels of a step are too small for the device, and those of several streams share it.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from functools import cache
from itertools import count
from typing import TypeVar

import torch

Job = TypeVar("Job")
Made = TypeVar("Made")

STREAMS, THREADS = 2, 8
"""Most workers on a CUDA device, and on a CPU."""


def workers_on(device: torch.device) -> int:
    """How many workers a device has."""
    if device.type == "cuda":
        return STREAMS
    return min(torch.get_num_threads(), THREADS) if device.type == "cpu" else 1


@cache
def _stream(device: torch.device, number: int) -> torch.cuda.Stream:
    """That of a worker, always the same: torch keeps memory ready for each stream apart."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def each_done(
    function: Callable[[int, Job], Made], jobs: Sequence[Job], workers: int, device: torch.device
) -> Iterator[tuple[Job, Made]]:
    """Each job and what the function makes of it, given the number of the worker too, in the order they are done."""
    if min(workers, len(jobs)) < 2:
        for job in jobs:
            yield job, function(0, job)
        return
    mine, numbers, threads = threading.local(), count(), torch.get_num_threads()
    present = torch.cuda.current_stream(device) if device.type == "cuda" else None

    def begin() -> None:
        mine.number = next(numbers)
        if present is None:
            torch.set_num_threads(max(threads // workers, 1))
            mine.place = nullcontext()
        else:
            stream = _stream(device, mine.number)
            stream.wait_stream(present)
            mine.place = torch.cuda.stream(stream)

    def work(job: Job) -> Made:
        with mine.place:
            return function(mine.number, job)

    pool = ThreadPoolExecutor(min(workers, len(jobs)), initializer=begin)
    try:
        futures = {pool.submit(work, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)
        if present is None:
            # Threads that torch will start take what was said last.
            torch.set_num_threads(threads)
