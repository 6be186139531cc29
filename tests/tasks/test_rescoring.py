"""Outputs of one model reranked by another, in Python and on the command line."""

from pathlib import Path

import pytest
from command_line import Trained, regard

import regard as library
from regard.errors import UsageError
from regard.tasks import Translation, Translator
from regard.tasks.rescoring import Rescoring

TEXTS = ["eins zwei", "Haus", "rot und blau"]
STDIN = "".join(text + "\n" for text in TEXTS).encode()


@pytest.fixture(scope="module")
def translator(trained: Trained) -> Translator:
    return library.load(trained.folder)


@pytest.fixture(scope="module")
def other(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hardly trained, and tokenized otherwise."""
    folder = tmp_path_factory.mktemp("other") / "model"
    changes = ["seed=2", "train.steps=5", "tokens.target.kind=characters", "tokens.source.kind=characters"]
    told = regard("train", trained.recipe, "--out", folder, *(part for change in changes for part in ("--set", change)))
    assert told.code == 0, told.err
    return folder


def listed(found: list[Translation]) -> list[list[tuple[str, float]]]:
    return [[(output.text, output.score) for output in (best, *best.others)] for best in found]


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_by_itself_nothing_changes(translator: Translator, weight: float) -> None:
    found = translator.translate(TEXTS, n_best=4)
    for ours, before in zip(listed(Rescoring(translator, weight).rank(found)), listed(found), strict=True):
        assert sorted(text for text, _ in ours) == sorted(text for text, _ in before)
        assert [score for _, score in ours] == pytest.approx([score for _, score in before], abs=1e-4)


@pytest.mark.spread(2)
@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_it_is_the_mean_of_both_scores(
    translator: Translator, other: Path, weight: float, length_penalty: float
) -> None:
    judge = library.load(other)
    found = translator.translate(TEXTS, n_best=4)
    for text, ours, before in zip(
        TEXTS, listed(Rescoring(judge, weight, length_penalty).rank(found)), listed(found), strict=True
    ):
        wanted = {}
        for output, score in before:
            (judged,) = judge.score([text], [output])
            wanted[output] = (1 - weight) * score + weight * judged.log_prob / (len(output) + 1) ** length_penalty
        assert dict(ours) == pytest.approx(wanted, abs=1e-3)
        assert [score for _, score in ours] == sorted((score for _, score in ours), reverse=True)


def test_on_the_command_line(trained: Trained, translator: Translator, other: Path) -> None:
    told = regard(
        "translate", trained.folder, "--n-best", 4, "--rescore", other, "--weight", 1, "--scores", stdin=STDIN
    )
    assert (told.code, told.err) == (0, "")
    found = Rescoring(library.load(other), 1.0).rank(translator.translate(TEXTS, n_best=4))
    wanted = [
        f"{number}\t{text}\t{score:.4f}" for number, outputs in enumerate(listed(found)) for text, score in outputs
    ]
    assert told.out.splitlines() == wanted
    assert told.out != regard("translate", trained.folder, "--n-best", 4, "--scores", stdin=STDIN).out


def test_what_cannot_work_is_refused(trained: Trained, translator: Translator) -> None:
    message = r"^weight = 1\.5: the other model's share of the score must be between 0 and 1$"
    with pytest.raises(UsageError, match=message):
        Rescoring(translator, 1.5)
    told = regard("translate", trained.folder, "--rescore", trained.folder, stdin=STDIN)
    assert told.code == 2
    assert told.err == (
        "regard: --rescore reranks several outputs, but there is one for each line; ask for --n-best 10\n"
    )
    for given, words in (
        (["--rescore", trained.folder, "--weight", 7], "7: the other model's share of the score; give a number "),
        (["--rescore", trained.folder, "--weight", "nan"], "nan: the other model's share of the score; give a number "),
        (["--weight", 0.3], "needs --rescore MODEL\n"),
    ):
        told = regard("translate", trained.folder, "--n-best", 2, *given, stdin=STDIN)
        assert (told.code, told.out) == (2, "")
        assert told.err.startswith(f"regard: --weight {words}")
    risk = ["--n-best", 2, "--set", "decode.risk=chrf"]
    told = regard("translate", trained.folder, "--rescore", trained.folder, *risk, stdin=STDIN)
    assert told.err == "regard: --rescore ranks by probability, decode.risk = 'chrf' by likeness; choose one\n"
