"""Gathers the results of several processes."""

from typing import TypeVar

import torch.distributed

T = TypeVar("T")


def gathered(part: T, world: int) -> list[T]:
    """The parts of all processes, in the order of their ranks, on every process."""
    if world == 1:
        return [part]
    parts: list[T | None] = [None] * world
    torch.distributed.all_gather_object(parts, part)
    return [part for part in parts if part is not None]
