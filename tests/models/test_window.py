"""The fixed window, against the formula of Bengio et al. 2003."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from language_strategies import SIZE, rows, tiny_language_model
from torch import nn

from regard.models import build_language_model
from regard.models.window import WindowLanguageModel
from regard.recipe import WindowModel
from regard.tokens.vocabulary import PAD


@given(st.integers(0, 99))
def test_it_is_the_formula_of_the_paper(seed: int) -> None:
    model = tiny_language_model("window-direct-own")
    assert isinstance(model, WindowLanguageModel)
    text = torch.randint(SIZE, (1, 5), generator=torch.Generator().manual_seed(seed))
    features, state = model.advance(text, model.start(rows(1), 5))
    found = model.readout_of(state).logits(features)[0]
    table, output = model.embedding.weight * model.embedding.scale, model.readout
    for place in range(5):
        words = [PAD] * (model.window - 1) + text[0].tolist()
        seen = torch.cat([table[word] for word in words[place : place + model.window]])
        hidden = torch.tanh(model.inward.weight @ seen + model.inward.bias)
        # U and W are the halves of the readout's matrix.
        torch.testing.assert_close(found[place], output.bias + output.weight @ torch.cat([hidden, seen]))


def test_words_further_back_than_the_window_do_not_matter() -> None:
    model = tiny_language_model("window-plain-own")
    one, other = torch.tensor([[4, 5, 6, 7, 8]]), torch.tensor([[9, 5, 6, 7, 8]])
    first, second = (model.advance(text, model.start(rows(1), 5))[0] for text in (one, other))
    assert (first[0] != second[0]).any(-1).tolist() == [True, True, True, False, False]


def test_dropout_is_drawn_in_training_alone() -> None:
    model = build_language_model(WindowModel(kind="window", dropout=0.5), SIZE)
    text = torch.tensor([[4, 5, 6]])
    drawn = [model.advance(text, model.start(rows(1), 3))[0] for _ in range(2)]
    assert not torch.equal(*drawn)
    nn.Module.eval(model)
    same = [model.advance(text, model.start(rows(1), 3))[0] for _ in range(2)]
    assert torch.equal(*same)
