"""Training with several processes: ranks and their communication.

torchrun --nproc-per-node 2 -m regard train my.toml --out runs/mine
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from regard.device import backend_of, is_host
from regard.errors import RegardError, UsageError

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """One of `world` processes; rank 0 leads: only it writes files and messages."""

    rank: int = 0
    world: int = 1

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def sum(self, tensor: Tensor) -> None:
        """Sums a tensor over all processes, in place."""
        if self.world > 1:
            dist.all_reduce(tensor)

    def agree(self, value: T) -> T:
        """Broadcasts the leader's value."""
        if self.world == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    def gather(self, value: T) -> list[T]:
        """The values of all processes by rank, on every process."""
        if self.world == 1:
            return [value]
        box: list[Any] = [None] * self.world
        dist.all_gather_object(box, value)
        return box

    @contextmanager
    def leader_first(self) -> Iterator[None]:
        """The leader runs the block first; the others then find its results on disk. Only the leader reports a user's
        error; the others exit silently."""
        if self.leads:
            try:
                yield
            except RegardError:
                self.agree(False)
                raise
            self.agree(True)
        elif self.agree(True):
            yield
        else:
            raise SystemExit(2)


@contextmanager
def joined_ranks(device: torch.device) -> Iterator[tuple[Ranks, torch.device]]:
    """Joins the processes started by torchrun, if any, and gives each its own device while the block runs."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield Ranks(), device
        return
    backend, own = backend_of(device), None
    if backend is None:
        raise UsageError(f"several processes cannot train on {device.type!r}; set train.device to 'cpu' or 'cuda'")
    if not is_host(device):
        device = own = torch.device(device.type, int(os.environ["LOCAL_RANK"]))
        if device.index >= torch.cuda.device_count():
            raise UsageError(
                f"process {device.index + 1} of this machine has no GPU of its own, there are "
                f"{torch.cuda.device_count()}; start as many processes as there are GPUs, or set train.device to 'cpu'"
            )
        torch.cuda.set_device(device)
    # The others wait while the leader prepares a corpus, which may take hours.
    dist.init_process_group(backend, device_id=own, timeout=timedelta(days=1))
    try:
        yield Ranks(dist.get_rank(), dist.get_world_size()), device
    finally:
        dist.destroy_process_group()
