"""Language models that look back, against loops over positions: the attentive one and the copying one."""

from typing import Any, Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from language_strategies import SIZE, TINY, few, rows, tiny_language_model
from torch import Tensor

from regard.models import ContinuousCache, build_language_model
from regard.models.attentive import AttentiveLanguageModel
from regard.models.generator import State
from regard.models.language_copying import CopyingLanguageModel
from regard.models.language_recurrent import RecurrentLanguageModel, RecurrentLanguageState
from regard.recipe import AttentiveModel
from regard.recipe import RecurrentLanguageModel as RecurrentSettings
from regard.recipe.names import CELLS, SCORES
from regard.tap import record
from regard.tokens.vocabulary import UNKNOWN

WORDS = st.lists(st.integers(1, SIZE + 1), min_size=1, max_size=7)
"""Of a text; PAD is no word, and two words lie beyond the vocabulary."""


def outputs_of(model: RecurrentLanguageModel, text: Tensor) -> Tensor:
    state = model.start(rows(len(text)), text.shape[1])
    assert isinstance(state, RecurrentLanguageState)
    return model.run(text, state)[0][0]


@pytest.mark.parametrize(("parts", "key", "value", "prediction"), [(1, 0, 0, 0), (2, 0, 1, 1), (3, 0, 1, 2)])
@pytest.mark.parametrize("values", ["states", "words"])
@pytest.mark.parametrize("join", ["add", "concatenate"])
@few
@given(words=WORDS)
def test_a_position_mixes_what_came_before_it(
    parts: Literal[1, 2, 3],
    key: int,
    value: int,
    prediction: int,
    values: Literal["states", "words"],
    join: Literal["add", "concatenate"],
    words: list[int],
) -> None:
    """Parts of earlier states, or the vectors of the words after them."""
    settings = AttentiveModel(
        kind="attentive", embedding=4, hidden=5, tie=True, reach=3, parts=parts, values=values, join=join
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = build_language_model(settings, SIZE).eval()
        assert isinstance(model, AttentiveLanguageModel)
        if model.added is not None:
            torch.nn.init.normal_(model.added.weight)
    text = torch.tensor([words])
    outputs = outputs_of(model, text).split(5, -1)
    features, _ = model.advance(text, model.start(rows(1), len(words)))
    known = torch.tensor([word if word < SIZE else UNKNOWN for word in words])
    mixable = model.input.embedding.weight[known[1:]] if values == "words" else outputs[value]
    for place in range(len(words)):
        earlier = slice(max(0, place - model.reach), place)
        context = torch.zeros(mixable.shape[-1])
        if place:
            scores = model.attention.score(outputs[key][place, None], outputs[key][earlier])
            context = (scores.softmax(-1) @ mixable[earlier])[0]
        own = outputs[prediction][place]
        joined = own + model.added(context) if model.added else torch.cat([own, context])
        torch.testing.assert_close(features[0, place], model.toward(joined))


@few
@given(
    words=WORDS,
    score=st.sampled_from(list(SCORES)),
    layers=st.integers(1, 2),
    tie=st.booleans(),
    cell=st.sampled_from(list(CELLS)),
)
def test_added_context_starts_as_the_recurrent_model(
    words: list[int], score: str, layers: int, tie: bool, cell: str
) -> None:
    """From one seed, weights and outputs equal the model without attention to the bit; gradients reach the map."""
    shared: dict[str, Any] = {"cell": cell, "embedding": 4, "hidden": 5, "layers": layers, "tie": tie}
    text, found = torch.tensor([words]), []
    models = (
        RecurrentSettings(kind="recurrent", **shared),
        AttentiveModel(kind="attentive", score=score, join="add", **shared),
    )
    with torch.random.fork_rng():
        for settings in models:
            torch.manual_seed(0)
            model = build_language_model(settings, SIZE)
            features, state = model.advance(text, model.start(rows(1), len(words)))
            found.append(model.readout_of(state).logits(features))
    assert torch.equal(*found)
    found[1].logsumexp(-1).sum().backward()
    assert isinstance(model, AttentiveLanguageModel)
    assert model.added is not None
    assert model.added.weight.grad is not None
    assert bool(model.added.weight.grad.any()) == (len(words) > 1)


def mixed(model: CopyingLanguageModel, outputs: Tensor, words: list[int], place: int) -> Tensor:
    """Probabilities of the vocabulary and the slots after one position, by the equations of the module."""
    plain = model.readout.logits(model.toward(outputs[place])).softmax(-1)
    chosen = range(max(0, place - model.reach + 1), place + 1)
    keys, query = outputs[chosen.start : chosen.stop], torch.tanh(model.query(outputs[place]))
    if model.sentinel is not None:
        weights = model.attention.score(query[None], torch.cat([keys, model.sentinel[None]]))[0].softmax(0)
        share, copies = weights[-1], weights[:-1]
    else:
        share = torch.sigmoid(model.gate(outputs[place])) if model.gate else torch.tensor(model.fixed)
        copies = (1 - share) * model.attention.score(query[None], keys)[0].softmax(0)
    expected = torch.cat([share * plain, plain.new_zeros(model.slots)])
    for position, copy in zip(chosen, copies, strict=True):
        expected[words[position]] += copy
    return expected


@pytest.mark.parametrize("name", [name for name in TINY if name.startswith("copying")])
@few
@given(words=WORDS)
def test_what_is_copied_is_what_the_equations_say(name: str, words: list[int]) -> None:
    model, text = tiny_language_model(name), torch.tensor([words])
    assert isinstance(model, CopyingLanguageModel)
    outputs = outputs_of(model, text)
    features, state = model.advance(text, model.start(rows(1), len(words)))
    found = model.readout_of(state).logits(features)[0].exp()
    for place in range(len(words)):
        torch.testing.assert_close(found[place], mixed(model, outputs, words, place))


def test_a_word_outside_the_vocabulary_that_stands_in_the_context_can_be_produced() -> None:
    model = tiny_language_model("copying-sentinel-dot")
    unknown, other = SIZE, SIZE + 1

    def after(text: list[int]) -> tuple[Tensor, State]:
        features, state = model.advance(torch.tensor([text]), model.start(rows(1), len(text)))
        return model.readout_of(state).logits(features[:, -1]).exp()[0], state

    found, _ = after([4, unknown])
    assert found[unknown] > 0
    assert found[other] == 0
    # It is read as any unknown word is: what else may come is the same whichever of them it was.
    torch.testing.assert_close(found[:SIZE], after([4, other])[0][:SIZE])


def test_shares_and_weights_can_be_looked_at() -> None:
    model, text = tiny_language_model("copying-sentinel-dot"), torch.tensor([[4, 5, 6]])
    with record(model) as seen:
        model.advance(text, model.start(rows(1), 3))
    weights, share = seen.last("attention.weights"), seen.last("share")
    assert weights.shape == (1, 1, 3, 4)
    torch.testing.assert_close(weights[0, 0, :, -1:], share[0])


@given(words=st.lists(st.integers(1, SIZE + 1), min_size=2, max_size=7))
def test_words_beyond_the_vocabulary_and_all_others_have_together_one(words: list[int]) -> None:
    """What is left of a text's words when each that is new counts as unknown is still a distribution."""
    text, every = torch.tensor([words]), torch.arange(SIZE + 2)
    inner = tiny_language_model("copying-sentinel-dot")
    in_reach = words[-inner.reach :]
    for model, seen in ((inner, in_reach), (ContinuousCache(inner, size=9, share=0.4), in_reach + words[1:])):
        features, state = model.advance(text, model.start(rows(1), len(words)))
        last = features[:, -1:].expand(-1, len(every), -1)
        found = model.readout_of(state).log_probs(last, every[None])[0].exp()[0]
        new = [one for one in (SIZE, SIZE + 1) if one not in seen]
        kept = [one for one in every.tolist() if one not in new]
        torch.testing.assert_close(found[kept].sum(), torch.ones((), dtype=torch.float64))
        torch.testing.assert_close(found[new], found[UNKNOWN].expand(len(new)))
