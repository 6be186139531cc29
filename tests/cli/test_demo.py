"""`regard demo`, made small."""

from pathlib import Path

import pytest
from command_line import regard
from pages import check_fetches_nothing

SMALL = {
    "train.steps": 3,
    "data.examples": 60,
    "data.languages": '["de","ar"]',
    "model.hidden": 8,
    "model.embedding": 8,
    "train.validation.every": 3,
    "train.validation.examples": 2,
    "model.attention.hidden": 8,
}


@pytest.mark.parametrize("folder", ["demo", pytest.param("demo-2", marks=pytest.mark.long)])
def test_trains_measures_and_shows(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own, whatever is there already."""
    monkeypatch.chdir(tmp_path)
    if folder != "demo":
        Path("runs/demo").mkdir(parents=True)
    changes = [f"--set={key}={value}" for key, value in SMALL.items()]
    told = regard("demo", *changes)
    assert told.code == 0, told.err
    assert "training ended after" in told.err
    assert "Held-out dates read exactly right: " in told.out
    assert "% of 6\n" in told.out
    assert "In percent by language: ar\N{NO-BREAK SPACE}" in told.out
    assert "Alignment error rate for year, month and day: " in told.out
    assert told.out.count("∎") >= 4  # each picture has the mark on both sides
    page, picture = Path(f"runs/{folder}/looks.html"), Path(f"runs/{folder}/look.png")
    assert f"An example of each language: {page}\nThe first as a picture: {picture}\n" in told.out
    assert f'Your own: regard look runs/{folder} "3. März 2021"' in told.out
    assert f"In the browser, with a tour of attention: regard explore runs/{folder}\n" in told.out
    assert f"regard train dates-transformer; regard explore runs/{folder} runs/dates-transformer\n" in told.out
    assert picture.read_bytes().startswith(b"\x89PNG")
    check_fetches_nothing(page.read_text(encoding="utf-8"), policy_alone=True)
