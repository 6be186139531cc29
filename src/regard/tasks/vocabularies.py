"""Where a model keeps its tokenizers."""

from pathlib import Path

from regard.tokens import Tokenizer, load_tokenizer

SIDES = ("source", "target")


def tokenizer_file(folder: Path, side: str) -> Path:
    """The file of a side's tokenizer."""
    return folder / f"tokenizer.{side}.json"


def load_tokenizers(folder: Path) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of a model, source and target."""
    source, target = (load_tokenizer(tokenizer_file(folder, side)) for side in SIDES)
    return source, target
