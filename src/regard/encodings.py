"""Detects the encoding of a file that is not UTF-8, and gives the command that converts it."""

import unicodedata
from collections.abc import Iterable
from itertools import pairwise
from shlex import quote

_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
"""Byte order marks; of those that begin alike the longer one first."""

_CODECS = (
    *("cp1252", "cp1250", "cp1251", "koi8-r", "cp1253", "cp1255", "cp1256"),
    *("cp932", "euc-jp", "gb18030", "big5", "euc-kr"),
)
"""Tried in this order, which breaks ties. iconv knows them by the same names."""


def encoding_of(sample: bytes) -> str:
    """The name by which iconv knows the encoding of some bytes that are not UTF-8; empty if nothing fits."""
    for mark, name in _MARKS.items():
        if sample.startswith(mark):
            return name
    zeros = sample[0::2].count(0), sample[1::2].count(0)
    if sum(zeros) >= max(4, len(sample) / 200):
        # Of the two bytes of a space or a Latin letter one is 0: the second one if the smaller part comes first.
        return "UTF-16LE" if zeros[1] > 3 * zeros[0] else "UTF-16BE" if zeros[0] > 3 * zeros[1] else ""
    plausible = {codec: _plausibility(sample, codec) for codec in _CODECS}
    best = max(plausible, key=lambda codec: plausible[codec])
    return best.upper() if plausible[best] > 0 else ""


def convert(path: str, lines: Iterable[bytes]) -> str:
    """Advice for a file with lines that are not UTF-8: the `iconv` command, if the encoding is recognized."""
    wrong: list[bytes] = []
    first = last_good = size = 0
    for number, line in enumerate(lines, start=1):
        if _is_text(line):
            last_good = number if not line.isascii() else last_good
        elif size < 1 << 16:
            first = first or number
            wrong.append(line)
            size += len(line) + 1
    name = encoding_of(b"\n".join(wrong)) if wrong else ""
    if not name or first < last_good:
        return "save the text as UTF-8"
    is_packed = path.endswith(".gz")
    read = f"gzip -dc {quote(path)}" if is_packed else f"cat {quote(path)}"
    write = f"{' | gzip' * is_packed} > {quote(_converted(path))}"
    if last_good:
        command = f"({read} | head -n {first - 1}; {read} | tail -n +{first} | iconv -f {name} -t UTF-8){write}"
        return f"it seems to be {name} from line {first:,} on; convert it: {command}"
    command = f"{read} | iconv -f {name} -t UTF-8" if is_packed else f"iconv -f {name} -t UTF-8 {quote(path)}"
    return f"it seems to be {name}; convert it: {command}{write}"


def _converted(path: str) -> str:
    """The name for a converted file, with the same suffixes, so that it is read the same way."""
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.partition(".")
    return f"{folder}{slash}{stem}.utf8{dot}{ending}"


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in line


def _plausibility(sample: bytes, codec: str) -> float:
    """How much text in an encoding looks like words, by the neighbors of its characters that are not ASCII."""
    try:
        text = sample.decode(codec)
    except UnicodeDecodeError:
        return -1.0
    points = count = 0
    for before, after in pairwise(text):
        if not (before.isascii() and after.isascii()):
            points += _points(before, after)
            count += 1
    return points / max(1, count)


def _points(before: str, after: str) -> int:
    """Positive if two characters are neighbors in words of some language, -2 if not, 0 if that is unknown."""
    if not (before.isalpha() and after.isalpha()):
        odd = [each for each in (before, after) if not each.isascii() and unicodedata.category(each)[0] in "SCMN"]
        return -2 if odd else 0
    scripts = {_script(before), _script(after)}
    if "EAST ASIAN" in scripts:
        if len(scripts) > 1:
            return 0 if "LATIN" in scripts else -2
        # Syllables prove more than Chinese characters, which any two bytes give; Korean ones mix with neither.
        return -2 if _is_hangul(before) != _is_hangul(after) else 1 + _is_syllable(after)
    if len(scripts) > 1 or (after.isupper() and before.islower()):
        return -2
    # Letters with accents are seldom adjacent.
    return -2 if scripts == {"LATIN"} and not before.isascii() and not after.isascii() else 1


def _script(letter: str) -> str:
    """LATIN, CYRILLIC, EAST ASIAN …"""
    script = "LATIN" if letter.isascii() else unicodedata.name(letter, "?").split()[0]
    return "EAST ASIAN" if script == "CJK" or _is_syllable(letter) else script


def _is_syllable(letter: str) -> bool:
    """Whether it is Hiragana, Katakana or Hangul."""
    return "\u3040" <= letter <= "\u30ff" or _is_hangul(letter)


def _is_hangul(letter: str) -> bool:
    return "\uac00" <= letter <= "\ud7a3"
