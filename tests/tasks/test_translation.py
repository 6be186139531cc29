"""A translation recipe as a task: what is refused before hours are spent, and what is left behind."""

from pathlib import Path
from typing import Any

import pytest
from pair_strategies import two_files

from regard.errors import DataError
from regard.recipe import Recipe, parse_recipe
from regard.tasks import load
from regard.tasks.translation import TranslationTask
from regard.train import run

GOOD = [("ein Haus", "a house"), ("ein Hund", "a dog")]


def recipe(folder: Path, dev: list[tuple[str, str]], validation: dict[str, Any], **model: Any) -> Recipe:
    small = {"kind": "transformer", "width": 8, "heads": 2, "feedforward": 8}
    small |= {} if "position" in model else {"position": "learned", "longest": 5}
    return parse_recipe({
        "data": {"train": two_files(folder, GOOD), "dev": two_files(folder, dev, "dev"), "longest": 4},
        "tokens": {"source": {"kind": "words"}, "target": {"kind": "words"}},
        "model": small | model,
        "train": {"steps": 1, "batch_tokens": 64, "validation": validation},
        "decode": {"longest_factor": 1.0, "longest_extra": 1},
    })  # fmt: skip


def prepared(recipe: Recipe, folder: Path) -> TranslationTask:
    return TranslationTask.prepare(recipe, folder / "run", lambda line: None)


@pytest.mark.parametrize("side", [0, 1])
def test_development_text_beyond_the_learned_positions_is_refused_at_once(tmp_path: Path, side: int) -> None:
    long = ("a b c d e", "x") if side == 0 else ("x", "a b c d e")
    with pytest.raises(DataError) as refusal:
        prepared(recipe(tmp_path, [*GOOD, long], {}), tmp_path)
    assert str(refusal.value) == (
        "data.dev: pair 3 has 5 tokens on a side and an end-of-sentence mark, but there are model.longest = 5 learned "
        "positions; shorten or remove it, or raise model.longest"
    )
    assert prepared(recipe(tmp_path, [*GOOD, long], {}, longest=6), tmp_path)
    assert prepared(recipe(tmp_path, [*GOOD, long], {}, position="sinusoidal"), tmp_path)


def test_outputs_beyond_the_learned_positions_are_refused_at_once(tmp_path: Path) -> None:
    dev = [*GOOD, ("a b c d", "x")]
    with pytest.raises(DataError) as refusal:
        prepared(recipe(tmp_path, dev, {"decode": True}), tmp_path)
    assert str(refusal.value) == (
        "data.dev: validation decodes pair 3 into up to 5 tokens (decode.longest_factor and decode.longest_extra) "
        "and an end-of-sentence mark, but there are model.longest = 5 learned positions; "
        "lower these, or raise model.longest"
    )
    # Nothing is refused that no validation comes to.
    assert prepared(recipe(tmp_path, dev, {"decode": True, "examples": 2}), tmp_path)
    task = prepared(recipe(tmp_path, dev, {}), tmp_path)
    model = task.build_model().eval()
    assert task.validate(model, decode=False, rank=0, world=1)["loss"] > 0


def test_a_run_keeps_no_cache_but_its_own(tmp_path: Path) -> None:
    for dev in (GOOD, GOOD[:1]):
        prepared(recipe(tmp_path, dev, {}), tmp_path)
        assert len(list((tmp_path / "run/cache").iterdir())) == 1


JAPANESE = [("the city of Tokyo", "東京都"), ("open GNOME Shell now", "GNOME Shell を開く"), ("I go", "私は行きます")]


def test_a_model_keeps_the_tokenizer_of_bleu_that_suits_its_text(tmp_path: Path) -> None:
    """What chooses among candidates later, perhaps of a sentence in Latin letters, compares as validations did."""
    table = recipe(tmp_path, GOOD, {}, position="sinusoidal").model_dump(exclude_unset=True)
    table["data"]["train"] = table["data"]["dev"] = two_files(tmp_path, JAPANESE, "ja")
    run(parse_recipe(table), tmp_path / "run", reporter=lambda event: None)
    model = load(tmp_path / "run", device="cpu")
    assert model.recipe.evaluation.bleu_tokenizer == "char"
    assert run(parse_recipe(table), tmp_path / "run", resume=True, reporter=lambda event: None).step == 1
    # Of several languages, each is judged by its own references.
    files = table["data"]["train"]
    table["data"] |= {"train": files * 2, "dev": files * 2, "tags": ["ja", "en"]}
    assert prepared(parse_recipe(table), tmp_path / "many").recipe.evaluation.bleu_tokenizer == "auto"
