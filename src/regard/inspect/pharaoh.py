"""The Pharaoh format of word alignments: a line for each sentence pair, `i-j` for each link, counted from 0."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from regard.errors import DataError, counted
from regard.inspect.inspection import Links


@dataclass(frozen=True)
class GoldLinks:
    """Links annotated by people: the sure ones, and all possible ones."""

    sure: Links
    possible: Links
    """Includes the sure ones."""
    line: int = field(default=0, compare=False)
    """The line number in the file, from 1."""


def pharaoh(links: Collection[tuple[int, int]]) -> str:
    """`0-0 2-1`, sorted by source and then target word."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def parse_pharaoh(line: str, where: str) -> Links:
    """The links of a line; `where` names it in errors."""
    return frozenset((source, target) for source, _, target in _tokens(line, where, "-"))


def parse_gold(line: str, where: str) -> GoldLinks:
    """Sure links as `i-j`, links that are only possible as `ipj` or `i?j`."""
    found = list(_tokens(line, where, "-p?"))
    sure = frozenset((source, target) for source, kind, target in found if kind == "-")
    return GoldLinks(sure, sure | {(source, target) for source, _, target in found})


def read_pharaoh(path: Path) -> Iterator[Links]:
    """The links of every line of a file."""
    return (parse_pharaoh(line, where) for where, line in lines_of(path))


def _tokens(line: str, where: str, kinds: str) -> Iterator[tuple[int, str, int]]:
    for token in line.split():
        match = re.fullmatch(rf"(\d{{1,9}})([{kinds}])(\d{{1,9}})", token, re.ASCII)
        if not match:
            allowed = " or ".join(f"'0{kind}0'" for kind in kinds)
            raise DataError(
                f"{where}: {token[:40]!r} is not a link; a link is written like {allowed}, "
                "source word and target word, counted from 0"
            )
        yield int(match[1]), match[2], int(match[3])


def links_end(path: Path, lines: int, pairs: int | None = None) -> DataError:
    """The error for a file of links that ends before the text; `pairs` is the length of the text, if known."""
    told = "there are more sentence pairs" if pairs is None else f"there are {counted(pairs, 'sentence pair')}"
    return DataError(f"{path}:{lines}: the links end with {counted(lines, 'line')}, and {told}; {_A_LINE_FOR_EACH}")


def links_go_on(path: Path, line: int, pairs: int) -> DataError:
    """The error for a file of links that continues after the end of the text."""
    return DataError(f"{path}:{line}: links without a sentence pair, of which there are {pairs:,}; {_A_LINE_FOR_EACH}")


_A_LINE_FOR_EACH = "give a line for each pair, an empty one where there are no links"


def lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a file of links, each with its place."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                where = f"{path}:{number}"
                try:
                    yield where, line.decode("utf-8")
                except UnicodeDecodeError:
                    raise DataError(f"{where}: this line is not UTF-8 text, so it holds no links") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); name a file of links like '0-0 1-2'") from None
