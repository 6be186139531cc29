"""The text of Python's own help (`pydoc_data.topics`): English prose about a programming language, without a download.

What is in it depends on the version of Python, and so do all figures on it.
"""

import re
from functools import cache
from hashlib import blake2b
from importlib import import_module

HELD_OUT = 0.1
"""Share of the text, in characters, that goes to each of dev and test."""

_WORDS = re.compile(r"\w+|[^\w\s]")
_UNDERLINE = re.compile(r"^([*=~^-])\1{2,}$", re.MULTILINE)


def topics_text(split: str) -> tuple[str, ...]:
    """The lines of one split (train, dev or test): for each topic a heading ` = name = `, then its paragraphs, a
    line each, with spaces around words and signs. Topics repeat each other; here no paragraph occurs twice, and what
    is in dev or test is not in train."""
    return _texts()[split]


@cache
def _texts() -> dict[str, tuple[str, ...]]:
    # Not imported above: half a megabyte that those who bring their own text need not wait for.
    texts: dict[str, str] = import_module("pydoc_data.topics").topics
    seen: set[str] = set()
    found = {}
    for split, names in _splits(texts).items():
        lines: list[str] = []
        for name in names:
            new = [part for part in dict.fromkeys(_paragraphs(texts[name])) if part not in seen]
            seen.update(new)
            lines += [f" = {name} = ", *new] if new else []
        found[split] = tuple(lines)
    return found


def _splits(texts: dict[str, str]) -> dict[str, list[str]]:
    """Names of the topics in each split: in an order that only the names decide, dev and test take what fits."""
    room = HELD_OUT * sum(map(len, texts.values()))
    splits: dict[str, list[str]] = {"dev": [], "test": [], "train": []}
    filled = {"dev": 0.0, "test": 0.0}
    for name in sorted(texts, key=lambda name: blake2b(name.encode(), digest_size=8).digest()):
        home = next((split for split, used in filled.items() if used + len(texts[name]) <= room), "train")
        splits[home].append(name)
        if home in filled:
            filled[home] += len(texts[name])
    return {split: sorted(names) for split, names in splits.items()}


def _paragraphs(text: str) -> list[str]:
    paragraphs = (" ".join(_WORDS.findall(part)) for part in re.split(r"\n\s*\n", _UNDERLINE.sub("", text)))
    return [paragraph for paragraph in paragraphs if paragraph]
