"""What searches for outputs: our own search, or a runtime that a model is exported for, on the fly, into its folder."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol, get_args

import torch

from regard.decode import Hypothesis, Session, decode_all
from regard.decode.corpus import Progress
from regard.decode.ctranslate2 import CTranslate2
from regard.decode.export import check_can_export, ctranslate2, export, longest_input
from regard.disk import publish_folder
from regard.errors import UsageError, one_of
from regard.models import Generator, TransformerTranslator
from regard.recipe import Decoding, RecurrentModel, TransformerModel

EngineName = Literal["own", "ctranslate2", "ctranslate2:int8"]
LAYOUT = 1
"""Counted up whenever an export of the same weights changes."""


class Engine(Protocol):
    """Writes outputs."""

    def decode_all(
        self,
        sources: Sequence[Sequence[int]],
        settings: Decoding,
        *,
        prefixes: Sequence[Sequence[int]] | None = None,
        words: Sequence[Sequence[int]] | None = None,
        on_progress: Progress | None = None,
    ) -> list[list[Hypothesis]]:
        """The outputs for each source, best first, as `regard.decode.decode_all` gives them."""
        ...


class OwnEngine:
    """Our own search, which runs every model, method and setting, on every device."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def decode_all(
        self,
        sources: Sequence[Sequence[int]],
        settings: Decoding,
        *,
        prefixes: Sequence[Sequence[int]] | None = None,
        words: Sequence[Sequence[int]] | None = None,
        on_progress: Progress | None = None,
    ) -> list[list[Hypothesis]]:
        return decode_all(self.session, sources, settings, prefixes=prefixes, words=words, on_progress=on_progress)


def check_engine(name: str, device: str) -> None:
    """Refuses unknown engines, and known ones where they cannot run."""
    if name not in get_args(EngineName):
        raise UsageError(f"engine {name!r} is not known; known are {one_of(get_args(EngineName), name)}")
    if name != "own":
        ctranslate2()
        if device not in ("auto", "cpu"):
            raise UsageError(f"device {device!r}: CTranslate2 runs on the CPU here; use --device cpu or --engine own")


def make_engine(
    name: str, model: Generator, settings: TransformerModel | RecurrentModel, folder: Path
) -> Engine | None:
    """The engine of that name for the model in a folder, with as many threads as torch has; None for our own."""
    if name == "own":
        return None
    check_can_export(settings)
    assert isinstance(model, TransformerTranslator)
    assert isinstance(settings, TransformerModel)
    exported = export_into(folder, model, settings)
    compute = "int8" if name.endswith(":int8") else "float32"
    longest, threads = longest_input(model, settings), torch.get_num_threads()
    return CTranslate2(exported, model, longest=longest, compute=compute, threads=threads)


def export_into(folder: Path, model: TransformerTranslator, settings: TransformerModel) -> Path:
    """The folder `ctranslate2-<fingerprint>` of a model, made if it is not there; it may be deleted at any time."""
    target = folder / f"ctranslate2-{fingerprint(model, settings)}"
    if target.is_dir():
        return target
    unfinished = folder / f".{target.name}.{os.getpid()}.unfinished"
    try:
        unfinished.mkdir()
        export(model, settings, unfinished)
        for file in unfinished.iterdir():
            with open(file, "rb") as written:
                os.fsync(written.fileno())
        publish_folder(unfinished, target)
    except OSError as error:
        if not target.is_dir():  # else another process was faster
            raise UsageError(
                f"{target}: cannot be written: {error.strerror}; make room or copy the model to where you may write, "
                "or use --engine own"
            ) from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)  # unless it has got its name
    return target


def fingerprint(model: TransformerTranslator, settings: TransformerModel) -> str:
    """Of all that an export is made of: weights, settings, and the version that writes it."""
    digest = hashlib.blake2b(
        f"{LAYOUT} {ctranslate2().__version__} {settings.model_dump_json()}".encode(), digest_size=8
    )
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()
