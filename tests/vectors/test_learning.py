"""Recipes for vectors know names, and every name stands for something."""

import subprocess
import sys
from typing import get_args

from regard.recipe import VectorsData, settings
from regard.vectors.corpus import PATTERNS
from regard.vectors.learning import LEARNERS


def test_every_kind_has_a_learner() -> None:
    assert {setting.only_for for setting in settings("vectors")} - {""} == set(LEARNERS)


def test_every_idea_of_a_word_has_a_pattern() -> None:
    assert set(get_args(VectorsData.model_fields["words"].annotation)) == set(PATTERNS)


def test_checking_a_recipe_needs_neither_torch_nor_numba() -> None:
    check = (
        "import sys; from regard.recipe import VectorsRecipe, read_recipe;"
        "read_recipe(None, ['task=vectors', 'data.corpus=topics', 'vectors.kind=cbow'], kind=VectorsRecipe);"
        "sys.exit(bool({'torch', 'numba', 'scipy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
