"""Tiny language models on a tiny text, which several tests train."""

import random
from pathlib import Path
from typing import Any

from regard.recipe import LanguageRecipe, parse_recipe

WORDS = ["the", "a", "cat", "dog", "sees", "hears", "red", "old", ".", "and"]

MODELS: dict[str, dict[str, Any]] = {
    "ngram": {"kind": "ngram", "order": 3},
    "window": {"kind": "window", "window": 2, "embedding": 6, "hidden": 7},
    "recurrent": {"kind": "recurrent", "embedding": 6, "hidden": 7, "dropout": {"output": 0.2}},
    "attentive": {"kind": "attentive", "embedding": 6, "hidden": 7, "reach": 5},
    "copying": {"kind": "copying", "embedding": 6, "hidden": 7, "reach": 5},
    "transformer": {
        "kind": "transformer",
        "width": 8,
        "heads": 2,
        "feedforward": 12,
        "layers": 2,
        "position": "relative",
        "memory": 6,
    },
}
"""One of each kind."""

CARRYING = [kind for kind in MODELS if kind not in ("ngram", "transformer")]
"""Models that learn and carry all that they know from one segment into the next; a Transformer forgets."""


def write_text(folder: Path, sizes: dict[str, int] | None = None) -> dict[str, list[str]]:
    """Files of lines of a few words, and empty ones between documents; their names by part."""
    draw, files = random.Random(0), {}
    for part, size in (sizes or {"train": 120, "dev": 15, "test": 15}).items():
        lines = [" ".join(draw.choices(WORDS, k=draw.randint(1, 8))) if number % 6 else "" for number in range(1, size)]
        (folder / f"{part}.txt").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        files[part] = [str(folder / f"{part}.txt")]
    return files


def language_recipe(folder: Path, kind: str = "recurrent", **tables: Any) -> LanguageRecipe:
    """A recipe on such a text; tables are added to those that are there."""
    context = {"context": "lines"} if kind == "ngram" else {}
    content: dict[str, Any] = {
        "task": "language",
        "data": {**write_text(folder), "segment": 7, "documents": "blank", **context} | tables.pop("data", {}),
        "tokens": {"kind": "words"} | tables.pop("tokens", {}),
        "model": MODELS[kind] | tables.pop("model", {}),
        "train": {
            "steps": 12,
            "batch_tokens": 28,
            "device": "cpu",
            "validation": {"every": 4},
        }
        | ({} if kind == "ngram" else {"schedule": {"warmup": 2}, "optimizer": {"rate": 0.02}})
        | tables.pop("train", {}),
    }
    return parse_recipe(content | tables, kind=LanguageRecipe)
