"""`regard evaluate` and `regard score`: every number with its signature."""

import math
import re
from pathlib import Path

import pytest
from command_line import WORDS, Trained, regard

import regard as library


def value(out: str, name: str) -> float:
    (found,) = re.findall(rf"^{name} (\S+) ", out, re.MULTILINE)
    return float(found)


def test_the_model_has_learned_something_and_every_score_is_signed(trained: Trained) -> None:
    told = regard("evaluate", trained.folder)
    assert (told.code, told.err) == (0, "")
    assert value(told.out, "accuracy") > 0.5
    assert [line.split()[0] for line in told.out.splitlines()] == ["accuracy", "BLEU", "chrF2", "TER"]
    assert "(exact|lines:20)" in told.out
    assert "BLEU" in told.out
    assert "tok:13a|smooth:exp|version:" in told.out


def test_another_split_and_another_beam(trained: Trained) -> None:
    outputs = {regard("evaluate", trained.folder, *more).out for more in ([], ["--split", "dev"], ["--beam", 1])}
    assert len(outputs) >= 2


def test_files_intervals_and_outputs(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.tasks.evaluation.RESAMPLES", 20)
    sources = ["eins zwei", "Haus"]
    Path("a.tsv").write_text("".join(f"{text}\t{text}\n" for text in sources), encoding="utf-8")
    told = regard("evaluate", trained.folder, "a.tsv", "--intervals", "-o", "out.txt")
    assert told.code == 0
    assert re.search(r"^BLEU \S+ ± \S+ \(nrefs:1\|bs:20\|", told.out, re.MULTILINE)
    wanted = [best.text for best in library.load(trained.folder).translate(sources)]
    assert Path("out.txt").read_text(encoding="utf-8").splitlines() == wanted


def test_a_model_without_test_text_says_so(trained: Trained, tmp_path: Path) -> None:
    recipe = tmp_path / "no-test.toml"
    lines = trained.recipe.read_text(encoding="utf-8").splitlines()
    kept = [
        line.replace('["', f'["{trained.recipe.parent}/').replace(', "', f', "{trained.recipe.parent}/')
        for line in lines
    ]
    recipe.write_text("\n".join(line for line in kept if not line.startswith("test =")), encoding="utf-8")
    assert regard("train", recipe, "--out", tmp_path / "m", "--set", "train.steps=1").code == 0
    told = regard("evaluate", tmp_path / "m")
    assert told.code == 2
    assert told.err.startswith("regard: the model's recipe names no test text (data.test); name the files")
    assert regard("evaluate", tmp_path / "m", "--split", "dev").code == 0


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two right translations and a wrong one."""
    pairs = [("eins", "one"), ("Haus", "house"), ("rot", "house")]
    source, target = tmp_path / "a.de", tmp_path / "a.en"
    source.write_text("".join(f"{left}\n" for left, _ in pairs), encoding="utf-8")
    target.write_text("".join(f"{right}\n" for _, right in pairs), encoding="utf-8")
    assert WORDS["rot"] != "house"
    return source, target


def test_scores_of_given_translations(trained: Trained, files: tuple[Path, Path]) -> None:
    told = regard("score", trained.folder, *files)
    assert told.code == 0
    right, also_right, wrong = map(float, told.out.splitlines())
    assert wrong < min(right, also_right) <= 0
    perplexity = math.exp(-(right + also_right + wrong) / 6)
    stated = re.fullmatch(r"perplexity (\S+) per target token, end of sentence included \(6 tokens\)\n", told.err)
    assert stated
    assert float(stated[1]) == pytest.approx(perplexity, rel=1e-3)


def test_scores_of_tokens_add_up(trained: Trained, files: tuple[Path, Path]) -> None:
    for line in regard("score", trained.folder, *files, "--tokens").out.splitlines():
        whole, parts = line.split("\t")
        named = [part.rpartition("=") for part in parts.split(" ")]
        assert named[-1][0] == "</s>"
        assert sum(float(number) for _, _, number in named) == pytest.approx(float(whole), abs=1e-3)


def test_the_library_says_the_same(trained: Trained, files: tuple[Path, Path]) -> None:
    sources, targets = (path.read_text(encoding="utf-8").splitlines() for path in files)
    scored = library.load(trained.folder).score(sources, targets)
    assert regard("score", trained.folder, *files).out == "".join(f"{row.log_prob:.4f}\n" for row in scored)
