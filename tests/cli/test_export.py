"""`regard export`: a folder that CTranslate2 runs with the same outputs, and what is refused."""

import sys
from pathlib import Path

import pytest
from command_line import Trained, regard, trained_transformer

import regard as library
from regard.decode import export as exporting
from regard.errors import UsageError

TEXT = ["eins zwei", "Haus", "rot und blau"]


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny Transformer, hardly trained."""
    return trained_transformer(tmp_path_factory.mktemp("transformer"), "train.steps=2")


@pytest.mark.spread(1)
@pytest.mark.parametrize("position", ["sinusoidal", "rotary"])
def test_ctranslate2_writes_the_same(position: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("ctranslate2")
    folder = trained_transformer(tmp_path, f"model.position={position}")
    outcome = regard("export", folder, tmp_path / "exported")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", f"{tmp_path / 'exported'}: a CTranslate2 model\n")
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"model", "exported"}, "nothing unfinished"
    own = library.load(folder, device="cpu")
    translator = runtime.Translator(str(tmp_path / "exported"), device="cpu", compute_type="float32", intra_threads=1)
    rows = [[*map(str, own.source_tokenizer.encode(text)), "3"] for text in TEXT]
    for best, result in zip(own.translate(TEXT), translator.translate_batch(rows, beam_size=5), strict=True):
        assert tuple(map(int, result.hypotheses[0])) == best.tokens


def test_a_folder_that_exists_is_left_alone(transformer: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    outcome = regard("export", transformer, tmp_path)
    assert (outcome.code, outcome.err) == (
        2,
        f"regard: {tmp_path}: exists already; name a new folder, or delete this one\n",
    )
    (tmp_path / "file").touch()
    outcome = regard("export", transformer, tmp_path / "file" / "out")
    assert (outcome.code, outcome.err) == (
        2,
        f"regard: {tmp_path / 'file' / 'out'}: cannot be written: File exists; name a folder where you may write\n",
    )


def test_what_cannot_be_exported_is_refused_and_leaves_nothing(trained: Trained, tmp_path: Path) -> None:
    outcome = regard("export", trained.folder, tmp_path / "out")
    assert (outcome.code, outcome.out) == (2, "")
    assert " ".join(outcome.err.split()) == (
        "regard: model.kind = 'recurrent': CTranslate2 cannot run such a model, only those with 'transformer'; use it "
        "with `regard translate`"
    )
    assert not (tmp_path / "out").exists()


def test_whatever_fails_leaves_nothing(transformer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ctranslate2")
    translator, out = library.load(transformer, device="cpu"), tmp_path / "made" / "out"

    class Broken:
        validate = optimize = staticmethod(lambda **_: None)

        def save(self, folder: str) -> None:
            (Path(folder) / "model.bin").touch()
            raise TypeError("unexpected keyword argument")

    monkeypatch.setattr(exporting, "specification", lambda *_: Broken())
    with pytest.raises(TypeError):
        exporting.export(translator.model, translator.recipe.model, out)
    assert list(out.parent.iterdir()) == []


def test_ctranslate2_must_be_installed_and_new_enough(
    transformer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = pytest.importorskip("ctranslate2")
    monkeypatch.setattr(package, "__version__", "4.6.3")
    with pytest.raises(UsageError) as error:
        exporting.ctranslate2()
    assert str(error.value) == (
        "CTranslate2 4.6.3 is too old, it must be 4.7 or newer: pip install --upgrade 'regard[export]'"
    )
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    outcome = regard("export", transformer, tmp_path / "out")
    assert (outcome.code, outcome.err) == (
        2,
        "regard: exporting needs CTranslate2, which is not installed: pip install 'regard[export]'\n",
    )


@pytest.mark.parametrize("option", [["--engine", "ctranslate2"], ["--engine=own"]])
@pytest.mark.parametrize("command", ["translate", "evaluate", "back-translate"])
def test_engines_are_gone(command: str, option: list[str], tmp_path: Path) -> None:
    outcome = regard(command, tmp_path, *option)
    assert (outcome.code, outcome.err) == (
        2,
        "regard: --engine was removed: translation is by Regard itself; `regard export MODEL OUT` writes a folder for "
        "CTranslate2\n",
    )
