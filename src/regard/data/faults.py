"""Faults of a whole corpus, or a long stretch of it: the same text on both sides, swapped sides, shifted lines, another
language, machine-repeated text. No model is needed to find them."""

from array import array
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from regard.data.characters import Characters
from regard.data.languages import PROFILED
from regard.data.repetition import is_loop, repeated_beside_others, repeated_in_order
from regard.data.report import Finding, Outcome
from regard.data.shifts import LINES_AT_ONCE, Outline, Shift, find_shifts
from regard.data.sides import Languages, Sides, beginning, languages_of
from regard.data.stretches import Stretch, densest
from regard.errors import counted

SIDES = ("source", "target")
_EXAMPLES_EVERY = 20
_SHOWN = 40
"""Maximum number of characters shown of an example."""
_LEAST_CHARACTERS = 20
"""Shorter texts ("Yes.") are paired with many others in any corpus."""
_LEAST_EVIDENCE = 10.0
"""Minimum evidence of a stretch, where each line contributes about 0.5."""
_LEAST_PAIRS = 20
_SHARE = 0.01
"""Share of pairs up to which the same text on both sides, or a loop, may be an accident."""
_LEAST_SHARE = 0.02
"""Share of pairs from which on another language on one side is reported. In message catalogs, command lines that are
the same in every language can reach that share."""

Flags = npt.NDArray[np.bool_]


class PairFaults:
    """Collects the pairs of one corpus as they are read, and finds their faults; about eighty bytes per pair."""

    def __init__(self, first: int, place: Callable[[int, int], str], reference: tuple[str, Languages] | None) -> None:
        self._first, self._place = first, place
        self._reference = reference[0] if reference else ""
        """Name of the text to compare with."""
        self._texts: list[tuple[str, str]] = []
        self._waiting: list[tuple[str, str]] = []
        self._examples: list[tuple[str, str]] = []
        self._outlines: tuple[list[Outline], list[Outline]] = ([], [])
        self._against = Sides(reference[1]) if reference else None
        self._against_beginning: Sides | None = None
        self._identical, self._loops = bytearray(), bytearray()
        self._hashes = array("q"), array("q")

    def add(self, source: str, target: str) -> None:
        if len(self._texts) < PROFILED:
            self._texts.append((source, target))
        if len(self._identical) % _EXAMPLES_EVERY == 0:
            self._examples.append((source[: _SHOWN + 1], target[: _SHOWN + 1]))
        self._identical.append(source == target and bool(source))
        self._loops.append(is_loop(source) != is_loop(target))
        for hashes, text in zip(self._hashes, (source, target), strict=True):
            hashes.append(hash(text if len(text) >= _LEAST_CHARACTERS else (source, target)))
        self._waiting.append((source, target))
        if len(self._waiting) == LINES_AT_ONCE:
            self._look()

    def languages(self) -> Languages | None:
        """The languages of these pairs, to compare others with; None if there are too few."""
        return languages_of(self._texts)

    def findings(self, part: str, outcome: Outcome, setting: str) -> Iterator[Finding]:
        """The faults; the outcome and its setting are those of pairs with the same text on both sides."""
        self._look()
        pairs = len(self._identical)
        if not pairs:
            return
        found: list[Stretch] = []
        identical = np.frombuffer(self._identical, dtype=np.bool_)
        stretch = self._dense(identical)
        if stretch or (identical.any() and outcome != "kept"):
            what = f"pairs with the same text on both sides ({self._where(identical, stretch)})"
            remedy = 'name the right file for each side, or set data.identical to "drop"'
            places = self._places(np.flatnonzero(identical))
            count = int(identical.sum())
            yield Finding("identical", part, count, what, outcome, setting, places, remedy=remedy)
            found += _spoiled(identical, stretch)
        yield from self._repetitions(part, found)
        yield from self._of_languages(part, found)
        for shift in find_shifts(*(Outline.joined(parts) for parts in self._outlines)):
            if not any(shift.stretch.lies_in(other) for other in found):
                yield self._shifted(part, shift)

    def _look(self) -> None:
        if not self._waiting:
            return
        sides = [Characters.of([pair[side] for pair in self._waiting]) for side in (0, 1)]
        self._waiting = []
        for outlines, side in zip(self._outlines, sides, strict=True):
            outlines.append(Outline(side.lengths, side.marks()))
        if len(self._outlines[0]) == 1 and (languages := beginning(self._texts)):
            self._against_beginning = Sides(languages)
        for known in (self._against, self._against_beginning):
            if known:
                known.add(sides)

    def _dense(self, flags: Flags) -> Stretch | None:
        """The stretch where pairs have a fault, if there are too many for an accident."""
        count = int(flags.sum())
        stretch = densest(np.where(flags, 1.0, -1.0))
        if stretch.evidence >= _LEAST_PAIRS or 2 * count >= len(flags):
            return stretch
        return Stretch(0, len(flags), float(count)) if count >= max(_LEAST_PAIRS, _SHARE * len(flags)) else None

    def _repetitions(self, part: str, found: list[Stretch]) -> Iterator[Finding]:
        pairs = len(self._identical)
        loops = np.frombuffer(self._loops, dtype=np.bool_)
        if pairs >= _LEAST_PAIRS and (stretch := self._dense(loops)):
            what = f"pairs in which one side repeats a phrase over and over ({self._where(loops, stretch)})"
            remedy = "remove them; a machine that got stuck writes like this"
            yield Finding("loops", part, int(loops.sum()), what, "kept", "", self._places(loops), remedy=remedy)
            found += _spoiled(loops, stretch)
        hashes = [np.frombuffer(each, dtype=np.int64) for each in self._hashes]
        for side in (1, 0):
            again = repeated_beside_others(hashes[side], hashes[1 - side], max(_LEAST_PAIRS, pairs // 1000))
            stretch = densest(np.where(again, 1.0, -1.0))
            if not again.any() or any(stretch.lies_in(other) for other in found):
                continue
            what = f"pairs whose {SIDES[side]} is the same text for many {SIDES[1 - side]}s"
            what += f" ({self._where(again, stretch)})"
            remedy = "remove them; a machine or a template wrote them"
            yield Finding("repeated text", part, int(again.sum()), what, "kept", "", self._places(again), remedy=remedy)
            found.append(stretch)
        before = repeated_in_order(np.asarray(hashes[0] * 31 + hashes[1]))
        stretch = densest(np.where(before >= 0, 1.0, -1.0))
        if stretch.evidence >= 5 * _LEAST_PAIRS:
            earlier = self._at(int(before[stretch.start]))
            what = f"pairs that repeat, in order, those from {earlier} on ({self._where(before >= 0, stretch)})"
            remedy = 'remove the copy, or set data.duplicates to "drop"'
            places = self._places(before >= 0)
            yield Finding("copied", part, int((before >= 0).sum()), what, "kept", "", places, remedy=remedy)

    def _of_languages(self, part: str, found: list[Stretch]) -> Iterator[Finding]:
        before = len(found)
        if self._against:
            other = f"{self._reference} text"
            remedy = f"exchange the two files (or columns) of {part}, or those of {self._reference}"
            yield from self._swapped(part, self._against, other, remedy, found)
            for side in (0, 1):
                yield from self._foreign(part, self._against, side, found)
        if self._against_beginning and len(found) == before:
            remedy = "exchange the sides of these pairs, or of those before"
            yield from self._swapped(part, self._against_beginning, "beginning of the text", remedy, found)

    def _swapped(self, part: str, against: Sides, other: str, remedy: str, found: list[Stretch]) -> Iterator[Finding]:
        stretch = against.swapped()
        if stretch.evidence >= _LEAST_EVIDENCE:
            what = f"pairs with source and target swapped against the {other} ({self._inside(stretch)})"
            yield self._stretched("swapped", part, stretch, what, remedy)
            found.append(stretch)

    def _foreign(self, part: str, against: Sides, side: int, found: list[Stretch]) -> Iterator[Finding]:
        stretch, is_other = against.foreign(side)
        few = stretch.evidence < _LEAST_EVIDENCE or len(stretch) < _LEAST_SHARE * len(self._identical)
        if few or any(stretch.lies_in(each) for each in found):
            return
        name = self._reference
        what = f"pairs whose {SIDES[side]} is not in the language of the {name} {SIDES[side]}"
        what += f", but in that of the {name} {SIDES[1 - side]}" if is_other else ""
        remedy = f"look at these lines, and name files of the right languages in {part} and {name}"
        kind, where = f"language of the {SIDES[side]}", self._inside(stretch)
        yield self._stretched(kind, part, stretch, f"{what} ({where})", remedy)
        found.append(stretch)

    def _shifted(self, part: str, shift: Shift) -> Finding:
        stretch, distance = shift.stretch, shift.distance
        line = min(max(stretch.start, -distance), len(self._identical) - 1)
        belongs = f"{self._at(line)} belongs to {self._at(line + distance, side=1)}"
        what = f"pairs shifted by {counted(abs(distance), 'line')}: {belongs} ({self._inside(stretch)})"
        missing, extra = SIDES if distance > 0 else reversed(SIDES)
        lines = "a line is" if abs(distance) == 1 else f"{abs(distance)} lines are"
        remedy = f"{lines} missing in the {missing}, or too many in the {extra}, just before: mend the files"
        return self._stretched("shifted", part, stretch, what, remedy)

    def _stretched(self, kind: str, part: str, stretch: Stretch, what: str, remedy: str) -> Finding:
        """A finding about all pairs of a stretch."""
        places = self._places(np.arange(stretch.start, stretch.end))[:1]
        return Finding(kind, part, len(stretch), what, "kept", "", places, remedy=remedy)

    def _where(self, flags: Flags, stretch: Stretch | None) -> str:
        """Share of the flagged pairs, and their place if nearly all of them are in one stretch."""
        inside = int(flags[stretch.start : stretch.end].sum()) if stretch else 0
        if stretch and len(stretch) < len(flags) and 10 * inside >= 9 * flags.sum():
            return self._inside(stretch)
        return _share(int(flags.sum()), len(flags))

    def _inside(self, stretch: Stretch) -> str:
        """Share and place of a stretch."""
        pairs = len(self._identical)
        near = min(_LEAST_PAIRS, pairs // 10)
        share = _share(len(stretch), pairs)
        if stretch.end >= pairs - near:
            return share if stretch.start <= near else f"{share}, from {self._at(stretch.start)} on"
        return f"{share}, {self._at(stretch.start)} to {self._at(stretch.end - 1)}"

    def _at(self, index: int, side: int = 0) -> str:
        return self._place(self._first + index, side)

    def _places(self, which: npt.NDArray[np.generic]) -> tuple[str, ...]:
        """The place of one of the given pairs (indices or flags), with its text if that was kept."""
        indices = np.flatnonzero(which) if which.dtype == np.bool_ else np.asarray(which)
        with_text = indices[indices % _EXAMPLES_EVERY == 0]
        if not len(with_text):
            return (self._at(int(indices[0])),)
        index = int(with_text[0])
        source, target = map(_quoted, self._examples[index // _EXAMPLES_EVERY])
        return (f"{self._at(index)} ({source} beside {target})",)


def _spoiled(flags: Flags, stretch: Stretch | None) -> list[Stretch]:
    """The stretch, if most of its pairs have the fault: they are not checked for others. A few scattered ones (names,
    abbreviations, the same in both languages) do not hide other faults."""
    return [stretch] if stretch and 2 * int(flags[stretch.start : stretch.end].sum()) >= len(stretch) else []


def _share(count: int, pairs: int) -> str:
    return f"{100 * count / pairs:.0f} %" if 100 * count >= pairs else "less than 1 %"


def _quoted(text: str) -> str:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return '"' + "".join(each if each.isprintable() else "\ufffd" for each in shown) + '"'
