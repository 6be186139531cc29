"""One attention step by step: every number follows from those before it."""

import numpy as np
import pytest
import torch
from command_line import Trained
from torch import nn

import regard
from regard.attention.scores import SCORES
from regard.errors import UsageError
from regard.inspect import Array
from regard.inspect.attention_steps import ADDITIVE, DOT, as_compared
from regard.models import build_model
from regard.recipe.model import TransformerModel
from regard.tasks import Translator


@pytest.fixture(scope="module")
def translators(trained: Trained) -> dict[str, Translator]:
    recurrent = regard.load(trained.folder)
    settings = TransformerModel(kind="transformer", width=16, heads=4, groups=2, encoder_layers=1, decoder_layers=2)
    torch.manual_seed(0)
    model = build_model(settings, recurrent.source_tokenizer.size, recurrent.target_tokenizer.size)
    recipe = recurrent.recipe.model_copy(update={"model": settings})
    other = Translator(recipe, model, recurrent.source_tokenizer, recurrent.target_tokenizer)
    return {"recurrent": recurrent, "transformer": other}


@pytest.mark.parametrize(
    ("name", "layer"), [("recurrent", None), ("transformer", None), ("transformer", "decoder.layers.0.cross.weights")]
)
def test_every_step_follows_from_the_last(translators: dict[str, Translator], name: str, layer: str | None) -> None:
    model = translators[name]
    steps, seen = (
        model.attention_steps("eins und zwei", "one two", layer=layer),
        model.inspect("eins und zwei", "one two"),
    )
    values = {part: array.values for part, array in steps.items()}
    heads = len(values["weights"])
    query, key, value = (np.repeat(values[part], heads // len(values[part]), 0) for part in ("query", "key", "value"))
    if name == "recurrent":
        units = values["energy"][:, None, None] * np.tanh(query[:, :, None] + key[:, None])
        assert steps.note == f"a score is {ADDITIVE}"
    else:
        units = query[:, :, None] * key[:, None]
        assert steps.note == f"a score is {DOT}"
    np.testing.assert_allclose(units.sum(-1), values["scores"], atol=1e-5)
    powers = np.exp(values["scores"].astype(float))
    np.testing.assert_allclose(powers / powers.sum(-1, keepdims=True), values["weights"], atol=1e-6)
    np.testing.assert_allclose(values["weights"] @ value, values["context"], atol=1e-6)
    # They are those that an inspection shows, and the same labels stand beside them.
    np.testing.assert_allclose(values["weights"], seen[layer or model.model.cross_taps[-1]].values, atol=1e-6)
    np.testing.assert_allclose(values["probabilities"], seen["probabilities"].values, atol=1e-6)
    assert steps.labels == seen.labels
    readout = model.model.readout.logits(torch.from_numpy(values["output"])).softmax(-1)  # type: ignore[operator, union-attr]
    np.testing.assert_allclose(readout.max(-1).values.detach(), values["candidates"][:, 0], atol=1e-6)


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_sums_over_units_where_it_is_said(name: str) -> None:
    torch.manual_seed(0)
    score, query, key = SCORES[name](6, 6, hidden=5), torch.randn(1, 3, 6), torch.randn(1, 4, 6)
    arrays = {"query": Array(("head", "target", "feature"), query.numpy())}
    found, told = as_compared(score, arrays)
    expected = score(query, key)
    compared, prepared = torch.from_numpy(found["query"].values)[:, :, None], score.prepare(key)[:, None]
    if told == DOT:
        torch.testing.assert_close((compared * prepared).sum(-1), expected)
    elif told == ADDITIVE:
        energy = torch.from_numpy(found["energy"].values)[:, None, None]
        torch.testing.assert_close((energy * torch.tanh(compared + prepared)).sum(-1), expected)
    else:
        assert found is arrays
        assert name in ("inverse_distance", "gaussian")


@pytest.mark.parametrize("part", ["query", "key", "value"])
@pytest.mark.parametrize("name", ["recurrent", "transformer"])
def test_what_goes_into_attention_can_be_changed(translators: dict[str, Translator], name: str, part: str) -> None:
    """Zeros for values give a context of zeros; zeros for keys or queries of a dot product, equal weights."""
    model = translators[name]
    tap = model.model.cross_taps[-1].removesuffix("weights")
    before = model.attention_steps("eins und zwei", "one two")
    with regard.intervene(model, f"{tap}{part}", torch.zeros_like):
        after = model.attention_steps("eins und zwei", "one two")
    assert not after[part].values.any()
    if part == "value":
        assert not after["context"].values.any()
    elif name == "transformer":
        np.testing.assert_allclose(after["weights"].values, 1 / before["weights"].values.shape[-1], atol=1e-6)
    assert model.attention_steps("eins und zwei", "one two").to_json() == before.to_json()


def test_what_has_no_steps_is_said(trained: Trained) -> None:
    model = regard.load(trained.folder)
    with pytest.raises(
        UsageError, match=r"there is no attention 'x' to the source; there is 'decoder\.attention\.weights'"
    ):
        model.attention_steps("eins", "one", layer="x")
    model.model.cross_taps = ()
    with pytest.raises(
        UsageError, match="this model never looks at its source: it has no attention to show step by step"
    ):
        model.attention_steps("eins", "one")
    model.model.cross_taps = ("pointer.weights",)
    model.model.pointer = nn.Identity()
    with pytest.raises(UsageError, match="the attention 'pointer' is not computed from queries, keys and values"):
        model.attention_steps("eins", "one")
