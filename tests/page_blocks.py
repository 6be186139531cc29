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


UNIT = r"(?=\s*(?:s|min|h|ms|MiB|GiB|%|(?:tokens|words|pairs|targets)/s)\b)"
TAKEN = re.compile(rf"[-+−]?\d[\d,]*(?:\.\d+)?{UNIT}")
"""Times, speeds, memory: other ones on every machine."""
FIGURE = re.compile(r"(?<!, rate )(?<![\w.])[-+−]?\d[\d,]*\.\d+(?:e[-+]?\d+)?")
"""Losses, scores, probabilities. The learning rate of a step is none: it is what the recipe says."""
SCORES = r"\b(?:accuracy|bleu|chrf|exact|f1|BLEU|chrF2|TER|F1|precision|recall|error rate)"
WHOLE = re.compile(rf"({SCORES}|±) (\d+)\b(?!\.\d)")
"""Scores that happen to be whole."""
ELLIPSIS = "…"


@dataclass(frozen=True)
class Line:
    """A line without what differs from run to run."""

    text: str
    """With `#` for each figure, and without times, paths and the space around all of them."""
    figures: tuple[float, ...]

    @classmethod
    def of(cls, line: str) -> "Line":
        line = re.sub(r"\x1b\[[0-9;]*m", "", line)
        line = re.sub(r"(?<![\w.])/[\w./-]+/", "", line)
        line = re.sub(r"(version|version:)\d[\w.]*", "version", line)
        line = WHOLE.sub(r"\1 \2.0", TAKEN.sub("time", line))
        figures = tuple(float(each.replace(",", "").replace("−", "-")) for each in FIGURE.findall(line))
        return cls(re.sub(r"\s+", " ", FIGURE.sub("#", line)).strip(), figures)

    def shows(self, printed: "Line", drift: float | None) -> bool:
        """Whether a line of a page shows a printed one, whose figures may be off by this share of the larger one, or of
        1; by anything without a drift. `…` at its end stands for the rest."""
        rest = self.text.endswith(ELLIPSIS)
        alike = printed.text.startswith(self.text[:-1]) if rest else printed.text == self.text
        pairs = list(zip(self.figures, printed.figures, strict=False))
        limits = [(drift or 0.0) * max(abs(one), abs(other), 1) for one, other in pairs]
        near = all(abs(one - other) <= limit for (one, other), limit in zip(pairs, limits, strict=True))
        return alike and (drift is None or near)


def difference(shown: str, printed: str, *, drift: float | None = None) -> str:
    """How what was printed differs from what the page shows; empty if it does not. `…` on a line of its own stands for
    any lines, and at the end of one for the rest of it."""
    wanted, got = ([Line.of(line) for line in text.splitlines() if line.strip()] for text in (shown, printed))
    if _matched(wanted, got, drift):
        return ""
    return f"the page shows\n{shown}\n\nand this was printed\n{printed}"


def _matched(wanted: list[Line], got: list[Line], drift: float | None) -> bool:
    if not wanted:
        return not got
    if wanted[0].text == ELLIPSIS:
        return any(_matched(wanted[1:], got[start:], drift) for start in range(len(got) + 1))
    return bool(got) and wanted[0].shows(got[0], drift) and _matched(wanted[1:], got[1:], drift)
