"""Several trained models as one translator, in Python and on the command line."""

import json
import math
from pathlib import Path

import pytest
from command_line import Trained, regard, untouched

import regard as library
from regard.tasks import Translator

TEXTS = ["eins zwei", "Haus", "rot und blau"]


@pytest.fixture(scope="module")
def second(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of another kind and seed, trained a little on the same text."""
    folder = tmp_path_factory.mktemp("second") / "model"
    changes = ["seed=2", "train.steps=30", "model.cell=lstm", "model.hidden=8", "decode.beam=2"]
    told = regard("train", trained.recipe, "--out", folder, *(part for change in changes for part in ("--set", change)))
    assert told.code == 0, told.err
    return folder


@pytest.fixture(scope="module")
def together(trained: Trained, second: Path) -> Translator:
    return library.load(trained.folder, second)


def lines(*arguments: object) -> list[str]:
    told = regard("translate", *arguments, stdin="".join(text + "\n" for text in TEXTS).encode())
    assert (told.code, told.err) == (0, "")
    return told.out.splitlines()


def test_their_probabilities_are_averaged(trained: Trained, second: Path, together: Translator) -> None:
    text, target = "eins zwei", "one"
    alone = [library.load(folder).score([text], [target])[0].log_probs for folder in (trained.folder, second)]
    found = together.score([text], [target])[0].log_probs
    wanted = [math.log((math.exp(one) + math.exp(other)) / 2) for one, other in zip(*alone, strict=True)]
    assert found == pytest.approx(wanted, abs=1e-4)


def test_it_decodes_as_the_first_recipe_says_and_can_be_looked_into(together: Translator) -> None:
    assert together.recipe.decode.beam == 5
    best = together.translate(["eins zwei"], n_best=2)[0]
    assert len(best.others) == 1
    assert best.alignment
    assert list(together.inspect("eins zwei", "one two").shown) == [
        "members.0.decoder.attention.weights",
        "members.1.decoder.attention.weights",
    ]


def test_a_model_with_itself_translates_as_alone(trained: Trained) -> None:
    with untouched(trained.folder):
        assert lines(trained.folder, "--ensemble", trained.folder) == lines(trained.folder)


def test_the_command_says_what_the_library_says(trained: Trained, second: Path, together: Translator) -> None:
    wanted = [f"{best.text}\t{best.score:.4f}" for best in together.translate(TEXTS)]
    assert lines(trained.folder, "--ensemble", second, "--scores") == wanted
    assert wanted != lines(trained.folder, "--scores")


def test_settings_are_changed_for_the_first(trained: Trained, second: Path) -> None:
    assert library.load(trained.folder, second, changes=["decode.beam=3"]).recipe.decode.beam == 3


def test_an_ensemble_is_evaluated(trained: Trained, second: Path, tmp_path: Path) -> None:
    file = tmp_path / "scores.json"
    told = regard("evaluate", trained.folder, "--ensemble", second, "--split", "dev", "--json", file)
    assert (told.code, told.err) == (0, "")
    assert json.loads(file.read_text(encoding="utf-8"))["model"] == f"{trained.folder} + {second}"


@pytest.mark.parametrize("side", ["source", "target"])
def test_other_tokenizers_are_refused(trained: Trained, tmp_path: Path, side: str) -> None:
    told = regard(
        *("train", trained.recipe, "--out", tmp_path / "m", "--set", "train.steps=1"),
        *("--set", f"tokens.{side}.kind=characters"),
    )
    assert told.code == 0, told.err
    told = regard("translate", trained.folder, "--ensemble", tmp_path / "m", stdin=b"eins\n")
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        f"regard: {tmp_path / 'm'}: its {side} tokenizer is not that of {trained.folder}, so they cannot write "
        "together; take models trained on the same text with the same [tokens]\n"
    )


def test_what_cannot_work_is_refused(trained: Trained, tmp_path: Path) -> None:
    told = regard("translate", trained.folder, "--ensemble", tmp_path / "no", stdin=b"eins\n")
    assert told.code == 2
    assert str(tmp_path / "no") in told.err


@pytest.mark.parametrize("method", ["beam", "sample"])
def test_least_risk_gives_some_of_the_candidates(trained: Trained, method: str) -> None:
    how, wide = [f"decode.method={method}"], ["decode.beam=6"] if method == "beam" else []
    every = library.load(trained.folder, changes=[*how, *wide, "decode.n_best=6"]).translate(TEXTS)
    risk = ["decode.risk=chrf", "decode.candidates=6", "decode.n_best=2"]
    by_risk = library.load(trained.folder, changes=[*how, *risk]).translate(TEXTS)
    for candidates, best in zip(every, by_risk, strict=True):
        texts = {candidates.text, *(other.text for other in candidates.others)}
        assert {best.text, *(other.text for other in best.others)} <= texts
        assert len(best.others) == min(2, len(texts)) - 1
        assert 0 < best.score <= 100
        assert all(other.score <= best.score for other in best.others)


def test_least_risk_compares_by_the_tokenizer_of_evaluation(trained: Trained) -> None:
    risk = ["decode.method=beam", "decode.risk=bleu", "decode.candidates=6"]
    char, words = (
        library.load(trained.folder, changes=[*risk, f"evaluation.bleu_tokenizer={name}"]).translate(TEXTS)
        for name in ("char", "none")
    )
    assert [best.score for best in char] != [best.score for best in words]


def test_least_risk_on_the_command_line(trained: Trained) -> None:
    risk = ["--set", "decode.risk=bleu", "--set", "decode.candidates=4"]
    wanted = library.load(trained.folder, changes=risk[1::2]).translate(TEXTS)
    assert lines(trained.folder, *risk) == [best.text for best in wanted]
    assert regard("evaluate", trained.folder, *risk).out.startswith("accuracy ")
