"""Models that are built without drawing weights, and are the same once weights are put in."""

import pytest
import torch
from language_runs import MODELS

from regard.checkpoint import put_weights, weights_of
from regard.models import build_language_model, build_model
from regard.nn.undrawn import Undrawn
from regard.recipe import LanguageRecipe, RecurrentModel, TransformerModel, parse_recipe

TRANSLATORS = [
    RecurrentModel(kind="recurrent", embedding=6, hidden=8),
    TransformerModel(kind="transformer", width=8, heads=2, feedforward=12, encoder_layers=1, decoder_layers=1),
]


def assert_same(plain: torch.nn.Module, undrawn: torch.nn.Module) -> None:
    """All there is, tables that are no weights too."""
    put_weights(undrawn, weights_of(plain), "")
    own, others = dict(plain.named_buffers()), dict(undrawn.named_buffers())
    assert own.keys() == others.keys()
    assert all(torch.equal(own[name], others[name]) for name in own)
    assert all(map(torch.equal, plain.parameters(), undrawn.parameters()))


@pytest.mark.parametrize("settings", TRANSLATORS, ids=lambda settings: settings.kind)
def test_translators(settings: RecurrentModel | TransformerModel) -> None:
    plain, state = build_model(settings, 11, 12), torch.random.get_rng_state()
    with Undrawn():
        undrawn = build_model(settings, 11, 12)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert_same(plain, undrawn)


@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind != "ngram"])
def test_language_models(kind: str) -> None:
    tables = {"task": "language", "data": {"train": ["a"]}, "model": MODELS[kind], "train": {"steps": 1}}
    settings = parse_recipe(tables, kind=LanguageRecipe).model
    plain, state = build_language_model(settings, 11), torch.random.get_rng_state()
    with Undrawn():
        undrawn = build_language_model(settings, 11)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert_same(plain, undrawn)
