"""Text that every Python installation has: English prose about a programming language, without a download.

Its content depends on the version of Python, and so do all figures on it: `origin` identifies both.
"""

import ast
import platform
import re
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path

from regard.errors import DataError

HELD_OUT = 0.1
"""Share of the text, in characters, that goes to each of dev and test."""

_WORDS = re.compile(r"\w+|[^\w\s]")
_UNDERLINE = re.compile(r"^([*=~^-])\1{2,}$", re.MULTILINE)
_NOT_PROSE = frozenset({"test", "tests", "idlelib", "lib2to3", "turtledemo", "ensurepip", "pydoc_data"})
"""Packages of the standard library that distributions leave out, or that hold data."""


def topics() -> dict[str, str]:
    """Python's own help (`pydoc_data.topics`), by topic."""
    # Imported here because it is half a megabyte and only needed for the built-in text.
    found: dict[str, str] = import_module("pydoc_data.topics").topics
    return found


@cache
def library() -> dict[str, str]:
    """The help, and the docstrings of each module of the standard library."""
    folder = Path(sysconfig.get_path("stdlib"))
    modules = {}
    for path in _sources(folder):
        name = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        if text := "\n\n".join(_documentation(path)):
            modules[f"module {name}"] = text
    if not modules:
        raise DataError(f"{folder}: Python was installed without the sources of its library; use corpus = 'topics'")
    return topics() | modules


DOCUMENTS: dict[str, Callable[[], dict[str, str]]] = {"topics": topics, "library": library}
"""The documents of each built-in text, by their names."""


def built_in_text(corpus: str, split: str) -> tuple[str, ...]:
    """The lines of one split (train, dev or test): for each document a heading ` = name = `, then its paragraphs, a
    line each, with spaces around words and signs. Documents repeat each other; here no paragraph occurs twice, and
    what is in dev or test is not in train."""
    return _texts(corpus)[split]


@cache
def origin(corpus: str) -> str:
    """The version of Python and a fingerprint of the text, on which figures on a built-in text depend."""
    digest = blake2b("\n".join(line for lines in _texts(corpus).values() for line in lines).encode(), digest_size=4)
    return f"{corpus} of Python {platform.python_version()}, {digest.hexdigest()}"


@cache
def _texts(corpus: str) -> dict[str, tuple[str, ...]]:
    texts = DOCUMENTS[corpus]()
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
    """Names of the documents in each split: in an order determined by their names, dev and test take what fits."""
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


def _sources(folder: Path) -> Iterator[Path]:
    """The files of the modules that every distribution of this version has, in the order of their names."""
    for name in sorted(sys.stdlib_module_names - _NOT_PROSE):
        single = folder / f"{name}.py"
        files = [single] if single.exists() else sorted((folder / name).rglob("*.py"))
        yield from (path for path in files if _NOT_PROSE.isdisjoint(path.relative_to(folder).parts))


def _documentation(path: Path) -> Iterator[str]:
    """The docstrings of a file, the outermost first."""
    with warnings.catch_warnings():
        # Warnings about escapes in strings, which are irrelevant to the docstrings.
        warnings.simplefilter("ignore")
        tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from filter(None, [ast.get_docstring(node)])
