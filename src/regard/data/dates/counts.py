"""Statistics of a corpus of dates: languages, styles, tags, and what was left out."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import babel

from regard.data.dates.languages import LANGUAGES

if TYPE_CHECKING:
    from regard.data.dates.corpus import DateExamples


@dataclass
class Counts:
    """Counts over the examples of a corpus, by language code."""

    examples: Counter[str] = field(default_factory=Counter)
    tagged: Counter[str] = field(default_factory=Counter)
    century: Counter[str] = field(default_factory=Counter)
    ambiguous: Counter[str] = field(default_factory=Counter)
    styles: dict[str, int] = field(default_factory=dict)
    """Styles of each language in the grammar, whether they were drawn or not."""

    def lines(self) -> list[str]:
        """A table for the terminal."""
        languages = {code.split("-")[0] for code in self.styles}
        total = self.examples.total()
        left_out = self.century.total() + self.ambiguous.total()
        return [
            f"{total:,} dates in {len(languages)} languages and {sum(self.styles.values())} styles "
            f"(CLDR data of Babel {babel.__version__})",
            f"{self.tagged.total():,} carry their language as a tag, because other languages read them as another date",
            f"{left_out:,} were left out and drawn again: {self.century.total():,} whose year two digits cannot say, "
            f"{self.ambiguous.total():,} ambiguous even within their language",
            f"{'':32} styles  examples  tagged  left out",
            *(self._line(code) for code in self.styles),
        ]

    def _line(self, code: str) -> str:
        examples, left_out = self.examples[code], self.century[code] + self.ambiguous[code]
        tagged, again = (
            f"{count / max(1, of):.1%}"
            for count, of in ((self.tagged[code], examples), (left_out, examples + left_out))
        )
        return f"{code:6}{LANGUAGES[code].name:26} {self.styles[code]:6}  {examples:8,}  {tagged:>6}  {again:>8}"


def count(examples: "DateExamples") -> Counts:
    """Goes through all examples once."""
    counts = Counts(styles={code: len(styles) for code, styles in examples.grammar.styles.items()})
    for index in range(len(examples)):
        drawn = examples.drawn(index)
        code = drawn.pair.language
        counts.examples[code] += 1
        counts.tagged[code] += drawn.tagged
        counts.century[code] += drawn.left_out.count("century")
        counts.ambiguous[code] += drawn.left_out.count("ambiguous")
    return counts
