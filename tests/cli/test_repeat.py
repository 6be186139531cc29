"""`regard repeat`: every seed once, scores that add up, and going on after whatever ended it."""

import json
import os
import signal
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import RECIPE, content, regard, write_corpus
from language_runs import language_recipe
from train_processes import begin

from regard.cli.repeat import lines_of
from regard.recipe import TASKS, read_recipe, write_recipe
from regard.train import Repeat, Results, Spread, repeating

SHORT = ["--set", "train.steps=3", "--set", "train.validation.every=2", "--set", "decode.beam=1"]
SHORT += ["--set", "decode.longest_factor=1", "--set", "decode.longest_extra=0"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path, {"train": 40, "dev": 4, "test": 4})
    Path("my.toml").write_text(RECIPE, encoding="utf-8")
    return tmp_path


def results(folder: str = "out") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(folder, "results.json").read_text(encoding="utf-8"))
    return found


def test_every_seed_is_trained_and_the_scores_are_summed_up(here: Path) -> None:
    told = regard("repeat", "my.toml", "--seeds", "3,5", "--out", "out", "--on-test", *SHORT)
    assert told.code == 0, told.err
    assert "seed 3 (1 of 2)\n" in told.err
    assert "seed 5, test: accuracy " in told.err
    assert told.err.count("train: 40 pairs to train on\n") == 1  # the text is the same for all seeds
    found = results()
    assert (found["seeds"], found["unfinished"]) == ([3, 5], [])
    assert [run["seed"] for run in found["training"]] == [3, 5]
    assert [(run["steps"], run["ended"]) for run in found["training"]] == [(3, "steps")] * 2
    for seed in (3, 5):
        assert read_recipe(f"out/seed-{seed}/recipe.toml").seed == seed
    for split in ("dev", "test"):
        assert list(found["scores"][split])[:4] == ["accuracy", "BLEU", "chrF2", "TER"]
        for name, spread in found["scores"][split].items():
            evaluated = [json.loads(Path(f"out/seed-{seed}/results.json").read_text()) for seed in (3, 5)]
            values = [
                next(score["value"] for score in one["scores"][split] if score["name"] == name) for one in evaluated
            ]
            assert spread["values"] == values
            assert spread["mean"] == pytest.approx(sum(values) / 2)
            assert spread["standard_deviation"] == pytest.approx(abs(values[0] - values[1]) / 2**0.5)
            assert spread["range"] == sorted(values)
            assert len(spread["signatures"]) == 1
            assert f"{name}: {spread['signatures'][0]}" in told.out
    assert "\ndev, 2 seeds  " in told.out
    assert "\ntest, 2 seeds  " in told.out
    evaluate = regard("evaluate", "out/seed-5", "--split", "test")
    chrf = found["scores"]["test"]["chrF2"]["values"][1]
    assert f"chrF2 {chrf:.4g} (" in evaluate.out


def test_finished_seeds_are_not_repeated_and_more_can_be_added(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert regard("repeat", "my.toml", "--seeds", "1", "--out", "out", *SHORT).code == 0
    assert results()["scores"]["dev"]["BLEU"]["standard_deviation"] is None
    assert list(results()["scores"]) == ["dev"]
    before = content(here / "out/seed-1")
    told = regard("repeat", "my.toml", "--seeds", "1,2", "--out", "out", "--resume", *SHORT)
    assert told.code == 0, told.err
    assert "seed 1 (1 of 2): finished before\nseed 2 (2 of 2)\n" in told.err
    assert content(here / "out/seed-1") == before
    assert results()["seeds"] == [1, 2]
    # The test text is asked for later: nothing is trained for it, and it is looked at once.
    monkeypatch.setattr(repeating, "run", lambda *_, **__: pytest.fail("trained again"))
    assert regard("repeat", "my.toml", "--seeds", "1,2", "--out", "out", "--resume", "--on-test", *SHORT).code == 0
    assert list(results()["scores"]) == ["dev", "test"]
    monkeypatch.setattr(repeating, "scores_of", lambda *_, **__: pytest.fail("evaluated again"))
    assert regard("repeat", "my.toml", "--seeds", "1,2", "--out", "out", "--resume", "--on-test", *SHORT).code == 0


def test_seeds_and_test_scores_of_earlier_commands_stay_in_the_results(here: Path) -> None:
    assert regard("repeat", "my.toml", "--seeds", "1,2", "--out", "out", "--on-test", *SHORT).code == 0
    before = results()
    told = regard("repeat", "my.toml", "--seeds", "3,2", "--out", "out", "--resume", *SHORT)
    assert told.code == 0, told.err
    now = results()
    assert (now["seeds"], now["unfinished"]) == ([1, 3, 2], [])
    assert [run["seed"] for run in now["training"]] == [1, 3, 2]
    assert now["scores"]["test"] == before["scores"]["test"]
    for name, spread in now["scores"]["dev"].items():
        assert spread["seeds"] == [1, 3, 2]
        assert [spread["values"][place] for place in (0, 2)] == before["scores"]["dev"][name]["values"]
    assert "\ndev, 3 seeds  " in told.out
    assert "\ntest, 2 seeds  " in told.out


def test_all_numbers_of_a_table_have_the_same_digits() -> None:
    spreads = (Spread("accuracy", (0.5, 0.75), ("exact",)), Spread("BLEU", (9.0, 30.123456), ("tok:13a",)))
    *_, accuracy, bleu, _, _, _ = lines_of(Results((1, 2), (), {"dev": spreads}))
    assert accuracy.split() == ["accuracy", "0.625", "0.177", "0.500", "0.750"]
    assert bleu.split() == ["BLEU", "19.562", "14.937", "9.000", "30.123"]


def repeat_and_tell(*arguments: str) -> None:
    """Repeats in a process of its own, whose last words are left in a file."""
    told = regard("repeat", *arguments)
    Path("said").write_text(told.err, encoding="utf-8")
    sys.exit(told.code)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_killed_or_stopped_it_goes_on_where_it_was(here: Path, by: signal.Signals) -> None:
    longer = ["my.toml", "--seeds", "1,2", "--out", "out", *SHORT, "--set", "train.steps=16"]
    process = begin(repeat_and_tell, *longer)
    # The second seed has saved what it begins with, so that there is something to go on from.
    while not Path("out/seed-2/current").exists() and process.is_alive():
        time.sleep(0.005)
    assert process.pid is not None
    os.kill(process.pid, by)
    process.join(timeout=60)
    assert results()["seeds"] == [1]
    if by is signal.SIGINT:
        assert process.exitcode == 130
        assert results()["unfinished"] == [2]
        said = Path("said").read_text(encoding="utf-8")
        assert said.endswith("stopped, and everything is saved; still to do: seed 2; continue with --resume\n")
    first = content(here / "out/seed-1")
    told = regard("repeat", *longer, "--resume")
    assert told.code == 0, told.err
    assert "seed 1 (1 of 2): finished before" in told.err
    assert "resumes from step-" in told.err
    assert content(here / "out/seed-1") == first
    assert (results()["seeds"], results()["unfinished"]) == ([1, 2], [])


def test_ctrl_c_while_evaluating_leaves_cleanly(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(repeating, "scores_of", interrupted)
        told = regard("repeat", "my.toml", "--seeds", "1", "--out", "out", *SHORT)
    assert told.code == 130
    assert told.out == ""
    assert told.err.endswith("still to do: seed 1; continue with --resume\n")
    assert regard("repeat", "my.toml", "--seeds", "1", "--out", "out", "--resume", *SHORT).code == 0


def test_what_repeat_refuses(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert regard("repeat", "my.toml", "--seeds", "1", "--out", "out", *SHORT).code == 0
    Path("out/seed-7").mkdir()
    Path("out/seed-7/results.json").write_text("{", encoding="utf-8")
    Path("file").write_text("", encoding="utf-8")
    no_dev = ["--set", "data.dev=[]", "--set", "train.validation.metric=loss"]
    for arguments, words in [
        (["--seeds", "1,x"], "--seeds '1,x': expected whole numbers with commas between them, such as 1,2,3"),
        (["--seeds", f"1,{2**70}"], f"recipe: seed = {2**70}: must be "),
        (["--seeds", "2,2"], "seed 2 is named twice; the same seed gives the same model"),
        ([], "out: something was repeated here already; continue it with --resume, choose another --out, or "),
        (["--resume", "--set", "train.steps=4"], "out: this run was begun with train.steps = 3, but the recipe"),
        (["--resume", "--set", "decode.beam=2"], "out: this run was begun with decode.beam = 1, but the recipe"),
        (["--resume", "--seeds", "7"], "out/seed-7/results.json: damaged; delete it, and the model of seed 7 is"),
        (["--out", "file"], "file: is a file, but the seeds need a folder; choose another --out"),
        (["--out", "."], ".: there are other files in this folder; choose another --out"),
        (["--out", "file/a"], "file/a: cannot be written: Not a directory; choose another --out"),
        (no_dev, "the recipe names no development text to evaluate on; set data.dev, or evaluate with --on-test"),
        (["--on-test", "--set", "data.test=[]"], "--on-test: the recipe names no test text; set data.test"),
    ]:
        told = regard("repeat", "my.toml", "--out", "out", *SHORT, *arguments)
        assert told.code == 2, told.err
        assert words in told.err
    monkeypatch.setenv("WORLD_SIZE", "2")
    told = regard("repeat", "my.toml", "--out", "new", *SHORT)
    assert told.err.startswith("regard: repeat runs in one process; with torchrun, use `regard train --set seed=N` for")


def test_seeds_of_other_text_have_no_mean(here: Path) -> None:
    assert regard("repeat", "my.toml", "--seeds", "1", "--out", "out", *SHORT).code == 0
    for name in ("train.de", "train.en"):
        with Path(name).open("a", encoding="utf-8") as file:
            file.write("neu\n")
    told = regard("repeat", "my.toml", "--seeds", "1,2", "--out", "out", "--resume", *SHORT)
    assert told.code == 2
    assert "regard: out: the text of seed 2 is not that of seed 1; bring the old text back, or repeat all " in told.err


def test_spreads_by_hand() -> None:
    spread = Spread("BLEU", (30.0, 31.0, 35.0), ("tok:13a",))
    assert spread.mean == 32.0
    assert spread.deviation == pytest.approx(statistics.stdev([30.0, 31.0, 35.0])) == pytest.approx(7**0.5)
    assert spread.as_json()["range"] == [30.0, 35.0]


def test_a_language_model_is_judged_by_what_score_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lm.toml").write_text(write_recipe(language_recipe(tmp_path)), encoding="utf-8")
    told = regard("repeat", "lm.toml", "--seeds", "1,2", "--out", "out", "--on-test")
    assert told.code == 0, told.err
    assert "seed 2, test: perplexity per token " in told.err
    for split in ("dev", "test"):
        scores = results()["scores"][split]
        assert list(scores) == ["perplexity per token", "perplexity per word", "bits per character"]
        for place, seed in enumerate((1, 2)):
            assert regard("score", f"out/seed-{seed}", "--split", split, "--json", "a.json").code == 0
            scored = json.loads(Path("a.json").read_text(encoding="utf-8"))
            assert scores["perplexity per token"]["values"][place] == pytest.approx(scored["scores"][0]["value"])
    monkeypatch.setattr(repeating, "scores_of", lambda *_: pytest.fail("scored again"))
    assert regard("repeat", "lm.toml", "--seeds", "1,2", "--out", "out", "--on-test", "--resume").code == 0
    told = regard("repeat", "lm.toml", "--out", "new", "--on-test", "--set", "data.test=[]")
    assert (told.code, told.err) == (2, "regard: --on-test: the recipe names no test text; set data.test\n")


def test_vectors_are_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "vectors.toml").write_text('task = "vectors"\n', encoding="utf-8")
    told = regard("repeat", str(tmp_path / "vectors.toml"), "--out", str(tmp_path / "out"))
    *others, last = (repr(task) for task in TASKS if task != "vectors")
    needed = f"task = 'vectors', but a recipe with task = {', '.join(others)} or {last} is needed here\n"
    assert (told.code, told.err) == (2, f"regard: {tmp_path}/vectors.toml: {needed}")


def test_the_built_in_corpora_need_no_files(tmp_path: Path) -> None:
    recipe = read_recipe("dates")
    assert Repeat(recipe, [1], tmp_path / "out").splits == ("dev",)
    assert Repeat(recipe, [1], tmp_path / "out", test=True).splits == ("dev", "test")
    assert not (tmp_path / "out").exists()


def test_results_that_cannot_be_written_are_a_message(here: Path) -> None:
    Path("out/seed-1").mkdir(parents=True)
    Path("out/repeated.toml").write_text(write_recipe(read_recipe("my.toml", SHORT[1::2])), encoding="utf-8")
    Path("out/.results.json.unfinished").mkdir()
    told = regard("repeat", "my.toml", "--seeds", "1", "--out", "out", "--resume", *SHORT)
    assert told.code == 2
    assert told.err.endswith("out/results.json: cannot be written: Is a directory; make room and --resume\n")
