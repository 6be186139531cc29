"""What holds for every model that writes: one tiny model of each kind, and anything it may be given."""

from copy import deepcopy
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_strategies import (
    SOURCE_SIZE,
    TARGET_SIZE,
    TINY,
    Case,
    cases,
    every_generator,
    every_model,
    tiny_model,
    worded,
)
from safetensors.torch import load, save
from torch import Tensor

from regard.data.batch import Padded, Worded
from regard.models import MODELS, Generator, State, build_model
from regard.tap import record

SOURCE = worded(Padded(torch.tensor([[4, 5, 3], [6, 3, 0]]), torch.tensor([3, 2])))
few = settings(max_examples=max(3, settings().max_examples // 10))
"""There are many models, so that each sees few examples of every day."""


def finish(model: Generator, tokens: Tensor, state: State) -> Tensor:
    """Log-probabilities of every token after each of the given ones."""
    features, state = model.advance(tokens, state)
    return model.readout_of(state).logits(features).log_softmax(-1)


def at_once(model: Generator, case: Case) -> Tensor:
    return finish(model, case.target, model.start(case.source, case.target.shape[1]))


def test_every_kind_of_model_is_held_to_the_laws() -> None:
    assert {model.kind for model in TINY.values()} == set(MODELS)


@pytest.mark.spread(18)
@every_generator
@few
@given(case=cases(), data=st.data())
def test_however_a_sequence_is_cut_its_log_probs_are_the_same(name: str, case: Case, data: st.DataObject) -> None:
    model, length = tiny_model(name), case.target.shape[1]
    cuts = sorted(data.draw(st.sets(st.integers(0, length)), "cuts") | {0, length})
    state = model.start(case.source, length + data.draw(st.integers(0, 3), "spare capacity"))
    pieces = []
    for start, end in pairwise(cuts):
        features, state = model.advance(case.target[:, start:end], state)
        pieces.append(model.readout_of(state).logits(features).log_softmax(-1))
    torch.testing.assert_close(torch.cat(pieces, 1), at_once(model, case))


@pytest.mark.spread(12)
@every_generator
@few
@given(case=cases(), data=st.data())
def test_selected_rows_of_a_copy_go_on_as_if_nothing_else_had_been(name: str, case: Case, data: st.DataObject) -> None:
    model, (count, length) = tiny_model(name), case.target.shape
    cut = data.draw(st.integers(0, length - 1), "cut")
    rows = torch.tensor(data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=4), "rows"))
    state = model.start(case.source, length)
    if cut:
        _, state = model.advance(case.target[:, :cut], state)
    copied = state.copy()
    finish(model, case.target.flip(1)[:, : length - cut], state)
    selected = finish(model, case.target[rows, cut:], copied.select(rows))
    torch.testing.assert_close(selected, at_once(model, case)[rows, cut:])


@pytest.mark.spread(12)
@every_generator
@few
@given(case=cases())
def test_neither_padding_nor_other_rows_change_a_row(name: str, case: Case) -> None:
    model, together = tiny_model(name), at_once(tiny_model(name), case)
    for row, length in enumerate(case.source.lengths.tolist()):
        tokens, words = (side[row, None, :length] for side in (case.source.tokens, case.source.words))
        alone = at_once(model, Case(Worded(tokens, torch.tensor([length]), words), case.target[row, None]))
        # A wider source has room for more unknown words, which it does not have.
        wide = together[row, None]
        torch.testing.assert_close(wide[..., : alone.shape[-1]], alone)
        assert (wide[..., alone.shape[-1] :] == -torch.inf).all()


@pytest.mark.spread(18)
@every_generator
@few
@given(case=cases())
def test_looking_at_everything_changes_nothing(name: str, case: Case) -> None:
    model = tiny_model(name)
    with record(model) as seen:
        watched = at_once(model, case)
    torch.testing.assert_close(watched, at_once(model, case))
    keep = case.source.keep[:, None, None, :].double()
    for tap in model.cross_taps:
        weights = seen.last(tap)
        assert weights.ndim == 4
        assert weights.shape[2:] == (case.target.shape[1], case.source.tokens.shape[1])
        torch.testing.assert_close((weights * keep).sum(-1), torch.ones(weights.shape[:3], dtype=weights.dtype))
        assert (weights * (1 - keep)).count_nonzero() == 0


@pytest.mark.spread(12)
@every_model
def test_every_parameter_learns_from_one_pass_over_the_target(name: str) -> None:
    torch.manual_seed(0)
    model = build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE)
    features, state = model.advance(torch.tensor([[2, 5, 6], [2, 8, 0]]), model.start(SOURCE, 3))
    chosen, mean = model.readout_of(state).log_probs(features, torch.tensor([[5, 6, 3], [8, 3, 0]]))
    (chosen + mean).sum().backward()
    gradients = {part: weight.grad for part, weight in model.named_parameters()}
    assert [part for part, gradient in gradients.items() if gradient is None or not gradient.any()] == []
    assert [part for part, gradient in gradients.items() if not gradient.isfinite().all()] == []


@pytest.mark.spread(12)
@every_model
def test_mixed_precision_stays_near_and_every_parameter_learns_in_float32(name: str) -> None:
    torch.manual_seed(0)
    model = build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE).eval()
    tokens, wanted = torch.tensor([[2, 5, 6], [2, 8, 0]]), torch.tensor([[5, 6, 3], [8, 3, 0]])
    found = []
    for mixed in (False, True):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed):
            features, state = model.advance(tokens, model.start(SOURCE, 3))
            found.append(model.readout_of(state).log_probs(features, wanted)[0])
    torch.testing.assert_close(found[1], found[0], atol=0.1, rtol=0.1)
    found[1].sum().backward()
    for part, weight in model.named_parameters():
        assert weight.grad is not None, part
        assert weight.grad.dtype == torch.float32
        assert weight.grad.isfinite().all(), part


@pytest.mark.spread(12)
@every_generator
def test_a_share_of_a_batch_without_rows_gives_no_features(name: str) -> None:
    model, none = tiny_model(name), torch.arange(0)
    features, _ = model.advance(torch.zeros(0, 3, dtype=torch.long), model.start(SOURCE.select(none), 3))
    assert features.shape[:2] == (0, 3)


@pytest.mark.spread(9)
@every_generator
def test_no_step_waits_for_a_number_from_the_device(name: str) -> None:
    """Tensors on `meta` have no values, so reading one fails. Steps that read one could not be captured as graphs."""
    model, source = deepcopy(tiny_model(name)).to("meta"), SOURCE.to(torch.device("meta"))
    state = model.start(source, 3)
    for _ in range(3):
        features, state = model.advance(torch.zeros(2, 1, dtype=torch.long, device="meta"), state)
        logits = model.readout_of(state).logits(features[:, -1])
        state = state.select(torch.zeros(2, dtype=torch.long, device="meta"))
    assert (features.shape[:2], len(logits)) == ((2, 1), 2)


@pytest.mark.spread(12)
@every_model
def test_saved_weights_are_each_there_once_and_make_the_same_model(name: str) -> None:
    model = tiny_model(name)
    saved = save(model.state_dict())  # refuses tensors that share memory
    torch.manual_seed(12345)
    other = build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE).double().eval()
    case = Case(SOURCE, torch.tensor([[2, 5], [2, 8]]))
    assert not torch.equal(at_once(other, case), at_once(model, case))
    other.load_state_dict(load(saved), strict=True)
    assert torch.equal(at_once(other, case), at_once(model, case))


@pytest.mark.parametrize("kind", MODELS)
def test_tied_embeddings_are_one_weight(kind: str) -> None:
    plain = next(settings for settings in TINY.values() if settings.kind == kind)
    counts = {}
    for tie in ("none", "target", "all"):
        tied = build_model(plain.model_copy(update={"tie": tie}), TARGET_SIZE, TARGET_SIZE)
        counts[tie] = sum(TARGET_SIZE in weight.shape and weight.ndim == 2 for weight in tied.state_dict().values())
        assert len({weight.data_ptr() for weight in tied.state_dict().values()}) == len(tied.state_dict())
    assert counts == {"none": 3, "target": 2, "all": 1}
