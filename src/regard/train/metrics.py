"""`metrics.jsonl`: the events of a run, one record per line, for programs to read."""

import json
import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regard.checkpoint import ModelFolder, cannot_write
from regard.disk import parse_json
from regard.train.events import Event, Saved, Started, Step
from regard.train.throughput import Throughput


class MetricsFile:
    """Appends events as records. Every `every` steps become one record, and so do the steps before any other event, so
    that no step is lost when a run ends or is resumed."""

    def __init__(self, folder: ModelFolder, every: int) -> None:
        self.folder, self.every, self.pace = folder, every, Throughput()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Started):
            self._cut(event.step)
        if isinstance(event, Step):
            self.pace.add(event)
            if event.step % self.every == 0:
                self._sum_up()
        else:
            if self.pace.has_steps:
                self._sum_up()
            self._record(event)

    def _record(self, event: Event) -> None:
        self._append({"event": type(event).__name__.lower(), **asdict(event)})

    def _sum_up(self) -> None:
        self._append({"event": "step", **asdict(self.pace.sum_up())})

    def _append(self, record: dict[str, Any]) -> None:
        try:
            with open(self.folder.metrics, "ab") as file:
                file.write(json.dumps(_plain(record), ensure_ascii=False, allow_nan=False).encode() + b"\n")
        except OSError as error:
            raise cannot_write(self.folder, "metrics.jsonl", error) from error

    def _cut(self, step: int) -> None:
        """Drops the records of a killed run after the resumed checkpoint: those steps will be repeated."""
        if not self.folder.metrics.exists():
            return
        current = self.folder.current()
        if current is None and step == 0:  # killed before the first was there
            os.truncate(self.folder.metrics, 0)
        lines = self.folder.metrics.read_bytes().splitlines(keepends=True)
        records = [_parse(line) for line in lines]
        saved = [place for place, record in enumerate(records) if _is_save_of(record, step)]
        kept = saved[-1] + 1 if saved else len(records)
        while kept and not saved and _step(records[kept - 1]) > step:
            kept -= 1
        os.truncate(self.folder.metrics, sum(map(len, lines[:kept])))
        if not saved and current is not None:  # killed after the checkpoint was there, before it was recorded
            self._record(Saved(step, self.folder.checkpoints / current))


def _parse(line: bytes) -> Any:
    """A record, or None for a truncated line."""
    try:
        return parse_json(line) if line.endswith(b"\n") else None
    except ValueError:
        return None


def _step(record: Any) -> float:
    """Infinite for a truncated line."""
    return float(record.get("step", 0)) if isinstance(record, dict) else math.inf


def _is_save_of(record: Any, step: int) -> bool:
    return isinstance(record, dict) and record.get("event") == Saved.__name__.lower() and record.get("step") == step


def _plain(value: Any) -> Any:
    """A JSON value: None for NaN and infinity, the name of a path."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.name if isinstance(value, Path) else value
