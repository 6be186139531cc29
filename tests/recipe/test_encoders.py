"""`[model.encoder]`: every encoder in every translator, and what a user is told about tables that contradict."""

import tomllib
from typing import Any

import pytest

from regard.errors import RecipeError
from regard.recipe import RecurrentModel, TransformerModel, TranslationRecipe, parse_recipe, write_recipe

KINDS = ("averaging", "window", "recurrent", "transformer")


def recipe(model: dict[str, Any], **tables: Any) -> TranslationRecipe:
    given = {"data": {"corpus": "copy"}, "train": {"steps": 1}, "tokens": {"shared": True}, "model": model} | tables
    return parse_recipe(given, kind=TranslationRecipe)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("translator", ["recurrent", "transformer"])
def test_a_recipe_that_is_spelled_out_is_the_same(translator: str, kind: str) -> None:
    found = recipe({"kind": translator, "encoder": {"kind": kind}})
    assert parse_recipe(tomllib.loads(write_recipe(found))) == found
    assert found.model.source_encoder is found.model.encoder


def test_without_a_table_there_is_none_and_the_model_describes_its_encoder() -> None:
    for kind in ("recurrent", "transformer"):
        found = recipe({"kind": kind, "encoder_layers": 2})
        assert "encoder]" not in write_recipe(found)
        assert (found.model.source_encoder.kind, found.model.source_encoder.layers) == (kind, 2)


TIED = (
    "[model] tie = 'all' shares one embedding between both sides, but {} = 256 and the encoder reads vectors of width 3"
)
TWO = "is for models without a table [model.encoder], which this recipe has; leave"
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown kind": (
        {"encoder": {"kind": "windows"}},
        "model.encoder.kind = 'windows' is not allowed; allowed are 'window', 'averaging', 'recurrent' or "
        "'transformer'",
    ),
    "no kind": (
        {"encoder": {}},
        "'model.encoder.kind' is missing; allowed are 'averaging', 'window', 'recurrent' or 'transformer'",
    ),
    "an unknown setting": (
        {"encoder": {"kind": "window", "hiden": 3}},
        "unknown setting 'model.encoder.hiden'; known here, nearest first: 'hidden', 'kind', 'embedding', 'layers', "
        "'reach' or 'dropout'",
    ),
    "a setting of another kind": (
        {"encoder": {"kind": "averaging", "cell": "gru"}},
        "unknown setting 'model.encoder.cell'; known here, nearest first: 'kind', 'embedding', 'reach' or 'dropout'",
    ),
    "dropout before a readout": (
        {"encoder": {"kind": "recurrent", "dropout": {"output": 0.3}}},
        "unknown setting 'model.encoder.dropout.output'",
    ),
    "no table": (
        {"encoder": "window"},
        "model.encoder = 'window' is not a table; write its settings below a line [model.encoder]",
    ),
    "layers of two": (
        {"encoder": {"kind": "window"}, "encoder_layers": 2},
        f"[model] encoder_layers = 2 {TWO} encoder_layers out, or the table",
    ),
}


@pytest.mark.parametrize("translator", ["recurrent", "transformer"])
@pytest.mark.parametrize("case", REFUSED)
def test_what_contradicts_is_refused(translator: str, case: str) -> None:
    model, line = REFUSED[case]
    with pytest.raises(RecipeError) as refused:
        recipe({"kind": translator, **model})
    assert line in str(refused.value)


@pytest.mark.parametrize(("translator", "width"), [("recurrent", "embedding"), ("transformer", "width")])
def test_one_embedding_of_two_widths_is_refused(translator: str, width: str) -> None:
    model = {"kind": translator, "tie": "all", "encoder": {"kind": "window", "embedding": 3}}
    with pytest.raises(RecipeError) as refused:
        recipe(model)
    assert f"{TIED.format(width)}; make the widths equal, or set tie = 'target'" in str(refused.value)


def test_two_directions_of_another_encoder_are_refused() -> None:
    with pytest.raises(RecipeError) as refused:
        recipe({"kind": "recurrent", "bidirectional": False, "encoder": {"kind": "window"}})
    assert f"[model] bidirectional = false {TWO} bidirectional out, or the table" in str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
def test_only_transformers_that_read_with_a_transformer_pack(kind: str) -> None:
    tables = {"train": {"steps": 1, "pack": True}}
    if kind == "transformer":
        assert recipe({"kind": "transformer", "encoder": {"kind": kind}}, **tables).model.packs
        return
    with pytest.raises(RecipeError, match=r"train\.pack = true .* copying, with a Transformer encoder, keeps apart"):
        recipe({"kind": "transformer", "encoder": {"kind": kind}}, **tables)


@pytest.mark.parametrize("translator", ["recurrent", "transformer"])
def test_learned_positions_of_an_encoder_must_do_for_the_data(translator: str) -> None:
    encoder = {"kind": "transformer", "position": "learned", "longest": 9}
    line = (
        r"model\.encoder\.longest = 9 learned positions are too few for data\.longest = 20 tokens and the "
        r"end-of-sentence mark; raise model\.encoder\.longest to 21, or lower data\.longest"
    )
    with pytest.raises(RecipeError, match=line):
        recipe({"kind": translator, "encoder": encoder}, data={"corpus": "copy", "longest": 20})


def test_dropout_of_an_encoder_counts() -> None:
    quiet = {"kind": "window", "dropout": 0.0}
    for model in (RecurrentModel(kind="recurrent", encoder=quiet), TransformerModel(kind="transformer", dropout=0.0)):
        assert not model.drops
        assert type(model).model_validate(model.model_dump() | {"encoder": quiet | {"dropout": 0.1}}).drops
