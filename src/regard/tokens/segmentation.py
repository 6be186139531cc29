"""Words of a text in every script: what alignments, glossaries, markup and pictures count.

Words are separated by blanks. Chinese, Japanese, Thai, Lao, Khmer and Burmese are written without blanks; there each
character is a word, together with the marks above, below and after it (a grapheme cluster), unless blanks show that the
text was segmented by other means. A better segmenter is passed as a function:

    spans_of("東京に行く。")                              # (0, 1), (1, 2), …: one for each character
    spans_of("東京 に 行く 。")                           # (0, 2), (3, 4), …: one for each word
    spans_of("東京に行く。", lambda text: ["東京", "に", "行く", "。"])
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Literal, cast, get_args
from unicodedata import category

from regard.errors import UsageError, one_of

Span = tuple[int, int]
"""The characters text[start:end]."""
Segmenter = Callable[[str], Sequence[str] | Sequence[Span]]
"""Gives the words of a text, in order, or their spans."""
UnitName = Literal["auto", "blanks", "characters"]
"""`blanks`: words between blanks; `characters`: single characters in scripts without blanks; `auto`: either."""
Units = UnitName | Segmenter

SCRIPTS = {
    "kana": "\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "Han": "\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3105-\u312f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff",
    "Thai": "\u0e01-\u0e3a\u0e40-\u0e4e",
    "Lao": "\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf",
    "Khmer": "\u1780-\u17d3\u17dc\u17dd",
    "Burmese": "\u1000-\u103f\u1050-\u108f\u109a-\u109d\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f",
}
"""Letters and marks of scripts that put no blanks between words, as ranges of a regular expression."""
UNSPACED_SHARE = 1 / 3
"""Share of the letters from which on a text counts as written in such a script: numbers, names and commands in Latin
letters occur in any text."""
MEAN_LENGTH = 4
"""Maximum mean length of words in segmented text, in characters. The longest, in Thai, is about 3; text that was not
segmented has phrases and sentences between blanks."""

_LETTERS = "".join(SCRIPTS.values())
_PUNCTUATION = "\u3001-\u3004\u3008-\u3020\u3030\u303d\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
MARKS = "".join(
    f"{chr(first + run.start())}-{chr(first + run.end() - 1)}"
    for first, last in ((0x300, 0x36F), (0x483, 0x1DFF), (0xA66F, 0xABED))
    for run in re.finditer("M+", "".join(category(chr(place))[0] for place in range(first, last + 1)))
)
"""Combining marks, which Python does not count among the characters of words, outside of Chinese and Japanese."""
_AFTER = f"{MARKS}\u0e33\u0eb3\u3099\u309a\uff9e\uff9f\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Khmer and Burmese write a consonant below another after a sign that joins them.
_CLUSTER = f"[{_LETTERS}](?:[\u17d2\u1039][{_LETTERS}]|[{_AFTER}])*"
_IN_WORDS = f"\\w{MARKS}\u200c\u200d"

# Strings, which `re` compiles on first use: few texts need all of them.
_BLANKS = r"\S+"
_CHARACTERS = f"{_CLUSTER}|[{_PUNCTUATION}]|[^\\s{_LETTERS}{_PUNCTUATION}]+"
_PARTS = f"[{_IN_WORDS}]+|[^\\s{_IN_WORDS}]"
_SMALL_PARTS = f"{_CLUSTER}|(?:(?![{_LETTERS}])[{_IN_WORDS}])+|[^\\s{_IN_WORDS}]"
_UNSPACED = f"[{_LETTERS}]"
_BETWEEN = f"[{_LETTERS}]\\s+[{_LETTERS}]"


def spans_of(text: str, units: Units = "auto") -> list[Span]:
    """The spans of a text's words. Punctuation belongs to its word if words are separated by blanks."""
    if callable(units):
        return _placed(text, units(text))
    units = unit_name(units)
    apart = units == "characters" or (units == "auto" and has_no_blanks(text))
    return [word.span() for word in re.finditer(_CHARACTERS if apart else _BLANKS, text)]


def pieces_of(text: str, units: Units = "auto") -> list[str]:
    """The words themselves."""
    return [text[start:end] for start, end in spans_of(text, units)]


def parts_of(text: str) -> list[Span]:
    """The same, with every character of punctuation by itself."""
    return [part.span() for part in re.finditer(_SMALL_PARTS if has_no_blanks(text) else _PARTS, text)]


def smallest_parts_of(text: str) -> list[Span]:
    """The same for text that is part of another: characters of scripts without blanks, whether it has some or not."""
    return [part.span() for part in re.finditer(_SMALL_PARTS, text)]


def runs(text: str) -> list[Span]:
    """Runs of letters and runs of digits, in any script."""

    def kind(place: int) -> str:
        return {"L": "letters", "M": "letters", "N": "digits"}.get(category(text[place])[0], "")

    found = [(kind, list(places)) for kind, places in groupby(range(len(text)), key=kind)]
    return [(places[0], places[-1] + 1) for kind, places in found if kind]


def has_no_blanks(text: str) -> bool:
    """Whether a text is written in a script without blanks, and no blanks were put between its words."""
    if text.isascii() or not re.search(_UNSPACED, text):
        return False
    lengths = [len(re.findall(_CLUSTER, run[0])) for run in re.finditer(f"(?:{_CLUSTER})+", text)]
    return not re.search(_BETWEEN, text) or sum(lengths) > MEAN_LENGTH * len(lengths)


def begins_unspaced(text: str) -> bool:
    """Whether a text begins with a letter of a script without blanks, and so may directly follow another one."""
    return re.match(f"(?![{_AFTER}])[{_LETTERS}]", text) is not None


def main_script(texts: Iterable[str]) -> str:
    """The script without blanks that texts are written in, one of `SCRIPTS`, segmented or not; empty for all others.

    Japanese has kana between its Chinese characters, and Chinese has none but in names.
    """
    counts, letters = Counter[str](), 0
    for text in texts:
        letters += sum(map(len, re.findall(r"[^\W\d_]+", text)))
        if not text.isascii() and re.search(_UNSPACED, text):
            counts.update({name: sum(map(len, re.findall(f"[{each}]+", text))) for name, each in SCRIPTS.items()})
    if not letters or counts.total() < UNSPACED_SHARE * letters:
        return ""
    if counts["kana"] >= 0.05 * counts["Han"]:
        counts["kana"] += counts["Han"]
    return counts.most_common(1)[0][0]


def unit_name(name: str) -> UnitName:
    """The name itself; refuses those that are not known."""
    if name not in get_args(UnitName):
        allowed = one_of(get_args(UnitName), str(name))
        raise UsageError(f"units = {name!r} is not known; known are {allowed}, and in Python any function of a text")
    return cast(UnitName, name)


def _placed(text: str, found: Sequence[str] | Sequence[Span]) -> list[Span]:
    """The spans of the words that a user's segmenter returned."""
    spans: list[Span] = []
    end = 0
    for word in found:
        start, stop = end, end
        if isinstance(word, str):
            start = text.find(word, end)
            stop = start + len(word)
        elif _is_span(word):
            start, stop = word
        if not (end <= start <= stop <= len(text) and text[start:stop].strip()):
            raise UsageError(
                f"units: the function gave {word!r:.60} for the text {text!r:.60}, which has no such word after "
                f"character {end}; it must give words as they stand in the text, in order and none of them blank, or "
                "their spans (start, end)"
            )
        spans.append((start, stop))
        end = stop
    return spans


def _is_span(word: object) -> bool:
    return isinstance(word, Sequence) and len(word) == 2 and all(isinstance(place, int) for place in word)
