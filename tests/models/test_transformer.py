"""The Transformer as a whole: against torch's layers, and what each setting means."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_layers import decoder_layer, encoder_layer, randomize

from regard.attention import POSITIONS, cache
from regard.attention.kv_memory import PART, allocating_with
from regard.data.batch import Padded
from regard.errors import UsageError
from regard.models import TransformerTranslator
from regard.models.encoders import TransformerEncoder
from regard.models.encoders import transformer as transformer_encoder
from regard.recipe import TransformerModel
from regard.tap import intervene, record, taps

SOURCE = Padded(torch.tensor([[4, 5, 6, 3], [7, 3, 0, 0]]), torch.tensor([4, 2]))
TARGET = torch.tensor([[2, 5, 6, 7, 4, 8], [2, 8, 4, 4, 5, 6]])


def translator(size: int = 10, **changes: Any) -> TransformerTranslator:
    tiny = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
    return TransformerTranslator(
        TransformerModel.model_validate({"kind": "transformer", **tiny, **changes}), size, size
    )


def logits(model: TransformerTranslator, source: Padded = SOURCE, target: Tensor = TARGET) -> Tensor:
    features, _ = model.advance(target, model.start(source, target.shape[1]))
    return model.readout.logits(features)


def sinusoids(length: int, width: int) -> Tensor:
    """Written out from Vaswani et al. (2017), section 3.5."""
    table = torch.zeros(length, width, dtype=torch.float64)
    for place in range(length):
        for pair in range(width // 2):
            angle = place / 10000 ** (2 * pair / width)
            table[place, 2 * pair], table[place, 2 * pair + 1] = math.sin(angle), math.cos(angle)
    return table


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_whole_model_agrees_with_one_of_torchs_layers(norm: str) -> None:
    model = translator(norm=norm, activation="gelu").double().eval()
    randomize(model)
    padded = ~SOURCE.keep
    later = torch.ones(6, 6, dtype=torch.bool).triu(1)

    weight = model.decoder.input.embedding.weight
    stream = model.encoder.input.embedding.weight[SOURCE.tokens] * 8**0.5 + sinusoids(4, 8)
    for block in model.encoder.layers:
        stream = encoder_layer(block)(stream, src_key_padding_mask=padded)
    source = model.encoder.norm(stream)
    stream = weight[TARGET] * 8**0.5 + sinusoids(6, 8)
    for block in model.decoder.layers:
        stream = decoder_layer(block)(stream, source, tgt_mask=later, memory_key_padding_mask=padded)
    torch.testing.assert_close(logits(model), model.decoder.norm(stream) @ weight.T)
    assert isinstance(model.decoder.norm, nn.LayerNorm if norm == "pre" else nn.Identity)


def scaled(name: str) -> bool:
    """Whether a parameter is a weight of a linear map or vectors of tokens, by its name."""
    return ".score." not in name and not name.endswith(("bias", "norm.weight", "position.weight"))


@pytest.mark.parametrize(
    "how",
    [{"tie": "all"}, {"tie": "none", "position": "relative"}, {"copying": True}]
    + [{"score": score, "heads": heads} for score in ("cosine", "additive") for heads in (1, 2)],
)
def test_weights_begin_as_large_as_the_recipe_says_and_each_of_them_once(how: dict[str, Any]) -> None:
    def fresh(**changes: Any) -> dict[str, Tensor]:
        torch.manual_seed(0)
        return dict(translator(**how, **changes).named_parameters())

    usual, small = fresh(), fresh(initial_scale=0.25)
    for name, parameter in usual.items():
        assert torch.equal(small[name], parameter * (0.25 if scaled(name) else 1.0)), name


@pytest.mark.parametrize("position", POSITIONS)
def test_every_kind_of_position_but_none_knows_the_order_of_the_source(position: str) -> None:
    model = translator(position=position, **{"clip": 2} if position in POSITIONS.using("clip") else {}).double().eval()
    randomize(model)
    turned = Padded(SOURCE.tokens[:1, [2, 0, 3, 1]], SOURCE.lengths[:1])
    both = logits(model, SOURCE.select(torch.tensor([0])), TARGET[:1]), logits(model, turned, TARGET[:1])
    assert torch.allclose(*both) == (position == "none")


def test_a_window_in_the_decoder_hides_what_is_further_back() -> None:
    model = translator(window=2, decoder_layers=1).double().eval()
    changed = TARGET.clone()
    changed[:, 1] = 9
    before, after = logits(model), logits(model, target=changed)
    same = (before == after).all(-1).all(0)
    assert same.tolist() == [True, False, False, False, True, True]


def test_a_window_in_the_encoder_hides_what_is_further_to_either_side() -> None:
    model = translator(window=1, encoder_layers=1).eval()
    with record(model, "encoder.layers.0.attention.weights") as seen:
        model.start(SOURCE, 1)
    seen_by = seen.last("encoder.layers.0.attention.weights")[0, 0] > 0
    assert seen_by.int().tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]


@pytest.mark.parametrize("rows", [1, 2, 3])
@torch.no_grad()
def test_sources_are_encoded_in_pieces_alike(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model, source = translator().eval(), SOURCE.select(torch.tensor([0, 1, 1, 0, 1]))
    whole = model.encoder(source)
    monkeypatch.setattr(TransformerEncoder, "_rows_at_once", lambda self, source: rows)
    with record(model, "encoder.output") as seen:
        found = model.encoder(source)
    torch.testing.assert_close([found.features, found.final], [whole.features, whole.final])
    assert torch.equal(found.keep, source.keep)
    assert [len(each) for each in seen["encoder.output"]] == {1: [1] * 5, 2: [2, 2, 1], 3: [3, 2]}[rows]


@torch.no_grad()
def test_memory_is_taken_for_as_many_tokens_as_the_source_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "grows_in_parts", lambda tensor: True)
    model, width = translator().eval(), 2 * PART + 3
    source = Padded.of([[4] * width, [5] * 3])
    state, tokens = model.start(source, 100), torch.full((2, 1), 4)
    for places in (1, 3):
        state = state if places == 1 else state.branch(torch.arange(2)[:, None].expand(2, places))
        for _ in range(2):
            _, state = model.advance(tokens.repeat_interleave(places, 0), state)
        kept = [each.keys.parts if places == 1 else each.keys for each in state.caches]
        assert [[part.shape[2] for part in parts.held] for parts in kept] == [[3 * PART]] * len(kept)
    assert {each.expected for each in state.apart().caches} == {width}


@torch.no_grad()
def test_a_copy_of_a_state_stays_as_it_is_when_rows_are_chosen_within_memory() -> None:
    model, tokens = translator().eval(), torch.tensor([[4], [5]])
    with allocating_with(torch.Tensor.new_empty):
        state = model.start(SOURCE, 4)
    copy, expected = state.copy(), model.advance(tokens, model.start(SOURCE, 4))[0]
    chosen = state.select(torch.tensor([1]))
    torch.testing.assert_close(model.advance(tokens[1:], chosen)[0], expected[1:])
    torch.testing.assert_close(model.advance(tokens, copy)[0], expected)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_sources_are_encoded_at_once_for_whoever_looks_or_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformer_encoder, "AT_ONCE", 8)
    encoder = translator().eval().cuda().encoder
    source = SOURCE.select(torch.tensor([0, 1, 1, 0, 1])).to(torch.device("cuda"))
    assert encoder._rows_at_once(source) == 5
    with torch.no_grad():
        assert encoder._rows_at_once(source) == 2
        with record(encoder, "layers.0.output"):
            assert encoder._rows_at_once(source) == 5


def test_grouped_keys_need_fewer_weights() -> None:
    shapes = {groups: translator(groups=groups).decoder.layers[0].cross.inward.weight.shape for groups in (0, 1)}
    assert shapes == {0: (24, 8), 1: (16, 8)}


def test_it_shows_where_every_layer_looks_and_what_it_holds() -> None:
    model = translator()
    assert model.cross_taps == ("decoder.layers.0.cross.weights", "decoder.layers.1.cross.weights")
    streams = {"encoder.output", "decoder.output", "encoder.input.embedding.output", "decoder.input.embedding.output"}
    blocks = {f"{side}.layers.{layer}.output" for side in ("encoder", "decoder") for layer in (0, 1)}
    assert taps(model).keys() >= {*model.cross_taps, *streams, *blocks}


def test_changing_where_it_looks_changes_what_it_says() -> None:
    model = translator().eval()
    with intervene(model, "decoder.*.cross.weights", lambda weights: torch.full_like(weights, 1 / 4)):
        changed = logits(model)
    assert not torch.allclose(changed, logits(model))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("tie", ["none", "target"])
def test_a_new_model_is_about_as_surprised_as_by_random_words(norm: str, tie: str) -> None:
    # Tied vectors must not make it expect the word it just read, which the residual stream still holds.
    model = translator(2000, width=256, norm=norm, tie=tie, encoder_layers=3, decoder_layers=3).eval()
    features, _ = model.advance(TARGET, model.start(SOURCE, 6))
    chosen, _ = model.readout.log_probs(features, torch.arange(12).view(2, 6) + 9)
    assert -chosen.mean().item() == pytest.approx(math.log(2000) + 0.5, abs=1.0)


def test_dropout_falls_in_training_alone() -> None:
    model = translator(dropout=0.5)
    assert not torch.equal(logits(model), logits(model))
    model.eval()
    assert torch.equal(logits(model), logits(model))


def test_attention_dropout_falls_in_training_alone() -> None:
    model = translator(attention_dropout=0.5)
    assert not torch.equal(logits(model), logits(model))
    model.eval()
    assert torch.equal(logits(model), logits(model))


def test_word_dropout_takes_words_away_but_not_their_places() -> None:
    enter = translator(word_dropout=0.5).encoder.input
    tokens = torch.arange(4, 10).expand(300, 6)
    found = enter(tokens) - sinusoids(6, 8).float()
    dropped = (found.abs() < 1e-6).all(-1)
    assert abs(dropped.float().mean() - 0.5) < 0.05
    torch.testing.assert_close(found[~dropped], 2 * enter.embedding(tokens)[~dropped])


@pytest.mark.parametrize("position", [name for name in POSITIONS if name not in ("sinusoidal", "learned")])
def test_where_all_words_in_sight_are_dropped_gradients_stay_small(position: str) -> None:
    """Nothing would come of zeros but zeros, and normalizing them multiplies their gradient by hundreds, each time."""
    model = translator(position=position, word_dropout=0.99, encoder_layers=6, decoder_layers=6)
    logits(model).logsumexp(-1).sum().backward()
    assert max(parameter.grad.abs().max() for parameter in model.parameters() if parameter.grad is not None) < 1e3


class Chosen(nn.Module):
    """Takes some layers and skips the others."""

    def __init__(self, taken: tuple[bool, ...]) -> None:
        super().__init__()
        self.taken = list(taken)

    def forward(self, stream: Tensor, layer: Callable[[Tensor], Tensor]) -> Tensor:
        return layer(stream) if self.taken.pop(0) else stream


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_with_layer_drop_each_row_is_that_of_a_model_without_some_blocks(norm: str) -> None:
    model = translator(norm=norm, layer_drop=0.5)
    randomize(model)
    rows = torch.zeros(64, dtype=torch.long)
    found = logits(model, SOURCE.select(rows), TARGET[rows])
    of_thin_models = []
    for taken in product([True, False], repeat=4):
        model.encoder.skip, model.decoder.skip = Chosen(taken[:2]), Chosen(taken[2:])
        of_thin_models.append(logits(model)[0])
    same = (found[:, None] - torch.stack(of_thin_models)).abs().amax((2, 3)) < 1e-4
    # Without any decoder block it does not matter what the encoder did.
    assert set(same.sum(1).tolist()) == {1, 4}
    assert same.any(0).sum() > 10


@pytest.mark.parametrize("name", ["word_dropout", "layer_drop"])
def test_words_and_layers_are_dropped_in_training_alone(name: str) -> None:
    model, plain = translator(**{name: 0.5}), translator()
    plain.load_state_dict(model.state_dict())
    assert not torch.equal(logits(model), logits(model))
    assert torch.equal(logits(model.eval()), logits(plain.eval()))


@pytest.mark.parametrize("name", ["word_dropout", "layer_drop"])
def test_dropping_no_words_or_layers_draws_no_numbers(name: str) -> None:
    model = translator(**{name: 0.0})
    before = torch.random.get_rng_state()
    logits(model)
    assert torch.random.get_rng_state().equal(before)


def test_a_block_that_every_row_skips_still_has_a_gradient() -> None:
    model = translator(layer_drop=0.99)
    logits(model).sum().backward()
    gradients = [parameter.grad for parameter in model.encoder.layers.parameters()]
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)


def test_mixed_precision_stays_near() -> None:
    model = translator().eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = logits(model)
    torch.testing.assert_close(rough.float(), logits(model), atol=0.1, rtol=0.1)


def test_more_tokens_than_the_capacity_are_refused_with_both_numbers() -> None:
    model = translator().eval()
    _, state = model.advance(TARGET[:, :2], model.start(SOURCE, 3))
    with pytest.raises(UsageError, match="a cache of capacity 3 cannot hold 4 positions"):
        model.advance(TARGET[:, 2:4], state)


def test_more_positions_than_were_learned_are_refused_with_both_numbers() -> None:
    model = translator(position="learned", longest=5).eval()
    with pytest.raises(UsageError, match="a sequence of 6 positions does not fit the 5 learned ones"):
        logits(model)


def test_one_embedding_for_two_vocabularies_is_refused() -> None:
    settings = TransformerModel(kind="transformer", width=8, tie="all")
    with pytest.raises(UsageError, match="of 9 tokens × width 8 cannot be tied to those of 10 tokens × width 8"):
        TransformerTranslator(settings, 9, 10)
