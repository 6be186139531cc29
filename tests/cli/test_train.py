"""`regard train`: what it says, what it leaves, how it goes on, and what it begins with."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from command_line import ALONE, RECIPE, Trained, content, regard, write_corpus

import regard as library
from regard.checkpoint import ModelFolder, load_weights
from regard.recipe import read_recipe
from regard.train.fast_defaults import settled

SHORT = ["--set", "train.steps=4", "--set", "train.validation.every=2"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a small corpus and a recipe."""
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path, {"train": 40, "dev": 4, "test": 4})
    Path("my.toml").write_text(RECIPE, encoding="utf-8")
    return tmp_path


def same(one: Path, other: Path, which: str = "current") -> bool:
    ours, theirs = load_weights(one, which), load_weights(other, which)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def losses_in(folder: str) -> list[float]:
    records = map(json.loads, Path(folder, "metrics.jsonl").read_text().splitlines())
    return [record["loss"] for record in records if record["event"] == "step"]


def test_it_says_what_it_found_what_it_does_and_why_it_ended(trained: Trained) -> None:
    lines = trained.err.splitlines()
    assert lines[0].startswith("train: 300 pairs in ")
    assert "source: a vocabulary of 12 (words); " in trained.err
    assert "starting with new weights; " in trained.err
    assert "step 50: loss " in trained.err
    assert "step 150: validation: loss " in trained.err
    assert lines[-1].startswith("training ended after ")
    assert "reached train.steps = 150; the best accuracy is " in lines[-1]


def test_it_leaves_a_folder_that_says_what_it_is(trained: Trained) -> None:
    names = set(content(trained.folder))
    assert {"recipe.toml", "metrics.jsonl", "chosen", "current", "tokenizer.source.json", "corpus.sha256"} <= names
    recipe = read_recipe(trained.folder / "recipe.toml")
    asked = settled(read_recipe(trained.recipe), torch.device("cpu"))
    # The tokenizer of BLEU is that of the development text.
    assert (asked.evaluation.bleu_tokenizer, recipe.evaluation.bleu_tokenizer) == ("auto", "13a")
    assert recipe.model_copy(update={"evaluation": asked.evaluation}) == asked
    assert recipe.data.train == [str(trained.recipe.parent / "train.de"), str(trained.recipe.parent / "train.en")]
    events = [json.loads(line)["event"] for line in (trained.folder / "metrics.jsonl").read_text().splitlines()]
    assert events[0] == "started"
    assert events[-1] == "ended"


def test_settings_and_the_default_folder(here: Path) -> None:
    assert regard("train", "my.toml", *SHORT, "--set", "model.attention.score=dot").code == 0
    recipe = read_recipe("runs/my/recipe.toml")
    assert (recipe.train.steps, recipe.model.attention.score) == (4, "dot")  # type: ignore[union-attr]


def test_a_model_in_place_of_a_recipe_is_told_how_to_go_on(here: Path) -> None:
    assert regard("train", "my.toml", *SHORT).code == 0
    told = regard("train", "runs/my")
    assert (told.code, told.err) == (
        2,
        "regard: runs/my: this is the folder of a model, not a recipe; its recipe is runs/my/recipe.toml: train by "
        "that one, with --out runs/my --resume to go on with the model, or with another --out for a new one\n",
    )
    told = regard("train", "runs/my/recipe.toml", "--out", "runs/my", "--resume", "--set", "train.steps=6")
    assert told.code == 0
    assert "resumes from step-00000004, after step 4" in told.err
    assert regard("train", "runs/my/recipe.toml", "--out", "runs/new").code == 0


def test_an_earlier_model_is_not_trained_over(here: Path) -> None:
    assert regard("train", "my.toml", *SHORT).code == 0
    before = content(here / "runs/my")
    told = regard("train", "my.toml", *SHORT)
    assert told.code == 2
    assert told.err == (
        "regard: runs/my: there is a model here already; "
        "continue it with --resume, choose another --out, or delete the folder\n"
    )
    assert content(here / "runs/my") == before


def test_more_steps_later_are_the_same_as_more_steps_at_once(here: Path) -> None:
    assert regard("train", "my.toml", "--out", "once", *SHORT, "--set", "train.schedule.kind=constant").code == 0
    shorter = [*SHORT, "--set", "train.schedule.kind=constant", "--set", "train.steps=2"]
    assert regard("train", "my.toml", "--out", "twice", *shorter).code == 0
    told = regard("train", "my.toml", "--out", "twice", "--resume", *shorter, "--set", "train.steps=4")
    assert told.code == 0
    assert "resumes from step-00000002, after step 2" in told.err
    assert same(here / "once", here / "twice")


def test_a_run_that_was_killed_before_it_saved_anything_begins(here: Path) -> None:
    Path("new").mkdir()
    told = regard("train", "my.toml", "--out", "new", "--resume", *SHORT)
    assert told.code == 0
    assert "starting with new weights" in told.err


@pytest.mark.parametrize("saved", [True, False])
def test_ctrl_c_that_leaves_at_once_leaves_with_a_word(
    here: Path, monkeypatch: pytest.MonkeyPatch, saved: bool
) -> None:
    """The second one, or one before there is anything to stop."""

    def leave(*_: object) -> float:
        raise KeyboardInterrupt

    where = "TranslationTask.passes" if saved else "prepare"
    monkeypatch.setattr(f"regard.tasks.translation.{where}", leave)
    told = regard("train", "my.toml", "--out", "left", *SHORT)
    word = "--resume goes on from the last checkpoint" if saved else "nothing was saved"
    assert told.code == 130
    assert told.err.endswith(f"left at once; {word}\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_training_that_was_stopped_does_not_look_like_one_that_ended(
    here: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    asked: list[object] = []

    def ask_once(self: object, position: object) -> float:
        if not asked:
            signal.raise_signal(number)
        asked.append(position)
        return 0.0

    with monkeypatch.context() as patch:
        patch.setattr("regard.tasks.translation.TranslationTask.passes", ask_once)
        told = regard("train", "my.toml", "--out", "m", *SHORT)
    assert told.code == code
    assert "stopped at step 2, and everything is saved; continue with --resume" in told.err
    assert regard("train", "my.toml", "--out", "m", "--resume", *SHORT).code == 0
    said = " ".join(regard("train", "--help").out.split())
    assert "130 after Ctrl-C (SIGINT) and 143 after SIGTERM" in said


def test_checkpoints_that_were_all_deleted_cannot_be_gone_on_from(trained: Trained, tmp_path: Path) -> None:
    lost = tmp_path / "lost"
    shutil.copytree(trained.folder, lost)
    for checkpoint in (lost / "checkpoints").iterdir():
        shutil.rmtree(checkpoint)
    remedy = (
        f"restore it from a copy, or train again in another folder: `regard train {lost}/recipe.toml --out FOLDER`\n"
    )
    gone = f"{lost}/checkpoints/{ModelFolder(lost).current()}"
    told = regard("translate", lost, stdin=b"eins\n")
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        f"regard: {gone}/checksums.json: cannot be read: No such file or directory; "
        f"no checkpoint is left in {lost}/checkpoints; {remedy}"
    )
    told = regard("train", trained.recipe, "--out", lost, "--resume")
    assert told.code == 2
    assert told.err.endswith(
        f"regard: no checkpoint of this run is intact:\n{gone}: missing, though it is the current checkpoint\n{remedy}"
    )


def test_resuming_with_another_text_is_refused(here: Path) -> None:
    assert regard("train", "my.toml", "--out", "m", *SHORT).code == 0
    before = content(here / "m")
    with Path("train.de").open("a", encoding="utf-8") as source, Path("train.en").open("a", encoding="utf-8") as target:
        source.write("neu\n")
        target.write("new\n")
    told = regard("train", "my.toml", "--out", "m", "--resume", *SHORT)
    assert told.code == 2
    assert "regard: m: the training, development or test text, or a setting of [data], has changed " in told.err
    assert content(here / "m") == before


def test_resuming_with_another_setting_names_it_and_not_the_text(here: Path) -> None:
    first = regard("train", "my.toml", "--out", "m", "--set", "train.steps=2")
    assert first.code == 0, first.err
    told = regard("train", "my.toml", "--out", "m", "--resume", "--set", "train.batch_tokens=77")
    assert told.code == 2
    assert "this run was begun with train.batch_tokens = " in told.err
    assert "but the recipe now says 77" in told.err
    assert "has changed" not in told.err


def test_resuming_with_files_that_moved(here: Path) -> None:
    assert regard("train", "my.toml", "--out", "m", *SHORT).code == 0
    elsewhere = here / "elsewhere"
    elsewhere.mkdir()
    for name in ("my.toml", "train.de", "train.en", "dev.de", "dev.en", "test.de", "test.en"):
        shutil.move(here / name, elsewhere / name)
    told = regard("train", "elsewhere/my.toml", "--out", "m", "--resume", *SHORT)
    assert told.code == 0, told.err


def test_a_text_that_is_refused_leaves_nothing_behind(here: Path) -> None:
    Path("train.de").write_bytes(b"a\xff\n")
    before = sorted(here.rglob("*"))
    told = regard("train", "my.toml", *SHORT)
    assert told.code == 2
    assert "iconv -f CP1252 -t UTF-8 train.de > train.utf8.de" in told.err
    assert sorted(here.rglob("*")) == before


def test_a_run_that_was_refused_at_its_start_can_be_begun_again(trained: Trained, here: Path) -> None:
    start = ["--set", f"train.start_from={trained.folder}"]
    refused = regard("train", "my.toml", "--out", "m", *SHORT, *start, "--set", "model.hidden=24")
    assert refused.code == 2
    assert "the weights there are of another shape: hidden = 24, there 16; give this recipe the same" in refused.err
    told = regard("train", "my.toml", "--out", "m", *SHORT, *start)
    assert told.code == 0, told.err
    assert read_recipe("m/recipe.toml").model.hidden == 16  # type: ignore[union-attr]


def test_one_training_at_a_time(here: Path) -> None:
    with ModelFolder(here / "m").locked():
        told = regard("train", "my.toml", "--out", "m", *SHORT)
    assert told.code == 2
    assert told.err == f"regard: m: process {os.getpid()} trains here; wait for it or choose another --out\n"


def test_fine_tuning_goes_on_without_the_model_it_began_with(trained: Trained, here: Path) -> None:
    shutil.copytree(trained.folder, "first")
    tuned = ["train", "my.toml", "--out", "tuned", "--set", "train.start_from=first"]
    assert regard(*tuned, "--set", "train.steps=1").code == 0
    shutil.rmtree("first")
    told = regard(*tuned, "--set", "train.steps=2", "--resume")
    assert told.code == 0, told.err
    assert "after step 1" in told.err


def test_fine_tuning_writes_down_the_tokens_it_uses(trained: Trained, here: Path) -> None:
    other = ["--set", "tokens.source.kind=bpe", "--set", "tokens.target.size=99"]
    tuned = ["train", "my.toml", "--out", "tuned", "--set", f"train.start_from={trained.folder}", *other]
    told = regard(*tuned, "--set", "train.steps=1")
    assert told.code == 0, told.err
    kept = f"tokens: those of {trained.folder} are kept; of this recipe's [tokens], only dropout counts"
    assert kept in told.err.splitlines()
    assert read_recipe("tuned/recipe.toml").tokens == read_recipe(trained.folder / "recipe.toml").tokens
    assert regard(*tuned, "--set", "train.steps=2", "--resume").code == 0


def test_fine_tuning_begins_with_another_model(trained: Trained, here: Path) -> None:
    start = ["--set", f"train.start_from={trained.folder}"]
    # One word of the new text is unknown to the old model, whose vocabulary is kept.
    Path("train.de").write_text("eins\nfremd\n", encoding="utf-8")
    Path("train.en").write_text("one\nstrange\n", encoding="utf-8")
    told = regard("train", "my.toml", "--out", "tuned", *SHORT, *start, "--set", "train.optimizer.rate=1e-9")
    assert told.code == 0, told.err
    assert f"begins with the weights of {trained.folder}" in told.err
    assert "source: a vocabulary of 12 (words); 2 tokens, 1 of them unknown (50.00%)" in told.err
    ours, theirs = load_weights(here / "tuned"), load_weights(trained.folder)
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-6) for name in theirs)
    texts = ["eins zwei", "Haus"]
    old, new = (library.load(folder).translate(texts) for folder in (trained.folder, "tuned"))
    assert [best.text for best in new] == [best.text for best in old]


def test_a_transformer_with_shared_subwords(here: Path) -> None:
    changes = {
        "model.kind": "transformer",
        "model.width": 8,
        "model.heads": 2,
        "model.feedforward": 8,
        "model.tie": "all",
        "tokens.shared": "true",
        "tokens.source.kind": "bpe",
        "tokens.source.size": 60,
    }
    text = RECIPE.split("[tokens.source]")[0] + "[model]\n" + "[train]" + RECIPE.split("[train]")[1]
    Path("transformer.toml").write_text(text, encoding="utf-8")
    settings = [f"--set={name}={value}" for name, value in changes.items()]
    told = regard("train", "transformer.toml", "--out", "t", *settings, *SHORT)
    assert told.code == 0, told.err
    looked = regard("look", "t", "eins zwei", "one two")
    assert looked.code == 0
    assert "∎" in looked.out
    aligned = regard("align", "t", "test.de", "test.en", "--layer", "decoder.layers.1.cross.weights", "--head", "1")
    assert aligned.code == 0, aligned.err
    assert len(aligned.out.splitlines()) == 4


def test_a_model_without_attention_has_no_alignments(here: Path) -> None:
    assert regard("train", "my.toml", "--out", "bare", *SHORT, "--set", "model.attention.score=none").code == 0
    told = regard("align", "bare", "test.de", "test.en")
    assert told.code == 2
    assert "this model has no attention (model.attention.score = 'none')" in told.err
    assert "gates" in regard("look", "bare", "eins", "--list").out
    assert regard("evaluate", "bare").code == 0


@pytest.mark.long
def test_two_processes_train_as_one(here: Path) -> None:
    """Through the real torchrun: the losses of one process, up to the order in which floats are added."""
    settings = [*SHORT, "--set", "train.steps=6", "--set", "train.log_every=1"]
    assert regard("train", "my.toml", "--out", "one", *settings).code == 0
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, "-m", "regard", "train", "my.toml", "--out", "two", *settings]
    ended = subprocess.run(command, capture_output=True, timeout=120, env=ALONE, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    assert b"on cpu in 2 processes" in ended.stderr
    assert len(losses_in("one")) == 6
    assert losses_in("one") == pytest.approx(losses_in("two"), rel=1e-4)
    ours, theirs = load_weights("one"), load_weights("two")
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-4) for name in ours)
