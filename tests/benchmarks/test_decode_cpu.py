"""Translation on a CPU, side by side: every system has the model's own vocabulary and counts at its best size of
batches, and what cannot be compared is refused."""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from types import ModuleType
from unittest import mock

import pytest
import torch
from command_line import regard, write_corpus
from decoding_toys import UniformGenerator
from hypothesis import given
from hypothesis import strategies as st

from regard.recipe import Decoding, TransformerModel
from regard.tasks import Translator, Writer

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


SIZES = (1024, 2048, 4096)
Outputs = list[tuple[int, ...]]


@pytest.fixture(scope="module")
def decode_cpu() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
        return import_module("decode_cpu")


def run(module: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["decode_cpu.py", *map(str, arguments)])
    module.main()


def test_recurrent_models_read_tokens_of_a_large_vocabulary(decode_cpu: ModuleType) -> None:
    shape, how = decode_cpu.recurrent_model(4), Decoding(beam=2)
    outputs = decode_cpu.recurrent(shape, (8_200, 9), how)([[8_100, 5], [6, 8_199, 7]], 64)
    assert [len(tokens) <= length for tokens, length in zip(outputs, (2, 3), strict=True)] == [True, True]
    assert all(token < 9 for tokens in outputs for token in tokens)


class Clock:
    """Stands in for the module `time`: it goes on while a system works, on two processors."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def perf_counter(self) -> float:
        return self.seconds

    def process_time(self) -> float:
        return 2 * self.seconds

    def system(self, seconds: dict[int, float], asked: list[int]) -> Callable[[list[list[int]], int], Outputs]:
        """Takes so long at each size of batches, and writes the size; `asked` is told of every size."""

        def translate(sources: list[list[int]], batch_tokens: int) -> Outputs:
            asked.append(batch_tokens)
            self.seconds += seconds[batch_tokens]
            return [(batch_tokens,) for _ in sources]

        return translate


def test_each_system_counts_at_its_fastest_size(decode_cpu: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, asked, sources = Clock(), [], [[5], [6], [7], [8]]
    monkeypatch.setattr(decode_cpu, "time", clock)
    seconds = {"own": (2.0, 1.0, 4.0), decode_cpu.MARIAN: (20.0, 10.0, 8.0)}
    systems = {name: clock.system(dict(zip(SIZES, each, strict=True)), asked) for name, each in seconds.items()}
    written = decode_cpu.warmed(systems, sources, SIZES)
    assert asked == [*SIZES, *SIZES], "each is warmed at each size"
    del asked[:]
    times = decode_cpu.measure(systems, sources, 2, SIZES)
    assert asked == [size for _ in range(2) for size in SIZES for _ in systems], "they take turns"
    assert decode_cpu.fastest_sizes(times) == {"own": 2048, decode_cpu.MARIAN: 4096}
    outputs = {name: written[name][size] for name, size in decode_cpu.fastest_sizes(times).items()}
    own, marian = decode_cpu.figures(times, outputs, systems, {})
    assert [row["batch_tokens"] for row in (own, marian)] == [2048, 4096]
    assert [row["sentences_per_second"] for row in (own, marian)] == [4.0, 0.5]
    assert own["sentences_per_second_by_batch_tokens"] == {"1024": 2.0, "2048": 4.0, "4096": 1.0}
    assert marian["sentences_per_second_by_batch_tokens"] == {"1024": 0.2, "2048": 0.4, "4096": 0.5}
    assert (own["times_marian"], own["times_marian_by_processor"], marian["times_own"]) == (8.0, 8.0, 0.12)
    assert marian["same_outputs_as_own"] == 0.0, "they are those of the sizes that count"


@given(st.data(), st.lists(st.integers(1, 9999), min_size=1, max_size=4, unique=True), st.integers(1, 5))
def test_no_size_is_faster_than_the_one_that_counts(
    decode_cpu: ModuleType, data: st.DataObject, sizes: list[int], rounds: int
) -> None:
    taken = st.lists(st.floats(0.5, 50), min_size=rounds, max_size=rounds)
    seconds = {name: {size: data.draw(taken) for size in sizes} for name in ("own", decode_cpu.MARIAN)}
    times = {
        name: {size: [decode_cpu.Time(second, 2 * second) for second in each] for size, each in by_size.items()}
        for name, by_size in seconds.items()
    }
    rows = decode_cpu.figures(times, {name: [(5,)] * 100 for name in times}, times, {})
    fastest = {name: max(100 / median(each) for each in by_size.values()) for name, by_size in seconds.items()}
    for row in rows:
        by_size = row["sentences_per_second_by_batch_tokens"]
        assert list(by_size) == [str(size) for size in sizes]
        assert row["sentences_per_second"] == by_size[str(row["batch_tokens"])] == max(by_size.values())
        assert row["slowest"] <= row["sentences_per_second"] <= row["fastest"]
        assert row["times_marian"] == pytest.approx(fastest[row["system"]] / fastest[decode_cpu.MARIAN], abs=0.0051)


@pytest.mark.long
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
    few = [*small, "--batch-tokens", 16, 64, "--out", tmp_path / "out.json", "--systems"]
    run(decode_cpu, monkeypatch, "--model", tmp_path / "model", *texts, *few, *decode_cpu.RECURRENT)
    figures = json.loads((tmp_path / "out.json").read_text())["figures"]
    assert [figure["system"] for figure in figures] == ["own", *decode_cpu.RECURRENT]
    assert [figure["bleu"] is None for figure in figures] == [False, True, True]
    assert [list(figure["sentences_per_second_by_batch_tokens"]) for figure in figures] == [["16", "64"]] * 3
    assert {figure["batch_tokens"] for figure in figures} <= {16, 64}
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
    search = mock.Mock(return_value=[])
    monkeypatch.setattr(decode_cpu, "decode_all", search)
    systems = decode_cpu.systems_of(UniformGenerator(6), None, Decoding(), Path(), ["own, int8", "own, bfloat16"])
    for system in systems.values():
        system([], 99)
    settings = [call.args[2] for call in search.call_args_list]
    assert {how.batch_tokens for how in settings} == {99}
    formats = [how.precision for how in settings]
    assert dict(zip(systems, formats, strict=True)) == {
        "own": "float32",
        "own, bfloat16": "bfloat16",
        "own, int8": "int8",
    }


def test_what_cannot_run_a_model_takes_no_part(
    decode_cpu: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(decode_cpu, "ctranslate2", lambda: None)
    monkeypatch.setattr(decode_cpu, "has_int8", lambda: True)
    shapes = [TransformerModel(kind="transformer"), TransformerModel(kind="transformer", window=4)]
    wanted = ["own", "own, int8", "CTranslate2 alone, float32", decode_cpu.MARIAN]
    assert decode_cpu.able(wanted, shapes[:1]) == wanted[:-1], "MarianMT is asked elsewhere"
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(decode_cpu, "has_int8", lambda: False)
    assert decode_cpu.able(wanted, shapes) == ["own"]
    assert capsys.readouterr().err.splitlines() == [
        "own, int8 takes no part: this processor, or torch on it, has no fast and exact int8 products",
        "CTranslate2 alone, float32 takes no part: model.window = 4: CTranslate2 cannot run such a model, only those "
        "with 0",
    ]


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
        (["--batch-tokens", "1024", "-2"], "--batch-tokens -2: give 1 or more"),
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
