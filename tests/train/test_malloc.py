"""Memory that is freed is kept for the next step."""

import platform
import resource
import sys
from types import SimpleNamespace

import pytest
import torch
from train_tasks import Classify, recipe_for

from regard.train.learner import Learner
from regard.train.malloc import keep_freed_memory
from regard.train.ranks import Ranks


def faults_of_a_step() -> int:
    """Pages that the system had to provide for pieces of memory, all held at a time and then freed."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [torch.ones(2**20) for _ in range(10)]
    del held
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs the C library of GNU")
def test_pages_are_provided_once() -> None:
    assert keep_freed_memory()
    # Pieces may lie elsewhere than before, until all have their place.
    assert min(faults_of_a_step() for _ in range(4)) < 10 * 2**22 / resource.getpagesize() / 2


def test_who_learns_on_a_cpu_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr("regard.train.learner.keep_freed_memory", lambda: asked.append(True))
    Learner(Classify(recipe_for()), torch.device("cpu"), Ranks())
    assert asked == [True]


def test_elsewhere_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not keep_freed_memory()


def test_a_library_that_refuses_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("ctypes.CDLL", lambda name: SimpleNamespace(mallopt=lambda name, value: int(name != -1)))
    assert not keep_freed_memory()


def test_a_library_that_cannot_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    assert not keep_freed_memory()
