"""An LSTM that reads both directions at once gives what torch's own gives, and what it gives direction by direction."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.nn import RecurrentStack, both_ways
from regard.nn.recurrent import RecurrentState
from regard.tap import record

WIDTH, HIDDEN, TOKENS = 3, 4, 5


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(both_ways, "LARGE", 1)


@st.composite
def batches(draw: st.DrawFn, least: int = 0) -> tuple[Tensor, Tensor | None]:
    """Tokens, some of them many times, and how many of each row are real; perhaps all of them."""
    lengths = draw(st.lists(st.integers(least, 5), min_size=1, max_size=4))
    steps = max(1, max(lengths) + draw(st.integers(0, 1)))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    tokens = torch.randint(TOKENS, (len(lengths), steps), generator=generator)
    return tokens, torch.tensor(lengths) if draw(st.booleans()) or not min(lengths) else None


def lstm(**options: object) -> RecurrentStack:
    torch.manual_seed(1)
    built = RecurrentStack("lstm", WIDTH, HIDDEN, bidirectional=True, **options).double()
    with torch.no_grad():
        for weight in built.parameters():
            weight.add_(torch.randn_like(weight) * 0.3)  # biases that are not zero
    return built


def vectors() -> Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(TOKENS, WIDTH, dtype=torch.float64, generator=generator).requires_grad_()


def start(rows: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    drawn = torch.randn(4, rows, HIDDEN, dtype=torch.float64, generator=generator)
    return [part.clone().requires_grad_() for part in drawn]


def real(outputs: Tensor, lengths: Tensor | None) -> Tensor:
    return outputs if lengths is None else outputs[torch.arange(outputs.shape[1]) < lengths[:, None]]


def slopes(found: list[Tensor], of: list[Tensor]) -> tuple[Tensor, ...]:
    """The gradient of something that depends on each of these numbers in its own way."""
    total = sum((part * torch.linspace(0.5, 2, part.numel()).view_as(part)).sin().sum() for part in found)
    return torch.autograd.grad(total, of, retain_graph=True)


@given(batches())
def test_both_at_once_are_what_each_is(batch: tuple[Tensor, Tensor | None]) -> None:
    tokens, lengths = batch
    stack, table, before = lstm(), vectors(), start(len(tokens))
    learned = [table, *before, *stack.parameters()]
    results = []
    for same in (tokens, None):
        outputs, final = stack(table[tokens], lengths, RecurrentState((tuple(before),)), same)
        found = [real(outputs, lengths), *final.layers[0]]
        results.append([*found, *slopes(found, learned)])
    torch.testing.assert_close(*results)


@given(batches(least=1))
def test_torch_reads_the_same(batch: tuple[Tensor, Tensor | None]) -> None:
    tokens, lengths = batch
    stack, table = lstm(), vectors()
    twin = nn.LSTM(WIDTH, HIDDEN, batch_first=True, bidirectional=True).double()
    layer = stack.layers[0]
    ours = [
        weight
        for cell in (layer.ahead, layer.back)
        for weight in (cell.input_weight, cell.hidden_weight, cell.input_bias, cell.hidden_bias)
    ]
    with torch.no_grad():
        for their, our in zip(twin.parameters(), ours, strict=True):
            their.copy_(our)
    outputs, final = stack(table[tokens], lengths, same=tokens)
    found = [real(outputs, lengths), *final.layers[0]]
    every = torch.full((len(tokens),), tokens.shape[1]) if lengths is None else lengths
    packed = pack_padded_sequence(table[tokens], every, batch_first=True, enforce_sorted=False)
    theirs, (hidden, memory) = twin(packed)
    padded, _ = pad_packed_sequence(theirs, batch_first=True, total_length=tokens.shape[1])
    wanted = [real(padded, lengths), hidden[0], memory[0], hidden[1], memory[1]]
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(slopes(found, [table, *ours]), slopes(wanted, [table, *twin.parameters()]))


def test_padding_has_no_say() -> None:
    tokens, lengths, stack, table = torch.tensor([[1, 2, 1, 3], [2, 2, 0, 4]]), torch.tensor([4, 2]), lstm(), vectors()
    other = torch.tensor([[1, 2, 1, 3], [2, 2, 3, 1]])
    results = []
    for given_tokens in (tokens, other):
        outputs, final = stack(table[given_tokens], lengths, same=given_tokens)
        results.append([real(outputs, lengths), *final.layers[0]])
    torch.testing.assert_close(*results)


def test_a_gradient_can_be_asked_for_twice() -> None:
    tokens, stack, table = torch.tensor([[1, 2, 1], [2, 2, 0]]), lstm(), vectors()
    outputs, _ = stack(table[tokens], same=tokens)
    torch.testing.assert_close(slopes([outputs], [table]), slopes([outputs], [table]), rtol=0, atol=0)


def test_one_place_gets_the_gradient_of_all() -> None:
    tokens, stack = torch.tensor([[1, 2, 1]]), lstm()
    x = vectors()[tokens].detach().requires_grad_()
    (alone,) = slopes([stack(x)[0]], [x])
    (joint,) = slopes([stack(x, same=tokens)[0]], [x])
    torch.testing.assert_close(joint[0, 0] + joint[0, 2], alone[0, 0] + alone[0, 2])
    assert not joint[0, 0].any() or not joint[0, 2].any()
    assert alone[0, 0].any()
    assert alone[0, 2].any()


def test_weights_are_dropped_here_too() -> None:
    tokens, stack, table = torch.tensor([[1, 2, 1, 4]]), lstm(weight_drop=0.5), vectors()
    results = []
    for same in (tokens, None):
        torch.manual_seed(4)
        results.append(stack(table[tokens], same=same)[0])
    torch.testing.assert_close(*results)
    assert not torch.equal(results[0], stack.eval()(table[tokens], same=tokens)[0])


def test_mixed_precision_leaves_it_alone() -> None:
    tokens, stack, table = torch.tensor([[1, 2, 1, 4]]), lstm().float(), vectors()
    with torch.autocast("cpu", torch.bfloat16):
        outputs, _ = stack(table[tokens].bfloat16(), same=tokens)
    torch.testing.assert_close(outputs, stack(table[tokens].bfloat16().float(), same=tokens)[0], rtol=0, atol=0)


def test_it_is_the_way_of_many_rows_of_large_states_with_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(both_ways, "LARGE", 2 * HIDDEN)
    x = torch.zeros(2, 3, WIDTH)
    assert both_ways.pays(x, HIDDEN)
    assert not both_ways.pays(x[:1], HIDDEN)
    assert not both_ways.pays(x[:, :0], HIDDEN)
    assert not both_ways.pays(x.to("meta"), HIDDEN)
    with torch.no_grad():
        assert not both_ways.pays(x, HIDDEN)


def test_only_an_lstm_that_nobody_watches_is_read_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("read both ways at once")

    monkeypatch.setattr(both_ways, "read", refuse)
    tokens, table, stack = torch.tensor([[1, 2, 1]]), vectors(), lstm()
    with record(stack, "layers.0.back.gates.forget"):
        stack(table[tokens], same=tokens)
    RecurrentStack("gru", WIDTH, HIDDEN, bidirectional=True).double()(table[tokens], same=tokens)
    RecurrentStack("lstm", WIDTH, HIDDEN).double()(table[tokens], same=tokens)
    stack(table[tokens])
    with pytest.raises(AssertionError, match="both ways"):
        stack(table[tokens], same=tokens)
