"""Checkpoints of vector learning: arrays and progress."""

import json
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from regard.disk import parse_json, publish_folder, reason, write_file
from regard.errors import ModelError, UsageError
from regard.vectors.native import write_array

Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class SavedState:
    """A state of a run."""

    arrays: Arrays
    done: int
    """Steps done; the learner defines what a step is."""


@dataclass
class Checkpoints:
    """Saves each state atomically in a folder and deletes older ones."""

    folder: Path
    every: float
    """Seconds between two states."""
    fingerprint: str
    """Fingerprint of the text; a state of another text is refused."""
    asked: bool = False
    """Whether to save as soon as possible, because the run is to stop."""
    _last: float = field(default_factory=time.monotonic)

    def due(self) -> bool:
        """Whether it is time to save."""
        return self.asked or time.monotonic() - self._last >= self.every

    def save(self, arrays: Arrays, done: int) -> None:
        """Saves a state, and deletes older ones."""
        path, unfinished = self.folder / f"{done:012}", self.folder / ".unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        try:
            unfinished.mkdir(parents=True)
            for name, array in arrays.items():
                write_array(unfinished / f"{name}.npy", array)
            about = {"done": done, "fingerprint": self.fingerprint, "arrays": list(arrays)}
            write_file(unfinished / "state.json", json.dumps(about).encode())
            if not path.exists():
                publish_folder(unfinished, path)
        except OSError as error:
            advice = "make room or choose another --out"
            raise UsageError(f"{self.folder}: cannot be written: {reason(error)}; {advice}") from None
        for other in self._names():
            if other != path.name:
                shutil.rmtree(self.folder / other, ignore_errors=True)
        self._last = time.monotonic()

    def load(self) -> SavedState | None:
        """The newest state; None if there is none."""
        names = self._names()
        if not names:
            return None
        path = self.folder / names[-1]
        try:
            about = parse_json((path / "state.json").read_bytes())
            arrays = {name: np.load(path / f"{name}.npy", allow_pickle=False) for name in about["arrays"]}
            done, fingerprint = int(about["done"]), about["fingerprint"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"{path}: this state of the run is damaged ({error}); delete the folder {self.folder} and start over"
            ) from None
        if fingerprint != self.fingerprint:
            raise UsageError(
                f"{path}: this run was begun with another text; resume it with that text, or choose another --out"
            )
        return SavedState(arrays, done)

    def _names(self) -> list[str]:
        if not self.folder.is_dir():
            return []
        return sorted(path.name for path in self.folder.iterdir() if re.fullmatch(r"\d{12,}", path.name))
