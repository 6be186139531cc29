import time
from typing import Any

import pytest
from checkpoint_strategies import disk_is_not_waited_for  # noqa: F401

from regard.checkpoint import save_checkpoint
from regard.train import loop, saving


@pytest.fixture(params=[False, True], ids=["between steps", "beside them"])
def written(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints are written as on the CPU; or as on an accelerator, where that takes longer than steps do."""
    if request.param:
        _write_beside(monkeypatch, 0.01)


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints are written as on an accelerator, and that takes its time."""
    _write_beside(monkeypatch, 0.05)


def _write_beside(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    def slowly(*arguments: Any) -> str:
        time.sleep(seconds)
        return save_checkpoint(*arguments)

    monkeypatch.setattr(loop, "saves_in_background", lambda device: True)
    monkeypatch.setattr(saving, "save_checkpoint", slowly)
