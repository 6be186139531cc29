"""Every combination of parts learns to copy and to reverse, through the real trainer and decoder.

A few run every day, all of them in `make test-all`. Without positions a Transformer's encoder reads a bag of letters,
so reversing must fail: if it did not, the task would not test what it is meant to.
"""

from pathlib import Path
from typing import Any, get_args

import pytest

from regard.recipe import names, parse_recipe
from regard.tasks import load
from regard.tasks.evaluation import accuracy_on
from regard.train import run

PLACEMENTS = get_args(names.PlacementName)
ORDERED = [name for name in get_args(names.PositionName) if name != "none"]

RECURRENT = {
    f"{score}-{placement}": {"score": score, "placement": placement, "hidden": 32}
    for score in get_args(names.ScoreName)
    for placement in PLACEMENTS
}
EVERY_DAY = {"additive-before", "scaled_dot-feed", "multiplicative-after", "rotary", "relative"}


def model_settings(name: str) -> dict[str, Any]:
    if name in get_args(names.PositionName):
        return {
            "kind": "transformer",
            "width": 32,
            "heads": 2,
            "feedforward": 64,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "position": name,
            "dropout": 0.0,
        }
    attention = {"score": "none"} if name == "bottleneck" else RECURRENT[name]
    return {"kind": "recurrent", "cell": "gru", "embedding": 32, "hidden": 48, "attention": attention}


def learn(corpus: str, name: str, out: Path, steps: int = 1500) -> float:
    """Accuracy on held-out sequences after training until it is perfect on the development set, or to the last step."""
    recipe = parse_recipe(
        {
            "seed": 1,
            "data": {"corpus": corpus, "examples": 4000},
            "tokens": {"source": {"kind": "characters"}, "target": {"kind": "characters"}},
            "model": model_settings(name),
            "train": {
                "batch_tokens": 512,
                "steps": steps,
                "label_smoothing": 0.0,
                "optimizer": {"rate": 5e-3},
                "schedule": {"kind": "cosine", "warmup": 50},
                "validation": {"every": 250, "metric": "accuracy", "target": 1.0},
            },
            "decode": {"method": "greedy"},
        }
    )
    run(recipe, out)
    return accuracy_on(load(out), "test")
