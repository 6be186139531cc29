"""The recurrent language model: torch's own modules, and the shape of AWD-LSTM."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from language_strategies import SIZE, rows
from torch import nn

from regard.models import build_language_model
from regard.models.language_recurrent import RecurrentLanguageModel
from regard.recipe import RecurrentDropout
from regard.recipe import RecurrentLanguageModel as Settings


def awd(**dropout: float) -> RecurrentLanguageModel:
    settings = Settings(
        kind="recurrent", embedding=4, hidden=6, layers=3, tie=True, dropout=RecurrentDropout(**dropout)
    )
    model = build_language_model(settings, SIZE)
    assert isinstance(model, RecurrentLanguageModel)
    return model


@given(st.integers(0, 99))
def test_it_is_a_stack_of_torchs_lstms_whose_last_has_the_width_of_the_embedding(seed: int) -> None:
    torch.manual_seed(seed)
    model, text = awd().double(), torch.randint(SIZE, (2, 5))
    x = model.input.embedding.weight[text] * model.input.embedding.scale
    for layer, (width, hidden) in zip(model.stack.layers, [(4, 6), (6, 6), (6, 4)], strict=True):
        lstm, cell = nn.LSTM(width, hidden, batch_first=True).double(), layer.ahead
        weights = (cell.input_weight, cell.hidden_weight, cell.input_bias, cell.hidden_bias)
        for mine, theirs in zip(weights, lstm.parameters(), strict=True):
            theirs.data.copy_(mine)
        x, _ = lstm(x)
    features, state = model.advance(text, model.start(rows(2), 5))
    expected = x @ model.input.embedding.weight.t() + model.readout.bias
    torch.testing.assert_close(model.readout_of(state).logits(features), expected)


def test_one_layer_keeps_its_width_and_is_mapped_to_tied_embeddings() -> None:
    settings = Settings(kind="recurrent", embedding=4, hidden=6, tie=True)
    model = build_language_model(settings, SIZE)
    assert isinstance(model, RecurrentLanguageModel)
    assert model.output_width == 6
    assert isinstance(model.toward, nn.Linear)
    assert model.readout.width == 4


def test_each_kind_of_dropout_changes_what_is_read_and_only_that_of_the_output_is_after_it() -> None:
    text = torch.tensor([[2, 3, 4, 5, 6, 7, 8, 9, 10]])
    for kind in ("embedding", "input", "between", "output", "recurrent"):
        torch.manual_seed(0)
        model = awd(**{kind: 0.5})
        first, second = (model.read(text, model.start(rows(1), 9)) for _ in range(2))
        assert not torch.equal(first.features, second.features), kind
        assert torch.equal(first.raw, second.raw) == (kind == "output")
        assert torch.equal(first.raw, first.dropped) == (kind != "output")


def test_variational_masks_last_for_a_segment() -> None:
    model = awd(output=0.5)
    reading = model.read(torch.tensor([[4, 5, 6, 7]]), model.start(rows(1), 4))
    kept = reading.dropped != 0
    assert torch.equal(kept, kept[:, :1].expand_as(kept))
    torch.testing.assert_close(reading.dropped[kept], 2 * reading.raw[kept])
