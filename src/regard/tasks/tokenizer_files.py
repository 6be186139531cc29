"""Where a model keeps its tokenizers."""

from pathlib import Path

from regard.errors import ModelError
from regard.tasks.loading import task_of
from regard.tokens import Tokenizer, load_tokenizer

SIDES = ("source", "target")
TOKENIZER = "tokenizer.json"
"""The file of a model that has one tokenizer."""


def tokenizer_file(folder: Path, side: str) -> Path:
    """The file of a side's tokenizer."""
    return folder / f"tokenizer.{side}.json"


def tokenizer_of_part(model: str, part: str) -> Tokenizer:
    """The tokenizer of the text that a part of the model to start from reads or writes: that of the source for an
    encoder, if the model has one for each side."""
    folder, side = Path(model), "source" if part.split(".")[0] == "encoder" else "target"
    try:
        task_of(folder)  # raises a readable error if there is no model
        file = tokenizer_file(folder, side)
        return load_tokenizer(file if file.exists() else folder / TOKENIZER)
    except ModelError as error:
        raise ModelError(f"train.start: {error}") from None


def covers(part: str, other: str) -> bool:
    """Whether one part of a model is inside of another."""
    return f"{part}.".startswith(f"{other}.") or f"{other}.".startswith(f"{part}.")


def load_tokenizers(folder: Path) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of a model, source and target."""
    files = [tokenizer_file(folder, side) for side in SIDES]
    source = load_tokenizer(files[0])
    # With a shared vocabulary they are the same, and loading one takes a while.
    is_shared = files[1].is_file() and files[1].read_bytes() == files[0].read_bytes()
    return source, source if is_shared else load_tokenizer(files[1])
