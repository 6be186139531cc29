"""A toy language of sentences with names and numbers that were never seen before, and small models that learn it."""

import random
from pathlib import Path
from typing import Any

from regard.recipe import Recipe, parse_recipe

VERBS = {"meets": "trifft", "sees": "sieht", "calls": "ruft", "pays": "zahlt"}
WHERE = {"today": "heute", "here": "hier", "again": "wieder"}
MODELS: dict[str, dict[str, Any]] = {
    "recurrent": {
        "kind": "recurrent",
        "cell": "gru",
        "embedding": 24,
        "hidden": 32,
        "attention": {"score": "multiplicative", "placement": "after"},
    },
    "coverage": {
        "kind": "recurrent",
        "cell": "gru",
        "embedding": 24,
        "hidden": 32,
        "attention": {"score": "additive", "hidden": 24, "placement": "before", "coverage": True},
    },
    "transformer": {
        "kind": "transformer",
        "width": 32,
        "heads": 2,
        "feedforward": 64,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "dropout": 0.0,
        "tie": "none",
    },
}


def sentence(rng: random.Random) -> tuple[str, str]:
    """A source and its target: the verb goes to the end, names and numbers stay as they are."""
    name = "".join(rng.choices("abcdefghijklmnop", k=6)).capitalize()
    number = str(rng.randrange(10_000, 99_999))
    verb, where = rng.choice(list(VERBS)), rng.choice(list(WHERE))
    if rng.random() < 0.5:
        return f"{where} {name} {verb} {number}", f"{WHERE[where]} {number} {name} {VERBS[verb]}"
    return f"{name} {verb} {name} {where}", f"{name} {WHERE[where]} {name} {VERBS[verb]}"


def corpus(seed: int, size: int) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    return [sentence(rng) for _ in range(size)]


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


def copying_recipe(folder: Path, model: str, *, steps: int, copying: bool = True, **train: Any) -> Recipe:
    """Words that occur twice are known, so that no name is, and hardly a number."""
    text = write_pairs(folder / "train.tsv", corpus(1, 2_000))
    dev = write_pairs(folder / "dev.tsv", corpus(2, 20))
    table = {
        "batch_tokens": 160,
        "steps": steps,
        "threads": 1,
        "label_smoothing": 0.0,
        "optimizer": {"rate": 2e-2 if model != "transformer" else 5e-3},
        "schedule": {"kind": "cosine", "warmup": 20},
        "validation": {"every": steps},
    }
    words = {"kind": "words", "least": 10}
    return parse_recipe(
        {
            "data": {"train": [str(text)], "dev": [str(dev)]},
            "tokens": {"source": words, "target": words},
            "model": {**MODELS[model], "copying": copying},
            "train": table | train,
            "decode": {"method": "greedy"},
        }
    )
