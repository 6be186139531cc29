"""The recipes and settings that the guides show are accepted as they stand."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from regard.recipe import TASKS, parse_recipe

ROOT = Path(__file__).parents[2]
GUIDES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{guide.name}-{number}")
    for guide in GUIDES
    for number, block in enumerate(re.findall(r"^```toml\n(.*?)^```", guide.read_text(encoding="utf-8"), re.M | re.S))
]
REST: dict[str, Any] = {
    "data": {"train": ["a.de", "a.en"]},
    "tokens": {"source": {"kind": "words"}, "target": {"kind": "words"}},
    "model": {"kind": "recurrent"},
    "train": {"steps": 1},
}
"""What a block leaves out that shows some settings alone."""


@pytest.mark.parametrize("block", BLOCKS)
def test_what_the_guides_show_is_a_recipe_or_part_of_one(block: str) -> None:
    shown = tomllib.loads(block)
    is_whole = "data" in shown
    tables = shown if is_whole else {name: REST[name] | shown.get(name, {}) for name in REST}
    if tables.get("train", {}).get("pack"):
        tables["model"] = {"kind": "transformer"}
    parse_recipe(tables, kind=TASKS[shown.get("task", "translation")].recipe)
