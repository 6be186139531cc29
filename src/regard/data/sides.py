"""Identifies the language of each side of each pair, given two languages from another text or its own beginning."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from regard.data.characters import Characters
from regard.data.languages import Contrast, Language
from regard.data.stretches import Stretch, densest
from regard.disk import parse_json, replace_file

Numbers = npt.NDArray[np.float64]
Languages = tuple[Language, Language]
"""Profiles of source and target."""

_WHOLE = 40
"""Minimum characters of a line that counts in full."""
_UNLIKE = 0.4
"""Below this share of the usual likeness a text is in another language: other domains of the same language had 0.44 or
more, 94 % of the pairs of different languages less (but not Spanish and Portuguese)."""
_BOTH_UNLIKE = 0.7
"""Where the other side is below this too, relative to its median, the text is of another kind (names, say) rather than
in another language."""
_NEARER = 0.25
"""Nats per n-gram by which a text must be more probable in the language of the other side to be attributed to it: half
of what sentences in related languages had."""
_BEGINNING, _FIRST = 8_000, 1000
"""Characters of each side, and maximum number of pairs, that make up the beginning of a text."""


class Sides:
    """Likeness of the sides of pairs to two languages, 16 bytes per pair."""

    def __init__(self, languages: Languages) -> None:
        source, target = self._languages = languages
        self._contrast = Contrast(target, source)
        self._rows: list[npt.NDArray[np.float16]] = []

    def add(self, sides: Sequence[Characters]) -> None:
        """Adds the next pairs."""
        likeness = [language.likeness(side) for side in sides for language in self._languages]
        nearer_target = [self._contrast.of(side) for side in sides]
        weights = [np.minimum(1.0, side.lengths / _WHOLE) for side in sides]
        self._rows.append(np.stack([*likeness, *nearer_target, *weights], axis=1).astype(np.float16))

    def _columns(self) -> list[Numbers]:
        return list(np.concatenate(self._rows).T.astype(np.float64))

    def _exchanged(self) -> Numbers:
        """The evidence of each pair that its sides are swapped."""
        *_, source, target, left, right = self._columns()
        return np.asarray(((source - target) / 2 - _NEARER) * np.minimum(left, right))

    def swapped(self) -> Stretch:
        """The stretch in which each side is in the other's language."""
        return densest(self._exchanged())

    def are_swapped(self) -> bool:
        """Whether the sides seem to be swapped, over all pairs together."""
        return float(self._exchanged().sum()) > 0.0

    def foreign(self, side: int) -> tuple[Stretch, bool]:
        """The stretch in which a side (0 is the source) is in another language than its own, and whether that is the
        language of the other side."""
        columns = self._columns()
        own, beside = columns[3 * side], columns[3 - 3 * side]
        as_other = columns[1 + side]
        nearer_other = columns[4 + side] * (1 - 2 * side)
        of_a_kind = np.maximum(0.0, _BOTH_UNLIKE - beside / max(0.1, min(1.0, float(np.median(beside)))))
        is_other = np.minimum(nearer_other - _NEARER, as_other - _UNLIKE)
        stretch = densest(np.maximum(_UNLIKE - own - of_a_kind, is_other) * columns[6 + side])
        inside = slice(stretch.start, stretch.end)
        return stretch, len(stretch) > 0 and float(is_other[inside].mean()) > 0.0


def beginning(texts: Sequence[tuple[str, str]]) -> Languages | None:
    """The languages at the beginning of some pairs; None if there are too few."""
    lengths = np.cumsum([[len(source), len(target)] for source, target in texts[:_FIRST]], axis=0).min(axis=1)
    return languages_of(texts[: int(np.searchsorted(lengths, _BEGINNING)) + 1])


def languages_of(texts: Sequence[tuple[str, str]]) -> Languages | None:
    """The languages of some pairs; None if these are too few."""
    source, target = (Language.of([pair[side] for pair in texts]) for side in (0, 1))
    return None if source is None or target is None else (source, target)


LANGUAGES = "languages.json"
"""File with the languages of a text, by tag (empty if it has none)."""


def write_languages(folder: Path, languages: Mapping[str, Languages]) -> None:
    """Saves the languages of a text, so that others can be compared when the text itself is gone."""
    content = {tag: [language.to_json() for language in both] for tag, both in languages.items()}
    replace_file(folder / LANGUAGES, json.dumps(content, separators=(",", ":")).encode() + b"\n")


def read_languages(folder: Path) -> dict[str, Languages]:
    """The saved languages of a text; empty if there are none, or they cannot be read."""
    try:
        content = parse_json((folder / LANGUAGES).read_text(encoding="utf-8"))
        return {
            tag: (Language.from_json(source), Language.from_json(target)) for tag, (source, target) in content.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
