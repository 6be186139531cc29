"""How a trained model writes can be changed for one call, a setting at a time."""

from pathlib import Path
from typing import Any

import pytest
from command_line import Trained
from language_runs import language_recipe

import regard
from regard.errors import RecipeError
from regard.train import Prepared, Started


@pytest.fixture(scope="module")
def model(trained: Trained) -> Any:
    return regard.load(trained.folder, device="cpu", changes=["decode.beam=3", "decode.length_penalty=0.5"])


def test_the_rest_stays_the_recipes(model: Any) -> None:
    whole = model.recipe.decode.model_copy(update={"beam": 1})
    texts = ["eins und zwei", "rot", "Haus und blau und rot"]
    for found in (model.translate(texts, beam=1), model.translate(texts, decoding={"beam": 1})):
        assert found == model.translate(texts, decoding=whole)
    # With the defaults of Regard the exponent of the length is another.
    assert found[0].score != model.translate(texts, decoding=regard.Decoding(beam=1))[0].score
    assert found[0].score == pytest.approx(found[0].log_prob / (len(found[0].tokens) + 1) ** 0.5)
    with pytest.raises(RecipeError, match=r"decoding: temperature = 2\.0 is not used with method = 'beam'"):
        model.translate(texts, decoding={"temperature": 2.0})
    assert model.translate(texts, decoding={"method": "sample", "temperature": 0.01})[1].text == "red"


def test_a_text_without_a_word_stays_empty(model: Any) -> None:
    found = model.translate(["", "rot", " \t"], n_best=2)
    assert [each.text for each in found] == ["", model.translate(["rot"])[0].text, ""]
    assert (found[0].log_prob, found[0].finished, found[0].others) == (0.0, True, ())
    assert [each.source for each in found] == ["", "rot", " \t"]
    assert model.translate([""])[0].text == ""
    forced = model.translate(["", "rot"], terms=[["blue"], ["blue"]], prefixes=["one", ""])
    assert forced[0].text == ""
    assert "blue" in forced[1].text


def test_a_recipe_made_in_python_is_trained_and_evaluated(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    place = trained.recipe.parent
    tables = {
        "data": {part: [f"{part}.de", f"{part}.en"] for part in ("train", "dev", "test")},
        "tokens": {"source": {"kind": "words"}, "target": {"kind": "words"}},
        "model": {"kind": "recurrent", "hidden": 8, "embedding": 8},
        "train": {"steps": 2, "device": "cpu"},
    }
    events: list[Any] = []
    recipe = regard.parse_recipe(tables, folder=place)
    regard.run(recipe, str(tmp_path / "made"), reporter=events.append)
    assert capfd.readouterr() == ("", "")
    kinds = [type(event) for event in events]
    assert kinds[0] is Prepared
    assert kinds.index(Started) > 0
    assert any("pairs" in event.message for event in events if isinstance(event, Prepared))
    monkeypatch.chdir(tmp_path)
    assert regard.load("made", device="cpu").evaluate("test")


def test_what_a_run_is_given(trained: Trained, tmp_path: Path) -> None:
    ended = regard.run(
        regard.read_recipe(trained.recipe, ["train.steps=1", "train.validation.every=1"]), tmp_path / "a"
    )
    assert ended.step == 1
    with pytest.raises(regard.UsageError, match="run trains recipes of models, not task = 'vectors'; word vectors are"):
        regard.run(
            regard.parse_recipe(
                {"task": "vectors", "data": {"corpus": "topics"}, "vectors": {"kind": "svd"}},
                kind=regard.recipe.VectorsRecipe,
            ),
            tmp_path / "b",
        )


def test_a_model_of_another_shape_is_refused_before_data_is_read(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.tasks.translation.prepare", lambda *_: pytest.fail("data was read"))
    recipe = regard.read_recipe(trained.recipe, [f"train.start_from={trained.folder}", "model.hidden=24"])
    says = r"train\.start_from: .*: the weights there are of another shape: hidden = 24, there 16; give this recipe the"
    with pytest.raises(regard.ModelError, match=says):
        regard.run(recipe, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_language_model_of_another_shape_is_refused_before_data_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    regard.run(language_recipe(tmp_path, train={"steps": 1}), tmp_path / "first")
    monkeypatch.setattr("regard.tasks.language.prepare_text", lambda *_: pytest.fail("data was read"))
    other = language_recipe(tmp_path, train={"steps": 1, "start_from": str(tmp_path / "first")}, model={"hidden": 5})
    with pytest.raises(regard.ModelError, match=r"of another shape: hidden = 5, there "):
        regard.run(other, tmp_path / "second")
