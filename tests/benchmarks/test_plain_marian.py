"""MarianMT with the weights of a model of ours computes the same."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

from regard.decode import score_all
from regard.models.transformer import build
from regard.recipe import TransformerModel
from regard.tokens import BEGIN, END

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
    model = build(shape, 24, 24).eval()
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
