"""Examples of a corpus: pairs of a source text and a target text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from regard.tokens.segmentation import Span

Split = Literal["train", "dev", "test"]
"""A part of a corpus."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A source text and its target text."""

    source: str
    target: str
    links: tuple[tuple[Span, Span], ...] = ()
    """Where known: spans of source characters, each with its span of target characters."""
    language: str = ""
    """Language of the source as a code, where known."""
    tag: str = ""
    """The tag before the source, one of `data.tags`."""


class Examples(Protocol):
    """Pairs in a fixed order that can be iterated any number of times; files are read again each time."""

    def __iter__(self) -> Iterator[Pair]: ...


@dataclass(frozen=True)
class Corpora:
    """The three parts of a corpus; a part that was not given is empty."""

    train: Examples
    dev: Examples = ()
    test: Examples = ()
