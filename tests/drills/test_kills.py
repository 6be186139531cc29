"""A training that is killed at random moments and resumed each time ends in the bits of one that never stopped."""

import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from command_line import ALONE, RECIPE, regard, write_corpus

from regard.checkpoint import Checkpoint, ModelFolder, load_checkpoint, load_weights
from regard.errors import ModelError
from regard.tasks import load

SETTINGS = {
    "seed": 3,
    "tokens.source.kind": "bpe",
    "tokens.source.dropout": 0.2,
    "tokens.target.kind": "bpe",
    "train.batch_tokens": 64,
    "train.accumulate": 2,
    "train.log_every": 1,
    "train.average.decay": 0.9,
    "train.validation.every": 7,
    "train.average.checkpoints": 2,
    "model.dropout.input": 0.1,
}

STEPS = 61
"""So many that the run ends in the middle of a pass."""

NOTHING_YET = "no such folder|this is not the folder of a model|there is no trained model here"


class Training:
    """A run in a process of its own, whose every step can be seen."""

    def __init__(self, place: Path, name: str, steps: int) -> None:
        self.folder = place / name
        changes = [f"--set={key}={value}" for key, value in (SETTINGS | {"train.steps": steps}).items()]
        recipe = place / "my.toml"
        self._arguments = ["train", str(recipe), "--out", str(self.folder), *changes]
        self.said = ""

    @property
    def arguments(self) -> list[str]:
        """A run that was killed before it had a folder begins; any other goes on."""
        return [*self._arguments, *(["--resume"] if self.folder.exists() else [])]

    def finish(self) -> None:
        """Goes on, or begins, and ends; in this process, which need not import torch again."""
        torch.set_num_threads(1)
        outcome = regard(*self.arguments)
        assert outcome.code == 0, outcome.err
        self.said = outcome.err

    @contextmanager
    def going(self) -> Iterator["subprocess.Popen[str]"]:
        """Goes on, or begins, for as long as the block does, or longer if it does not kill it."""
        command = [sys.executable, "-m", "regard", *self.arguments]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, env=ALONE, text=True)
        assert process.stderr is not None
        try:
            yield process
            self.said = process.stderr.read()
            process.wait(timeout=60)
        finally:
            process.kill()
            process.wait()
            process.stderr.close()

    def stop_after(self, steps: int, seconds: float, by: signal.Signals) -> int:
        """Sends a signal some seconds after a number of steps were seen; gives the exit code."""
        with self.going() as process:
            assert process.stderr is not None
            seen = 0
            while seen < steps and (line := process.stderr.readline()):
                seen += bool(re.match(r"step \d+: loss", line))
            time.sleep(seconds)
            process.send_signal(by)
        return process.returncode

    def end(self) -> Checkpoint:
        """What it ended with."""
        model = ModelFolder(self.folder)
        current = model.current()
        assert current is not None
        checkpoint = load_checkpoint(model, current)
        # How long it took is the one thing that may differ.
        return replace(checkpoint, progress=replace(checkpoint.progress, seconds=0.0))

    def recorded(self) -> list[int]:
        """The steps that the metrics tell of."""
        records = map(json.loads, (self.folder / "metrics.jsonl").read_text().splitlines())
        return [record["step"] for record in records if record["event"] == "step"]


def assert_same_bits(one: Training, other: Training) -> None:
    ours, theirs = one.end(), other.end()
    assert ours.progress == theirs.progress
    assert ours.average is not None
    assert theirs.average is not None
    pairs = [
        (ours.weights, theirs.weights),
        (ours.optimizer, theirs.optimizer),
        (ours.average, theirs.average),
        (load_weights(one.folder), load_weights(other.folder)),
    ]
    for mine, its in pairs:
        assert mine.keys() == its.keys()
        assert [name for name in mine if not torch.equal(mine[name], its[name])] == []


def assert_loads(folder: Path) -> None:
    """What a kill leaves is a model, or says that none is there yet."""
    if (folder / "chosen").exists():
        assert load(folder).translate(["eins"])[0].source == "eins"
    else:
        with pytest.raises(ModelError, match=NOTHING_YET):
            load(folder)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kills")
    write_corpus(folder, {"train": 60, "dev": 5, "test": 5})
    (folder / "my.toml").write_text(RECIPE, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def undisturbed(place: Path) -> Training:
    training = Training(place, "undisturbed", steps=STEPS)
    training.finish()
    return training


def kill_and_resume(training: Training, kills: int, seed: int) -> None:
    """Kills a training `kills` times, each after some more steps and up to a tenth of a second, and finishes it."""
    draw = random.Random(seed)
    for _ in range(kills):
        code = training.stop_after(draw.randint(0, 14), draw.uniform(0, 0.1), signal.SIGKILL)
        assert code == -signal.SIGKILL
        assert_loads(training.folder)
    training.finish()


@pytest.mark.long
def test_the_run_is_one_that_could_go_wrong(undisturbed: Training) -> None:
    """Several passes, sampled subwords, accumulation and averages: what is to be restored is all there."""
    progress = undisturbed.end().progress
    assert progress.position.epoch >= 1
    assert progress.position.batch > 0
    assert len(progress.validated) == 2
    assert f"train.steps = {STEPS} are done" in undisturbed.said
    assert undisturbed.recorded() == list(range(1, STEPS + 1))


@pytest.mark.long
def test_two_kills(place: Path, undisturbed: Training) -> None:
    training = Training(place, "killed", steps=STEPS)
    kill_and_resume(training, kills=2, seed=1)
    assert_same_bits(training, undisturbed)
    assert training.recorded() == list(range(1, STEPS + 1))


@pytest.mark.long
def test_fifty_kills(place: Path) -> None:
    undisturbed, training = Training(place, "long", steps=420), Training(place, "long-killed", steps=420)
    undisturbed.finish()
    kill_and_resume(training, kills=50, seed=2)
    assert_same_bits(training, undisturbed)
    assert training.recorded() == list(range(1, 421))


@pytest.mark.long
def test_a_signal_saves_and_leaves(place: Path, undisturbed: Training) -> None:
    training, done = Training(place, "asked", steps=STEPS), 0
    for number in (signal.SIGTERM, signal.SIGINT):
        assert training.stop_after(17, 0.0, number) == 128 + number
        assert "stopped at step " in training.said
        assert "and everything is saved; continue with --resume" in training.said
        before, done = done, training.end().progress.step
        assert before + 17 <= done < STEPS
        assert_loads(training.folder)
    training.finish()
    assert f"resumes from step-{done:08}, after step {done}" in training.said
    assert_same_bits(training, undisturbed)
