"""What formats and runtimes do to translations: differences of BLEU with their intervals, over several models."""

import json
import sys
from importlib import import_module
from pathlib import Path
from random import Random
from types import ModuleType

import numpy as np
import pytest
import torch
from command_line import regard, write_corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import corpus_bleu

from regard.metrics import compare
from regard.recipe import TransformerModel

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RECIPE = """\
[data]
train = ["train.de", "train.en"]

[tokens.source]
kind = "words"

[tokens.target]
kind = "words"

[model]
kind = "transformer"
norm = "post"
position = "sinusoidal"
width = 16
heads = 2
feedforward = 16
encoder_layers = 1
decoder_layers = 1

[train]
steps = 30
device = "cpu"

[train.optimizer]
rate = 2e-2
"""


@pytest.fixture(scope="module")
def quality() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        return import_module("decode_quality")


@pytest.fixture
def decoding_tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("decoding_tables")


def sentences(seed: int, count: int = 40) -> list[str]:
    """Of six words each, out of few."""
    draw = Random(seed)
    return [" ".join(draw.choices("abcde", k=6)) for _ in range(count)]


def spoiled(texts: list[str], every: int) -> list[str]:
    """With another word at the end of the first of every so many sentences."""
    return [f"{text[:-1]}x" if number % every == 0 else text for number, text in enumerate(texts)]


def rows(
    quality: ModuleType, models: list[dict[str, list[str]]], references: list[str]
) -> dict[str, dict[str, object]]:
    """The figures of each system, of texts whose tokens are their letters."""
    outputs = [{name: [tuple(map(ord, text)) for text in texts] for name, texts in each.items()} for each in models]
    drawn = quality.draws(len(references))
    bleu = [quality.bleu_of_draws(each, references, drawn)[0] for each in models]
    return {row["system"]: row for row in quality.figures(outputs, bleu)}


def test_equal_outputs_differ_by_nothing(quality: ModuleType) -> None:
    references = sentences(1)
    texts = spoiled(references, 3)
    row = rows(quality, [{"own": texts, "own, int8": texts}] * 2, references)["own, int8"]
    assert (row["differences"], row["mean_difference"], row["low"], row["high"]) == ([0.0, 0.0], 0.0, 0.0, 0.0)
    assert (row["same_outputs_as_own"], row["mean_same_outputs_as_own"]) == ([1.0, 1.0], 1.0)


def test_differences_are_those_of_sacrebleu(quality: ModuleType) -> None:
    references = sentences(1)
    models = [{"own": references, "own, int8": spoiled(references, every)} for every in (2, 4)]
    made = rows(quality, models, references)
    by_hand = [corpus_bleu(each["own, int8"], [references]).score for each in models]
    assert made["own"]["bleu"] == [100.0, 100.0]
    row = made["own, int8"]
    assert row["bleu"] == pytest.approx(by_hand, abs=0.005)
    assert row["mean_bleu"] == pytest.approx(sum(by_hand) / 2, abs=0.005)
    assert row["differences"] == pytest.approx([score - 100 for score in by_hand], abs=0.0005)
    assert row["mean_difference"] == pytest.approx(sum(by_hand) / 2 - 100, abs=0.0005)
    assert (row["same_outputs_as_own"], row["mean_same_outputs_as_own"]) == ([0.5, 0.75], 0.625)
    assert row["low"] < row["mean_difference"] < row["high"] < 0


@pytest.mark.long
@settings(deadline=None, max_examples=10)
@given(st.integers(2, 9), st.integers(2, 9), st.integers(0, 99))
def test_with_one_model_the_interval_is_that_of_a_comparison(
    quality: ModuleType, own: int, other: int, seed: int
) -> None:
    references = sentences(seed, 12)
    texts = {"own": spoiled(references, own), "own, int8": spoiled(references, other)}
    expected = compare(texts["own, int8"], texts["own"], references)[0]
    row = rows(quality, [texts], references)["own, int8"]
    found = [row[name] for name in ("mean_difference", "low", "high")]
    assert found == pytest.approx([expected.difference, expected.low, expected.high], abs=0.00051)
    again = rows(quality, [texts] * 3, references)["own, int8"]
    assert [again[name] for name in ("mean_difference", "low", "high")] == pytest.approx(found, abs=0.0011)


def test_opposite_differences_of_two_models_cancel_out(quality: ModuleType) -> None:
    """The same sentences are drawn for all models: else their mean would have an interval of some width."""
    references = sentences(1)
    worse = spoiled(references, 3)
    models = [{"own": references, "own, int8": worse}, {"own": worse, "own, int8": references}]
    row = rows(quality, models, references)["own, int8"]
    first, second = row["differences"]
    assert first == -second != 0
    assert (row["mean_difference"], row["low"], row["high"]) == (0.0, 0.0, 0.0)


def test_each_draw_is_a_text_of_as_many_lines(quality: ModuleType) -> None:
    drawn = quality.draws(7)
    assert drawn.shape == (quality.RESAMPLES + 1, 7)
    assert (drawn[0] == 1).all()
    assert (drawn.sum(axis=1) == 7).all()
    assert np.array_equal(drawn, quality.draws(7))


def test_marian_takes_part_where_it_can_have_the_weights(
    quality: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alike = TransformerModel(kind="transformer", norm="post", position="sinusoidal")
    other = TransformerModel(kind="transformer", norm="pre")
    monkeypatch.setattr(quality, "installed", lambda package: "5.0")
    assert quality.systems_for([alike], ["own, bfloat16", quality.MARIAN]) == ["own", "own, bfloat16", quality.MARIAN]
    assert quality.systems_for([other], ["own, bfloat16"]) == ["own", "own, bfloat16"]
    assert capsys.readouterr().err == ""
    assert quality.systems_for([alike, other], [quality.MARIAN]) == ["own"]
    said = "MarianMT generate takes no part: it needs transformers, and models that compute as it does\n"
    assert capsys.readouterr().err == said


def run(module: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["decode_quality.py", *map(str, arguments)])
    module.main()


@pytest.mark.long
def test_the_command(
    quality: ModuleType,
    decoding_tables: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    write_corpus(tmp_path, {"train": 60, "test": 12})
    (tmp_path / "my.toml").write_text(RECIPE, encoding="utf-8")
    models = [tmp_path / f"seed-{seed}" for seed in (1, 2)]
    for seed, model in enumerate(models, start=1):
        assert regard("train", tmp_path / "my.toml", "--out", model, "--set", f"seed={seed}").code == 0
    texts = ["--text", tmp_path / "test.de", "--reference", tmp_path / "test.en"]
    asked = ["--models", *models, *texts, "--threads", torch.get_num_threads(), "--out", tmp_path / "new" / "out.json"]
    run(quality, monkeypatch, *asked, "--sentences", 10)
    told = capsys.readouterr()
    record = json.loads((tmp_path / "new" / "out.json").read_text())
    assert json.loads(told.out) == record["figures"]
    systems = [figure["system"] for figure in record["figures"]]
    progress = [line.rpartition(":")[0] for line in told.err.splitlines() if "takes no part" not in line]
    assert progress == [f"model {number} of 2, seed-{number}, {name}" for number in (1, 2) for name in systems]
    assert {"own", "own, bfloat16"} <= set(systems) <= set(quality.SYSTEMS)
    assert record["models"] == [{"name": f"seed-{seed}", "seed": seed} for seed in (1, 2)]
    assert record["sentences"] == 10
    assert record["settings"]["models"] == ["seed-1", "seed-2"]
    assert "|bs:1000|seed:12345|" in record["signature"]
    assert str(tmp_path) not in json.dumps(record)
    for figure in record["figures"]:
        if figure["system"] in ("own", quality.MARIAN):  # all but ties
            assert min(figure["same_outputs_as_own"]) >= (1.0 if figure["system"] == "own" else 0.8)
    made = decoding_tables.decode_quality(record)
    assert made.lines[0].startswith("| system | BLEU | difference | 95 % interval |")
    assert [line.split(" | ")[0] for line in made.lines[2 : 2 + len(systems)]] == [f"| {name}" for name in systems]
    assert made.caption.startswith("10 sentences. Means ± standard deviations over models of seeds 1, 2.")


def test_the_table(decoding_tables: ModuleType) -> None:
    own = {"system": "own", "bleu": [40.0, 41.0]}
    worse = {"system": "own, int8", "bleu": [39.9, 40.9], "mean_difference": -0.104, "low": -0.3, "high": -0.001}
    worse |= {"same_outputs_as_own": [0.95, 0.9], "mean_same_outputs_as_own": 0.925}
    record = {
        "figures": [own, worse],
        "models": [{"seed": 1}, {"seed": 2}],
        "sentences": 1000,
        "signature": "tok:13a|bs:1000",
    }
    record |= {"versions": {"python": "3.12"}, "uncommitted_changes": False, "load_average_before": 0.1}
    record |= {"date": "2026-01-01", "commit": "0123456789abc", "processor": "P", "cpus": 2, "command": "c"}
    made = decoding_tables.decode_quality(record)
    assert made.lines[2:4] == [
        "| own | 40.50 ± 0.71 | – | – | – | – |",
        "| own, int8 | 40.40 ± 0.71 | −0.10 | −0.30 to +0.00 | 92.5 % | 90.0 % |",
    ]
    assert made.caption == (
        "1,000 sentences. Means ± standard deviations over models of seeds 1, 2. Differences and equal outputs are "
        "relative to our own search in float32, with intervals by the paired bootstrap over sentences.[^]"
    )
    assert made.notes[""].startswith("BLEU: tok:13a|bs:1000. P (2 processors; load 0.1 before")
    made = decoding_tables.decode_quality(record | {"models": [{"seed": 3}]})
    assert made.caption.startswith("1,000 sentences. The model of seed 3. Differences and equal outputs are relative")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--models", "a", "--sentences", "0"], "--sentences 0: give 1 or more"),
        (["--models", "a", "--threads", "0"], "--threads 0: give 1 or more"),
        (["--models", "a", "b/../a"], "--models b/../a: is given twice; give each model once, or it would count twice"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    quality: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    with pytest.raises(SystemExit):
        run(quality, monkeypatch, "--text", "a.en", "--reference", "a.de", "--out", "out.json", *arguments)
    assert words in capsys.readouterr().err


def test_texts_and_models_that_are_not_there_are_refused(
    quality: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a.en").write_text("one\ntwo\n")
    (tmp_path / "a.de").write_text("eins\nzwei\ndrei\n")
    given = ["--models", tmp_path / "none", "--text", tmp_path / "a.en", "--reference", tmp_path / "a.de"]
    with pytest.raises(SystemExit) as ended:
        run(quality, monkeypatch, *given, "--out", "out.json")
    said = f"--reference {tmp_path / 'a.de'}: 3 lines for 2 of --text; give its translation, line for line"
    assert ended.value.code == said
    (tmp_path / "a.de").write_text("eins\nzwei\n")
    with pytest.raises(SystemExit, match=r"--models .*none: no such folder"):
        run(quality, monkeypatch, *given, "--out", "out.json")
