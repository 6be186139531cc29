"""How fast language models write: what cannot be measured is refused."""

import sys
from importlib import import_module
from pathlib import Path

import pytest


def test_too_few_tokens_have_no_quarters(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    monkeypatch.setattr(sys, "argv", ["generating.py", "--tokens", "7"])
    with pytest.raises(SystemExit):
        import_module("generating").main()
    assert "--tokens 7: a quarter of them must be two at least; give 8 or more\n" in capsys.readouterr().err
