"""Checkpoints for tests, and a disk that can be told to fail."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

from regard.checkpoint import Checkpoint, Progress

OPERATIONS = ("open", "fsync", "rename", "replace", "mkdir", "rmdir", "unlink")


class Killed(BaseException):
    """Stands for SIGKILL: nothing that catches errors may catch it."""


def checkpoint_at(step: int, *, average: bool = False, streak: int = 0) -> Checkpoint:
    """A small checkpoint whose numbers tell which step it is of."""
    weights = {"layer.weight": torch.full((2, 3), float(step)), "layer.bias": torch.arange(3.0) + step}
    return Checkpoint(
        weights=weights,
        optimizer={f"{name}/moment": tensor * 2 for name, tensor in weights.items()},
        average={name: tensor - 0.5 for name, tensor in weights.items()} if average else None,
        carry=None,
        progress=Progress(step=step, streak=streak),
    )


@contextmanager
def failing_at(number: int, error: Callable[[], BaseException]) -> Iterator[dict[str, int]]:
    """Raises at the number-th operation on the disk, from 0, and at every one after it: a dead process does nothing."""
    done = {"operations": 0}

    def watched(operation: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            done["operations"] += 1
            if done["operations"] > number:
                raise error()
            return operation(*arguments, **named)

        return run

    with mock.patch.multiple(os, **{name: watched(getattr(os, name)) for name in OPERATIONS}):
        yield done
