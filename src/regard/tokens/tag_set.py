"""The tags that a model knows: as its data has them, and as it learns them."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, get_args

from regard.disk import parse_json, replace_file
from regard.errors import ModelError
from regard.tokens.tag_schemes import Scheme, converted

MISSING = -1
"""The number of a tag that is not known."""
_FORMAT = 1


@dataclass(frozen=True)
class TagSet:
    """Tags by number, in the scheme that a model learns."""

    tags: tuple[str, ...]
    scheme: Scheme
    """That of the data, and of outputs."""
    learned: Scheme
    """That of the model."""

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], scheme: Scheme, learned: Scheme) -> Self:
        """The tags of the training text, most frequent first."""
        rows = (converted(tags, learned) if learned != scheme else tags for tags in sentences)
        counts = Counter(tag for row in rows for tag in row)
        return cls(tuple(sorted(counts, key=lambda tag: (-counts[tag], tag))), scheme, learned)

    def encode(self, sentences: Iterable[Sequence[str]]) -> list[list[int]]:
        """Tags of the data as numbers, MISSING for those that are not known."""
        numbers = {tag: number for number, tag in enumerate(self.tags)}
        rows = (converted(tags, self.learned) if self.learned != self.scheme else tags for tags in sentences)
        return [[numbers.get(tag, MISSING) for tag in row] for row in rows]

    def decode(self, numbers: Sequence[int]) -> list[str]:
        """Numbers as tags of the data."""
        tags = [self.tags[number] for number in numbers]
        return converted(tags, self.scheme) if self.learned != self.scheme else tags

    def save(self, path: Path) -> None:
        """Writes them as JSON, atomically."""
        content = {"format": _FORMAT, "tags": self.tags, "scheme": self.scheme, "learned": self.learned}
        replace_file(path, json.dumps(content, ensure_ascii=True, indent=0).encode())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Loads what `save` wrote. Nothing in the file can run code."""
        try:
            content = parse_json(path.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise ModelError(
                    f"{path}: the format {content['format']!r} of these {path.stem} is not known here; this version "
                    f"reads format {_FORMAT}"
                )
            tags, schemes = content["tags"], (content["scheme"], content["learned"])
            if not all(isinstance(tag, str) for tag in tags) or not set(schemes) <= set(get_args(Scheme)):
                raise ValueError("a tag is not text, or a scheme is not known")
            return cls(tuple(tags), *schemes)
        except FileNotFoundError:
            raise ModelError(f"{path}: is missing; a model folder holds the {path.stem} it was trained with") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"{path}: these {path.stem} are damaged ({error}); restore the folder from a copy, or train again"
            ) from None
