"""Fingerprints of training texts, so that a run is never resumed with another text."""

from pathlib import Path

from regard.checkpoint import ModelFolder
from regard.disk import replace_file
from regard.errors import DataError

FINGERPRINT = "corpus.sha256"
"""File of a model folder that says which text the model was trained on."""


def write_fingerprint(folder: Path, fingerprint: str) -> None:
    """Writes the text's fingerprint into a model's folder."""
    replace_file(folder / FINGERPRINT, f"{fingerprint}\n".encode())


def refuse_other_text(folder: Path, fingerprint: str) -> None:
    """A run resumed with another text would end in other weights than one never interrupted."""
    before = folder / FINGERPRINT
    if ModelFolder(folder).is_begun and before.exists() and before.read_bytes().strip() != fingerprint.encode():
        raise DataError(
            f"{folder}: the training, development or test text, or a setting of [data], has changed since this run was "
            "begun; bring the old one back, or begin another run (train.start_from can take over its weights)"
        )
