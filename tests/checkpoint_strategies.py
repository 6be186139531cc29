"""Checkpoints for tests, and a disk that can be told to fail."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
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


@pytest.fixture(autouse=True)
def disk_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are killed in tests, not machines: waiting for the disk would only cost time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@contextmanager
def failing_at(number: int, error: Callable[[], BaseException], also: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """Raises at the number-th operation on the disk, from 0, and at every one after it: a dead process does nothing.
    `also` are further functions of `os` that count as operations. Gives the names of those done, as they are done."""
    done: list[str] = []

    def watched(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            if len(done) >= number:
                raise error()
            done.append(name)
            return operation(*arguments, **named)

        return run

    with mock.patch.multiple(os, **{name: watched(name, getattr(os, name)) for name in (*OPERATIONS, *also)}):
        yield done
