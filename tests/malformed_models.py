"""Malformed models on disk: what is done to a good one, and what a command that meets it must say."""

import io
import json
import pickle
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

Spoil = Callable[[Path], None]
TRANSLATE, RESUME = "translate MODEL", "train RECIPE --out MODEL --resume"


@dataclass(frozen=True)
class Damaged:
    """A way to damage a model, a command given then, and fragments of what it must say."""

    spoil: Spoil
    says: tuple[str, ...]
    command: str = TRANSLATE


def damaged(spoil: Spoil, *says: str, command: str = TRANSLATE) -> Damaged:
    return Damaged(spoil, says, command)


def put(name: str, content: bytes) -> Spoil:
    """Another content of a file."""
    return lambda folder: _find(folder, name).write_bytes(content) and None


def remove(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        path = _find(folder, name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return spoil


def cut(name: str) -> Spoil:
    """The first half of a file, as a full disk leaves it."""

    def spoil(folder: Path) -> None:
        content = _find(folder, name).read_bytes()
        _find(folder, name).write_bytes(content[: len(content) // 2])

    return spoil


def make_folder(name: str) -> Spoil:
    """A folder where a file should be."""

    def spoil(folder: Path) -> None:
        path = _find(folder, name)
        path.unlink(missing_ok=True)
        path.mkdir()

    return spoil


def change_json(name: str, change: Callable[[Any], object]) -> Spoil:
    """Something else in a JSON file; what `change` gives, or what it left behind if it gives nothing."""

    def spoil(folder: Path) -> None:
        value = json.loads(_find(folder, name).read_bytes())
        changed = change(value)
        _find(folder, name).write_text(json.dumps(value if changed is None else changed))

    return spoil


def replace(name: str, old: str, new: str) -> Spoil:
    """Other words in a text file."""

    def spoil(folder: Path) -> None:
        text = _find(folder, name).read_text()
        assert old in text
        _find(folder, name).write_text(text.replace(old, new))

    return spoil


def change_tensors(change: Callable[[dict[str, torch.Tensor]], object], name: str = "model.safetensors") -> Spoil:
    """Other tensors, in a file that is whole."""

    def spoil(folder: Path) -> None:
        tensors = load_file(_find(folder, name))
        change(tensors)
        save_file(tensors, _find(folder, name))

    return sealed(spoil)


def sealed(spoil: Spoil) -> Spoil:
    """The same, with matching checksums: not corruption, but tampering."""

    def spoil_and_seal(folder: Path) -> None:
        spoil(folder)
        checkpoint = _find(folder, "checksums.json").parent
        files = [path for path in checkpoint.iterdir() if path.name != "checksums.json"]
        sums = {path.name: sha256(path.read_bytes()).hexdigest() for path in files}
        (checkpoint / "checksums.json").write_text(json.dumps(sums))

    return spoil_and_seal


def _find(folder: Path, name: str) -> Path:
    """A file of the folder or of its last checkpoint."""
    inside = ("model", "optimizer", "progress", "checksums")
    checkpoint = max((folder / "checkpoints").glob("step-*"))
    return checkpoint / name if name.split(".")[0] in inside else folder / name


def with_one_checkpoint(folder: Path) -> None:
    """Leaves nothing to fall back to."""
    *earlier, _ = sorted((folder / "checkpoints").glob("step-*"))
    for checkpoint in earlier:
        shutil.rmtree(checkpoint)


def _pickled() -> bytes:
    written = io.BytesIO()
    torch.save({"a": torch.zeros(2)}, written)
    return written.getvalue()


def _first(tensors: dict[str, torch.Tensor]) -> str:
    return next(iter(tensors))


WEIGHTS, PROGRESS = "model.safetensors", "progress.json"
BAD_HEADER = struct.pack("<Q", 4) + b"{{{{"
HUGE_HEADER = struct.pack("<Q", 1 << 60) + b"{}"

MODELS = {
    "no recipe": damaged(remove("recipe.toml"), "this is not the folder of a model: it has no recipe.toml"),
    "recipe empty": damaged(put("recipe.toml", b""), "recipe.toml: 'data' is missing"),
    "recipe binary": damaged(put("recipe.toml", b"\xff\x00\x80"), "recipe.toml: not UTF-8 text"),
    "recipe cut off": damaged(cut("recipe.toml"), "recipe.toml: "),
    "recipe a folder": damaged(make_folder("recipe.toml"), "it has no recipe.toml"),
    "recipe of a future version": damaged(
        replace("recipe.toml", "[model]", "[model]\nmagic = true"), "recipe.toml: unknown setting 'model.magic'"
    ),
    "recipe of another width": damaged(
        replace("recipe.toml", "embedding = 16", "embedding = 24"), "has shape", "but the model needs", "the recipe or"
    ),
    "recipe of another cell": damaged(
        replace("recipe.toml", '"gru"', '"lstm"'), "has shape (48, 16), but the model needs (64, 16)"
    ),
    "recipe of another task": damaged(replace("recipe.toml", '"translation"', '"chess"'), "task = 'chess' is not"),
    "of a future format": damaged(
        change_json("format.json", lambda it: it.update(format=99, version="9.0")), "Regard 9.0 in format 99", "upgrade"
    ),
    "of a future format, resumed": damaged(
        change_json("format.json", lambda it: it.update(format=99)), "in format 99", "upgrade", command=RESUME
    ),
    "format cut off": damaged(cut("format.json"), "format.json: damaged: "),
    "format a folder": damaged(make_folder("format.json"), "format.json: cannot be read: Is a directory"),
    "no tokenizer": damaged(remove("tokenizer.source.json"), "tokenizer.source.json: this tokenizer is missing"),
    "tokenizer empty": damaged(put("tokenizer.target.json", b""), "tokenizer.target.json: this tokenizer is damaged"),
    "tokenizer cut off": damaged(cut("tokenizer.source.json"), "tokenizer.source.json: this tokenizer is damaged"),
    "tokenizer binary": damaged(put("tokenizer.source.json", b"\xff\x80"), "this tokenizer is damaged"),
    "tokenizer a folder": damaged(make_folder("tokenizer.source.json"), "cannot be read: Is a directory"),
    "tokenizer a list": damaged(put("tokenizer.source.json", b"[]"), "tokenizer format None is not known here"),
    "tokenizer of a future version": damaged(
        change_json("tokenizer.source.json", lambda it: it.update(format=99)), "tokenizer format 99", "reads format 1"
    ),
    "tokenizer of no known kind": damaged(
        change_json("tokenizer.source.json", lambda it: it.update(kind="wodrs")), "kind 'wodrs'", "'words'"
    ),
    "tokenizer without state": damaged(
        change_json("tokenizer.source.json", lambda it: it.pop("state") and None), "this tokenizer is damaged"
    ),
    "tokenizer with wrong settings": damaged(
        change_json("tokenizer.source.json", lambda it: it["settings"].update(size="big")), "this tokenizer is damaged"
    ),
    "tokenizer with a token twice": damaged(
        change_json("tokenizer.source.json", lambda it: it["state"].update(tokens=["a", "a"])),
        "a token is in the vocabulary twice",
    ),
    "tokenizer with numbers": damaged(
        change_json("tokenizer.source.json", lambda it: it["state"].update(tokens=[1, 2])), "is not text"
    ),
    "tokenizer of another model": damaged(
        change_json("tokenizer.source.json", lambda it: it["state"].update(tokens=["a"])), "vocabulary differs"
    ),
    "nothing chosen": damaged(remove("chosen"), "there is no trained model here (no file 'chosen')", "--resume"),
    "chosen empty": damaged(put("chosen", b""), "chosen: '' is not the name of weights"),
    "chosen garbage": damaged(put("chosen", b"the best"), "chosen: 'the best' is not the name of weights"),
    "chosen binary": damaged(put("chosen", b"\xff\x00"), "chosen: not a text file"),
    "chosen elsewhere": damaged(put("chosen", b"../../secret/model.safetensors"), "is not the name of weights"),
    "chosen a folder": damaged(make_folder("chosen"), "chosen: cannot be read: Is a directory"),
    "chosen gone": damaged(put("chosen", b"step-00000007/model.safetensors"), "step-00000007", "cannot be read"),
    "no checkpoints": damaged(remove("checkpoints"), "checksums.json: cannot be read: No such file"),
    "no checksums": damaged(remove("checksums.json"), "checksums.json: cannot be read: No such file", "restore it"),
    "checksums not JSON": damaged(put("checksums.json", b"abc"), "checksums.json: damaged: it is not JSON"),
    "checksums a list": damaged(put("checksums.json", b"[1]"), "it is not a table of checksums"),
    "checksums of numbers": damaged(put("checksums.json", b'{"model.safetensors": 1}'), "not a table of checksums"),
    "checksums of nothing": damaged(put("checksums.json", b"{}"), "not a file of this checkpoint"),
    "checksums wrong": damaged(
        change_json("checksums.json", lambda it: it.update({WEIGHTS: "0" * 64})), "model.safetensors: damaged"
    ),
    "weights missing": damaged(remove(WEIGHTS), "model.safetensors: cannot be read: No such file"),
    "weights cut off": damaged(cut(WEIGHTS), "model.safetensors: damaged: its SHA-256 is not the one in checksums"),
    "weights empty": damaged(sealed(put(WEIGHTS, b"")), "model.safetensors: not tensors"),
    "weights garbage": damaged(sealed(put(WEIGHTS, b"x" * 100)), "model.safetensors: not tensors"),
    "weights with a bad header": damaged(sealed(put(WEIGHTS, BAD_HEADER)), "model.safetensors: not tensors"),
    "weights with a huge header": damaged(sealed(put(WEIGHTS, HUGE_HEADER)), "model.safetensors: not tensors"),
    "weights cut off and sealed": damaged(sealed(cut(WEIGHTS)), "model.safetensors: not tensors"),
    "weights a pickle": damaged(sealed(put(WEIGHTS, pickle.dumps([print]))), "model.safetensors: not tensors"),
    "weights saved by torch": damaged(sealed(put(WEIGHTS, _pickled())), "model.safetensors: not tensors"),
    "weights a folder": damaged(make_folder(WEIGHTS), "model.safetensors: cannot be read: Is a directory"),
    "a tensor missing": damaged(change_tensors(lambda it: it.pop(_first(it))), "is missing, so these weights belong"),
    "a tensor too many": damaged(
        change_tensors(lambda it: it.update(extra=torch.zeros(2))), "the model has no 'extra'; the nearest it has"
    ),
    "a tensor of another shape": damaged(
        change_tensors(lambda it: it.update({_first(it): torch.zeros(2, 3)})), "has shape (2, 3), but the model needs"
    ),
    "tensors of whole numbers": damaged(
        change_tensors(lambda it: it.update({name: value.long() for name, value in it.items()})),
        "holds int64 numbers, but the model needs float32",
    ),
    "tensors that are not numbers": damaged(
        change_tensors(lambda it: it.update({name: value * torch.nan for name, value in it.items()})),
        "NaN",
    ),
    "weights cut off, resumed": damaged(cut(WEIGHTS), "no checkpoint of this run is intact", command=RESUME),
    "progress not JSON": damaged(sealed(put(PROGRESS, b"{")), "progress.json: ", command=RESUME),
    "progress of a wrong kind": damaged(
        sealed(change_json(PROGRESS, lambda it: it.update(step="many"))), "progress.json: step: ", command=RESUME
    ),
    "progress with a negative step": damaged(
        sealed(change_json(PROGRESS, lambda it: it.update(step=-5))), "progress.json: step: ", command=RESUME
    ),
    "progress missing": damaged(remove(PROGRESS), "progress.json: cannot be read", command=RESUME),
    "optimizer missing": damaged(
        remove("optimizer.safetensors"), "optimizer.safetensors: cannot be read", command=RESUME
    ),
    "optimizer without a tensor": damaged(
        change_tensors(lambda it: it.pop(_first(it)), "optimizer.safetensors"),
        "is not complete; the checkpoint is damaged",
        command=RESUME,
    ),
    "optimizer of another shape": damaged(
        change_tensors(lambda it: it.update({_first(it): torch.zeros(1, 1, 1)}), "optimizer.safetensors"),
        "does not fit the model",
        command=RESUME,
    ),
    "resumed by another recipe": damaged(
        lambda folder: None,
        "this run was begun with seed = 1, but the recipe now says 2",
        command=RESUME + " --set seed=2",
    ),
    "recipe binary, resumed": damaged(put("recipe.toml", b"\xff"), "recipe.toml: not UTF-8 text", command=RESUME),
    "resumed with another text": damaged(
        put("corpus.sha256", b"\xff\x00"), "has changed since this run was begun", command=RESUME
    ),
    "trained over": damaged(
        lambda folder: None, "there is a model here already", "--resume", command="train RECIPE --out MODEL"
    ),
    "demo over": damaged(lambda folder: None, "there is a model here already", command="demo --out MODEL"),
    "started from damage": damaged(
        cut(WEIGHTS), "model.safetensors: damaged", command="train RECIPE --out out --set train.start_from=MODEL"
    ),
    "started from another kind": damaged(
        lambda folder: None,
        "train.start_from: ",
        "the weights there are of another shape: cell = 'lstm', there 'gru'; give this recipe the same model, or",
        command="train RECIPE --out out --set train.start_from=MODEL --set model.cell=lstm",
    ),
    "started from no tokenizer": damaged(
        remove("tokenizer.source.json"),
        "train.start_from: ",
        command="train RECIPE --out out --set train.start_from=MODEL",
    ),
}
