"""Decoding on a GPU beside MarianMT: what can be seen without one."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from regard.recipe import Decoding, TransformerModel

SMALL = {"kind": "transformer", "width": 8, "heads": 2, "feedforward": 8, "encoder_layers": 1, "decoder_layers": 1}


@pytest.fixture
def decode_gpu(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("decode_gpu")


def test_the_peer_has_the_batches_that_we_have(decode_gpu: ModuleType) -> None:
    lengths = [3, 40, 7, 15, 16, 1, 33, 5, 20, 9]
    text, batches = [[4] * length for length in lengths], list[tuple[list[int], int]]()

    def system(rows: list[list[int]], batch_tokens: int) -> list[tuple[int, ...]]:
        batches.append(([len(row) for row in rows], batch_tokens))
        return [()] * len(rows)

    decode_gpu.generate_as_we_do(system, text, Decoding(batch_tokens=100))
    # As many as fit, padded to multiples of 16, but a power of two; the widest first.
    assert [rows for rows, _ in batches] == [[40, 33], [16, 20], [3, 7, 15, 1], [5, 9]]
    # And each of them is one batch for the peer too.
    assert all(len(rows) * (max(rows) + 1) == tokens for rows, tokens in batches)


@pytest.mark.parametrize(
    ("arguments", "shape", "words"),
    [
        (["--model", "mine"], {}, "--model and --text belong together"),
        (["--text", "test.en"], {}, "--model and --text belong together"),
        (
            ["--model", "mine", "--text", "test.en", "--parts", "memory", "text"],
            {},
            "--parts memory text: with a model there is only the text; leave --parts out",
        ),
        (
            ["--model", "mine", "--text", "test.en"],
            {"norm": "pre"},
            "--model mine: MarianMT computes otherwise; give one that can lend it its weights",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(
    decode_gpu: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    shape: dict[str, str],
    words: str,
) -> None:
    model = TransformerModel.model_validate({**SMALL, **shape})
    monkeypatch.setattr(
        decode_gpu, "trained", lambda option, folder: SimpleNamespace(recipe=SimpleNamespace(model=model))
    )
    monkeypatch.setattr(sys, "argv", ["decode_gpu.py", "--out", "out.json", *arguments])
    with pytest.raises(SystemExit):
        decode_gpu.main()
    assert words in capsys.readouterr().err
