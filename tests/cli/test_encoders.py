"""Every encoder inside a translator, through the real commands."""

from pathlib import Path

import pytest
from command_line import RECIPE, regard, write_corpus

SMALL = {
    "averaging": ["embedding=8"],
    "window": ["embedding=8", "hidden=12"],
    "recurrent": ["embedding=8", "hidden=12", "cell=rnn"],
    "transformer": ["width=12", "heads=2", "feedforward=8", "layers=1"],
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("kind", SMALL)
def test_it_trains_goes_on_and_translates(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path, {"train": 40, "dev": 4, "test": 4})
    Path("my.toml").write_text(RECIPE, encoding="utf-8")
    settings = [f"model.encoder.{setting}" for setting in (f"kind={kind}", *SMALL[kind])]
    given = ["train", "my.toml", "--out", "m", *(part for setting in settings for part in ("--set", setting))]
    assert regard(*given, "--set", "train.steps=2", "--set", "train.validation.every=2").code == 0
    told = regard(*given, "--set", "train.steps=3", "--set", "train.validation.every=2", "--resume")
    assert told.code == 0, told.err
    assert "after step 2" in told.err
    told = regard("translate", "m", stdin=b"eins zwei\n")
    assert (told.code, told.out.count("\n")) == (0, 1), told.err
