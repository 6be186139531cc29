"""Schemes that write spans as tags of words (Ramshaw and Marcus 1995; Tjong Kim Sang and Veenstra 1999).

    words    U.N.    official   Ekeus   heads    for   New     York
    iob1     I-ORG   O          I-PER   O        O     I-LOC   I-LOC      B-X only right after another span of type X
    iob2     B-ORG   O          B-PER   O        O     B-LOC   I-LOC      B-X at the beginning of every span
    iobes    S-ORG   O          S-PER   O        O     B-LOC   E-LOC      E-X at the end, S-X for a single word

Tags that follow no scheme (parts of speech) have the scheme `none`.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

Scheme = Literal["none", "iob1", "iob2", "iobes"]
Marked = tuple[int, int, str]
"""A span of words start … end − 1, and its type."""

OUTSIDE = "O"
MISTAKES = 0.01
"""Share of tags that may have another form without changing the detected scheme."""
_IOB: tuple[Scheme, ...] = ("iob2", "iob1")
_PREFIXES: dict[Scheme, str] = {"iob1": "BI", "iob2": "BI", "iobes": "BIES"}


def split_tag(tag: str) -> tuple[str, str]:
    """Prefix and type of a tag, at the first hyphen; `O` has no type."""
    prefix, _, kind = tag.partition("-")
    return prefix, kind


def spans(tags: Sequence[str]) -> list[Marked]:
    """The spans of tags of any scheme, valid or not, as the CoNLL script reads them: a span begins at B and S, after O,
    E and S, and where the type changes."""
    found: list[Marked] = []
    before, start = (OUTSIDE, ""), 0
    for place, (prefix, kind) in enumerate([*map(split_tag, tags), (OUTSIDE, "")]):
        begins = prefix in ("B", "S") or before[0] in (OUTSIDE, "E", "S") or kind != before[1]
        if before[0] != OUTSIDE and (begins or prefix == OUTSIDE):
            found.append((start, place, before[1]))
        if begins:
            start = place
        before = prefix, kind
    return found


def tags_of(marked: Iterable[Marked], length: int, scheme: Scheme) -> list[str]:
    """The tags of `length` words with these spans, which do not overlap."""
    tags, ended = [OUTSIDE] * length, (-1, "")
    for start, end, kind in sorted(marked):
        if scheme == "iobes":
            prefixes = ["S"] if end - start == 1 else ["B", *"I" * (end - start - 2), "E"]
        else:
            begins_plainly = scheme == "iob1" and ended != (start, kind)
            prefixes = ["I" if begins_plainly else "B", *"I" * (end - start - 1)]
        tags[start:end] = [f"{prefix}-{kind}" for prefix in prefixes]
        ended = end, kind
    return tags


def converted(tags: Sequence[str], scheme: Scheme) -> list[str]:
    """The same spans in another scheme."""
    return list(tags) if scheme == "none" else tags_of(spans(tags), len(tags), scheme)


def may_follow(scheme: Scheme, before: str, after: str) -> bool:
    """Whether a tag may follow another; O comes before the first word and after the last."""
    if scheme == "none":
        return True
    (first, kind), (second, other) = split_tag(before), split_tag(after)
    same = kind == other
    if scheme == "iob1":
        return second != "B" or (first != OUTSIDE and same)
    if scheme == "iob2":
        return second != "I" or (first != OUTSIDE and same)
    return (second in ("I", "E") and same) if first in ("B", "I") else second not in ("I", "E")


def breaks(scheme: Scheme, tags: Sequence[str]) -> list[int]:
    """Places of words whose tag does not belong to the scheme or may not follow the tag before; the last word if a
    sentence may not end there."""
    if scheme == "none":
        return []
    unknown = [place for place, tag in enumerate(tags) if not _is_of(scheme, tag)]
    if unknown:
        return unknown
    pairs = pairwise([OUTSIDE, *tags, OUTSIDE])
    found = [place for place, (before, after) in enumerate(pairs) if not may_follow(scheme, before, after)]
    return sorted({min(place, len(tags) - 1) for place in found})


def _is_of(scheme: Scheme, tag: str) -> bool:
    return tag == OUTSIDE or re.fullmatch(f"[{_PREFIXES[scheme]}]-.+", tag) is not None


def detect(sentences: Iterable[Sequence[str]]) -> Scheme:
    """The scheme of tags: the one that the fewest break; a few mistakes are allowed in any."""
    sentences = list(sentences)
    marked = [tag for tags in sentences for tag in tags if tag != OUTSIDE]
    if not marked or sum(not _is_of("iobes", tag) for tag in marked) > MISTAKES * len(marked):
        return "none"
    if sum(split_tag(tag)[0] in ("E", "S") for tag in marked) > MISTAKES * len(marked):
        return "iobes"
    counts = {scheme: sum(len(breaks(scheme, tags)) for tags in sentences) for scheme in _IOB}
    return min(_IOB, key=lambda scheme: counts[scheme])
