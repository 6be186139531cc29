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


@cache
def topics_text(split: str) -> tuple[str, ...]:
    """The lines of one split (train, dev or test): for each topic a heading ` = name = `, then its paragraphs, a
    line each, with spaces around words and signs."""
    # Not imported above: half a megabyte that those who bring their own text need not wait for.
    texts: dict[str, str] = import_module("pydoc_data.topics").topics
    return tuple(line for name in _splits(texts)[split] for line in (f" = {name} = ", *_paragraphs(texts[name])))


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
