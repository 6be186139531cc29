"""The page "Your first look inside" as a notebook: every cell works, shows itself, and shows what the page says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import settings
from notebook_cells import Cell, blocks_of, run_cells

from regard.inspect import Inspection

LEARNS = settings.get_current_profile_name() == "long"
PAGE = Path(__file__).parents[1] / "docs/tutorials/first-look-inside.md"
Notebook = tuple[dict[str, Cell], dict[str, Any]]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """Trains the page's model, because the page says what it learns; every day, only until it writes as many
    characters as a date has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("notebook"))
        patch.setenv("MPLBACKEND", "agg")
        torch.set_num_threads(1)
        codes = [code if LEARNS else code.replace("train.steps=120", "train.steps=40") for code in blocks_of(PAGE)]
        assert LEARNS or codes != blocks_of(PAGE)
        cells, names = run_cells(codes)
        yield {cell.code.splitlines()[-1].partition("  #")[0]: cell for cell in cells}, names
        assert Path("weather.png").exists()


def test_every_cell_shows_something_that_can_be_read(notebook: Notebook) -> None:
    for cell in notebook[0].values():
        assert cell.shown is not None or cell.printed or "import" in cell.code, cell.code
        if isinstance(cell.shown, str):
            assert " at 0x" not in cell.shown
            assert len(cell.shown) < 200_000
        assert len(cell.printed) < 1000


def test_models_recordings_and_looks_are_tables(notebook: Notebook) -> None:
    cells, _ = notebook
    for line in ("model", "seen", "passed", 'seen.only("candidates")', 'seen.only("encoder.*.ahead.gates.update")'):
        shown = cells[line].shown
        assert isinstance(shown, str)
        assert "<table" in shown
    shown = cells['figure.savefig("weather.png")'].shown
    assert isinstance(shown, bytes)
    assert shown.startswith(b"\x89PNG")


@pytest.mark.long
def test_the_model_reads_dates_and_without_attention_does_not(notebook: Notebook) -> None:
    cells, names = notebook
    assert cells['model.translate(["Sunday, 7 June 1987"])[0]'].value.text == "1987-06-07"
    assert all(one.text not in ("1987-06-07", "2021-03-03") for one in names["blurred"])
    assert all(len(one.text) == 10 for one in names["blurred"])  # it still looks like a date
    assert names["accuracy"].value > 0.9
    assert names["without"].value < 0.2
    both = names["both"]
    assert both["attention"].values.mean() > both["uniform"].values.mean() + 0.1
    looked: Inspection = names["looked"]
    weights = looked["decoder.attention.weights"].values
    torch.testing.assert_close(torch.from_numpy(weights), torch.full(weights.shape, 1 / weights.shape[-1]))


def test_recordings_say_what_they_are(notebook: Notebook) -> None:
    cells, names = notebook
    assert names["passed"].axes == {"decoder.attention.weights": ("row", "head", "target", "source")}
    assert "11 times, row 1 × head 1 × target 1 × source 20" in repr(names["passed"])
    sums = cells["weights[0, 0].sum(-1)"].value
    torch.testing.assert_close(sums, torch.ones(11))


def test_the_nearest_station_counts_most(notebook: Notebook) -> None:
    relevance, here = notebook[1]["relevance"], notebook[1]["here"]
    distances = (notebook[1]["stations"] - notebook[1]["leipzig"]).norm(dim=-1)
    assert relevance.sum().item() == pytest.approx(1)
    torch.testing.assert_close(relevance[0], (1 / distances) / (1 / distances).sum())
    assert relevance.argmax().item() == distances.argmin().item() == 1  # Berlin
    weather = notebook[1]["weather"]
    assert weather[:, 0].min() < here[0, 0] < weather[:, 0].max()


def test_a_bank_of_a_river_is_about_water(notebook: Notebook) -> None:
    money, water, _ = notebook[1]["context"][1].tolist()
    assert water > money
