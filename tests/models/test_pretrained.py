"""Embeddings that start from word vectors learned elsewhere."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard import recipe
from regard.errors import DataError, ModelError, RecipeError, UsageError
from regard.models import build_language_model, build_model
from regard.models.generator import Generator
from regard.models.pretrained import Coverage, embed_from, embedding_of, start_from_vectors
from regard.recipe import PairVectors, RecurrentModel, TextVectors, TransformerModel, WindowModel
from regard.tokens import TOKENIZERS, Tokenizer
from regard.vectors import Vectors

WORDS = ["the", "cat", "sat", "Paris"]
TEXT = ["the cat sat", "Paris the cat", "the mat"]


def tokenizer(kind: str = "words") -> Tokenizer:
    settings = recipe.TokenizerSettings(kind=kind, size=60, least=1)  # type: ignore[arg-type]
    return TOKENIZERS[kind].train(settings, TEXT)


def some_vectors(words: list[str], width: int = 8, scale: float = 5.0) -> Vectors:
    rng = np.random.default_rng(0)
    return Vectors(words, (scale * rng.standard_normal((len(words), width))).astype(np.float32))


def model_for(vectors: PairVectors, tie: str = "none", kind: str = "recurrent") -> Generator:
    size = tokenizer().size
    settings: RecurrentModel | TransformerModel
    if kind == "recurrent":
        settings = RecurrentModel(kind="recurrent", embedding=8, hidden=6, tie=tie, vectors=vectors)  # type: ignore[arg-type]
    else:
        settings = TransformerModel(kind="transformer", width=8, heads=2, tie=tie, vectors=vectors)  # type: ignore[arg-type]
    return build_model(settings, size, size)


@given(st.sets(st.sampled_from([*WORDS, "mat", "PARIS", "paris", "unused"]), min_size=1), st.floats(0.01, 100))
def test_known_words_get_their_vectors_and_the_others_stay(known: set[str], scale: float) -> None:
    words, vectors = tokenizer(), some_vectors(sorted(known), scale=scale)
    new = torch.randn(words.size, 8) * 8**-0.5
    found, coverage = embed_from(vectors, words, new)
    lengths = []
    for index, token in enumerate(words.vocabulary):
        expected = next((word for word in (token, token.lower()) if index >= 4 and word in known), None)
        if expected is None:
            assert torch.equal(found[index], new[index])
        else:
            lengths.append(found[index].square().sum().item())
            given = torch.from_numpy(vectors[expected].copy())
            assert torch.cosine_similarity(found[index], given, 0).item() == pytest.approx(1, abs=1e-5)
    covered = coverage.exact + coverage.folded
    assert (coverage.tokens, covered) == (5, len(lengths))
    if lengths:
        assert np.mean(lengths) == pytest.approx(1, rel=1e-4)


def test_subwords_that_begin_a_word_and_are_one() -> None:
    pieces = tokenizer("bpe")
    beginnings = [token[1:] for token in pieces.vocabulary if token.startswith(" ") and len(token) > 1]
    inside = [token for token in pieces.vocabulary.tokens if not token.startswith(" ")]
    vectors = some_vectors(sorted({*beginnings, *inside}))
    found, coverage = embed_from(vectors, pieces, torch.zeros(pieces.size, 8))
    changed = {pieces.vocabulary[row] for row in found.any(1).nonzero()[:, 0].tolist()}
    assert changed == {f" {word}" for word in beginnings}
    assert coverage.exact == len(beginnings) > 0


def test_coverage_in_words() -> None:
    assert str(Coverage(8000, 7000, 500)) == "7,500 of 8,000 tokens (93.8 %), 500 of them in lower case,"
    assert str(Coverage(1, 1, 0)) == "1 of 1 token (100.0 %)"


@pytest.mark.parametrize("kind", ["recurrent", "transformer"])
@pytest.mark.parametrize(
    ("tie", "files", "shared"),
    [
        ("none", {"source", "target"}, {"source": "", "target": ""}),
        ("target", {"target"}, {"target": " (shared with the readout)"}),
        ("all", {"source"}, {"source": " (shared with the other side and the readout)"}),
    ],
)
def test_what_is_put_and_said(tmp_path: Path, kind: str, tie: str, files: set[str], shared: dict[str, str]) -> None:
    given, words = some_vectors(["the", "cat", "paris"]), tokenizer()
    given.save(tmp_path / "v")
    settings = PairVectors(**dict.fromkeys(files, str(tmp_path / "v")))
    model = model_for(settings, tie, kind)
    sides = {"source": words, "target": words}
    before = {side: embedding_of(model, side).weight.clone() for side in sides}
    said = start_from_vectors(model, settings, sides)
    line = (
        "{side} vectors: 3 of 5 tokens (60.0 %), 1 of them in lower case, start from {file}; the others start at random"
    )
    sorted_files = [side for side in ("source", "target") if side in files]
    assert said == [line.format(side=side, file=tmp_path / "v") + shared[side] for side in sorted_files]
    for side in sides:
        expected = embed_from(given, words, before[side])[0] if side in files or tie == "all" else before[side]
        assert torch.equal(embedding_of(model, side).weight, expected)
    assert all(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_frozen_embeddings_have_no_gradient(tie: str) -> None:
    model = model_for(PairVectors(target="needed only at the start", freeze=True), tie)
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    assert frozen == ["decoder.input.embedding.vectors"]


def test_a_language_model(tmp_path: Path) -> None:
    some_vectors([*WORDS, "mat"]).save(tmp_path / "v")
    settings = WindowModel(kind="window", embedding=8, vectors=TextVectors(file=str(tmp_path / "v"), freeze=True))
    model, words = build_language_model(settings, tokenizer().size), tokenizer()
    assert start_from_vectors(model, settings.vectors, {"file": words}) == [
        f"vectors: 5 of 5 tokens (100.0 %) start from {tmp_path / 'v'}; all of them are frozen"
    ]
    assert not embedding_of(model, "file").weight.requires_grad


def test_vectors_that_do_not_fit(tmp_path: Path) -> None:
    words = {"source": tokenizer(), "target": tokenizer()}
    file = str(tmp_path / "v")
    settings = PairVectors(source=file)
    with pytest.raises(DataError, match=r"model\.vectors\.source: .*: no such file"):
        start_from_vectors(model_for(settings), settings, words)
    some_vectors(WORDS, width=3).save(file)
    with pytest.raises(UsageError) as raised:
        start_from_vectors(model_for(settings), settings, words)
    assert str(raised.value) == (
        f"model.vectors.source = {file!r}: its vectors have width 3, but the model's embedding has width 8; set the "
        "width of the embedding to 3, or choose other vectors"
    )
    some_vectors(["der", "die"]).save(file)
    with pytest.raises(ModelError) as refused:
        start_from_vectors(model_for(settings), settings, words)
    assert str(refused.value) == (
        f"model.vectors.source = {file!r}: not one of 5 tokens is among its 2 words; choose vectors of the language "
        "and the kind of tokens of the model"
    )


def test_freezing_nothing() -> None:
    with pytest.raises(RecipeError, match="freeze = true, but no vectors are named to start from; name some, or set"):
        PairVectors(freeze=True)
