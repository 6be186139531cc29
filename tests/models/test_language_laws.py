"""What holds for every language model: one tiny model of each kind, and any text it may be given."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from language_strategies import (
    COUNTED,
    SIZE,
    TINY,
    every_language_generator,
    every_language_model,
    every_that_carries,
    few,
    rows,
    texts,
    tiny_language_model,
    words_of,
)
from safetensors.torch import load, save
from torch import Tensor
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensor, FakeTensorMode

from regard.data.batch import Padded, SegmentBatch
from regard.models import LANGUAGE_MODELS, LanguageModel, LinearReadout, State, build_language_model
from regard.models.attentive import AttentiveLanguageModel
from regard.models.generator import Readout
from regard.models.language import cleared
from regard.objectives import segment_loss
from regard.recipe import Penalty
from regard.tap import record
from regard.tokens.vocabulary import UNKNOWN


def finish(model: LanguageModel, text: Tensor, state: State) -> tuple[Tensor, State]:
    """Log-probabilities of every word after each of the given ones."""
    features, state = model.advance(text, state)
    return model.readout_of(state).logits(features).log_softmax(-1), state


def at_once(model: LanguageModel, text: Tensor) -> Tensor:
    return finish(model, text, model.start(rows(len(text)), text.shape[1]))[0]


def cuts_of(data: st.DataObject, length: int) -> Sequence[tuple[int, int]]:
    return list(pairwise(sorted(data.draw(st.sets(st.integers(0, length)), "cuts") | {0, length})))


def test_every_kind_is_held_to_the_laws() -> None:
    assert {model.kind for model in (TINY | COUNTED).values()} == set(LANGUAGE_MODELS)


@pytest.mark.parametrize("name", [name for name in TINY if name.startswith("transformer")])
def test_weights_of_a_transformer_begin_as_large_as_the_recipe_says(name: str) -> None:
    def fresh(scale: float) -> dict[str, Tensor]:
        torch.manual_seed(0)
        model = build_language_model(TINY[name].model_copy(update={"initial_scale": scale}), SIZE)
        return dict(model.named_parameters())

    usual, large = fresh(1.0), fresh(4.0)
    alone = ("bias", "norm.weight", "position.weight")
    assert all(torch.equal(large[each], usual[each] * (1 if each.endswith(alone) else 4)) for each in usual)


@pytest.mark.spread(12)
@every_language_generator
@few
@given(data=st.data())
def test_however_a_text_is_cut_its_log_probs_are_the_same(name: str, data: st.DataObject) -> None:
    model = tiny_language_model(name)
    text = data.draw(texts(words_of(model)), "text")
    state, pieces = model.start(rows(len(text)), text.shape[1] + data.draw(st.integers(0, 3), "spare")), []
    for start, end in cuts_of(data, text.shape[1]):
        found, state = finish(model, text[:, start:end], state)
        pieces.append(found)
    torch.testing.assert_close(torch.cat(pieces, 1), at_once(model, text))


@every_that_carries
@few
@given(data=st.data())
def test_segments_with_carried_state_are_one_long_text(name: str, data: st.DataObject) -> None:
    model = tiny_language_model(name)
    text = data.draw(texts(words_of(model)), "text")
    blank = model.blank(len(text))
    assert not any(part.any() for part in blank.values())
    carry, pieces = blank, []
    for start, end in cuts_of(data, text.shape[1]):
        found, state = finish(model, text[:, start:end], model.resume(carry, end - start))
        carry = model.carried(state)
        assert {part: (value.shape, value.dtype) for part, value in carry.items()} == {
            part: (value.shape, value.dtype) for part, value in blank.items()
        }
        assert not any(value.requires_grad for value in carry.values())
        pieces.append(found)
    torch.testing.assert_close(torch.cat(pieces, 1), at_once(model, text))


@every_language_generator
@few
@given(data=st.data())
def test_a_row_that_is_cleared_begins_anew_and_the_others_go_on(name: str, data: st.DataObject) -> None:
    model = tiny_language_model(name)
    text = data.draw(texts(words_of(model)), "text")
    count, length = text.shape
    fresh = torch.tensor(data.draw(st.lists(st.booleans(), min_size=count, max_size=count), "fresh"))
    carry = model.carried(finish(model, text, model.start(rows(count), length))[1])
    found = finish(model, text, model.resume(cleared(carry, fresh), length))[0]
    on, anew = finish(model, text, model.resume(carry, length))[0], at_once(model, text)
    torch.testing.assert_close(found, anew.where(fresh[:, None, None], on))


@every_language_generator
@few
@given(data=st.data())
def test_selected_rows_of_a_copy_go_on_as_if_nothing_else_had_been(name: str, data: st.DataObject) -> None:
    model = tiny_language_model(name)
    text = data.draw(texts(words_of(model)), "text")
    count, length = text.shape
    cut = data.draw(st.integers(0, length - 1), "cut")
    chosen = torch.tensor(data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=4), "rows"))
    state = model.start(rows(count), length)
    if cut:
        _, state = finish(model, text[:, :cut], state)
    copied = state.copy()
    finish(model, text.flip(1)[:, : length - cut], state)
    selected, _ = finish(model, text[chosen, cut:], copied.select(chosen))
    torch.testing.assert_close(selected, at_once(model, text)[chosen, cut:])


@every_language_generator
@few
@given(data=st.data())
def test_probabilities_sum_to_one_and_targets_have_theirs(name: str, data: st.DataObject) -> None:
    model = tiny_language_model(name)
    text = data.draw(texts(words_of(model)), "text")
    features, state = model.advance(text, model.start(rows(len(text)), text.shape[1]))
    readout = model.readout_of(state)
    found = readout.logits(features).log_softmax(-1)
    assert found.shape[-1] == readout.size == words_of(model)
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(text.shape, dtype=torch.float64))
    wanted = text.flip(1)
    chosen = found.gather(-1, wanted[..., None]).squeeze(-1)
    possible = chosen > -torch.inf
    torch.testing.assert_close(readout.log_probs(features, wanted)[0][possible], chosen[possible])
    # A word beyond the vocabulary that stands nowhere in the context is an unknown word.
    unknown = readout.log_probs(features, torch.full_like(wanted, UNKNOWN))[0]
    torch.testing.assert_close(readout.log_probs(features, wanted)[0][~possible], unknown[~possible])


@every_language_generator
@few
@given(data=st.data())
def test_looking_at_everything_changes_nothing(name: str, data: st.DataObject) -> None:
    model = tiny_language_model(name)
    text = data.draw(texts(words_of(model)), "text")
    with record(model) as seen:
        watched = at_once(model, text)
    torch.testing.assert_close(watched, at_once(model, text))
    assert all(len(passed) > 0 for passed in seen.values())


@every_language_model
def test_every_parameter_learns(name: str) -> None:
    torch.manual_seed(0)
    model = build_language_model(TINY[name], SIZE)
    if isinstance(model, AttentiveLanguageModel) and model.added is not None:
        torch.nn.init.normal_(model.added.weight)  # zero at first, it lets no gradient through
    text = torch.tensor([[2, 5, 6, 5, 9], [2, 8, 3, 8, 10]])
    features, state = model.advance(text, model.start(rows(2), 5))
    wanted = torch.tensor([[5, 6, 5, 9, 6], [8, 3, 8, 10, 4]])
    chosen, mean = model.readout_of(state).log_probs(features, wanted)
    (chosen + mean).sum().backward()
    gradients = {part: weight.grad for part, weight in model.named_parameters()}
    assert [part for part, gradient in gradients.items() if gradient is None or not gradient.any()] == []
    assert [part for part, gradient in gradients.items() if not gradient.isfinite().all()] == []


@every_language_model
def test_mixed_precision_stays_near_and_carries_in_float32(name: str) -> None:
    torch.manual_seed(0)
    model = build_language_model(TINY[name], SIZE).eval()
    text, found = torch.tensor([[2, 5, 6], [2, 8, 5]]), []
    for mixed in (False, True):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed):
            carry = model.blank(2)
            for _ in range(2):
                features, state = model.advance(text, model.resume(carry, 3))
                carry = model.carried(state)
            found.append(model.readout_of(state).log_probs(features, text.flip(1))[0])
        assert {value.dtype for value in carry.values()} <= {torch.float32, torch.long, torch.bool}
    torch.testing.assert_close(found[1], found[0], atol=0.1, rtol=0.1)
    found[1].sum().backward()
    assert all(weight.grad is None or weight.grad.dtype == torch.float32 for weight in model.parameters())


@pytest.mark.spread(5)
@every_language_model
def test_no_step_waits_for_a_number_from_the_device(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fake tensors have no values, so reading one fails. Steps that read values could not be captured as graphs."""
    # They are fake tensors of a CPU, which has a way of its own: it need not wait for itself.
    monkeypatch.setattr(LinearReadout, "cost", Readout.cost)
    with FakeTensorMode():
        model = build_language_model(TINY[name], SIZE)
        text = Padded(torch.zeros(2, 3, dtype=torch.long), torch.zeros(2, dtype=torch.long))
        batch = SegmentBatch(text, text, fresh=torch.zeros(2, dtype=torch.bool), count=6)
        loss, carry = segment_loss(model, batch, penalty=Penalty(activation=1.0, change=1.0))
        loss, carry = segment_loss(model, batch, carry)
        loss.backward()
        assert isinstance(loss, FakeTensor)
        assert carry is None or all(isinstance(value, FakeTensor) for value in carry.values())
        with pytest.raises(DataDependentOutputException):
            loss.item()


@every_language_model
def test_saved_weights_are_each_there_once_and_make_the_same_model(name: str) -> None:
    model = tiny_language_model(name)
    saved = save(model.state_dict())  # refuses tensors that share memory
    torch.manual_seed(12345)
    other = build_language_model(TINY[name], SIZE).double().eval()
    text = torch.tensor([[2, 5, 9], [2, 8, 8]])
    assert not torch.equal(at_once(other, text), at_once(model, text))
    other.load_state_dict(load(saved), strict=True)
    assert torch.equal(at_once(other, text), at_once(model, text))


@pytest.mark.parametrize("kind", sorted(set(LANGUAGE_MODELS) - {"ngram"}))
def test_tied_embeddings_are_one_weight(kind: str) -> None:
    plain = next(settings for settings in TINY.values() if settings.kind == kind and not settings.cutoffs)
    counts = {}
    for tie in (False, True):
        model = build_language_model(plain.model_copy(update={"tie": tie}), SIZE)
        counts[tie] = sum(SIZE in weight.shape and weight.ndim == 2 for weight in model.state_dict().values())
    assert counts == {False: 2, True: 1}
