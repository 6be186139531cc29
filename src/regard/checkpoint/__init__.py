"""Saving and loading: a model on disk is a folder (`folder.py` says what is in it). Nothing loaded can run code."""

from regard.checkpoint.checkpoints import (
    Checkpoint,
    cannot_write,
    find_checkpoint,
    load_checkpoint,
    prune,
    read_tensors,
    save_average,
    save_checkpoint,
)
from regard.checkpoint.folder import ModelFolder
from regard.checkpoint.progress import Best, Progress
from regard.checkpoint.weights import (
    load_trained_weights,
    load_weights,
    names_in,
    no_such_part,
    put_part,
    put_weights,
    weights_of,
)

__all__ = [
    "Best",
    "Checkpoint",
    "ModelFolder",
    "Progress",
    "cannot_write",
    "find_checkpoint",
    "load_checkpoint",
    "load_trained_weights",
    "load_weights",
    "names_in",
    "no_such_part",
    "prune",
    "put_part",
    "put_weights",
    "read_tensors",
    "save_average",
    "save_checkpoint",
    "weights_of",
]
