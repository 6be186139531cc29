"""The explorer over two tiny models: one that was trained, and a Transformer as it was born."""

from collections.abc import Iterator

import pytest
import torch
from command_line import Trained
from explorer_pages import Open, chromium, serving, visiting
from fastapi.testclient import TestClient
from playwright.sync_api import Browser

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


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def address(explored: dict[str, Translator], trained_encoder: Trained, trained_converser: Trained) -> Iterator[str]:
    folders = {"encoder": trained_encoder.folder, "converser": trained_converser.folder}
    with serving({**explored, **{name: regard.load(folder) for name, folder in folders.items()}}) as address:
        yield address


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Open]:
    """Opens the page at a state."""
    with visiting(browser, address) as visit:
        yield visit
