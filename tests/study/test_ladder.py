"""The ladder: all rungs on one text, in one table, gone on with where it was stopped."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import regard
from language_runs import language_recipe, write_text

from regard.errors import UsageError
from regard.recipe import LanguageRecipe, write_recipe
from regard.study.caching import Caches
from regard.study.ladder import Ladder, Result
from regard.study.ladder_report import draw, markdown, out_of_order, rows_of
from regard.study.rungs import RUNGS, rung_recipe

TINY = ["train.batch_tokens=64", "train.validation.every=5", "data.segment=8", "train.steps=5", "train.threads=1"]
MODELS = ["ngram", "lstm", "copying", "cache"]


def text(folder: Path) -> dict[str, object]:
    return {f"data.{part}": files for part, files in write_text(folder).items()}


def test_every_rung_is_a_recipe_and_has_one_below_it() -> None:
    for place, (name, rung) in enumerate(RUNGS.items()):
        assert rung.against in [*RUNGS][:place] or place == 0
        if rung.trained:
            assert isinstance(rung_recipe(name, {"data.corpus": "topics"}, 1.0, []), LanguageRecipe)
    kinds = {rung.settings["model.kind"] for rung in RUNGS.values() if rung.trained}
    assert kinds == {"ngram", "window", "recurrent", "attentive", "copying", "transformer"}


def test_rungs_stand_in_one_table_and_none_is_trained_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.study.ladder.CACHES", Caches((20, 5), (0.3,), (0.1,)))
    said: list[str] = []
    ladder = Ladder(text(tmp_path), MODELS, tmp_path / "out", minutes=5, changes=TINY)
    assert ladder.climb(said.append) is None
    results = ladder.results()
    assert [result.rung for result in results] == MODELS
    assert all(result.perplexity > 1 and result.parameters > 0 for result in results)
    assert all(result.tokens_per_second > 0 for result in results if RUNGS[result.rung].trained)
    by_name = {result.rung: result for result in results}
    lstm, copying = by_name["lstm"], by_name["copying"]
    assert copying.against == "lstm"
    assert copying.added == pytest.approx(100 * (copying.perplexity / lstm.perplexity - 1))
    assert by_name["cache"].parameters == lstm.parameters
    assert "cache:" in by_name["cache"].signature
    stored = json.loads((tmp_path / "out/ladder.json").read_text())
    assert [row["rung"] for row in stored["rungs"]] == MODELS
    assert stored["recipes"]["lstm"]["model"]["cell"] == "lstm"
    assert (tmp_path / "out/ladder.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out/ladder.md").read_text() == markdown(results)

    said.clear()
    again = Ladder(text(tmp_path), MODELS, tmp_path / "out", minutes=5, changes=TINY)
    with pytest.raises(UsageError, match="out: there is a ladder here already; go on with it by --resume, choose "):
        again.climb(said.append)
    again.climb(said.append, resume=True)
    assert said == [f"{name} ({place} of {len(MODELS)}): done before" for place, name in enumerate(MODELS, start=1)]
    assert again.results() == results
    other = Ladder(text(tmp_path), ["lstm"], tmp_path / "out", minutes=6, changes=TINY)
    with pytest.raises(UsageError, match=r"this run was begun with train\.minutes = 5.*, but the recipe now says 6"):
        other.climb(said.append, resume=True)
    shutil.copy(tmp_path / "train.txt", tmp_path / "other.txt")
    elsewhere = {**text(tmp_path), "data.train": [str(tmp_path / "other.txt")]}
    other = Ladder(elsewhere, ["lstm"], tmp_path / "out", minutes=5, changes=TINY)
    with pytest.raises(UsageError, match=r"this run was begun with data\.train = .*train\.txt.* now says .*other\.txt"):
        other.climb(said.append, resume=True)
    (tmp_path / "out/lstm/result.json").write_text("{")
    with pytest.raises(UsageError, match="delete it, and the rung is scored again"):
        again.results()


def result(rung: str, against: str = "", added: float | None = None) -> Result:
    return Result(rung, "an idea", against, 1000, 61.0, 2000.0, 50.0, "tokens:5|x:1", "why", added)


@pytest.mark.parametrize(
    ("reason", "seconds", "why"),
    [
        ("minutes", 30.0, "its training ended while it still improved (30 s); give it more with --minutes"),
        (
            "patience",
            30.0,
            "it stopped improving, so that more time would not help; with more text, or another size than 1,000 "
            "parameters, it may be better",
        ),
        ("", 0.0, "this text does not repeat its words often enough for what is put on top"),
    ],
)
def test_the_picture_says_why_a_rung_is_out_of_order(tmp_path: Path, reason: str, seconds: float, why: str) -> None:
    worse = replace(result("lstm", "ngram", 12.0), reason=reason, seconds=seconds)
    better = replace(result("window", "ngram", -3.0), reason="minutes")
    assert out_of_order([result("ngram"), better]) == []
    assert out_of_order([result("ngram"), better, worse]) == [f"lstm is worse than ngram: {why}"]
    assert f"\nOut of order:\n\n- lstm is worse than ngram: {why}\n" in markdown([worse])
    assert "Out of order" not in markdown([better])
    draw([result("ngram"), better, worse], tmp_path / "ladder.svg")
    drawn = " ".join(re.findall(r"<!-- (.*?) -->", (tmp_path / "ladder.svg").read_text(encoding="utf-8"), re.DOTALL))
    assert why.split(";")[0] in " ".join(drawn.split())


def test_the_table_in_words() -> None:
    results = [result("ngram"), result("window", "ngram", -12.34)]
    assert rows_of(results)[1] == ["ngram", "1,000", "1:01 min", "2,000", "50.00", "", ""]
    assert rows_of(results)[2][-2:] == ["-12.3 %", "ngram"]
    lines = markdown(results).splitlines()
    assert lines[0] == "| rung | parameters | time | tokens/s | perplexity | added | against |"
    assert lines[3] == "| window | 1,000 | 1:01 min | 2,000 | 50.00 | -12.3 % | ngram |"
    assert "- ngram: tokens:5|x:1" in lines


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rungs", "ngram,lstn"], "--rungs: 'lstn' is not a rung; rungs are 'lstm'"),
        (["--rungs", "cache"], "--rungs: 'cache' is put on top of 'lstm'; name that too"),
        (["--minutes", 0], "--minutes 0: a rung needs some time, and an end; give a number above 0\n"),
        (["--minutes", "nan"], "--minutes nan: a rung needs some time, and an end; give a number above 0\n"),
        (["--minutes", "inf"], "--minutes inf: a rung needs some time, and an end; give a number above 0\n"),
        (["."], "regard: .: this is a folder; name a text file, a recipe of a language model, or 'library'\n"),
        (["none.txt"], "none.txt: no such file; name a text file, a recipe of a language model, or 'library'"),
        (["train.txt"], "a ladder needs development and test text; name it with --dev FILE and --test FILE\n"),
        (["train.txt", "--dev", "none.txt"], "regard: none.txt: no such file; name a text file\n"),
        (["train.txt", "--dev", "."], "regard: .: this is a folder; name a text file\n"),
        (["train.txt", "--dev", "dev.txt"], "a ladder needs development and test text; name it with --test FILE"),
        (["topics", "--dev", "dev.txt"], "topics: has development and test text of its own; leave --dev and --test"),
        (["--test", "test.txt"], "library: has development and test text of its own; leave --dev and --test out"),
    ],
)
def test_the_command_refuses_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_text(tmp_path)
    told = regard("ladder", *arguments, "--out", tmp_path / "out")
    assert told.code == 2
    assert words in told.err
    assert not (tmp_path / "out").exists()


def test_the_help_names_all_rungs() -> None:
    told = " ".join(regard("ladder", "--help").out.replace("│", " ").split())
    assert f"Rungs, with commas between them: {', '.join(RUNGS)}. (default: all)" in told
    assert "[[" not in told


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    found = text(tmp_path)
    for out, words in [(tmp_path, "there are other files in this folder"), (tmp_path / "dev.txt", "is a file, but a")]:
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(UsageError, match=f"{out}: {words}.*; choose another --out$"):
            Ladder(found, ["ngram"], out, minutes=1).climb()
        assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(UsageError, match=r"dev\.txt: is a file, but a ladder needs a folder; choose another --out$"):
        Ladder(found, ["ngram"], tmp_path / "dev.txt/below", minutes=1).climb()


def test_the_folder_of_a_model_is_left_alone_though_it_has_a_cache(tmp_path: Path) -> None:
    (tmp_path / "model/cache").mkdir(parents=True)
    (tmp_path / "model/recipe.toml").touch()
    with pytest.raises(UsageError, match=r"model: there are other files in this folder; choose another --out$"):
        Ladder(text(tmp_path), ["ngram"], tmp_path / "model", minutes=1).climb()


def test_the_command(tmp_path: Path) -> None:
    files = write_text(tmp_path)
    changes = [part for change in TINY for part in ("--set", change)]
    named = [files["train"][0], "--dev", files["dev"][0], "--test", files["test"][0]]
    told = regard("ladder", *named, "--rungs", "window,ngram", "--out", tmp_path / "out", *changes)
    assert told.code == 0, told.err
    heading, first, second = told.out.splitlines()
    assert heading.split() == ["rung", "parameters", "time", "tokens/s", "perplexity", "added", "against"]
    assert (first.split()[0], second.split()[0], second.split()[-1]) == ("ngram", "window", "ngram")
    assert "window (2 of 2): words have vectors; a network sees the last four" in told.err
    reports = [line for line in told.err.splitlines() if line.startswith(("train: ", "dev: ", "tokens: "))]
    assert reports
    assert len(reports) == len(set(reports))


def test_the_text_of_a_recipe(tmp_path: Path) -> None:
    """How the recipe's own model reads the text is no matter: a rung reads it in its own way."""
    recipe = language_recipe(tmp_path, data={"vary": True, "segment": 9})
    (tmp_path / "my.toml").write_text(write_recipe(recipe), encoding="utf-8")
    told = regard("ladder", tmp_path / "my.toml", "--rungs", "ngram", "--out", tmp_path / "out")
    assert told.code == 0, told.err
    stored = json.loads((tmp_path / "out/ladder.json").read_text())["recipes"]["ngram"]
    assert stored["data"]["train"] == recipe.data.train
    assert (stored["data"]["context"], stored["data"]["vary"], stored["tokens"]["kind"]) == ("lines", False, "words")
