"""How searches step: one call after another, or captured and replayed (`regard.decode.captured`)."""

from collections.abc import Callable
from typing import TypeVar

import torch

from regard.device import is_asynchronous

Given = TypeVar("Given")
Made = TypeVar("Made")

LEAVE = 8
"""Searches that are over leave when they are one in so many."""

ROWS, FEWER = 128, 64
"""Sources that are decoded together on a CPU at most. Those that several workers would do in one batch each, they do in
two, if there are more than FEWER for each: so long and short ones can be shared out."""


class Stepping:
    """Does each step when it is asked to, in the shapes that are asked for."""

    def __init__(self, device: torch.device) -> None:
        self.most = None if is_asynchronous(device) else ROWS
        self.every = 4 if is_asynchronous(device) else 1
        """So many steps are done between two times that the host waits for the device."""

    def width(self, tokens: int) -> int:
        """To how many tokens sources of so many are padded."""
        return tokens

    def room(self, positions: int) -> int:
        """For how many positions there is room if so many are needed."""
        return positions

    def fit(self, rows: int, sources: int, workers: int) -> int:
        """How many of these sources are taken together, at most so many rows; on a CPU all workers get as many."""
        if self.most is None:
            return rows
        rounds = max(-(-sources // (self.most * workers)), min(-(-sources // (FEWER * workers)), workers, 2), 1)
        return max(min(rows, -(-sources // (rounds * workers))), 1)

    def rows(self, searches: int) -> int:
        """How many searches step together if there are so many: the others are over from the beginning."""
        return searches

    def smaller(self, searches: int, left: int) -> int:
        """How many step together from now on, when of so many only `left` are not over."""
        return left if left <= searches - max(searches // LEAVE, 1) else searches

    def __call__(self, name: str, function: Callable[[Given], Made], given: Given) -> Made:
        """What the function makes of what it is given, which is consumed; `name` tells it from other functions."""
        return function(given)
