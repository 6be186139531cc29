"""The `regard` command as tests call it, in this process, and a tiny model that it trained, which all tests share."""

import hashlib
import io
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

WORDS = {
    "eins": "one",
    "zwei": "two",
    "drei": "three",
    "vier": "four",
    "rot": "red",
    "blau": "blue",
    "und": "and",
    "Haus": "house",
}
"""The language of the tiny model: it translates word by word."""

RECIPE = """\
[data]
train = ["train.de", "train.en"]
dev = ["dev.de", "dev.en"]
test = ["test.de", "test.en"]

[tokens.source]
kind = "words"

[tokens.target]
kind = "words"

[model]
kind = "recurrent"
cell = "gru"
embedding = 16
hidden = 16

[model.attention]
score = "additive"
hidden = 16

[train]
batch_tokens = 256
steps = 150
label_smoothing = 0.0
device = "cpu"
keep = 1

[train.optimizer]
rate = 2e-2

[train.schedule]
kind = "cosine"
warmup = 10

[train.validation]
every = 150
metric = "accuracy"
"""

TRANSFORMER = """\
[model]
kind = "transformer"
width = 16
heads = 2
feedforward = 32
encoder_layers = 1
decoder_layers = 1
dropout = 0.0

[train]
"""
"""Tables that make it a Transformer."""

ALONE = {**os.environ, "OMP_NUM_THREADS": "1"}
"""The environment of a process that must not take the other tests' cores."""


@dataclass(frozen=True)
class Outcome:
    """What a user would have seen of a command."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Trained:
    """A working model in a read-only folder, with its recipe and training text."""

    folder: Path
    recipe: Path
    err: str
    """What was said during the training."""


def regard(*arguments: object, stdin: bytes = b"") -> Outcome:
    """Runs a command by its real entry, in this process."""
    from regard.cli import main

    out, err = stream(), stream()
    argv = ["regard", *map(str, arguments)]
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    with (
        mock.patch.object(sys, "argv", argv),
        mock.patch.object(sys, "stdin", given),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    code = ended.value.code
    return Outcome(code if isinstance(code, int) else int(code is not None), text_of(out), text_of(err))


def regard_alone(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Runs a command in a process of its own."""
    command = [sys.executable, "-m", "regard", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=120, env=ALONE, check=False, **options)


def stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True)


def text_of(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")


def write_corpus(folder: Path, sizes: Mapping[str, int] | None = None) -> None:
    """Parallel text in two files for each part."""
    draw = random.Random(0)
    for part, size in (sizes or {"train": 300, "dev": 20, "test": 20}).items():
        rows = [draw.choices(list(WORDS), k=draw.randint(1, 4)) for _ in range(size)]
        (folder / f"{part}.de").write_text("".join(" ".join(row) + "\n" for row in rows), encoding="utf-8")
        translated = (" ".join(WORDS[word] for word in row) for row in rows)
        (folder / f"{part}.en").write_text("".join(row + "\n" for row in translated), encoding="utf-8")


def content(folder: Path) -> dict[str, str]:
    """Every file of a folder with a digest of its bytes; but for what belongs to a run and not to the model: the lock
    that keeps other trainings out, and the cache of prepared data."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    named = {str(path.relative_to(folder)): path for path in files}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in named.items()
        if name not in (".lock", ".owner") and not name.startswith("cache")
    }


@contextmanager
def untouched(folder: Path) -> Iterator[None]:
    """Whatever happens in the block, the folder must be byte for byte what it was."""
    before = content(folder)
    yield
    assert content(folder) == before


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    place = tmp_path_factory.mktemp("trained")
    write_corpus(place)
    recipe = place / "my.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    outcome = regard("train", recipe, "--out", place / "model")
    assert outcome.code == 0, outcome.err
    with untouched(place):
        yield Trained(place / "model", recipe, outcome.err)


def trained_transformer(place: Path, *changes: str) -> Path:
    """The folder of a tiny Transformer, with some settings changed."""
    write_corpus(place)
    recipe = place / "my.toml"
    recipe.write_text(re.sub(r"\[model\].*\[train\]\n", TRANSFORMER, RECIPE, flags=re.DOTALL), encoding="utf-8")
    outcome = regard("train", recipe, "--out", place / "model", *(part for each in changes for part in ("--set", each)))
    assert outcome.code == 0, outcome.err
    return place / "model"
