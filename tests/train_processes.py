"""Trainings in processes of their own, which can be killed, and several of which can train together."""

import multiprocessing
import os
import socket
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from regard.tasks.task import Task
from regard.train import joined_ranks, run_task

# Forked, because importing torch again would take seconds.
FORK = multiprocessing.get_context("fork")


def begin(target: Callable[..., Any], *arguments: Any) -> BaseProcess:
    process = FORK.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def train_in(folder: Path, make_task: Callable[[], Task]) -> None:
    """Trains without reporting, resuming if possible."""
    torch.set_num_threads(1)
    run_task(lambda *_: make_task(), folder, resume=True, reporter=lambda event: None)


def train_together(folder: Path, make_task: Callable[[], Task], world: int = 2) -> list[int | None]:
    """The exit codes of several processes that trained together as torchrun would have them do."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [begin(_one_of_several, rank, world, port, folder, make_task) for rank in range(world)]
    for process in processes:
        process.join(timeout=60)
    return [process.exitcode for process in processes]


def _one_of_several(rank: int, world: int, port: int, folder: Path, make_task: Callable[[], Task]) -> None:
    torch.set_num_threads(1)
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ |= {name: str(value) for name, value in names.items()}
    with joined_ranks(torch.device("cpu")) as (ranks, device):
        options: dict[str, Any] = {"resume": True, "reporter": lambda event: None, "ranks": ranks, "device": device}
        run_task(lambda *_: make_task(), folder, **options)
