"""Engines by their names, through the commands: what is exported, when, and what is refused."""

import os
import re
import sys
from pathlib import Path

import pytest
from command_line import RECIPE, Trained, regard, write_corpus

import regard as library
from regard.errors import UsageError
from regard.tasks import engines

TEXT = b"eins zwei\nHaus\n\nrot und blau\n"
TRANSFORMER = """\
[model]
kind = "transformer"
width = 16
heads = 2
feedforward = 32
encoder_layers = 1
decoder_layers = 1
dropout = 0.0

[train]
"""


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny Transformer."""
    return trained_transformer(tmp_path_factory.mktemp("transformer"))


def trained_transformer(place: Path, *changes: str) -> Path:
    write_corpus(place)
    recipe = place / "my.toml"
    recipe.write_text(re.sub(r"\[model\].*\[train\]\n", TRANSFORMER, RECIPE, flags=re.DOTALL), encoding="utf-8")
    outcome = regard("train", recipe, "--out", place / "model", *(part for each in changes for part in ("--set", each)))
    assert outcome.code == 0, outcome.err
    return place / "model"


def exports(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if "ctranslate2" in path.name)


@pytest.mark.parametrize("position", ["sinusoidal", "rotary"])
def test_commands_give_the_same_with_either_engine(position: str, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    transformer = trained_transformer(tmp_path, f"model.position={position}")
    own = regard("translate", transformer, "--scores", stdin=TEXT)
    fast = regard("translate", transformer, "--scores", "--engine", "ctranslate2", stdin=TEXT)
    assert (fast.code, fast.err) == (0, "")
    for ours, theirs in zip(own.out.splitlines(), fast.out.splitlines(), strict=True):
        text, _, score = theirs.partition("\t")
        assert text == ours.partition("\t")[0]
        assert not text or float(score) == pytest.approx(float(ours.partition("\t")[2]), abs=2e-4)
    small = regard("translate", transformer, "--engine", "ctranslate2:int8", stdin=TEXT)
    assert (small.code, len(small.out.splitlines())) == (0, 4)
    # Of so small a model that knows so little, a beam's end may differ; greedy search has but one way.
    scored = regard("evaluate", transformer, "--beam", 1, "--engine", "ctranslate2")
    assert scored.out == regard("evaluate", transformer, "--beam", 1).out


@pytest.fixture(scope="module")
def subwords(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny Transformer that writes subwords and has seen each word split in several ways."""
    changes = ["tokens.target.kind=bpe", "tokens.target.size=40", "tokens.target.dropout=0.5"]
    return trained_transformer(tmp_path_factory.mktemp("subwords"), *changes)


@pytest.mark.parametrize("engine", ["own", "ctranslate2"])
def test_each_text_stands_once_among_the_best(engine: str, subwords: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine != "own":
        pytest.importorskip("ctranslate2")
    translator = library.load(subwords, engine=engine)
    decode_all, found = translator.engine.decode_all, []
    monkeypatch.setattr(translator.engine, "decode_all", lambda *a, **k: found.extend(decode_all(*a, **k)) or found)
    given = translator.translate([line for line in TEXT.decode().splitlines() if line], n_best=8)
    every = [[(translator.target_tokenizer.decode(one.tokens), one.score) for one in each] for each in found]
    assert any(len(dict(each)) < len(each) for each in every)
    for each, best in zip(every, given, strict=True):
        outputs = [(output.text, output.score) for output in (best, *best.others)]
        assert outputs[0] == each[0]
        assert [score for _, score in outputs] == sorted((score for _, score in outputs), reverse=True)
        assert len(dict(outputs)) == len(outputs)
        assert dict(outputs) == {text: max(score for other, score in each if other == text) for text, _ in each}


def test_each_text_stands_once_on_the_command_line(subwords: Path) -> None:
    plain = regard("translate", subwords, "--n-best", 8, stdin=TEXT)
    rescored = regard("translate", subwords, "--n-best", 8, "--rescore", subwords, stdin=TEXT)
    drawn = regard("translate", subwords, "--n-best", 8, "--set", "decode.method=sample", stdin=TEXT)
    assert (plain.code, rescored.code, drawn.code) == (0, 0, 0)
    assert len(set(plain.out.splitlines())) == len(plain.out.splitlines()) < 3 * 8 + 1
    assert sorted(rescored.out.splitlines()) == sorted(plain.out.splitlines())
    assert len(drawn.out.splitlines()) == 3 * 8 + 1


def test_a_model_is_exported_once_and_again_when_it_changes(transformer: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    first = library.load(transformer, engine="ctranslate2")
    (name,) = exports(transformer)
    assert re.fullmatch(r"ctranslate2-[0-9a-f]{16}", name)
    assert sorted(path.name for path in (transformer / name).iterdir())[:2] == ["config.json", "model.bin"]
    before = (transformer / name / "model.bin").stat().st_mtime_ns
    again = library.load(transformer, engine="ctranslate2:int8")
    assert exports(transformer) == [name]
    assert (transformer / name / "model.bin").stat().st_mtime_ns == before
    assert [one.text for one in again.translate(["Haus"])] == [one.text for one in first.translate(["Haus"])]

    for weight in first.model.parameters():
        weight.data.add_(0.5)
    other = engines.export_into(tmp_path, first.model, first.recipe.model)
    assert other.name != name
    assert exports(tmp_path) == [other.name]


def test_what_cannot_be_exported_is_refused_and_leaves_nothing(trained: Trained) -> None:
    pytest.importorskip("ctranslate2")
    outcome = regard("translate", trained.folder, "--engine", "ctranslate2", stdin=TEXT)
    assert (outcome.code, outcome.out) == (2, "")
    assert " ".join(outcome.err.split()) == (
        "regard: model.kind = 'recurrent': CTranslate2 cannot run such a model, only those with 'transformer'; "
        "use --engine own"
    )
    assert exports(trained.folder) == []


def test_a_folder_that_cannot_be_written_is_told(transformer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ctranslate2")
    translator = library.load(transformer)

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(engines, "export", full)
    monkeypatch.setattr(engines, "LAYOUT", 99)
    before = exports(transformer)
    with pytest.raises(UsageError, match=r"cannot be written: No space left on device; make room or copy the model to"):
        engines.make_engine("ctranslate2", translator.model, translator.recipe.model, transformer)
    assert exports(transformer) == before


def test_an_engine_must_be_known_and_installed_and_on_the_cpu(
    transformer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"^engine 'ctranslate' is not known; known are 'ctranslate2', "):
        library.load(transformer, engine="ctranslate")
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(UsageError) as error:
        library.load(transformer, engine="ctranslate2")
    assert str(error.value) == (
        "--engine ctranslate2 needs a package that is not installed: pip install 'regard[export]', or use --engine own"
    )


def test_an_old_version_is_told(transformer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("ctranslate2")
    monkeypatch.setattr(package, "__version__", "4.6.3")
    with pytest.raises(UsageError) as error:
        library.load(transformer, engine="ctranslate2")
    assert str(error.value) == (
        "--engine ctranslate2: version 4.6.3 of it is too old; pip install --upgrade 'regard[export]', or use "
        "--engine own"
    )


def test_whatever_fails_leaves_nothing(transformer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ctranslate2")
    translator, before = library.load(transformer), exports(transformer)

    def broken(*_: object) -> None:
        raise TypeError("unexpected keyword argument")

    monkeypatch.setattr(engines, "export", broken)
    monkeypatch.setattr(engines, "LAYOUT", 98)
    with pytest.raises(TypeError):
        engines.make_engine("ctranslate2", translator.model, translator.recipe.model, transformer)
    assert exports(transformer) == before


def test_it_runs_on_the_cpu_alone(transformer: Path) -> None:
    pytest.importorskip("ctranslate2")
    with pytest.raises(UsageError) as error:
        library.load(transformer, engine="ctranslate2", device="cuda")
    assert str(error.value) == ("device 'cuda': CTranslate2 runs on the CPU here; use --device cpu or --engine own")
