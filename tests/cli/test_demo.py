"""`regard demo`, made small."""

from pathlib import Path

import pytest
from command_line import regard

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


def test_trains_measures_and_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    changes = [f"--set={key}={value}" for key, value in SMALL.items()]
    told = regard("demo", *changes)
    assert told.code == 0, told.err
    assert "training ended after" in told.err
    assert "Held-out dates read exactly right: " in told.out
    assert "% of 6\n" in told.out
    assert "In percent by language: ar\N{NO-BREAK SPACE}" in told.out
    assert "Alignment error rate for year, month and day: " in told.out
    assert told.out.count("∎") >= 4  # each picture has the mark on both sides
    page, picture = Path("runs/demo/looks.html"), Path("runs/demo/look.png")
    assert f"An example of each language: {page}\nThe first as a picture: {picture}\n" in told.out
    assert 'Your own: regard look runs/demo "3. März 2021"' in told.out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "http://" not in page.read_text(encoding="utf-8")
    again = regard("demo", *changes)
    assert again.code == 0
    assert Path("runs/demo-2/looks.html").exists()
