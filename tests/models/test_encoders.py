"""What holds for every encoder: one or more tiny ones of each kind, and anything they may be given."""

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_strategies import ENCODERS as TABLES
from pydantic import TypeAdapter
from torch import Tensor, nn
from torch.nn import functional as F
from torch_layers import encoder_layer, randomize

from regard.data.batch import Padded
from regard.data.packing import Layout, PackedSequences
from regard.errors import UsageError
from regard.models import ENCODERS, Encoder, build_encoder, build_model
from regard.nn.embedding import TokenEmbedding
from regard.recipe import Encoding, RecurrentModel, TransformerModel
from regard.tap import record

SIZE = 9
TINY = {
    **TABLES,
    "averaging alone": TABLES["averaging"] | {"reach": 0},
    "recurrent both ways": {"kind": "recurrent", "embedding": 3, "hidden": 4, "layers": 2, "connection": "dense"},
    "rnn": {"kind": "recurrent", "cell": "rnn", "embedding": 3, "hidden": 4},
    "transformer post": TABLES["transformer"] | {"norm": "post", "position": "learned", "longest": 9, "window": 1},
    "transformer relative": TABLES["transformer"] | {"position": "relative", "clip": 2, "groups": 1},
}
every_encoder = pytest.mark.parametrize("name", TINY)
few = settings(max_examples=10)


def table(name: str, **changes: object) -> Encoding:
    return TypeAdapter(Encoding).validate_python(TINY[name] | changes)


def encoder(name: str, size: int | None = SIZE, **changes: object) -> Encoder:
    torch.manual_seed(len(name))
    built = build_encoder(table(name, **changes), size).double().eval()
    randomize(built)
    return built


tiny = cache(encoder)


@st.composite
def sources(draw: st.DrawFn, least: int = 1) -> Padded:
    """Rows of different lengths, padded with anything."""
    lengths = torch.tensor(draw(st.lists(st.integers(least, 5), min_size=1, max_size=3)))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    width = max(1, int(lengths.max()) + draw(st.integers(0, 2)))
    return Padded(torch.randint(SIZE, (len(lengths), width), generator=generator), lengths)


def test_every_kind_of_encoder_is_held_to_the_laws() -> None:
    assert {str(each["kind"]) for each in TINY.values()} == set(ENCODERS)
    assert set(TABLES) == set(ENCODERS)


@every_encoder
@few
@given(source=sources())
def test_neither_padding_nor_other_rows_change_a_row(name: str, source: Padded) -> None:
    model = tiny(name)
    together = model(source)
    for row, length in enumerate(source.lengths.tolist()):
        alone = model(Padded(source.tokens[row : row + 1, :length], source.lengths[row : row + 1]))
        torch.testing.assert_close(together.features[row, :length], alone.features[0])
        torch.testing.assert_close(together.final[row], alone.final[0])
        for whole, single in zip(together.starts, alone.starts, strict=True):
            torch.testing.assert_close(whole[row], single[0])


@every_encoder
@few
@given(source=sources(least=0))
def test_shapes_are_as_promised_and_gradients_finite_even_of_empty_sequences(name: str, source: Padded) -> None:
    model, (rows, width) = tiny(name), source.tokens.shape
    encoded = model(source)
    assert torch.equal(encoded.keep, source.keep)
    assert encoded.features.shape == (rows, width, model.width)
    assert encoded.final.shape == (rows, model.final_width)
    assert tuple(start.shape[1] for start in encoded.starts) == model.start_widths
    assert not encoded.final[source.lengths == 0].any()
    total = encoded.features[source.keep].sin().sum() + sum(start.sin().sum() for start in encoded.starts)
    for gradient in torch.autograd.grad(total, [*model.parameters()], materialize_grads=True):
        assert gradient.isfinite().all()


@every_encoder
@few
@given(source=sources())
def test_looking_at_everything_changes_nothing(name: str, source: Padded) -> None:
    model = tiny(name)
    expected = model(source)
    with record(model) as seen:
        found = model(source)
    torch.testing.assert_close(found.features[found.keep], expected.features[expected.keep])
    torch.testing.assert_close(found.final, expected.final)
    assert torch.equal(seen.last("output"), found.features)


@every_encoder
@few
@given(source=sources())
def test_vectors_are_read_as_the_tokens_that_have_them(name: str, source: Padded) -> None:
    model, bare = tiny(name), encoder(name, None)
    own = {name: weight for name, weight in model.state_dict().items() if not name.startswith("input.embedding.")}
    bare.load_state_dict(own)
    vectors = model.input.embed(source.tokens)
    assert vectors.shape[2] == bare.input_width
    found, expected = bare.encode(vectors, source.lengths), model(source)
    assert torch.equal(found.features, expected.features)
    assert torch.equal(found.final, expected.final)


@every_encoder
def test_without_a_vocabulary_tokens_are_refused(name: str) -> None:
    line = r"this encoder was built without a vocabulary, for vectors; call its encode\(vectors, …\)"
    with pytest.raises(UsageError, match=line):
        encoder(name, None)(Padded.of([[4]]))


@every_encoder
def test_an_embedding_can_be_anothers(name: str) -> None:
    settings = table(name)
    lender = TokenEmbedding(SIZE, settings.input_width, scale=settings.input_width**0.5)
    model = build_encoder(settings, SIZE, lender)
    assert model.input.embedding.weight is lender.vectors
    assert not any(weight is lender.vectors for weight in model.parameters())


@pytest.mark.parametrize(
    ("name", "dropout"),
    [
        ("averaging", {"dropout": 0.5}),
        ("window", {"dropout": 0.5}),
        ("recurrent", {"dropout": {"input": 0.5}}),
        ("recurrent", {"dropout": {"embedding": 0.5}}),
        ("transformer", {"dropout": 0.5}),
    ],
)
def test_a_table_knows_whether_two_passes_differ(name: str, dropout: dict[str, object]) -> None:
    source = Padded.of([[4, 5, 6, 7], [8, 4]])
    for changes, drops in ((dropout, True), ({"dropout": {} if name == "recurrent" else 0.0}, False)):
        assert table(name, **changes).drops is drops
        model = encoder(name, **changes).train()
        assert torch.equal(model(source).features, model(source).features) is not drops


@every_encoder
def test_several_sequences_in_a_row_are_kept_apart_or_refused(name: str) -> None:
    model, apart = tiny(name), Padded.of([[4, 5], [6, 7, 8]])
    own = Layout(torch.tensor([[0, 0, 1, 1, 1, -1]]), torch.tensor([[0, 1, 0, 1, 2, 0]]))
    packed = PackedSequences(torch.tensor([[4, 5, 6, 7, 8, 0]]), torch.tensor([5]), own, own)
    assert table(name).packs is model.packs
    if not model.packs:
        with pytest.raises(UsageError, match="does not support several sequences in a row; give each a separate row"):
            model(packed)
        return
    torch.testing.assert_close(model(packed).features[0, :5], model(apart).features[apart.keep])


def test_recurrent_layers_are_torchs() -> None:
    model = encoder("recurrent both ways", connection="none", cell="lstm")
    theirs = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True).double()
    for place, layer in enumerate(model.stack.layers):
        for cell, suffix in ((layer.ahead, ""), (layer.back, "_reverse")):
            for kind in ("input", "hidden"):
                end = f"{kind[0]}h_l{place}{suffix}"
                getattr(theirs, f"weight_{end}").data.copy_(getattr(cell, f"{kind}_weight"))
                getattr(theirs, f"bias_{end}").data.copy_(getattr(cell, f"{kind}_bias"))
    source = Padded.of([[4, 5, 6], [7]])
    packed = nn.utils.rnn.pack_padded_sequence(vectors_of(model, source), source.lengths, batch_first=True)
    outputs, (hidden, memory) = theirs(packed)
    expected, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
    found = model(source)
    torch.testing.assert_close(found.features[source.keep], expected[source.keep])
    torch.testing.assert_close(found.final, torch.cat([hidden[2], hidden[3]], -1))
    for place, start in enumerate(found.starts):
        ahead, back = 2 * place, 2 * place + 1
        torch.testing.assert_close(start, torch.cat([hidden[ahead], memory[ahead], hidden[back], memory[back]], -1))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_transformer_blocks_are_torchs(norm: str) -> None:
    model = encoder("transformer", norm=norm, position="none", layers=2)
    theirs = [encoder_layer(block) for block in model.layers]
    source = Padded.of([[4, 5, 6], [7]])
    stream = vectors_of(model, source)
    for layer in theirs:
        stream = layer(stream, src_key_padding_mask=~source.keep)
    expected, found = model.norm(stream), model(source)
    torch.testing.assert_close(found.features[source.keep], expected[source.keep])
    torch.testing.assert_close(found.final, torch.stack([expected[0].mean(0), expected[1, 0]]))


def test_a_window_is_a_convolution() -> None:
    model = encoder("window", layers=1, reach=2)
    (layer,) = model.layers
    source = Padded.of([[4, 5, 6, 7, 8, 4]])
    kernel = layer.weight.view(8, 5, 3).transpose(1, 2)
    expected = F.conv1d(vectors_of(model, source).mT, kernel, layer.bias, padding=2).mT.tanh()
    torch.testing.assert_close(model(source).features, expected)
    torch.testing.assert_close(model(source).final, expected.mean(1))


@pytest.mark.parametrize("reach", [0, 1, 9])
def test_averages_are_those_of_the_vectors_around(reach: int) -> None:
    model = encoder("averaging", reach=reach)
    source = Padded.of([[4, 5, 6, 7], [8, 4]])
    encoded, vectors = model(source), vectors_of(model, source)
    for row, length in enumerate(source.lengths.tolist()):
        for place in range(length):
            around = vectors[row, max(0, place - reach) : min(length, place + reach + 1)]
            torch.testing.assert_close(encoded.features[row, place], around.mean(0))
        torch.testing.assert_close(encoded.final[row], vectors[row, :length].mean(0))


def vectors_of(model: Encoder, source: Padded) -> Tensor:
    return model.input.embedding.weight[source.tokens] * model.input_width**0.5


@pytest.mark.parametrize(
    "model",
    [
        RecurrentModel(kind="recurrent", cell="gru", embedding=4, hidden=5, encoder_layers=2),
        TransformerModel(kind="transformer", width=8, heads=2, feedforward=6, initial_scale=0.5, encoder_layers=2),
    ],
    ids=lambda model: model.kind,
)
def test_the_encoder_that_a_translator_has_by_itself_can_be_spelled_out(
    model: RecurrentModel | TransformerModel,
) -> None:
    own = model.source_encoder.model_dump() | ({"dropout": {}} if model.kind == "recurrent" else {})
    spelled = type(model).model_validate(model.model_dump(exclude={"encoder_layers"}) | {"encoder": own})
    weights: list[dict[str, Tensor]] = []
    for each in (model, spelled):
        torch.manual_seed(1)
        weights.append(build_model(each, 7, 9).state_dict())
    assert list(weights[0]) == list(weights[1])
    assert all(torch.equal(*both) for both in zip(*(each.values() for each in weights), strict=True))


def test_features_of_another_width_are_projected_and_of_the_same_width_are_not() -> None:
    for width, projected in ((8, False), (5, True)):
        shape = {"width": 8, "heads": 2, "feedforward": 6, "encoder": TABLES["window"] | {"hidden": width}}
        model = build_model(TransformerModel.model_validate({"kind": "transformer", **shape}), 7, 9)
        assert ("adapt.weight" in model.state_dict()) is projected
