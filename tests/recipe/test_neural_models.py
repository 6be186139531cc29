"""What the tables of neural language models refuse."""

import re
from typing import Any

import pytest

from regard.errors import RecipeError
from regard.recipe import TransformerLanguageModel, WindowModel


def refused(section: type[Any], expected: str, **settings: Any) -> None:
    with pytest.raises(RecipeError, match=re.escape(expected)):
        section(**settings)


def test_an_adaptive_softmax_shares_no_vectors_with_the_input() -> None:
    expected = (
        "cutoffs gives rare tokens narrower vectors, which those of the input cannot share; set tie = false, or leave "
        "cutoffs out"
    )
    refused(WindowModel, expected, kind="window", cutoffs=[2000], tie=True)


@pytest.mark.parametrize("cutoffs", [[5, 3], [3, 3]])
def test_cutoffs_rise(cutoffs: list[int]) -> None:
    expected = f"cutoffs = {cutoffs} must rise, such as [2000, 10000]"
    refused(WindowModel, expected, kind="window", cutoffs=cutoffs)


@pytest.mark.parametrize("position", ["sinusoidal", "learned"])
def test_memory_needs_positions_that_are_distances(position: str) -> None:
    expected = (
        f"memory = 64 lets words see earlier segments, where positions that are {position} start from zero again; "
        "choose one of relative, rotary, alibi, or memory = 0"
    )
    refused(TransformerLanguageModel, expected, kind="transformer", position=position, memory=64)
