"""The blocks of a page in their order, with what was said of them in comments, and the comparison of what they print.

A comment on a line of its own says what is special about the next block: `<!-- long -->` (only `make test-all` runs
it) or `<!-- not run: why -->`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

COMMENT = re.compile(r"<!-- (long|not run: .+?) -->")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    code: str
    line: int
    note: str = ""
    """Empty, `long`, or `not run: why`."""
    shows: str | None = None
    """What the page says that it prints, in the block of text right after it."""

    @property
    def file(self) -> str:
        """The file that the block is to be saved as, which its first line names in a comment."""
        named = re.match(r"# ([\w./-]+\.(?:toml|py))\n", self.code)
        return named[1] if named else ""


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page; one of text belongs to the code right before it, if nothing stands between them."""
    found: list[Block] = []
    note, after_code = "", False
    for token in MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8")):
        if token.type == "fence":
            begins = (token.map or [0])[0] + 1
            if token.info == "text" and after_code:
                last = found.pop()
                found.append(Block(last.language, last.code, last.line, last.note, shows=token.content))
            else:
                language = token.info or ("bash" if re.match(r"(regard|pip|curl) ", token.content) else "")
                found.append(Block(language, token.content, begins, note))
            note, after_code = "", found[-1].language in ("bash", "python")
        elif token.type == "html_block" and (said := COMMENT.fullmatch(token.content.strip())):
            note = said[1]
        else:
            after_code = False
    return found


UNITS = r"(?=\s*(?:s|min|h|ms|MiB|GiB|%|(?:tokens|words|pairs|targets)/s)\b)"
MEASURED = re.compile(rf"[-+−]?\d[\d,]*\.\d+(?:e[-+]?\d+)?|[-+−]?\d[\d,]*{UNITS}")
"""Losses, scores, probabilities, times, speeds."""
WHOLE = re.compile(r"\b(accuracy|bleu|chrf|exact|f1|BLEU|chrF2|TER|F1|precision|recall|rate|±) \d+\b")
"""Scores that happen to be whole."""
ELLIPSIS = "…"


def comparable(line: str) -> str:
    """A line without what differs from run to run: times, paths, measured figures, and the space around them."""
    line = re.sub(r"\x1b\[[0-9;]*m", "", line)
    line = re.sub(r"(?<![\w.])/[\w./-]+/", "", line)
    line = re.sub(r"(version|version:)\d[\w.]*", "version", line)
    return re.sub(r"\s+", " ", WHOLE.sub(r"\1 #", MEASURED.sub("#", line))).strip()


def difference(shown: str, printed: str) -> str:
    """How what was printed differs from what the page shows; empty if it does not. `…` on a line of its own stands for
    any lines, and at the end of one for the rest of it."""
    wanted = [comparable(line) for line in shown.splitlines() if line.strip()]
    got = [comparable(line) for line in printed.splitlines() if line.strip()]
    places = _matched(wanted, got)
    if places is not None:
        return ""
    return "the page shows\n" + "\n".join(wanted) + "\n\nand this was printed\n" + "\n".join(got)


def _matched(wanted: list[str], got: list[str]) -> bool | None:
    if not wanted:
        return None if got else True
    if wanted[0] == ELLIPSIS:
        return next((True for start in range(len(got) + 1) if _matched(wanted[1:], got[start:])), None)
    if got and _same(wanted[0], got[0]):
        return _matched(wanted[1:], got[1:])
    return None


def _same(wanted: str, got: str) -> bool:
    return got.startswith(wanted[:-1]) if wanted.endswith(ELLIPSIS) else wanted == got
