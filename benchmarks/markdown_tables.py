"""Parts of the result pages: Markdown tables with captions and footnotes, means with deviations, conditions of a
measurement."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

Record = dict[str, Any]
"""A file of results."""

REFERENCE = re.compile(r"\[\^([\w-]*)\]")


@dataclass(frozen=True)
class Table:
    """A table, its caption, and its footnotes by name.

    `[^name]` in a line or in the caption refers to a footnote; `[^]` refers to the one whose name is empty.
    """

    lines: list[str]
    caption: str
    notes: dict[str, str]

    def named(self, name: str) -> "Table":
        """The same with footnotes prefixed by the table's name, so that they are unique on a page."""

        def full(own: str) -> str:
            return f"{name}-{own}" if own else name

        def renamed(line: str) -> str:
            return REFERENCE.sub(lambda found: f"[^{full(found[1])}]", line)

        notes = {full(own): text for own, text in self.notes.items()}
        return Table([renamed(line) for line in self.lines], renamed(self.caption), notes)


def spread(values: Sequence[float | None], digits: int) -> str:
    """`12.3`, or `12.3 ± 0.4` with the standard deviation where there are several."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    middle = f"{mean(known):,.{digits}f}"
    return f"{middle} ± {stdev(known):,.{digits}f}" if len(known) > 1 else middle


def markdown(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table whose columns except the first are right-aligned."""
    bars = ["---", *("---:" for _ in titles[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (titles, bars, *rows)]


def machine(record: Record) -> str:
    """The GPU, or else the CPU, that a result was measured on."""
    device: str = record.get("gpu") or record.get("device", "cpu")
    return record["processor"] if device == "cpu" else device


def conditions(record: Record) -> str:
    """The machine, date, commit, versions and command of a result."""
    where = list(dict.fromkeys([machine(record), *filter(None, [record.get("processor")])]))
    if "cpus" in record:
        load = [f"load {record['load_average_before']} before"] if "load_average_before" in record else []
        load += [f"{record['load_average_after']:.1f} after"] if "load_average_after" in record else []
        where[-1] += f" ({record['cpus']} processors{'; ' if load else ''}{', '.join(load)})"
    changed = " with uncommitted changes" if record["uncommitted_changes"] else ""
    versions = [f"{name} {version}" for name, version in record.get("versions", {}).items() if version]
    said = [", ".join(where), f"{record['date']}, commit {record['commit'][:10]}{changed}", ", ".join(versions)]
    if "vectors" in record:
        said.append(f"{record['vectors']['file']} with {record['vectors']['words']:,} words")
    note = f" {_sentence(record['note'])}" if "note" in record else ""
    return f"{'; '.join(filter(None, said))}. Command: `{record['command']}`.{note}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
