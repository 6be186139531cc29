"""The recurrent translator against loops from the papers' equations: one row, one step, one key at a time."""

from itertools import product
from typing import get_args

import pytest
import torch
from torch import Tensor

from regard.data.batch import Padded
from regard.models import RecurrentTranslator, build_model
from regard.models.recurrent import PLACEMENTS
from regard.nn import CELLS, Cell
from regard.recipe import RecurrentModel
from regard.recipe.model import AttentionSettings
from regard.recipe.names import SCORES
from regard.tap import intervene, record

SOURCE = Padded(torch.tensor([[4, 5, 6, 3], [5, 3, 1, 2], [6, 6, 3, 0]]), torch.tensor([4, 2, 3]))
TARGET = torch.tensor([[2, 5, 6], [2, 7, 4], [2, 8, 8]])
ROWS, STEPS = TARGET.shape

EVERY = [*product(CELLS, SCORES, PLACEMENTS)]
EVERY += [(cell, "none", "before") for cell in CELLS]
every_combination = pytest.mark.parametrize(("cell", "score", "placement"), EVERY)


def translator(cell: str, score: str, placement: str, **others: object) -> RecurrentTranslator:
    torch.manual_seed(7)
    attention = {"score": score} if score == "none" else {"score": score, "placement": placement}
    attention |= {"hidden": 5} if score in SCORES.using("hidden") else {}
    settings = RecurrentModel(
        kind="recurrent",
        cell=cell,
        embedding=3,
        hidden=4,
        attention=attention,
        **others,
    )
    model = build_model(settings, 7, 9).double().eval()
    assert isinstance(model, RecurrentTranslator)
    return model


def features(model: RecurrentTranslator, source: Padded = SOURCE, target: Tensor = TARGET) -> Tensor:
    return model.advance(target, model.start(source, target.shape[1]))[0]


def sigmoid(x: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-x))


def cell_equations(cell: Cell, x: Tensor, state: list[Tensor]) -> list[Tensor]:
    """One step of one row, from the papers."""
    gates = len(cell.gate_names)
    w, u = cell.input_weight.chunk(gates), cell.hidden_weight.chunk(gates)
    b, d = cell.input_bias.chunk(gates), cell.hidden_bias.chunk(gates)
    h = state[0]
    match gates:
        case 1:
            return [torch.tanh(w[0] @ x + b[0] + u[0] @ h + d[0])]
        case 3:
            r = sigmoid(w[0] @ x + b[0] + u[0] @ h + d[0])
            z = sigmoid(w[1] @ x + b[1] + u[1] @ h + d[1])
            n = torch.tanh(w[2] @ x + b[2] + r * (u[2] @ h + d[2]))
            return [(1 - z) * n + z * h]
        case _:
            i, f, o = (sigmoid(w[gate] @ x + b[gate] + u[gate] @ h + d[gate]) for gate in (0, 1, 3))
            c = f * state[1] + i * torch.tanh(w[2] @ x + b[2] + u[2] @ h + d[2])
            return [o * torch.tanh(c), c]


def encode(model: RecurrentTranslator, row: int) -> tuple[list[Tensor], list[Tensor]]:
    """Annotations [→h; ←h] of the row's real tokens, and the decoder's first state."""
    layer, embedding = model.encoder.stack.layers[0], model.encoder.input.embedding
    tokens = SOURCE.tokens[row, : SOURCE.lengths[row]]
    vectors = [embedding.vectors[token] * embedding.scale for token in tokens]
    read, last = [], []
    for cell, order in ((layer.ahead, vectors), (layer.back, vectors[::-1])):
        state, states = [torch.zeros(4, dtype=torch.float64)] * len(cell.state_names), []
        for vector in order:
            state = cell_equations(cell, vector, state)
            states.append(state[0])
        read.append(states)
        last += state
    annotations = [torch.cat(both) for both in zip(read[0], read[1][::-1], strict=True)]
    bridge = model.decoder.bridge.maps[0]
    first = list((bridge.weight @ torch.cat(last) + bridge.bias).split(4))
    return annotations, [torch.tanh(first[0]), *first[1:]]


def context_of(model: RecurrentTranslator, query: Tensor, annotations: list[Tensor]) -> Tensor:
    """Σ α_j h_j with α = softmax of the energies, by the definition."""
    score = model.decoder.attention.score
    if type(score).__name__ == "Additive":  # v · tanh(W s + U h) (Bahdanau et al. 2015)
        energies = [
            score.energy @ torch.tanh(query @ score.query_weight + one @ score.key_weight) for one in annotations
        ]
    else:  # s W h (Luong et al. 2015, "general")
        energies = [query @ score.weight @ one for one in annotations]
    weights = [torch.exp(energy) for energy in energies]
    return sum(weight * one for weight, one in zip(weights, annotations, strict=True)) / sum(weights)


def by_the_papers(model: RecurrentTranslator, placement: str, row: int) -> Tensor:
    decoder = model.decoder
    cell, blend, embedding = decoder.stack.layers[0].ahead, decoder.blend, decoder.input.embedding
    annotations, state = encode(model, row)
    last, found = torch.zeros(4, dtype=torch.float64), []
    for token in TARGET[row]:
        y = embedding.vectors[token] * embedding.scale
        if placement == "none":
            state = cell_equations(cell, y, state)
            parts = [state[0]]
        elif placement == "before":
            c = context_of(model, state[0], annotations)
            state = cell_equations(cell, torch.cat([y, c]), state)
            parts = [state[0], c, y]
        else:
            state = cell_equations(cell, torch.cat([y, last]) if placement == "feed" else y, state)
            parts = [state[0], context_of(model, state[0], annotations)]
        last = torch.tanh(blend.weight @ torch.cat(parts) + blend.bias)
        found.append(last)
    return torch.stack(found)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("score", ["additive", "multiplicative", "none"])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_equals_the_equations_of_the_papers(cell: str, score: str, placement: str) -> None:
    model = translator(cell, score, placement)
    wanted = [by_the_papers(model, "none" if score == "none" else placement, row) for row in range(ROWS)]
    torch.testing.assert_close(features(model), torch.stack(wanted))


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize(("cell", "score"), [("gru", "additive"), ("lstm", "multiplicative"), ("rnn", "additive")])
@pytest.mark.parametrize("steps", [STEPS, 1])  # a loss may regard some of the steps only
def test_gradients_are_those_of_the_papers_equations(placement: str, cell: str, score: str, steps: int) -> None:
    model = translator(cell, score, placement)
    weights = [weight for name, weight in model.named_parameters() if not name.startswith("readout")]

    def gradients(found: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(found[:, :steps].sin().sum(), weights)

    wanted = gradients(torch.stack([by_the_papers(model, placement, row) for row in range(ROWS)]))
    torch.testing.assert_close(gradients(features(model)), wanted)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_mixed_precision_leaves_float64_alone(placement: str) -> None:
    model = translator("gru", "additive", placement)
    wanted = features(model)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(features(model), wanted)


@pytest.mark.parametrize("placement", ["before", "feed"])
def test_a_sequence_that_ends_early_has_the_gradients_of_a_shorter_one(placement: str) -> None:
    """Nothing is owed to steps that were announced and never came."""
    model = translator("gru", "additive", placement)
    glanced = []
    for announced in (STEPS, 1):
        state = model.start(SOURCE, STEPS)
        attend = model.decoder.stepwise(model.decoder.input(TARGET[:, :announced]), state)
        context = attend(state.recurrent.layers[-1][0])
        weights = [*model.encoder.parameters(), *model.decoder.attention.parameters()]
        glanced.append(torch.autograd.grad(context.sin().sum(), weights))
    torch.testing.assert_close(*glanced)


@pytest.mark.spread(25)
@every_combination
def test_laws_hold_for_every_cell_score_and_placement(cell: str, score: str, placement: str) -> None:
    model = translator(cell, score, placement, encoder_layers=2, decoder_layers=2, connection="residual")
    whole = features(model)
    # However it is cut, and whatever is selected or copied on the way.
    first, state = model.advance(TARGET[:, :1], model.start(SOURCE, STEPS))
    copied, rows = state.copy(), torch.tensor([2, 0, 0])
    rest, _ = model.advance(TARGET[:, 1:], copied)
    torch.testing.assert_close(torch.cat([first, rest], 1), whole)
    torch.testing.assert_close(model.advance(TARGET[rows, 1:], state.select(rows))[0], whole[rows, 1:])
    # Whatever stands in the padding or in other rows.
    alone = Padded(SOURCE.tokens[1:2, :2], SOURCE.lengths[1:2])
    torch.testing.assert_close(features(model, alone, TARGET[1:2]), whole[1:2])
    # Whether or not taps record.
    with record(model):
        torch.testing.assert_close(features(model), whole)


def test_placements_in_recipes_are_those_built_here() -> None:
    assert set(PLACEMENTS) == set(get_args(AttentionSettings.model_fields["placement"].annotation))


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_weights_are_recorded_once_for_all_steps(placement: str) -> None:
    model = translator("gru", "additive", placement)
    assert model.cross_taps == ("decoder.attention.weights",)
    with record(model, "decoder.attention.*") as seen:
        features(model)
    shapes = {name.rpartition(".")[2]: [value.shape for value in values] for name, values in seen.items()}
    made = {"scores": [(3, 1, 3, 4)], "weights": [(3, 1, 3, 4)], "context": [(3, 1, 3, 8)]}
    assert shapes == made | {"query": [(3, 1, 3, 4)], "key": [(3, 1, 4, 5)], "value": [(3, 1, 4, 8)]}


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_changed_weights_change_what_is_read(placement: str) -> None:
    model = translator("lstm", "additive", placement)
    whole = features(model)

    def first_token_only(weights: Tensor) -> Tensor:
        return torch.zeros_like(weights).index_fill(-1, torch.tensor(0), 1.0)

    with (
        record(model, "decoder.attention.context") as seen,
        intervene(model, "decoder.attention.weights", first_token_only),
    ):
        changed = features(model)
    assert not torch.allclose(changed, whole)
    contexts, read = torch.cat(seen["decoder.attention.context"], 2), model.encoder(SOURCE).features
    torch.testing.assert_close(contexts, read[:, :1].expand(-1, STEPS, -1)[:, None])
    with intervene(model, "decoder.attention.weights", torch.clone):
        torch.testing.assert_close(features(model), whole)


def test_the_bottleneck_knows_the_last_state_alone() -> None:
    model = translator("lstm", "none", "before")
    assert model.cross_taps == ()
    state = model.start(SOURCE, STEPS)
    assert state.source is None
    assert [part.shape for part in state.recurrent.layers[0]] == [(3, 4), (3, 4)]


@pytest.mark.parametrize("layers", [(1, 3), (3, 1)])
def test_layers_of_encoder_and_decoder_are_matched_from_the_top(layers: tuple[int, int]) -> None:
    model = translator("gru", "none", "before", encoder_layers=layers[0], decoder_layers=layers[1])
    assert model.decoder.bridge.matched == {(1, 3): [0, 0, 0], (3, 1): [2]}[layers]
    _, final = model.encoder.stack(model.encoder.input(SOURCE.tokens), SOURCE.lengths)
    first = model.start(SOURCE, STEPS).recurrent
    for place, match in enumerate(model.decoder.bridge.matched):
        wanted = torch.tanh(model.decoder.bridge.maps[place](torch.cat(final.layers[match], -1)))
        torch.testing.assert_close(first.layers[place][0], wanted)


@pytest.mark.parametrize(("bidirectional", "projected"), [(True, True), (False, False)])
def test_scores_of_one_width_get_keys_of_the_queries_width(bidirectional: bool, projected: bool) -> None:
    model = translator("gru", "dot", "after", bidirectional=bidirectional)
    assert (len(list(model.decoder.attention.keys.parameters())) == 1) == projected
    assert model.start(SOURCE, STEPS).source.memory.keys.shape == (3, 1, 4, 4)


def test_every_kind_of_dropout_acts_in_training_alone() -> None:
    for kind in ("embedding", "input", "between", "output", "recurrent"):
        model = translator("lstm", "additive", "feed", encoder_layers=2, decoder_layers=2, dropout={kind: 0.5})
        torch.testing.assert_close(features(model), features(model))
        model.train()
        assert not torch.allclose(features(model), features(model)), kind


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_dropout_draws_the_same_for_those_who_look(placement: str) -> None:
    dropout = dict.fromkeys(("embedding", "input", "between", "output", "recurrent"), 0.3)
    model = translator("gru", "additive", placement, decoder_layers=2, dropout=dropout).train()
    torch.manual_seed(1)
    unseen = features(model)
    torch.manual_seed(1)
    with record(model):
        torch.testing.assert_close(features(model), unseen)
