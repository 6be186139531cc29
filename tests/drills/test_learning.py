"""Every combination of parts learns to copy and to reverse, through the real trainer and decoder.

All of them run in `make test-all`; every day the test of the demo trains a model to perfection. Without positions a
Transformer's encoder reads a bag of letters, so reversing must fail: if it did not, the task would not test what it is
meant to.
"""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from regard.data import load_corpus
from regard.metrics import accuracy
from regard.models.recurrent import PLACEMENTS
from regard.recipe import parse_recipe
from regard.recipe.names import POSITIONS, SCORES
from regard.tasks import load
from regard.train import run

RECURRENT = {
    f"{score}-{placement}": {"score": score, "placement": placement}
    | ({"hidden": 48} if score in SCORES.using("hidden") else {})
    for score, placement in product(SCORES, PLACEMENTS)
}
ALL = [*product(("copy", "reverse"), (*RECURRENT, "bottleneck", *(name for name in POSITIONS if name != "none")))]


def model_settings(name: str) -> dict[str, Any]:
    if name in POSITIONS:
        widths = {"width": 48, "heads": 4, "feedforward": 96, "encoder_layers": 2, "decoder_layers": 2}
        return {"kind": "transformer", "position": name, "dropout": 0.0, **widths}
    attention = {"score": "none"} if name == "bottleneck" else RECURRENT[name]
    return {"kind": "recurrent", "cell": "gru", "embedding": 32, "hidden": 48, "attention": attention}


def learn(corpus: str, name: str, out: Path, steps: int) -> float:
    """Accuracy on sequences that were not in the training text."""
    recipe = parse_recipe(
        {
            # Without attention one state must hold the whole sequence, so it gets short ones.
            "data": {"corpus": corpus, "examples": 60_000, "longest": 3 if name == "bottleneck" else 5},
            "tokens": {"source": {"kind": "characters"}, "target": {"kind": "characters"}},
            "model": model_settings(name),
            "train": {
                "batch_tokens": 512,
                "steps": steps,
                "threads": 1,
                "label_smoothing": 0.0,
                "optimizer": {"rate": 5e-3 if name not in POSITIONS else 3e-3},
                "schedule": {"kind": "cosine", "warmup": 50},
                "validation": {"every": steps},
            },
            "decode": {"method": "greedy"},
        }
    )
    run(recipe, out)
    held_out = list(load_corpus(recipe.data, recipe.seed).test)
    translations = load(out).translate([pair.source for pair in held_out])
    return accuracy([best.text for best in translations], [pair.target for pair in held_out]).value


@pytest.mark.long
@pytest.mark.parametrize(("corpus", "name"), ALL)
def test_learns_to_perfection(corpus: str, name: str, tmp_path: Path) -> None:
    assert learn(corpus, name, tmp_path / "model", steps=2500) == 1.0


@pytest.mark.long
def test_without_positions_reversing_fails(tmp_path: Path) -> None:
    assert learn("reverse", "none", tmp_path / "model", steps=400) < 0.5
