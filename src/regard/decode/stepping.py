"""How searches step: eagerly here, or captured and replayed (`regard.decode.captured`)."""

from collections.abc import Callable
from typing import TypeVar

import torch

from regard.device import is_asynchronous

Given = TypeVar("Given")
Made = TypeVar("Made")

LEAVE = 8
"""Finished searches are removed once they are at least one in this many."""

ROWS, FEWER = 128, 64
"""Maximum batch size on a CPU. Where one batch per worker would do, there are two if each worker has more than FEWER
sources, so that long and short ones are shared out evenly."""


class Stepping:
    """Runs each step eagerly, in the shapes asked for."""

    def __init__(self, device: torch.device) -> None:
        self.most = None if is_asynchronous(device) else ROWS
        self.every = 4 if is_asynchronous(device) else 1
        """Steps between synchronizations of host and device."""

    def width(self, tokens: int) -> int:
        """The padded width of sources of up to `tokens` tokens."""
        return tokens

    def room(self, positions: int) -> int:
        """The number of positions to allocate if `positions` are needed."""
        return positions

    def fit(self, rows: int, sources: int, workers: int) -> int:
        """The batch size, at most `rows`; on a CPU it divides the sources evenly among workers."""
        if self.most is None:
            return rows
        rounds = max(-(-sources // (self.most * workers)), min(-(-sources // (FEWER * workers)), workers, 2), 1)
        return max(min(rows, -(-sources // (rounds * workers))), 1)

    def rows(self, searches: int) -> int:
        """The padded size of a batch of searches."""
        return searches

    def smaller(self, searches: int, left: int) -> int:
        """The new size of a batch of searches of which `left` are still running."""
        return left if left <= searches - max(searches // LEAVE, 1) else searches

    def __call__(self, name: str, function: Callable[[Given], Made], given: Given) -> Made:
        """Calls the function, which may overwrite its input; `name` identifies it."""
        return function(given)
