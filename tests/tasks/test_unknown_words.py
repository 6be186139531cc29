"""A language model that copies writes words it has never seen, because they stand in the prompt."""

import random
from pathlib import Path

import pytest

from regard.recipe import LanguageDecoding, LanguageRecipe, parse_recipe
from regard.tasks import load_writer
from regard.tasks.writer import Writer
from regard.train import run


def line(draw: random.Random) -> str:
    name = "".join(draw.choices("BCDFG", k=6))
    return f"{name} saw {draw.choice(['a cat', 'the dog'])} and so {name} ran"


def recipe(folder: Path) -> LanguageRecipe:
    draw = random.Random(0)
    text = folder / "text.txt"
    text.write_text("".join(line(draw) + "\n" for _ in range(400)), encoding="utf-8")
    model = {"kind": "copying", "cell": "gru", "embedding": 16, "hidden": 24, "reach": 8, "slots": 50}
    return parse_recipe(
        {
            "task": "language",
            "data": {"train": [str(text)], "context": "lines", "segment": 10},
            "tokens": {"least": 20},
            "model": model,
            "train": {
                "steps": 120,
                "batch_tokens": 320,
                "device": "cpu",
                "validation": {"every": 60},
                "schedule": {"kind": "constant", "warmup": 10},
                "optimizer": {"rate": 0.02},
            },
        },
        kind=LanguageRecipe,
    )


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Writer:
    folder = tmp_path_factory.mktemp("unknown")
    ended = run(recipe(folder), folder / "run", reporter=lambda event: None)
    assert ended.skipped == 0  # a name that is new costs what an unknown word costs, not everything
    return load_writer(folder / "run", device="cpu")


@pytest.mark.spread(1)
@pytest.mark.parametrize("name", ["Zacharias", "q-17", "Über"])
def test_an_unknown_word_of_the_prompt_is_written_again(writer: Writer, name: str) -> None:
    assert name not in writer.tokenizer.vocabulary
    greedy = LanguageDecoding(method="greedy")
    written = "".join(writer.generate(f"{name} saw the dog and so", tokens=3, decoding=greedy))
    assert written.strip().split() == [name, "ran"]


def test_a_word_comes_cheaper_again_and_is_shown_as_it_is(writer: Writer) -> None:
    found = writer.surprisal("Zacharias saw a cat and so Zacharias ran")
    shown = [token for token, _ in found]
    assert (shown[0], shown[6]) == ("Zacharias", "Zacharias")
    assert found[6][1] < 1.0
    assert writer.score("Zacharias saw Zacharias").likelihood.unknown == 2
