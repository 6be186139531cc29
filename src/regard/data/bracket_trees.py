"""Bracket trees with a label at each node, as in the Stanford Sentiment Treebank (Socher et al. 2013).

(3 (2 It) (4 (2 's) (4 lovely)))
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PIECES = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True)
class Phrase:
    """A node: its label and the words below it."""

    label: str
    words: tuple[str, ...]


def phrases_of(line: str) -> list[Phrase]:
    """The phrases of the tree on a line, the whole sentence first. Raises ValueError if the line is malformed."""
    pieces = [(match.group(), match.start() + 1) for match in _PIECES.finditer(line)]
    if not pieces or pieces[0][0] != "(":
        raise ValueError("a tree begins with a bracket")
    begun: list[tuple[int, str, int, int]] = []
    """For each open node: its order, its label, and where its bracket and its words begin."""
    found: dict[int, Phrase] = {}
    words: list[str] = []
    rest: Iterator[tuple[str, int]] = iter(pieces)
    for piece, column in rest:
        if found and not begun:
            raise ValueError(f"{piece!r} at character {column} follows the end of the tree")
        if piece == "(":
            label, _ = next(rest, ("", 0))
            if label in ("", "(", ")"):
                raise ValueError(f"the bracket at character {column} has no label")
            begun.append((len(found) + len(begun), label, column, len(words)))
        elif piece == ")":
            order, label, column, first = begun.pop()
            if first == len(words):
                raise ValueError(f"the bracket at character {column} has no word")
            found[order] = Phrase(label, tuple(words[first:]))
        else:
            words.append(piece)
    if begun:
        raise ValueError(f"the bracket at character {begun[-1][2]} is not closed")
    return [found[order] for order in sorted(found)]
