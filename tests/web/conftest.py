"""The explorer over two tiny models: one that was trained, and a Transformer as it was born."""

from collections.abc import Iterator

import pytest
import torch
from command_line import Trained
from fastapi.testclient import TestClient

import regard
from regard.models import build_model
from regard.recipe.model import TransformerModel
from regard.tasks import Translator
from regard.web.app import create_app


@pytest.fixture(scope="session")
def explored(trained: Trained) -> dict[str, Translator]:
    recurrent = regard.load(trained.folder)
    settings = TransformerModel(
        kind="transformer", width=16, heads=2, feedforward=32, encoder_layers=2, decoder_layers=2, dropout=0.0
    )
    reader, writer = recurrent.source_tokenizer, recurrent.target_tokenizer
    torch.manual_seed(0)
    model = build_model(settings, reader.size, writer.size)
    recipe = recurrent.recipe.model_copy(update={"model": settings})
    return {"recurrent": recurrent, "transformer": Translator(recipe, model, reader, writer)}


@pytest.fixture(scope="session")
def client(explored: dict[str, Translator], trained: Trained) -> Iterator[TestClient]:
    app = create_app(explored, folders={"recurrent": str(trained.folder)})
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        yield client
