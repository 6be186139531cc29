"""Makes the folders of models beside this file, and the texts they are trained on: `python -m models_0_1.make`."""

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import torch
from copying_task import corpus, write_pairs
from language_runs import WORDS
from models_0_1.outputs import outputs_of

import regard
from regard.recipe import Recipe, VectorsRecipe, parse_recipe
from regard.train.vectors import learn_vectors

HERE = Path(__file__).parent
NUMBERS = {"one": ("eins", "un"), "two": ("zwei", "deux"), "three": ("drei", "trois"), "red": ("rot", "rouge")}
THINGS = {"house": ("Haus", "maison"), "houses": ("Häuser", "maisons"), "tree": ("Baum", "arbre")}
RESUMABLE = ("recurrent-none", "language-recurrent")
"""Folders that keep all that a training needs to go on."""

TRAIN: dict[str, Any] = {
    "device": "cpu",
    "threads": 1,
    "steps": 150,
    "batch_tokens": 200,
    "validation": {"every": 75},
    "schedule": {"warmup": 10},
    "optimizer": {"rate": 2e-2},
}
PAIRS = {"data": {"corpus": "reverse", "examples": 300}, "train": TRAIN}
CHARACTERS = {"source": {"kind": "characters"}, "target": {"kind": "characters"}}
SMALL = {"embedding": 8, "hidden": 8}
TRANSFORMER = {"kind": "transformer", "width": 8, "heads": 2, "feedforward": 12}

TRANSLATORS: dict[str, dict[str, Any]] = {
    "recurrent-additive": PAIRS
    | {
        "data": {"corpus": "dates", "examples": 300, "languages": ["de", "en"]},
        "tokens": CHARACTERS,
        "model": {"kind": "recurrent", **SMALL, "attention": {"hidden": 8}},
        "decode": {"beam": 3, "length_penalty": 0.6},
    },
    "recurrent-copying": PAIRS
    | {
        "data": {"train": ["../text/copying.tsv"], "dev": ["../text/copying.tsv"], "test": ["../text/copying.tsv"]},
        "tokens": {side: {"kind": "words", "least": 10} for side in ("source", "target")},
        "model": {
            "kind": "recurrent",
            "cell": "gru",
            **SMALL,
            "copying": True,
            "attention": {"hidden": 8, "coverage": True},
        },
        "train": TRAIN | {"coverage": 0.3, "steps": 300, "average": {"decay": 0.9}},
    },
    # Settings that these kinds of attention, optimizer, schedule and decoding do not use have values of their own.
    "recurrent-none": PAIRS
    | {
        "data": {"corpus": "reverse", "examples": 300, "languages": ["de"], "source_field": "other"},
        "tokens": CHARACTERS,
        "model": {
            "kind": "recurrent",
            "cell": "rnn",
            **SMALL,
            "attention": {"score": "none", "hidden": 17, "normalizer": "sparsemax", "placement": "after"},
        },
        "train": TRAIN
        | {
            "optimizer": {"kind": "sgd", "rate": 0.3, "momentum": 0.5, "beta1": 0.5, "epsilon": 1e-5},
            "schedule": {"kind": "constant", "warmup": 0, "factor": 0.25, "floor": 0.1, "patience": 7},
        },
        "decode": {"method": "greedy", "beam": 9, "temperature": 0.5, "top_k": 3, "candidates": 4},
    },
    "transformer-pre": PAIRS
    | {
        "data": {"corpus": "copy", "examples": 300},
        "tokens": {"source": {"kind": "bytes"}, "target": {"kind": "characters"}},
        "model": TRANSFORMER | {"norm": "pre", "encoder_layers": 1, "decoder_layers": 2, "position": "relative"},
        "train": TRAIN | {"average": {"checkpoints": 2}, "pack": True},
    },
    "transformer-shared": PAIRS
    | {
        "data": {
            "tags": ["de", "fr"],
            **{
                part: [f"../text/tags.{of}" for of in ("de.en", "de", "fr.en", "fr")]
                for part in ("train", "dev", "test")
            },
        },
        "tokens": {"shared": True, "source": {"kind": "bpe", "size": 60, "dropout": 0.1}},
        "model": TRANSFORMER
        | {"norm": "post", "tie": "all", "encoder_layers": 1, "decoder_layers": 1, "position": "rotary"},
        "train": TRAIN | {"steps": 500},
    },
}

LINES = {part: [f"../text/words.{part}.txt"] for part in ("train", "dev", "test")}
LANGUAGE: dict[str, dict[str, Any]] = {
    "ngram": {"kind": "ngram", "order": 3},
    "window": {"kind": "window", "window": 2, **SMALL},
    "recurrent": {"kind": "recurrent", **SMALL, "cutoffs": [6], "shrink": 2},
    "attentive": {"kind": "attentive", **SMALL, "reach": 5, "score": "dot", "score_hidden": 17},
    "copying": {"kind": "copying", **SMALL, "reach": 5, "slots": 3},
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

VECTORS = {
    "task": "vectors",
    "data": {"train": ["../text/words.train.txt"], "least": 2, "words": "spaces"},
    "vectors": {"kind": "skipgram", "dimension": 8, "window": 2, "longest": 4, "buckets": 20},
}


def language(name: str) -> dict[str, Any]:
    return {
        "task": "language",
        "data": {**LINES, "segment": 7, "documents": "blank", "context": "lines" if name == "ngram" else "stream"},
        "tokens": {"kind": "words", "least": 3},
        "model": LANGUAGE[name],
        "train": TRAIN | {"batch_tokens": 56},
    }


def write_texts() -> None:
    draw = random.Random(1)
    write_pairs(Path("copying.tsv"), corpus(1, 200))
    for column, tag in enumerate(("de", "fr")):
        rows = [(draw.choice(list(NUMBERS)), draw.choice(list(THINGS))) for _ in range(60)]
        Path(f"tags.{tag}.en").write_text("".join(" ".join(row) + "\n" for row in rows), encoding="utf-8")
        other = (f"{NUMBERS[first][column]} {THINGS[second][column]}\n" for first, second in rows)
        Path(f"tags.{tag}").write_text("".join(other), encoding="utf-8")
    for part, size in {"train": 200, "dev": 20, "test": 20}.items():
        rows = [draw.choices(WORDS, k=draw.randint(1, 8)) if number % 6 else [] for number in range(1, size)]
        # Names that occur once are unknown, and can only be copied.
        rows = [
            [*row, name, "and", name] if (name := f"{part}{number}") and number % 4 == 0 else row
            for number, row in enumerate(rows)
        ]
        Path(f"words.{part}.txt").write_text("".join(" ".join(row) + "\n" for row in rows), encoding="utf-8")


def strip(folder: Path, *, resumable: bool) -> None:
    """Leaves only what loading the model needs, and resuming if asked for."""
    for name in ("cache", "tensorboard"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in (".lock", *(() if resumable else ("metrics.jsonl",))):
        (folder / name).unlink(missing_ok=True)
    if not (folder / "chosen").exists():
        return
    checkpoint, file = (folder / "chosen").read_text(encoding="utf-8").strip().split("/")
    current = (folder / "current").read_text(encoding="utf-8").strip()
    for place in (folder / "checkpoints").iterdir():
        if resumable and place.name == current:
            continue
        if place.name != checkpoint:
            shutil.rmtree(place)
            continue
        for path in place.iterdir():
            if path.name not in (file, "checksums.json"):
                path.unlink()


def make(name: str, tables: dict[str, Any]) -> None:
    folder = Path("..", name)
    shutil.rmtree(folder, ignore_errors=True)
    recipe = parse_recipe(tables, kind=VectorsRecipe if tables.get("task") == "vectors" else Recipe)
    if isinstance(recipe, VectorsRecipe):
        learn_vectors(recipe, folder)
    else:
        regard.run(recipe, folder)
    strip(folder, resumable=name in RESUMABLE)
    text = json.dumps(outputs_of(folder), indent=1, ensure_ascii=False)
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    # From here "../text" is where it is from the folder of a model, so that the recipes hold no other paths.
    (HERE / "text").mkdir(exist_ok=True)
    os.chdir(HERE / "text")
    write_texts()
    torch.set_num_threads(1)
    for name, tables in TRANSLATORS.items():
        make(name, tables)
    for name in LANGUAGE:
        make(f"language-{name}", language(name))
    make("vectors", VECTORS)


if __name__ == "__main__":
    main()
