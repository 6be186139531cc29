"""The native folder of vectors, which opens instantly: a memory-mapped matrix, words, and a small JSON file.

`vectors.json` names the two other files. New vectors are written to new files and become current when `vectors.json` is
replaced, so that a kill or a full disk leaves the old vectors or the new ones, never a mixture.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from regard.disk import parse_json, reason, replace_file, sync_folder, write_file
from regard.errors import ModelError, UsageError, counted
from regard.format_version import FormatVersion

POINTER = "vectors.json"
FORMAT = 1
"""Version of the layout; others are refused."""


@dataclass(frozen=True)
class NativeFolder:
    """An opened folder of vectors: numbers and words are read lazily.

    It does not change when the folder gets other vectors.
    """

    path: Path
    matrix: Float32[np.ndarray, "V D"]
    spelling: bytes
    """The words, one per line."""
    about: Mapping[str, Any]
    """Metadata that was saved with the vectors."""

    def words(self) -> list[str]:
        """The words, in the order of the matrix's rows."""
        try:
            words = self.spelling.decode().split("\n")[:-1]
        except UnicodeDecodeError as error:
            raise damaged(self.path, f"byte {self.spelling[error.start]:#04x} in the words is not UTF-8") from None
        if len(words) != len(self.matrix):
            raise damaged(self.path, f"{counted(len(words), 'word')} for {counted(len(self.matrix), 'vector')}")
        return words


def is_native(path: Path) -> bool:
    """Whether a folder holds vectors."""
    return (path / POINTER).is_file()


def open_native(path: Path) -> NativeFolder:
    """Opens a folder without reading its words or its numbers."""
    try:
        state = parse_json((path / POINTER).read_bytes())
        if type(state["format"]) is not int or state["format"] < 1:
            raise ValueError(f"a format of {state['format']!r}")
        FormatVersion(state["format"], state.get("version", "unknown")).check_readable(path, FORMAT, FORMAT)
        # Copy on write: torch can share the memory, and the file cannot be changed by accident.
        matrix = np.load(path / state["matrix"], mmap_mode="c", allow_pickle=False)
        shape = (state["words"], state["width"])
        if matrix.shape != shape or matrix.dtype != np.float32:
            raise damaged(path, f"{matrix.dtype} of shape {matrix.shape} in {state['matrix']}, not float32 of {shape}")
        return NativeFolder(path, matrix.view(np.ndarray), (path / state["spelling"]).read_bytes(), state["about"])
    except FileNotFoundError as error:
        raise damaged(path, f"{Path(error.filename).name} is missing") from None
    except (KeyError, TypeError, ValueError, EOFError) as error:
        raise damaged(path, str(error) or type(error).__name__) from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None


def write_native(
    path: Path, words: Sequence[str], matrix: Float32[np.ndarray, "V D"], about: Mapping[str, Any]
) -> None:
    """Writes a folder, or replaces the vectors of one; leaves other files in it unchanged."""
    for word in words:
        if "\n" in word:
            raise UsageError(f"{word!r}: a word with a line end cannot be saved; leave it out")
    try:
        path.mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(part) for part in _numbers(path)), default=0)
        names = {"matrix": f"matrix-{number}.npy", "spelling": f"words-{number}.txt"}
        write_file(path / names["spelling"], "".join(f"{word}\n" for word in words).encode())
        write_array(path / names["matrix"], np.ascontiguousarray(matrix, dtype=np.float32))
        sync_folder(path)
        written = {"format": FORMAT, "version": FormatVersion.now().version}
        state = {**written, "words": len(words), "width": matrix.shape[1], **names, "about": dict(about)}
        replace_file(path / POINTER, json.dumps(state, ensure_ascii=False, indent=1).encode())
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({reason(error)}); choose another folder") from None
    for part in _numbers(path):
        if int(part) != number:
            (path / f"matrix-{part}.npy").unlink(missing_ok=True)
            (path / f"words-{part}.txt").unlink(missing_ok=True)


def damaged(path: Path, what: str) -> ModelError:
    """The error for a damaged folder."""
    return ModelError(f"{path}: these vectors are damaged ({what}); make or copy them again")


def _numbers(path: Path) -> set[str]:
    files = [*path.glob("matrix-*.npy"), *path.glob("words-*.txt")]
    numbers = {file.stem.partition("-")[2] for file in files}
    return {number for number in numbers if number.isdecimal()}


def write_array(path: Path, array: np.ndarray[Any, Any]) -> None:
    """The same as `write_file` for an array."""
    with open(path, "wb") as file:
        np.save(file, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
