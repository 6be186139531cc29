"""What weights mean: a model of another version is only read where these numbers have stayed.

The weights follow from their names, so that neither a random generator nor how a model begins has a part in it. Where a
number here must change, the same weights and settings mean something else than before: then `FORMAT` and `OLDEST` of
`regard.format_version` are incremented. (If a default has changed, spell out the old one here, as folders do.)
"""

from zlib import crc32

import pytest
import torch
from language_runs import MODELS
from pydantic import TypeAdapter

from regard.checkpoint import put_weights, weights_of
from regard.data.batch import Padded
from regard.format_version import OLDEST
from regard.models import build_language_model, build_model
from regard.models.generator import Generator
from regard.recipe import RecurrentModel, TransformerModel
from regard.recipe.language_models import LanguageModel as LanguageTables

SIZE = 11
TEXT = torch.tensor([[2, 5, 9, 4, 10, 5, 9], [2, 7, 7, 6, 5, 8, 4]])
SOURCE = Padded(torch.tensor([[6, 4, 9, 8, 3], [10, 5, 3, 0, 0]]), torch.tensor([5, 3]))

LANGUAGE = {
    **{name: table for name, table in MODELS.items() if name != "ngram"},
    "attentive": MODELS["attentive"] | {"join": "concatenate"},
    "attentive, added": MODELS["attentive"] | {"join": "add"},
    "tied": MODELS["recurrent"] | {"hidden": 6, "tie": True},
    "rotary": MODELS["transformer"] | {"position": "rotary", "norm": "post", "tie": True},
}
TRANSLATION = {
    "recurrent": RecurrentModel(kind="recurrent", embedding=4, hidden=5),
    "feed": RecurrentModel(kind="recurrent", cell="gru", embedding=4, hidden=5, attention={"placement": "feed"}),
    "transformer": TransformerModel(
        kind="transformer", width=8, heads=2, feedforward=6, encoder_layers=1, decoder_layers=1
    ),
    "untied": TransformerModel(
        kind="transformer", width=8, heads=2, feedforward=6, tie="none", position="rotary", norm="post"
    ),
}

FORMAT_MEANT = 1
"""The format that the numbers below are of."""
MEANT = {
    "language window": -28.5619,
    "language recurrent": -28.4293,
    "language attentive": -28.2317,
    "language attentive, added": -28.3741,
    "language copying": -38.7534,
    "language transformer": -31.1456,
    "language tied": -28.1559,
    "language rotary": -26.7691,
    "translation recurrent": -29.9307,
    "translation feed": -29.0075,
    "translation transformer": -27.3872,
    "translation untied": -30.1772,
}
"""The log-probability of the text after its first word, by model."""


def meaning(model: Generator, source: Padded) -> float:
    """The log-probability of the text, with weights that follow from their names."""
    model.eval()
    named = {
        name: torch.sin(torch.arange(weight.numel()) * 0.7 + crc32(name.encode()) % 100).view(weight.shape) * 0.4
        for name, weight in weights_of(model).items()
    }
    put_weights(model, named, "names")
    with torch.no_grad():
        features, state = model.advance(TEXT[:, :-1], model.start(source, TEXT.shape[1]))
        return float(model.readout_of(state).log_probs(features, TEXT[:, 1:])[0].sum())


@pytest.mark.parametrize("name", LANGUAGE)
def test_a_language_model_means_what_it_meant(name: str) -> None:
    model = build_language_model(TypeAdapter(LanguageTables).validate_python(LANGUAGE[name]), SIZE)
    nothing = Padded(torch.zeros(2, 0, dtype=torch.long), torch.zeros(2, dtype=torch.long))
    assert meaning(model, nothing) == pytest.approx(MEANT[f"language {name}"], rel=1e-4)


@pytest.mark.parametrize("name", TRANSLATION)
def test_a_translator_means_what_it_meant(name: str) -> None:
    model = build_model(TRANSLATION[name], SIZE, SIZE)
    assert meaning(model, SOURCE) == pytest.approx(MEANT[f"translation {name}"], rel=1e-4)


def test_the_numbers_are_those_of_the_oldest_format_that_is_read() -> None:
    assert FORMAT_MEANT == OLDEST
