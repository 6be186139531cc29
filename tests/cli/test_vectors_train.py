"""`regard vectors train`: by recipe, by text or by neither; refused in words; interrupted and resumed."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from command_line import ALONE, regard

from regard.recipe import VectorsRecipe, read_recipe
from regard.train.vectors import Pace, VectorsRun
from regard.vectors import Vectors
from regard.vectors.learning import LEARNERS

SMALL = [f"vectors.{change}" for change in ("dimension=6", "negatives=2", "window=2", "epochs=2", "sample=0.1")]
OPTIONS = [part for change in SMALL for part in ("--set", change)]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    draw = np.random.default_rng(1)
    path = tmp_path / "text.txt"
    path.write_text("\n".join(" ".join(draw.choice(list("abcdefgh"), 6)) for _ in range(200)))
    return path


@pytest.mark.spread(3)
@pytest.mark.parametrize("kind", LEARNERS)
def test_every_way_to_learn_learns(text: Path, tmp_path: Path, kind: str) -> None:
    changes = OPTIONS if kind in ("skipgram", "cbow") else ["--set", "vectors.dimension=6"]
    told = regard(
        "vectors", "train", "--text", text, "--out", tmp_path / "run", "--set", f"vectors.kind={kind}", *changes
    )
    assert told.code == 0, told.err
    speed = r"( with compiling, at [\d,]+ words/s after it)?"
    assert re.match(rf"8 vectors of 6 numbers, learned in \d+ s{speed}: ", told.out), told.out
    assert f": {tmp_path / 'run'}\nnext: regard vectors similar {tmp_path / 'run'} " in told.out
    vectors = Vectors.load(tmp_path / "run")
    assert sorted(vectors.words) == list("abcdefgh")
    assert np.isfinite(vectors.matrix).all()
    assert read_recipe(tmp_path / "run" / "recipe.toml", kind=VectorsRecipe).vectors.kind == kind


def test_a_recipe_names_its_text(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my.toml").write_text('task = "vectors"\n[data]\ntrain = ["text.txt"]\n[vectors]\nkind = "skipgram"\n')
    monkeypatch.chdir(tmp_path)
    assert regard("vectors", "train", "my.toml", *OPTIONS).code == 0
    assert len(Vectors.load("runs/my")) == 8
    again = regard("vectors", "train", "my.toml", *OPTIONS)
    assert again.code == 2
    assert again.err == (
        "regard: runs/my: there is a model here already; "
        "continue it with --resume, choose another --out, or delete the folder\n"
    )
    assert regard("vectors", "train", "my.toml", "--resume", *OPTIONS).out.startswith(
        "8 vectors of 6 numbers, learned before: runs/my\n"
    )
    both = regard("vectors", "train", "my.toml", "--text", text)
    assert (both.code, both.err) == (
        2,
        "regard: a recipe names its text; leave --text out, or change the recipe's by --set data.train=[…]\n",
    )


def test_without_recipe_and_text_pythons_own_help_is_read(tmp_path: Path) -> None:
    told = regard("vectors", "train", "--out", tmp_path / "run", *OPTIONS)
    assert told.code == 0
    assert "class" in Vectors.load(tmp_path / "run")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("vectors.kind=word2vec", "vectors.kind = 'word2vec' is not allowed; allowed are 'skipgram'"),
        ("vectors.dimensions=5", "unknown setting 'vectors.dimensions'; nearest known: 'vectors.dimension'"),
        ("vectors.dimension=many", "vectors.dimension = 'many': must be a whole number"),
        ("vectors.longest=2", "n-grams of at least 3 and at most 2 characters: there are none; raise longest"),
        ("vectors.last_rate=0.5", "last_rate = 0.5 is above rate = 0.025; lower it: the rate falls"),
        ("data.corpus=topics", "train names files, but corpus is 'topics'; set corpus to 'files' or leave train out"),
        ("data.train=[]", "train is missing: name a text file, or choose corpus = 'library', which is built in"),
        ("data.least=1000", "0 words occur 1000 times or more; that is too little to learn from"),
    ],
)
def test_what_cannot_be_is_refused_in_words(text: Path, tmp_path: Path, change: str, complaint: str) -> None:
    told = regard("vectors", "train", "--text", text, "--out", tmp_path / "run", "--set", change)
    assert told.code == 2
    assert complaint in told.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "the file is empty"),
        (b"a\xff", "not valid UTF-8"),
        (None, "no such file"),
        (b"a b", "too little to learn"),
    ],
)
def test_a_text_that_cannot_be_learned_from_leaves_nothing_behind(
    tmp_path: Path, content: bytes | None, complaint: str
) -> None:
    if content is not None:
        (tmp_path / "new.txt").write_bytes(content)
    before = sorted(tmp_path.rglob("*"))
    told = regard("vectors", "train", "--text", tmp_path / "new.txt", "--out", tmp_path / "runs" / "mine")
    assert told.code == 2
    assert complaint in told.err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("kind", "change", "contexts"), [("svd", "smoothing=1", 8), ("hellinger", "contexts=4", 4)])
def test_more_dimensions_than_there_are_leave_no_run_behind(
    text: Path, tmp_path: Path, kind: str, change: str, contexts: int
) -> None:
    command = ["vectors", "train", "--text", text, "--out", tmp_path / "run", "--set", f"vectors.kind={kind}"]
    told = regard(*command, "--set", f"vectors.{change}", "--set", f"vectors.dimension={contexts}")
    assert told.code == 2
    assert f"vectors.dimension = {contexts}, but words with {contexts} contexts have at most {contexts - 1}" in told.err
    assert regard(*command, "--set", f"vectors.{change}", "--set", f"vectors.dimension={contexts - 1}").code == 0


def test_ngrams_are_not_for_a_gpu(text: Path, tmp_path: Path) -> None:
    changes = ["--set", "vectors.longest=5", "--set", "vectors.device=cuda"]
    told = regard("vectors", "train", "--text", text, "--out", tmp_path / "run", *changes)
    assert "n-grams (longest = 5) are learned on the CPU; set device to 'cpu'" in told.err


@pytest.mark.long
def test_ctrl_c_saves_and_leaves_with_its_exit_code(text: Path, tmp_path: Path) -> None:
    text.write_text(text.read_text() * 100)
    command = ["vectors", "train", "--text", str(text), "--out", str(tmp_path / "run"), *OPTIONS]
    long = [*command, "--set", "vectors.epochs=100000"]
    process = subprocess.Popen([sys.executable, "-m", "regard", *long], stderr=subprocess.PIPE, env=ALONE)
    limit = time.monotonic() + 60
    while not (tmp_path / "run" / "checkpoints").exists() and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert re.search(rb"stopped at \d+ %, and everything is saved; continue with --resume\n$", told), told
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 1
    assert not (tmp_path / "run" / "vectors.json").exists()


def test_counts_that_are_not_whole_begin_anew(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pace = Pace(words=5, total=10, stage="counting", seconds=1.0, words_per_second=5.0)
    stopped = VectorsRun(None, pace, signal.SIGTERM)
    monkeypatch.setattr("regard.train.vectors.learn_vectors", lambda *_, **__: stopped)
    told = regard("vectors", "train", "--text", text, "--out", tmp_path / "run", "--set", "vectors.kind=svd")
    assert (told.code, told.out) == (143, "")
    assert told.err == "stopped while counting, which starts over with --resume\n"
