"""Translation on a CPU, side by side: every system has the model's own vocabulary, and what cannot be compared is
refused."""

import json
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest
import torch
from command_line import regard, write_corpus

from regard.decode.constraints import NEVER
from regard.models import build_model
from regard.recipe import Decoding, TransformerModel
from regard.tasks import Translator, Writer
from regard.tokens import END, PAD

RECIPE = """\
[data]
train = ["train.de", "train.en"]

[tokens.source]
kind = "words"

[tokens.target]
kind = "words"

[model]
kind = "transformer"
width = 8
heads = 2
feedforward = 8
encoder_layers = 1
decoder_layers = 1

[train]
steps = 1
device = "cpu"
"""


@pytest.fixture
def decode_cpu(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("decode_cpu")


def run(module: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["decode_cpu.py", *map(str, arguments)])
    module.main()


def test_recurrent_models_read_tokens_of_a_large_vocabulary(decode_cpu: ModuleType) -> None:
    shape, how = decode_cpu.recurrent_model(4), Decoding(beam=2)
    outputs = decode_cpu.recurrent(shape, (8_200, 9), how)([[8_100, 5], [6, 8_199, 7]])
    assert [len(tokens) <= length for tokens, length in zip(outputs, (2, 3), strict=True)] == [True, True]
    assert all(token < 9 for tokens in outputs for token in tokens)


def test_a_row_ends_where_it_says_so(decode_cpu: ModuleType) -> None:
    assert decode_cpu.until_end([7, 8, END, PAD, PAD]) == (7, 8)
    assert decode_cpu.until_end([7, 8]) == (7, 8)


def test_with_a_model_all_systems_have_its_vocabulary(
    decode_cpu: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_corpus(tmp_path, {"train": 20, "test": 4})
    (tmp_path / "my.toml").write_text(RECIPE, encoding="utf-8")
    assert regard("train", tmp_path / "my.toml", "--out", tmp_path / "model").code == 0
    # What is made up without a model must play no part.
    monkeypatch.setattr(decode_cpu, "SIZE", 5)
    texts = ["--text", tmp_path / "test.de", "--reference", tmp_path / "test.en"]
    small = ["--rounds", 1, "--threads", torch.get_num_threads(), "--hidden", 8]
    few = [*small, "--out", tmp_path / "out.json", "--systems"]
    run(decode_cpu, monkeypatch, "--model", tmp_path / "model", *texts, *few, *decode_cpu.RECURRENT)
    figures = json.loads((tmp_path / "out.json").read_text())["figures"]
    assert [figure["system"] for figure in figures] == ["own", *decode_cpu.RECURRENT]
    assert [figure["bleu"] is None for figure in figures] == [False, True, True]
    (tmp_path / "test.en").write_text("one\n")
    with pytest.raises(SystemExit) as ended:
        run(decode_cpu, monkeypatch, "--model", tmp_path / "model", *texts, *few, "own")
    said = f"--reference {tmp_path / 'test.en'}: 1 line for 4 of --text; give its translation, line for line"
    assert ended.value.code == said


def test_a_model_that_no_peer_can_be_like_is_refused(decode_cpu: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = mock.create_autospec(Translator, instance=True)
    monkeypatch.setattr(decode_cpu, "load", lambda folder, device: translator)
    translator.recipe = mock.Mock(model=TransformerModel(kind="transformer"))
    assert decode_cpu.trained("--model", Path("mine")) is translator
    copying = TransformerModel(kind="transformer", copying=True)
    for shape, kind in ((decode_cpu.recurrent_model(4), "recurrent"), (copying, "transformer, copying")):
        translator.recipe = mock.Mock(model=shape)
        with pytest.raises(SystemExit) as ended:
            decode_cpu.trained("--model", Path("mine"))
        assert ended.value.code == (
            f"--model mine: its kind is {kind}, but it is compared with peers of the same shape, which are "
            "Transformers that do not copy; give the folder of such a one"
        )
    monkeypatch.setattr(decode_cpu, "load", lambda folder, device: mock.create_autospec(Writer, instance=True))
    with pytest.raises(SystemExit, match="--model mine: is a language model; give the folder of a translator"):
        decode_cpu.trained("--model", Path("mine"))


def test_a_folder_without_a_model_is_refused(decode_cpu: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        decode_cpu.trained("--models", tmp_path / "none")
    assert str(ended.value.code).startswith(f"--models {tmp_path / 'none'}: no such folder; name the folder of a ")


def test_formats_of_our_own_search_are_settings_of_it(decode_cpu: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = mock.Mock()
    engine.decode_all.return_value = []
    monkeypatch.setattr(decode_cpu, "make_engine", lambda name, *_: {"own": engine}[name])
    systems = decode_cpu.engines(None, None, Decoding(), Path(), ["own, int8", "own, bfloat16"])
    for system in systems.values():
        system([])
    formats = [call.args[1].precision for call in engine.decode_all.call_args_list]
    assert dict(zip(systems, formats, strict=True)) == {
        "own": "float32",
        "own, bfloat16": "bfloat16",
        "own, int8": "int8",
    }


def test_what_cannot_run_a_model_takes_no_part(
    decode_cpu: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(decode_cpu, "ctranslate2", lambda: None)
    monkeypatch.setattr(decode_cpu, "has_eight_bits", lambda: True)
    shapes = [TransformerModel(kind="transformer"), TransformerModel(kind="transformer", window=4)]
    wanted = ["own", "own, int8", "ctranslate2", decode_cpu.MARIAN]
    assert decode_cpu.able(wanted, shapes[:1]) == wanted[:-1], "MarianMT is none of our engines"
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(decode_cpu, "has_eight_bits", lambda: False)
    assert decode_cpu.able(wanted, shapes) == ["own"]
    assert capsys.readouterr().err.splitlines() == [
        "own, int8 takes no part: this processor, or torch on it, has no quick and exact products of such numbers",
        "ctranslate2 takes no part: model.window = 4: CTranslate2 cannot run such a model, only those with 0",
    ]


def test_marian_never_writes_pad_and_begin(decode_cpu: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers", reason="Hugging Face's transformers are not installed")
    small = {"width": 16, "heads": 2, "feedforward": 16, "encoder_layers": 1, "decoder_layers": 1, "norm": "post"}
    shape, how = TransformerModel.model_validate({"kind": "transformer", **small}), Decoding(beam=3, longest_extra=4)
    torch.manual_seed(1)
    peer = decode_cpu.marian_of(build_model(shape, 12, 12).eval(), shape)
    peer.final_logits_bias[0, list(NEVER)] = 9.0  # what a search writes that may
    sources = [[5, 6, 7], [8, 9], [4, 10, 11, 5, 6]]
    for lengths in (None, [4, 3, 6]):
        outputs = decode_cpu.generating(peer, how, lengths)(sources)
        assert not {*NEVER, END} & {token for tokens in outputs for token in tokens}
        assert all(outputs)
    monkeypatch.setattr(decode_cpu, "forbid", lambda _, log_probs: log_probs)
    outputs = decode_cpu.generating(peer, how, None)(sources)
    assert {*NEVER} & {token for tokens in outputs for token in tokens}


def test_a_text_must_have_lines(decode_cpu: ModuleType, tmp_path: Path) -> None:
    text = tmp_path / "new.txt"
    with pytest.raises(SystemExit, match=r"--text .*new\.txt: cannot be read as text \(.*\); give a sentence a line"):
        decode_cpu.read_lines("--text", text)
    text.write_bytes(b"")
    with pytest.raises(SystemExit, match=r"--text .*new\.txt: there is no line in it; give a sentence a line"):
        decode_cpu.read_lines("--text", text)
    text.write_bytes(b"\xff")
    with pytest.raises(SystemExit, match="cannot be read as text"):
        decode_cpu.read_lines("--text", text)
    text.write_bytes("one\r\ntwo\u2028three\n\nfour".encode())
    assert decode_cpu.read_lines("--text", text) == ["one", "two\u2028three", "", "four"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "mine"], "--model and --text belong together"),
        (["--reference", "test.en"], "--reference is what a trained model is measured by; give --model and --text too"),
        (["--sentences", "0"], "--sentences 0: give 1 or more"),
        (["--rounds", "-1"], "--rounds -1: give 1 or more"),
        (["--batch-tokens", "0"], "--batch-tokens 0: give 1 or more"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    decode_cpu: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    with pytest.raises(SystemExit):
        run(decode_cpu, monkeypatch, "--out", "out.json", *arguments)
    assert words in capsys.readouterr().err
