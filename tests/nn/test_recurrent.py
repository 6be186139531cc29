"""Recurrent stacks: torch's own modules say what is right, and however a sequence is read it gives the same."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.errors import UsageError
from regard.nn import CELLS, CONNECTIONS, RecurrentStack, RecurrentState
from regard.tap import record

TORCH: dict[str, type[nn.RNNBase]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
WIDTH, HIDDEN = 3, 4

every_cell = pytest.mark.parametrize("cell", CELLS)
any_connection = st.sampled_from(sorted(CONNECTIONS))


@st.composite
def inputs(draw: st.DrawFn, least: int = 0) -> tuple[Tensor, Tensor]:
    """Rows of different lengths, one of them without any token perhaps, padded with anything."""
    lengths = torch.tensor(draw(st.lists(st.integers(least, 5), min_size=1, max_size=4)))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    steps = max(1, int(lengths.max()) + draw(st.integers(0, 2)))
    return torch.randn(len(lengths), steps, WIDTH, dtype=torch.float64, generator=generator), lengths


def stack(cell: str, layers: int = 1, **options: object) -> RecurrentStack:
    torch.manual_seed(1)
    built = RecurrentStack(cell, WIDTH, HIDDEN, layers, **options).double()
    with torch.no_grad():
        for weight in built.parameters():
            weight.add_(torch.randn_like(weight) * 0.3)  # biases that are not zero
    return built


def torch_twin(ours: RecurrentStack, cell: str) -> nn.RNNBase:
    twin = TORCH[cell](
        WIDTH, HIDDEN, len(ours.layers), batch_first=True, bidirectional=ours.layers[0].back is not None
    ).double()
    with torch.no_grad():
        for place, layer in enumerate(ours.layers):
            for direction, suffix in ((layer.ahead, ""), (layer.back, "_reverse")):
                if direction is not None:
                    for their, our in {
                        "weight_ih": direction.input_weight,
                        "weight_hh": direction.hidden_weight,
                        "bias_ih": direction.input_bias,
                        "bias_hh": direction.hidden_bias,
                    }.items():
                        getattr(twin, f"{their}_l{place}{suffix}").copy_(our)
    return twin


def torch_reads(twin: nn.RNNBase, x: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """By packing, and with the state as ours: for each layer and direction the hidden state, then the memory."""
    packed, final = twin(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
    outputs, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
    parts = final if isinstance(final, tuple) else (final,)
    return outputs, tuple(part[place] for place in range(len(parts[0])) for part in parts)


def flat(state: RecurrentState) -> list[Tensor]:
    return [part for layer in state.layers for part in layer]


def kept(outputs: Tensor, lengths: Tensor) -> Tensor:
    return outputs[torch.arange(outputs.shape[1]) < lengths[:, None]]


@every_cell
@given(given=inputs(least=1), bidirectional=st.booleans(), watched=st.booleans())
def test_equals_torch_on_packed_sequences(
    cell: str, bidirectional: bool, watched: bool, given: tuple[Tensor, Tensor]
) -> None:
    x, lengths = given
    ours = stack(cell, 2, bidirectional=bidirectional)
    wanted, wanted_final = torch_reads(torch_twin(ours, cell), x, lengths)
    if watched:
        with record(ours):
            outputs, final = ours(x, lengths)
    else:
        outputs, final = ours(x, lengths)
    torch.testing.assert_close(kept(outputs, lengths), kept(wanted, lengths))
    torch.testing.assert_close(flat(final), list(wanted_final))


@every_cell
@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])  # some kernels exist in float32 alone
def test_gradients_equal_those_of_torch(cell: str, watched: bool, dtype: torch.dtype) -> None:
    ours, lengths = stack(cell, 2, bidirectional=True).to(dtype), torch.tensor([4, 2, 1])
    twin, x = torch_twin(ours, cell).to(dtype), torch.randn(3, 4, WIDTH, dtype=dtype, requires_grad=True)

    def gradients(outputs: Tensor, final: list[Tensor], weights: list[Tensor]) -> tuple[Tensor, ...]:
        loss = kept(outputs, lengths).square().sum() + sum(part.sin().sum() for part in final)
        return torch.autograd.grad(loss, [x, *weights])

    names = ("input_weight", "hidden_weight", "input_bias", "hidden_bias")
    cells = [direction for layer in ours.layers for direction in (layer.ahead, layer.back)]
    if watched:
        with record(ours):
            outputs, final = ours(x, lengths)
    else:
        outputs, final = ours(x, lengths)
    found = gradients(outputs, flat(final), [getattr(part, name) for part in cells for name in names])
    outputs, wanted_final = torch_reads(twin, x, lengths)
    wanted = gradients(outputs, list(wanted_final), [weight for group in twin.all_weights for weight in group])
    torch.testing.assert_close(found, wanted)


@every_cell
@given(given=inputs(least=1), padded=st.booleans(), multiple=st.integers(2, 7))
def test_widths_that_kernels_prefer_change_nothing(
    cell: str, given: tuple[Tensor, Tensor], padded: bool, multiple: int
) -> None:
    ours, (x, lengths) = stack(cell, 2), given
    state = RecurrentState(tuple(tuple(torch.randn_like(part) for part in layer) for layer in ours.initial(x).layers))
    found = []
    for wanted in (1, multiple):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("regard.nn.cells.fast_multiple", lambda _, wanted=wanted: wanted)
            outputs, after = ours(x, lengths if padded else None, state)
        parts = [kept(outputs, lengths) if padded else outputs, *flat(after)]
        loss = torch.stack([part.square().sum() for part in parts]).sum()
        found.append([*parts, *torch.autograd.grad(loss, list(ours.parameters()), allow_unused=True)])
    torch.testing.assert_close(*found)


@every_cell
@given(given=inputs(), connection=any_connection, other=st.integers(0, 999))
def test_padding_has_no_influence(cell: str, connection: str, given: tuple[Tensor, Tensor], other: int) -> None:
    x, lengths = given
    ours = stack(cell, 2, bidirectional=True, connection=connection)
    outputs, final = ours(x, lengths)
    padding = (torch.arange(x.shape[1]) >= lengths[:, None])[..., None]
    noise = 9 * torch.randn(x.shape, dtype=x.dtype, generator=torch.Generator().manual_seed(other))
    changed, changed_final = ours(torch.where(padding, noise, x), lengths)
    torch.testing.assert_close(kept(changed, lengths), kept(outputs, lengths))
    torch.testing.assert_close(flat(changed_final), flat(final))
    for row, length in enumerate(lengths.tolist()):
        alone, alone_final = ours(x[row, None, :length])
        torch.testing.assert_close(alone[0], outputs[row, :length])
        torch.testing.assert_close(flat(alone_final), [part[row, None] for part in flat(final)])


@every_cell
@given(given=inputs(), connection=any_connection, cut=st.integers(0, 5))
def test_a_sequence_read_in_pieces_or_step_by_step_is_the_same(
    cell: str, connection: str, given: tuple[Tensor, Tensor], cut: int
) -> None:
    x, _ = given
    ours = stack(cell, 3, connection=connection)
    whole, final = ours(x)
    first, state = ours(x[:, :cut])
    second, state = ours(x[:, cut:], state=state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole)
    torch.testing.assert_close(flat(state), flat(final))

    for late_width in (1, WIDTH):
        early, late = x.split([WIDTH - late_width, late_width], -1)
        steps, layers, outputs = ours.steps(early, late_width), ours.initial(x).layers, []
        for one in late.unbind(1):
            output, layers = steps(one, layers)
            outputs.append(output)
        torch.testing.assert_close(torch.stack(outputs, 1), whole)
        torch.testing.assert_close([part for layer in layers for part in layer], flat(final))
        gradients = [
            torch.autograd.grad(found.square().sum(), list(ours.parameters()), retain_graph=True)
            for found in (torch.stack(outputs, 1), whole)
        ]
        torch.testing.assert_close(*gradients)


@every_cell
@given(given=inputs(), rows=st.lists(st.integers(0, 3), min_size=1, max_size=5))
def test_selected_states_go_on_and_copies_are_independent(
    cell: str, given: tuple[Tensor, Tensor], rows: list[int]
) -> None:
    x, _ = given
    ours, chosen = stack(cell), torch.tensor(rows) % len(x)
    _, state = ours(x)
    onward, _ = ours(x, state=state)
    torch.testing.assert_close(ours(x[chosen], state=state.select(chosen))[0], onward[chosen])
    copied = state.copy()
    for part in flat(state):
        part.detach().zero_()
    torch.testing.assert_close(ours(x, state=copied)[0], onward)


@pytest.mark.parametrize("connection", CONNECTIONS)
def test_connections_are_what_their_names_say(connection: str) -> None:
    ours, x = stack("gru", 2, connection=connection), torch.randn(2, 3, WIDTH, dtype=torch.float64)
    below, _ = ours.layers[0].ahead.read(x, ours.layers[0].initial(x))
    above, _ = ours.layers[1].ahead.read(below, ours.layers[1].initial(x))
    match connection:
        case "none":
            wanted = above
        case "residual":
            wanted = below + above
        case "highway":
            gate = ours.layers[1].connection.gate
            share = 1 / (1 + torch.exp(-(below @ gate.weight.T + gate.bias)))
            wanted = share * above + (1 - share) * below
        case _:
            wanted = torch.cat([below, above], -1)
    assert ours.width == wanted.shape[-1]
    torch.testing.assert_close(ours(x)[0], wanted)


def test_dense_layers_read_all_layers_below() -> None:
    ours = stack("rnn", 3, bidirectional=True, connection="dense")
    assert [layer.ahead.input_width for layer in ours.layers] == [WIDTH, 2 * HIDDEN, 4 * HIDDEN]
    assert ours.width == 6 * HIDDEN


@every_cell
@pytest.mark.parametrize(("rows", "steps"), [(0, 3), (2, 0), (0, 0)])
def test_nothing_to_read_gives_nothing(cell: str, rows: int, steps: int) -> None:
    ours = stack(cell, 2, bidirectional=True)
    x = torch.zeros(rows, steps, WIDTH, dtype=torch.float64)
    outputs, final = ours(x, torch.zeros(rows, dtype=torch.long))
    assert outputs.shape == (rows, steps, 2 * HIDDEN)
    torch.testing.assert_close(flat(final), flat(ours.initial(x)))


@every_cell
def test_initial_weights_keep_states_as_long_as_they_are(cell: str) -> None:
    built = CELLS[cell](WIDTH, HIDDEN)
    for square in built.hidden_weight.chunk(len(built.gate_names)):
        torch.testing.assert_close(square @ square.T, torch.eye(HIDDEN))
    assert built.hidden_bias.count_nonzero() == 0
    wanted = torch.zeros(len(built.gate_names), HIDDEN)
    if cell == "lstm":
        wanted[1] = 1.0  # what is in memory is not forgotten before anything is learned
    torch.testing.assert_close(built.input_bias.view_as(wanted), wanted)


def test_what_cannot_be_built_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match=r"^cell 'lstn' is not known; known are 'lstm', 'rnn' or 'gru'$"):
        RecurrentStack("lstn", 2, 2)
    with pytest.raises(UsageError, match=r"^connection 'resid' is not known; known are 'residual', 'none', 'highway'"):
        RecurrentStack("lstm", 2, 2, connection="resid")
    with pytest.raises(UsageError, match="bidirectional stack cannot read step by step: it needs the whole sequence"):
        stack("gru", bidirectional=True).steps(torch.zeros(1, 1, WIDTH), late_width=0)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@every_cell
@pytest.mark.parametrize("weight_drop", [0.0, 0.3])
def test_cudnn_gives_the_same_without_a_word(cell: str, weight_drop: float) -> None:
    """Warnings are errors: cuDNN complains of weights that are not in one piece, and refuses states that are views."""
    ours = stack(cell, 2, bidirectional=True, weight_drop=weight_drop).cuda()
    x, lengths = torch.randn(3, 4, WIDTH, dtype=torch.float64).cuda(), torch.tensor([4, 2, 1]).cuda()
    views = [[torch.randn(3, 2 * HIDDEN).to(x)[:, :HIDDEN] for _ in layer] for layer in ours.initial(x).layers]
    state = RecurrentState(tuple(tuple(layer) for layer in views))
    torch.manual_seed(3)
    outputs, final = ours(x, lengths, state)
    torch.manual_seed(3)
    with record(ours):
        watched, watched_final = ours(x, lengths, state)
    keep = torch.arange(4).cuda() < lengths[:, None]
    torch.testing.assert_close(watched[keep], outputs[keep])
    torch.testing.assert_close(flat(watched_final), flat(final))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@every_cell
@pytest.mark.parametrize("padded", [False, True])
def test_half_precision_on_cuda_with_odd_widths_is_near(cell: str, padded: bool) -> None:
    ours = stack(cell, 2).float().cuda()
    x, lengths = torch.randn(5, 7, WIDTH, device="cuda"), torch.tensor([7, 3, 1, 5, 2], device="cuda")
    given = (x, lengths) if padded else (x,)
    expected, _ = ours(*given)
    with torch.autocast("cuda", torch.bfloat16):
        found, after = ours(*given)
    assert found.shape == expected.shape
    assert flat(after)[0].shape == (5, HIDDEN)
    real = lengths if padded else torch.full_like(lengths, 7)
    there = torch.arange(7, device="cuda") < real[:, None]
    torch.testing.assert_close(found.float()[there], expected[there], atol=0.05, rtol=0)


@every_cell
def test_a_compiler_is_not_asked_whether_there_is_padding(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no numbers: here, none of the lengths are there."""
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    ours = stack(cell, bidirectional=True)
    with FakeTensorMode(allow_non_fake_inputs=True):
        outputs, _ = ours(torch.empty(2, 3, WIDTH, dtype=torch.float64), torch.empty(2, dtype=torch.int64))
    assert outputs.shape == (2, 3, 2 * HIDDEN)
