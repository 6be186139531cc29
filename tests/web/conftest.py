"""The explorer over tiny models: two translators, one of which was trained, and readers of each kind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import Trained
from explorer_pages import Open, chromium, serving, visiting
from fastapi.testclient import TestClient
from language_runs import language_recipe
from parsing_task import RECIPE, TRANSITION, write_treebank
from playwright.sync_api import Browser

import regard
from regard.models import build_model
from regard.recipe.model import TransformerModel
from regard.tasks import Translator
from regard.train import run
from regard.vectors import Vectors
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Closed after each module, because it keeps an event loop running, in which tests of asyncio could not run."""
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


@pytest.fixture(scope="session")
def reader_folders(
    trained_tagger: Trained, trained_classifier: Trained, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """A tagger, a classifier, parsers of both kinds, language models, and vectors."""
    place = tmp_path_factory.mktemp("readers")
    write_treebank(place)
    recipes = {}
    for name, text in {"graph": RECIPE, "transition": TRANSITION}.items():
        text = text.replace('"train.', f'"{place}/train.').replace('"dev.', f'"{place}/dev.')
        (place / "my.toml").write_text(text.replace('"test.', f'"{place}/test.').replace("steps = 50", "steps = 6"))
        recipes[name] = regard.read_recipe(place / "my.toml")
    (place / "text").mkdir()
    cells = {"tanh": {"cell": "rnn"}, "gru": {"cell": "gru"}}
    recipes |= {name: language_recipe(place / "text", "recurrent", model=model) for name, model in cells.items()}
    recipes["copying"] = language_recipe(place / "text", "copying")
    for name, recipe in recipes.items():
        run(recipe, place / name, reporter=lambda event: None)
    draw = np.random.default_rng(0)
    words = ["man", "king", "woman", "queen", "<b>odd</b>", "שלום", *(f"word{number}" for number in range(40))]
    Vectors(words, draw.normal(size=(len(words), 8)).astype(np.float32)).save(place / "vectors")
    folders = {name: place / name for name in (*recipes, "vectors")}
    return {"tagger": trained_tagger.folder, "classifier": trained_classifier.folder, **folders}


@pytest.fixture(scope="session")
def readers(reader_folders: dict[str, Path]) -> dict[str, Any]:
    folders = {**reader_folders}
    vectors = Vectors.load(folders.pop("vectors"))
    loaded = {name: regard.load(folder, device="cpu") for name, folder in folders.items()}
    return {**loaded, "cached": loaded["copying"].with_cache(5, share=0.3), "vectors": vectors}


@pytest.fixture(scope="session")
def reading_client(readers: dict[str, Any], reader_folders: dict[str, Path]) -> Iterator[TestClient]:
    folders = {name: str(reader_folders.get(name, reader_folders["copying"])) for name in readers}
    app = create_app(readers, folders=folders)
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        yield client


@pytest.fixture(scope="session")
def reading_address(readers: dict[str, Any]) -> Iterator[str]:
    with serving(readers) as address:
        yield address


@pytest.fixture
def read(browser: Browser, reading_address: str) -> Iterator[Open]:
    """Opens the page of models that read at a state."""
    with visiting(browser, reading_address) as visit:
        yield visit
