"""Gold links and their text: whether they count from 0 or 1, and whether they fit it."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regard.errors import DataError, counted
from regard.inspect.inspection import Links
from regard.inspect.pharaoh import GoldLinks, lines_of, links_end, links_go_on, parse_gold

Words = tuple[Sequence[str], Sequence[str]]
"""The words of a pair."""

WITHOUT_ZERO = 10
"""Number of lines with links from which an absent 0 means counting from 1: some line's first word has a link."""
SEEN = 30
"""Least number of punctuation links to judge by."""
USUAL, FOREIGN = 0.88, 0.3
"""Share of punctuation links that lead to punctuation: on the development text of ten languages of XL-WA 0.91 to 0.96;
with every sign of one side split off at most 0.81, and at most 0.13 on another text."""


_NUMBERED = re.compile(r"(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})(?:\s+([SP]))?(?:\s+\d*\.?\d+)?", re.ASCII)
"""Sentence, source word, target word, sure or possible, and the annotator's confidence."""


def read_gold(path: Path) -> Iterator[GoldLinks]:
    """The sure and possible links of each pair: a line for each in the format of Pharaoh, or a line for each link as in
    the shared task of Mihalcea and Pedersen (2003), `0001 1 2 S`, where words are counted from 1."""
    lines = list(lines_of(path))
    first = next((line.strip() for _, line in lines if line.strip()), "")
    if _NUMBERED.fullmatch(first):
        return _read_numbered(lines)
    return (replace(parse_gold(line, where), line=number) for number, (where, line) in enumerate(lines, start=1))


def _read_numbered(lines: Sequence[tuple[str, str]]) -> Iterator[GoldLinks]:
    begun: dict[int, int] = {}
    sure, possible = defaultdict[int, set[tuple[int, int]]](set), defaultdict[int, set[tuple[int, int]]](set)
    for number, (where, line) in enumerate(lines, start=1):
        if not (told := line.strip()):
            continue
        match = _NUMBERED.fullmatch(told)
        if not match or not int(match[1]):
            raise DataError(
                f"{where}: {told[:40]!r} is not a link as the others are: sentence, source word and target word, "
                "counted from 1, and S or P, such as '0001 1 2 S'"
            )
        sentence, source, target = (int(match[group]) for group in (1, 2, 3))
        begun.setdefault(sentence, number)
        if source and target:  # 0 means unaligned
            possible[sentence].add((source - 1, target - 1))
            if match[4] != "P":
                sure[sentence].add((source - 1, target - 1))
    for sentence in range(1, max(begun) + 1):
        yield GoldLinks(frozenset(sure[sentence]), frozenset(possible[sentence]), begun.get(sentence, 0))


@dataclass(frozen=True)
class Gold:
    """The true links of a text, counted from 0."""

    rows: Sequence[GoldLinks]
    first: int
    """The index of the first word in their file."""
    note: str = ""
    """A warning for the user, or empty."""


def check_gold_count(path: Path, rows: Sequence[GoldLinks], pairs: int) -> None:
    """Refuses links of more or fewer sentences than a text has."""
    if len(rows) < pairs:
        raise links_end(path, len(rows), pairs)
    if len(rows) > pairs:
        raise links_go_on(path, rows[pairs].line, pairs)


def gold_of(path: Path, rows: Sequence[GoldLinks], texts: Sequence[Words]) -> Gold:
    """The links of a file for a text of as many pairs; refuses links that cannot belong to it."""
    check_gold_count(path, rows, len(texts))
    if not any(row.possible for row in rows):
        raise DataError(f"{path}: has no link, so nothing can be judged by it; name a file with true links")
    links = [sorted(row.possible) for row in rows]
    fits = all(_fits(pair, words, 0) for row, words in zip(links, texts, strict=True) for pair in row)
    first = _first(links, fits)
    for gold, row, words in zip(rows, links, texts, strict=True):
        outside = next((pair for pair in row if not _fits(pair, words, first)), None)
        if outside is None:
            continue
        told = f"{path}:{gold.line}: the link {outside[0]}-{outside[1]} is outside of this pair, which has "
        told += f"{counted(len(words[0]), 'source word')} and {counted(len(words[1]), 'target word')}"
        if all(
            _fits((pair[1], pair[0]), both, first) for each, both in zip(links, texts, strict=True) for pair in each
        ):
            raise DataError(f"{told}; all fit as target-source: give them as source-target, or the files exchanged")
        raise DataError(f"{told}; name the gold of this text, and the text tokenized as it was for the gold")
    moved = [GoldLinks(_moved(row.sure, first), _moved(row.possible, first)) for row in rows]
    note = f"{path}: counts words from 1" if first else ""
    if first and fits:
        note += ", as no link has a 0; if it counts from 0 all the same, add 1 to all its numbers"
    return Gold(moved, first, "; ".join(filter(None, [note, _misfit(path, moved, texts)])))


def _moved(links: Links, first: int) -> Links:
    return frozenset((source - first, target - first) for source, target in links)


def _fits(link: tuple[int, int], words: Words, first: int) -> bool:
    return all(first <= place < first + len(side) for place, side in zip(link, words, strict=True))


def _first(links: Sequence[Sequence[tuple[int, int]]], fits: bool) -> int:
    """The index of the first word, 0 or 1. A few links without a zero count from 0, as is usual, if they fit so."""
    if any(0 in pair for row in links for pair in row):
        return 0
    return int(not fits or sum(map(bool, links)) >= WITHOUT_ZERO)


def _misfit(path: Path, rows: Sequence[GoldLinks], texts: Sequence[Words]) -> str:
    """A warning if punctuation is linked with words more often than is usual; refuses links of another text."""
    share, turned = (_punctuation(rows, texts, way) for way in (1, -1))
    if share is None or share >= USUAL:
        return ""
    told = f"only {share:.0%} of the punctuation that has a link is linked with punctuation"
    if turned is not None and turned >= USUAL:
        raise DataError(f"{path}:1: {told}, and {turned:.0%} if source and target are exchanged; exchange the files")
    if share < FOREIGN:
        raise DataError(f"{path}:1: {told}, so these links are not of this text, or its lines are in another order")
    return f"{path}: {told}: the text seems to be tokenized otherwise than for the gold, which makes scores worse"


def _punctuation(rows: Sequence[GoldLinks], texts: Sequence[Words], way: int) -> float | None:
    """The share of the links of punctuation that lead to punctuation; None if there are few, or links do not fit."""
    both = either = 0
    for row, words in zip(rows, texts, strict=True):
        for link in row.sure:
            pair = link if way > 0 else (link[1], link[0])
            if not _fits(pair, words, 0):
                return None
            marks = [re.search(r"\w", side[place]) is None for place, side in zip(pair, words, strict=True)]
            both, either = both + all(marks), either + any(marks)
    return both / either if either >= SEEN else None
