"""MarianMT with the weights of a model of ours computes the same."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

from regard.decode import score_all
from regard.decode.constraints import NEVER
from regard.models import TransformerTranslator
from regard.recipe import Decoding, TransformerModel
from regard.tokens import BEGIN, END, PAD

SMALL = {"kind": "transformer", "width": 32, "heads": 4, "feedforward": 48, "encoder_layers": 2, "decoder_layers": 2}


@pytest.fixture
def plain_marian(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("plain_marian")


@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_the_same_weights_give_the_same_log_probs(plain_marian: ModuleType, tie: str) -> None:
    pytest.importorskip("transformers", reason="Hugging Face's transformers are not installed")
    shape = TransformerModel.model_validate({**SMALL, "norm": "post", "dropout": 0.0, "tie": tie})
    torch.manual_seed(1)
    model = TransformerTranslator(shape, 24, 24).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
        peer = plain_marian.marian_of(model, shape).eval()
        source, target = [5, 6, 7, 8], [9, 10, 11]
        given = {"input_ids": torch.tensor([[*source, END]]), "decoder_input_ids": torch.tensor([[BEGIN, *target]])}
        theirs = peer(**given).logits.log_softmax(-1)[0].gather(1, torch.tensor([*target, END])[:, None])
    assert theirs.flatten().tolist() == pytest.approx(score_all(model, [source], [target])[0], abs=1e-5)


def test_models_that_compute_otherwise_are_known(plain_marian: ModuleType) -> None:
    post = {**SMALL, "norm": "post"}
    assert plain_marian.computes_alike(TransformerModel.model_validate(post))
    for change in ({"norm": "pre"}, {"position": "rotary"}, {"activation": "gelu"}, {"groups": 2}, {"copying": True}):
        assert not plain_marian.computes_alike(TransformerModel.model_validate(post | change))


def test_a_row_ends_where_it_says_so(plain_marian: ModuleType) -> None:
    assert plain_marian.until_end([7, 8, END, PAD, PAD]) == (7, 8)
    assert plain_marian.until_end([7, 8]) == (7, 8)


def test_marian_never_writes_pad_and_begin(plain_marian: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers", reason="Hugging Face's transformers are not installed")
    shape, how = TransformerModel.model_validate({**SMALL, "norm": "post"}), Decoding(beam=3, longest_extra=4)
    torch.manual_seed(1)
    peer = plain_marian.marian_of(TransformerTranslator(shape, 12, 12).eval(), shape)
    peer.final_logits_bias[0, list(NEVER)] = 9.0  # what a search writes that may
    sources = [[5, 6, 7], [8, 9], [4, 10, 11, 5, 6]]
    for lengths in (None, [4, 3, 6]):
        outputs = plain_marian.generating(peer, how, lengths)(sources, 64)
        assert not {*NEVER, END} & {token for tokens in outputs for token in tokens}
        assert all(outputs)
    monkeypatch.setattr(plain_marian, "forbid", lambda _, log_probs: log_probs)
    outputs = plain_marian.generating(peer, how, None)(sources, 64)
    assert {*NEVER} & {token for tokens in outputs for token in tokens}
