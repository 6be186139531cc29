"""Findings about a corpus, and what happens to them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from regard.errors import DataError

Outcome = Literal["kept", "dropped", "cut", "replaced", "removed", "refused"]

_OUTCOMES: dict[str, Outcome] = {"keep": "kept", "drop": "dropped", "cut": "cut", "replace": "replaced"}


def outcome_of(remedy: str) -> Outcome:
    """The outcome of a setting such as `drop`."""
    return _OUTCOMES.get(remedy, "refused")


@dataclass(frozen=True)
class Finding:
    """One kind of problem in one part of a corpus."""

    kind: str
    part: str
    count: int
    what: str
    """Text that follows the count and begins with a plural; the whole sentence if there is nothing to count."""
    outcome: Outcome
    setting: str = ""
    """The setting that decides the outcome."""
    places: tuple[str, ...] = ()
    """The first few, each with file and line."""
    advice: str = ""
    """What to do, if it is refused."""
    remedy: str = ""
    """What to do, whatever the outcome."""

    def line(self) -> str:
        what = self.what.replace("s ", " ", 1) if self.count == 1 else self.what
        counted = f"{self.count:,} {what}" if self.count else what
        parts = [f"{self.part}: {counted}"]
        if self.count or self.outcome != "refused":  # a file that cannot be read needs no outcome
            parts[0] += f": {self.outcome}{f' ({self.setting})' if self.setting else ''}"
        if self.places:
            parts.append(f"{'first ' if self.count > 1 and not self.remedy else ''}{'; '.join(self.places)}")
        if self.outcome == "refused" and self.advice:
            parts.append(self.advice)
        if self.remedy:
            parts.append(self.remedy)
        return "; ".join(parts)


@dataclass(frozen=True)
class Report:
    """The content of every part and its findings, to be printed before anything starts."""

    parts: dict[str, str] = field(default_factory=dict)
    """Name of each part (train, dev, test), and a description of its content."""
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    """Information that needs no action."""

    @property
    def refused(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.outcome == "refused")

    def lines(self) -> list[str]:
        """For the terminal: a line for each part, for each finding, and for each note."""
        found = [finding.line() for finding in self.findings] or ["no problems found"]
        return [*(f"{name}: {holds}" for name, holds in self.parts.items()), *found, *self.notes]

    def raise_if_refused(self) -> None:
        """Raises DataError with everything that the settings refuse."""
        if self.refused:
            raise DataError("\n".join(finding.line() for finding in self.refused))

    def find(self, kind: str, part: str = "train") -> Finding | None:
        """The finding of a kind in a part, if there is one."""
        return next((found for found in self.findings if (found.kind, found.part) == (kind, part)), None)

    def extended(self, findings: Sequence[Finding] = (), notes: Sequence[str] = ()) -> "Report":
        """With more findings, which replace those of the same kind and part, and more notes."""
        new = {(finding.kind, finding.part) for finding in findings}
        old = [finding for finding in self.findings if (finding.kind, finding.part) not in new]
        return Report(self.parts, (*old, *findings), (*self.notes, *notes))

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        findings = tuple(Finding(**{**found, "places": tuple(found["places"])}) for found in values["findings"])
        return cls(dict(values["parts"]), findings, tuple(values["notes"]))
