"""Writing so that a kill or a full disk at any moment leaves either the old or the new, never a half.

Data reaches the disk before the name that leads to it does: files are synchronized, then renamed, then the
folder that holds the name is synchronized.
"""

import os
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Writes a new file through to the disk; only for places that no reader looks at yet."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, content: bytes) -> None:
    """Replaces a file in one step: a reader sees the old content or the new one."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    write_file(unfinished, content)
    os.replace(unfinished, path)
    sync_folder(path.parent)


def publish_folder(unfinished: Path, path: Path) -> None:
    """Gives a finished folder its name, which must be free."""
    sync_folder(unfinished)
    os.rename(unfinished, path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
