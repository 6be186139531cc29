"""The tokens of a tokenizer by index: four special ones, the same everywhere, then those of the text."""

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

PAD, UNKNOWN, BEGIN, END = range(4)
"""Indices of the special tokens, the same in every vocabulary."""

SPECIAL_NAMES = ("<pad>", "<unk>", "<s>", "</s>")
"""How special tokens are shown. Text that contains these strings is ordinary text and never becomes a special token."""


class Vocabulary(Sequence[str]):
    """Token strings by index. The first four are special, the last are tags, which are prepended to a text; neither can
    be found by name."""

    def __init__(self, tokens: Sequence[str], tags: Sequence[str] = ()) -> None:
        self.tags = tuple(tags)
        self._names = (*SPECIAL_NAMES, *tokens, *(f"<2{tag}>" for tag in tags))
        self._indices = {token: index for index, token in enumerate(tokens, start=len(SPECIAL_NAMES))}
        if len(self._indices) != len(tokens) or not all(isinstance(token, str) for token in tokens):
            raise ValueError("a token is in the vocabulary twice, or is not text")
        if len(set(tags)) != len(tags):
            raise ValueError("a tag is in the vocabulary twice")

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of text, without special tokens and tags."""
        return self._names[len(SPECIAL_NAMES) : len(self._names) - len(self.tags)]

    def tag(self, name: str) -> int:
        """The index of a tag; ValueError if it is unknown."""
        return len(self._names) - len(self.tags) + self.tags.index(name)

    def is_tag(self, index: int) -> bool:
        return len(self._names) - len(self.tags) <= index < len(self._names)

    def find(self, token: str) -> int:
        """The index of a token of text, UNKNOWN if it has none."""
        return self._indices.get(token, UNKNOWN)

    def find_all(self, tokens: Iterable[str]) -> list[int]:
        """The same for many tokens, much faster."""
        get = self._indices.get
        return [get(token, UNKNOWN) for token in tokens]

    def __contains__(self, token: object) -> bool:
        return token in self._indices

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return self._names[index]

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)
