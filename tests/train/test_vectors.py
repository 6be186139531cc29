"""A run that learns vectors: its folder, Ctrl-C, kills, and what it says."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from regard.errors import RecipeError, TrainingError, UsageError
from regard.recipe import VectorsRecipe, parse_recipe, read_recipe, write_recipe
from regard.train.vectors import Pace, in_words, learn_vectors
from regard.vectors import Vectors
from regard.vectors.predicting import CpuEngine

SMALL = {"kind": "skipgram", "dimension": 6, "negatives": 2, "window": 2, "epochs": 4, "sample": 0.1, "rate": 0.2}


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VectorsRecipe:
    monkeypatch.setattr(CpuEngine, "span", 100)
    draw = np.random.default_rng(1)
    (tmp_path / "text").write_text("\n".join(" ".join(draw.choice(list("abcdefgh"), 6)) for _ in range(200)))
    tables = {"task": "vectors", "data": {"train": [str(tmp_path / "text")]}, "vectors": SMALL}
    return parse_recipe(tables, kind=VectorsRecipe)


def changed(recipe: VectorsRecipe, **changes: object) -> VectorsRecipe:
    return recipe.model_copy(update={"vectors": recipe.vectors.model_copy(update=changes)})


def quiet(pace: Pace) -> None:
    pass


class Interrupt:
    """Sends a signal when it has been told so often; once only, since a second one would end the tests."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, pace: Pace) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGTERM)


def test_a_run_leaves_vectors_their_recipe_and_how_fast_it_was(recipe: VectorsRecipe, tmp_path: Path) -> None:
    paces: list[Pace] = []
    ended = learn_vectors(recipe, tmp_path / "run", tell=paces.append)
    assert ended.vectors is not None
    found = Vectors.load(tmp_path / "run")
    assert sorted(found.words) == list("abcdefgh")
    assert (found.matrix == ended.vectors.matrix).all()
    assert found.about["method"]["kind"] == "skipgram"
    counts = Counter(Path(recipe.data.train[0]).read_text(encoding="utf-8").split())
    assert {word: found.occurrences(word) for word in found.words} == {word: counts[word] for word in found.words}
    assert read_recipe(tmp_path / "run" / "recipe.toml", kind=VectorsRecipe) == recipe
    assert paces[-1].words == paces[-1].total == 200 * 6 * 4
    (record,) = map(json.loads, (tmp_path / "run" / "metrics.jsonl").read_text().splitlines())
    assert (record["event"], record["words"]) == ("ended", 4800)
    assert record["words_per_second"] > 0
    assert record["most_memory"] > 1e7
    assert list((tmp_path / "run" / "checkpoints").iterdir()) == []


def test_a_folder_with_vectors_is_not_written_over(recipe: VectorsRecipe, tmp_path: Path) -> None:
    first = learn_vectors(recipe, tmp_path / "run", tell=quiet).vectors
    with pytest.raises(UsageError, match="there is a model here already; continue it with --resume"):
        learn_vectors(recipe, tmp_path / "run", tell=quiet)
    with pytest.raises(UsageError, match=r"this run was begun with vectors.window = 2, but the recipe now says 3"):
        learn_vectors(changed(recipe, window=3), tmp_path / "run", resume=True, tell=quiet)
    again = learn_vectors(recipe, tmp_path / "run", resume=True, tell=quiet)
    assert again.pace is None, "nothing was left to learn"
    assert first is not None
    assert again.vectors is not None
    assert (again.vectors.matrix == first.matrix).all()


def test_a_signal_saves_and_leaves_and_the_run_goes_on(recipe: VectorsRecipe, tmp_path: Path) -> None:
    whole = learn_vectors(recipe, tmp_path / "whole", tell=quiet).vectors
    stopped = learn_vectors(recipe, tmp_path / "run", tell=Interrupt(after=5))
    assert (stopped.vectors, stopped.signal) == (None, signal.SIGTERM)
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 1
    resumed = learn_vectors(changed(recipe, save_every=7.0), tmp_path / "run", resume=True, tell=quiet)
    assert whole is not None
    assert resumed.vectors is not None
    assert (whole.matrix == resumed.vectors.matrix).all()
    events = [json.loads(line)["event"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert events == ["interrupted", "ended"]


def test_another_text_is_refused(recipe: VectorsRecipe, tmp_path: Path) -> None:
    learn_vectors(recipe, tmp_path / "run", tell=Interrupt(after=1))
    (tmp_path / "text").write_text("other words\n" * 50)
    with pytest.raises(UsageError, match="this run was begun with another text"):
        learn_vectors(recipe, tmp_path / "run", resume=True, tell=quiet)


@pytest.mark.long
def test_killed_it_goes_on_and_ends_in_the_same_bits(recipe: VectorsRecipe, tmp_path: Path) -> None:
    """A process of its own is killed amid learning, with a state saved after every span."""
    long = changed(recipe, epochs=300)
    whole = learn_vectors(long, tmp_path / "whole", tell=quiet).vectors
    (tmp_path / "recipe.toml").write_text(write_recipe(changed(long, save_every=1e-9)))
    program = (
        "import sys; from pathlib import Path; from regard.recipe import VectorsRecipe, read_recipe;"
        "from regard.vectors.predicting import CpuEngine; CpuEngine.span = 100;"
        "from regard.train.vectors import learn_vectors;"
        "recipe = read_recipe(sys.argv[1], kind=VectorsRecipe);"
        "learn_vectors(recipe, Path(sys.argv[2]), resume=True, tell=lambda pace: None)"
    )
    states = tmp_path / "run" / "checkpoints"
    arguments = [str(tmp_path / "recipe.toml"), str(tmp_path / "run")]
    process = subprocess.Popen([sys.executable, "-c", program, *arguments])
    limit = time.monotonic() + 60
    while _newest(states) < 20 and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert 20 <= _newest(states) < 4000
    resumed = learn_vectors(long, tmp_path / "run", resume=True, tell=quiet).vectors
    assert whole is not None
    assert resumed is not None
    assert (whole.matrix == resumed.matrix).all()


def _newest(states: Path) -> int:
    return max((int(path.name) for path in states.glob("0*")), default=0) if states.exists() else 0


def test_a_full_disk_is_named_while_text_is_read(recipe: VectorsRecipe, tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.raises(TrainingError) as raised:
            learn_vectors(recipe, tmp_path / "run", tell=quiet)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(raised.value) == (
        f"{tmp_path}/run: a file of this run could not be written: File too large. "
        "Make room on this disk, then continue with --resume"
    )
    assert learn_vectors(recipe, tmp_path / "run", resume=True, tell=quiet).vectors is not None


def test_a_full_disk_is_named_while_company_is_counted(
    recipe: VectorsRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counting(*_: object, **__: object) -> NoReturn:
        # As NumPy says it, without a number of the system's.
        raise OSError("8192 requested and 4096 written")

    monkeypatch.setattr("regard.vectors.counting.counting", counting)
    tables = recipe.model_dump() | {"vectors": {"kind": "svd", "dimension": 3}}
    told = "run: a file of this run could not be written: 8192 requested and 4096 written. Make room"
    with pytest.raises(TrainingError, match=told):
        learn_vectors(parse_recipe(tables, kind=VectorsRecipe), tmp_path / "run", tell=quiet)


def test_a_person_is_told_the_pace(
    recipe: VectorsRecipe, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.train.vectors.REPORT_EVERY", 0.0)
    learn_vectors(recipe, tmp_path / "run")
    told = capsys.readouterr().err.splitlines()
    read = told.index("1,200 words, 8 of them different")
    assert set(told[:read]) == {"reading the text"}
    assert told[read + 1].endswith(" %")
    assert told[-1].startswith("100 %, ")
    assert told[-1].endswith(" words/s, 0 s left")
    assert in_words(Pace(50, 200, "counting", 3.0, 10.0)) == "counting: 25 %, 10 words/s, 15 s left"
    assert in_words(Pace(200, 200, "factorizing", 3.0, 10.0)) == "factorizing"


def test_recipes_of_other_tasks_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("")
    with pytest.raises(RecipeError, match="task = 'translation', but a recipe with task = 'vectors' is needed here"):
        read_recipe(tmp_path / "other.toml", kind=VectorsRecipe)
