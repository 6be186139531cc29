"""What a recipe that says nothing about speed is trained with, by device."""

from pathlib import Path
from typing import Any

import pytest
import torch
from language_runs import WORDS

import regard
from regard.checkpoint import ModelFolder
from regard.recipe import Recipe, parse_recipe
from regard.train.fast_defaults import settled

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
SPEED = ("precision", "pack", "shapes")
PAIRS = {"data": {"corpus": "reverse"}, "train": {"steps": 1}}
TRANSFORMER = {"kind": "transformer", "width": 8, "heads": 2}
RECIPES: dict[str, dict[str, Any]] = {
    "transformer": PAIRS | {"model": TRANSFORMER},
    "transformer that copies": PAIRS | {"model": TRANSFORMER | {"copying": True}, "tokens": {"shared": True}},
    "recurrent": PAIRS | {"model": {"kind": "recurrent"}},
    "language": {
        "task": "language",
        "data": {"corpus": "topics"},
        "train": {"steps": 1},
        "model": {"kind": "recurrent"},
    },
}


def speed(recipe: Recipe) -> tuple[object, ...]:
    return tuple(getattr(recipe.train, name, None) for name in SPEED)


@pytest.mark.parametrize(
    ("name", "fast"),
    [
        ("transformer", ("bfloat16", True, 0)),
        ("transformer that copies", ("bfloat16", False, 16)),
        ("recurrent", ("bfloat16", False, 16)),
        ("language", ("bfloat16", None, 16)),
    ],
)
def test_a_recipe_without_a_word_about_speed_is_fast_on_a_gpu(name: str, fast: tuple[object, ...]) -> None:
    recipe = parse_recipe(RECIPES[name])
    on_gpu, on_cpu = settled(recipe, CUDA), settled(recipe, CPU)
    assert speed(on_gpu) == fast
    assert on_gpu.train.few_shapes
    assert speed(on_cpu) == ("float32", None if name == "language" else False, 0)
    assert not on_cpu.train.few_shapes


@pytest.mark.parametrize("device", [CPU, CUDA])
@pytest.mark.parametrize("name", RECIPES)
def test_what_a_recipe_says_stays(name: str, device: torch.device) -> None:
    told = {"precision": "float32", "shapes": 5, **({} if name == "language" else {"pack": False})}
    recipe = parse_recipe(RECIPES[name] | {"train": {"steps": 1, **told}})
    assert settled(recipe, device) == recipe


def test_shapes_are_not_few_by_themselves_where_rows_are_packed_by_hand() -> None:
    recipe = parse_recipe(RECIPES["transformer"] | {"train": {"steps": 1, "pack": True}})
    assert speed(settled(recipe, CUDA)) == ("bfloat16", True, 0)
    assert speed(settled(recipe, CPU)) == ("float32", True, 0)


def test_a_run_goes_on_with_what_it_was_begun_with() -> None:
    recipe = parse_recipe(RECIPES["transformer"])
    begun = settled(recipe, CUDA)
    assert settled(recipe, CPU, begun) == begun


def test_the_folder_records_what_was_chosen_and_resumes(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(f"{' '.join(WORDS)}\n" * 20, encoding="utf-8")
    table = {
        "task": "language",
        "data": {"train": [str(text)], "dev": [str(text)]},
        "train": {"steps": 1, "device": "cpu", "batch_tokens": 70},
        "model": {"kind": "window", "embedding": 4, "hidden": 4},
    }
    out = tmp_path / "model"
    regard.run(parse_recipe(table), out, reporter=lambda event: None)
    assert speed(ModelFolder(out).read_recipe(Recipe)) == ("float32", None, 0)
    table["train"] |= {"steps": 2}  # type: ignore[operator]
    assert regard.run(parse_recipe(table), out, resume=True, reporter=lambda event: None).step == 2
