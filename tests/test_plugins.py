"""What another package brings works in every command, without a line about it in ours."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

PACKAGE = Path(__file__).parent / "plugin_package"
OURS = Path(__file__).parent.parent / "src"
MOODS = """\
task = "moods"

[data]
train = ["train.moods"]
dev = ["dev.moods"]
test = ["dev.moods"]

[train]
steps = 240
log_every = 1
device = "cpu"

[train.optimizer]
rate = 0.05

[train.schedule]
kind = "constant"
warmup = 0

[train.validation]
every = 40
metric = "misses"
"""
TRANSLATOR = [
    *("data.corpus=copy", "data.examples=40", "tokens.source.kind=characters", "tokens.target.kind=characters"),
    *("model.kind=recurrent", "model.embedding=8", "model.hidden=8", "model.attention.score=taxicab"),
    *("model.encoder.kind=reversed", "model.encoder.width=8", "train.steps=3", "train.device=cpu"),
]
STRANGE = [
    *("data.corpus=number-words", "data.examples=120", "tokens.source.kind=hyphens", "tokens.target.kind=hyphens"),
    *("model.kind=mean", "model.width=16", "train.steps=150", "train.device=cpu", "train.optimizer.rate=0.02"),
    *("train.validation.metric=accuracy", "train.schedule.warmup=0"),
]
# One process for many commands: torch is imported once.
DRIVER = """
import json, sys
from command_line import regard
for arguments, stdin in json.load(sys.stdin):
    told = regard(*arguments, stdin=stdin.encode())
    print(json.dumps([told.code, told.out, told.err]))
"""


# What the explorer answers about a trained model, as a page would ask.
EXPLORER = """
import json, sys
import regard
from fastapi.testclient import TestClient
from regard.web.app import create_app
app = create_app({"mine": regard.load(sys.argv[1], device="cpu")})
with TestClient(app, base_url="http://127.0.0.1:8765") as client:
    for verb, asked in json.load(sys.stdin):
        path = f"/api/models/mine/{verb}" if verb else "/api/models"
        answer = client.post(path, json=asked) if verb else client.get(path)
        print(json.dumps([answer.status_code, answer.json()]))
"""


@dataclass(frozen=True)
class Told:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Place:
    """A folder to work in, and where packages are installed."""

    folder: Path
    packages: Path

    @property
    def environment(self) -> dict[str, str]:
        paths = (self.packages, OURS, Path(__file__).parent)
        return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "OMP_NUM_THREADS": "1"}

    def regard(self, *commands: list[str], stdin: str = "") -> list[Told]:
        """What each command tells."""
        given = json.dumps([(command, stdin) for command in commands])
        python = [sys.executable, "-c", DRIVER]
        options = {"cwd": self.folder, "env": self.environment, "timeout": 300}
        ended = subprocess.run(python, input=given, capture_output=True, text=True, check=False, **options)
        assert ended.returncode == 0, ended.stderr
        return [Told(*json.loads(line)) for line in ended.stdout.splitlines()]

    def explore(self, folder: str, *asked: tuple[str, dict[str, Any]]) -> list[tuple[int, Any]]:
        """What the explorer answers about a model."""
        python = [sys.executable, "-c", EXPLORER, folder]
        options = {"cwd": self.folder, "env": self.environment, "timeout": 300}
        ended = subprocess.run(python, input=json.dumps(asked), capture_output=True, text=True, check=False, **options)
        assert ended.returncode == 0, ended.stderr
        return [(status, content) for status, content in map(json.loads, ended.stdout.splitlines())]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stranger's package, installed as any other."""
    target = tmp_path_factory.mktemp("packages")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--no-index", "--target", str(target), str(PACKAGE)], check=True)
    return target


@pytest.fixture
def place(tmp_path: Path, packages: Path) -> Place:
    glad = [f"glad ~ {word} is fine" for word in ("spring", "summer", "music", "bread")]
    sad = [f"sad ~ {word} is lost" for word in ("autumn", "winter", "money", "rain")]
    (tmp_path / "train.moods").write_text("\n".join([*glad, *sad]) + "\n")
    (tmp_path / "dev.moods").write_text("glad ~ spring is fine\nsad ~ rain is lost\n")
    (tmp_path / "bad.moods").write_text("glad ~ it is spring\nit is autumn\n")
    (tmp_path / "my.toml").write_text(MOODS)
    return Place(tmp_path, packages)


def test_a_task_of_another_package_does_all_that_ours_do(place: Place) -> None:
    told = place.regard(
        ["--help"],
        ["check", "train.moods", "--dev", "dev.moods"],
        ["check", "bad.moods"],
        ["train", "my.toml", "--out", "whole", "--set", "train.validation.metric=mises"],
        ["train", "my.toml", "--out", "whole", "--set", "model.wdth=3"],
        ["train", "my.toml", "--out", "whole", "--set", "train.r_drop=5.0"],
        ["train", "my.toml", "--out", "whole"],
        ["evaluate", "whole"],
        ["look", "whole", "spring is fine", "--list"],
        ["look", "whole", "spring is fine"],
        ["look", "whole", "spring is fine", "-o", "look.png"],
        ["judge", "whole"],
        ["translate", "whole"],
        ["recipes", "--settings"],
        stdin="spring is fine\nrain is lost\n",
    )
    helped, good, bad, metric, setting, unused, trained, evaluated, listed, looked, drawn, judged, other, settings = (
        told
    )
    assert "judge" in helped.out
    assert "Tell the mood of each line" in helped.out
    assert (good.code, good.out) == (0, "train: 8 sentences\ndev: 2 sentences\nno problems found\n")
    assert bad.code == 2
    assert re.search(r"bad\.moods:2: 'it is autumn' has no mood; write it before ' ~ '", bad.err)
    assert "train.validation.metric = 'mises' is not allowed; allowed are 'misses' or 'loss'" in metric.err
    assert "unknown setting 'model.wdth'; nearest known: 'model.width'" in setting.err
    assert "unknown setting 'train.r_drop'; nearest known: " in unused.err
    assert trained.code == 0, trained.err
    assert evaluated.out == "misses 0 (of:2|moods:2.5)\n"
    assert listed.out == "weights  source 3\nmoods    mood 2\n"
    assert "spring is fine → glad" in looked.out
    assert drawn.code == 0
    assert (place.folder / "look.png").stat().st_size > 1000
    assert judged.out == "glad\nsad\n"
    assert "this model is for moods, and a model for translation is needed here; its command is judge" in other.err
    assert "model.width = 8  [moods only]" in settings.out
    check_that_it_can_be_explored(place)


def check_that_it_can_be_explored(place: Place) -> None:
    """By all views that its model has the methods for, and no others."""
    text = {"texts": ["spring is fine"]}
    listed, seen, reasons, mapped, near, translated, followed, read = place.explore(
        "whole",
        ("", {}),
        ("inspect", text),
        ("reasons", {**text, "place": 0}),
        ("map", {"words": ["spring", "rain"], "projection": "pca"}),
        ("neighbors", {"positive": ["spring"]}),
        ("translate", {"text": "spring is fine"}),
        ("steps", {"texts": ["spring is fine", "glad"]}),
        ("continue", {"text": "spring"}),
    )
    (card,) = listed[1]["models"]
    able = {name: card[name] for name in ("task", "reads", "writes", "explains", "goes_on", "vectors", "tours")}
    assert able == {
        "task": "moods",
        "reads": True,
        "writes": False,
        "explains": True,
        "goes_on": False,
        "vectors": ["words"],
        "tours": [],
    }
    assert [status for status, _ in (seen, reasons, mapped, near)] == [200] * 4, (seen, reasons, mapped, near)
    assert seen[1]["title"] == "spring is fine → glad"
    assert [each["name"] for each in seen[1]["arrays"]] == ["weights", "moods"]
    assert "attributions" in [each["name"] for each in reasons[1]["arrays"]]
    for (status, told), what in (
        (translated, "does not translate"),
        (followed, "has no attention to follow step by step"),
        (read, "does not write on"),
    ):
        assert (status, told["error"]) == (400, f"mine is for moods and {what}; inspect a text")


def test_a_killed_run_of_another_package_s_task_ends_in_the_same_bits(place: Place) -> None:
    few = ["--set", "train.steps=20", "--set", "train.validation.every=4"]
    command = [sys.executable, "-m", "regard", "train", "my.toml", "--out", "killed", *few]
    with subprocess.Popen(
        command, cwd=place.folder, env=place.environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("step 6:"):
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    resumed, whole = place.regard(
        ["train", "my.toml", "--out", "killed", "--resume", *few], ["train", "my.toml", "--out", "whole", *few]
    )
    assert (resumed.code, whole.code) == (0, 0)
    assert "resumes from step-000000" in resumed.err
    folders = (place.folder / name / "checkpoints/step-00000020" for name in ("killed", "whole"))
    weights, others = (load_file(folder / "model.safetensors") for folder in folders)
    assert all((weights[name] == others[name]).all() for name in others)


@pytest.mark.long
def test_a_score_and_an_encoder_of_another_package_in_a_translator(place: Place, tmp_path: Path) -> None:
    changes = [part for change in TRANSLATOR for part in ("--set", change)]
    (tmp_path / "translator.toml").write_text("")
    trained, evaluated, looked = place.regard(
        ["train", "translator.toml", "--out", "mine", *changes],
        ["evaluate", "mine"],
        ["look", "mine", "a b", "--show", "decoder.attention.weights"],
    )
    assert trained.code == 0, trained.err
    assert evaluated.out.startswith("accuracy")
    assert "decoder.attention.weights" in looked.out
    assert json.loads((tmp_path / "mine/format.json").read_text())["packages"] == {"regard-moods": "2.5"}
    # Somewhere else, without the package:
    elsewhere = Place(tmp_path, tmp_path / "nothing")
    loaded, listed, again = elsewhere.regard(
        ["evaluate", "mine"], ["recipes"], ["train", "translator.toml", "--out", "again", *changes]
    )
    assert (loaded.code, listed.code, again.code) == (2, 0, 2)
    assert loaded.err == (
        "regard: mine: this model needs the package regard-moods (it was made with 2.5), but it is not "
        "installed; install it: pip install regard-moods\n"
    )
    assert "model.attention.score = 'taxicab' is not allowed; allowed are " in again.err


@pytest.mark.long
def test_a_model_a_tokenizer_and_a_corpus_of_another_package(place: Place, tmp_path: Path) -> None:
    changes = [part for change in STRANGE for part in ("--set", change)]
    (tmp_path / "strange.toml").write_text("")
    checked, trained, evaluated, translated, looked, exported, unused, packed = place.regard(
        ["check", "strange.toml", *changes],
        ["train", "strange.toml", "--out", "mine", *changes],
        ["evaluate", "mine", "--split", "dev"],
        ["translate", "mine"],
        ["look", "mine", "1-2", "--list"],
        ["export", "mine", "exported"],
        ["train", "strange.toml", "--out", "no", *changes, "--set", "model.heads=2"],
        ["train", "strange.toml", "--out", "no", *changes, "--set", "train.pack=true"],
        stdin="3-3\n",
    )
    assert "train: 120 pairs" in checked.out
    assert trained.code == 0, trained.err
    assert re.search(r"step 150: validation: .*accuracy", trained.err)
    assert evaluated.out.startswith("accuracy")
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*\n", translated.out)
    assert "probabilities  target 3" in looked.out
    assert "model.kind = 'mean': CTranslate2 cannot run such a model" in exported.err
    assert "unknown setting 'model.heads'" in unused.err
    assert "train.pack = true puts several pairs into a row" in packed.err


def faulty(folder: Path, body: str) -> Place:
    """A package that does something wrong, laid down as an installer would."""
    packages = folder / "packages"
    about = packages / "faulty-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[regard.plugins]\nfaulty = faulty:register\n")
    (packages / "faulty.py").write_text(body)
    return Place(folder, packages)


@pytest.mark.spread(1)
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import nowhere", "ModuleNotFoundError: No module named 'nowhere'"),
        (
            "from regard.recipe.names import SCORES\n"
            "def register():\n"
            "    SCORES.register('mine', 'faulty:mine')\n"
            "    SCORES.register('dot', 'faulty:dot')\n",
            "the score 'dot' is taken by regard; choose another name",
        ),
    ],
)
def test_a_package_that_fails_is_named_and_all_else_works(tmp_path: Path, body: str, reason: str) -> None:
    place = faulty(tmp_path, body)
    listed, wanted = place.regard(["recipes"], ["recipes", "dates"])
    assert listed.code == 0
    assert "\ndates " in listed.out
    assert listed.err == (
        f"regard: warning: the plugin package faulty 1.0 failed: {reason}; nothing that it provides is available. "
        "Upgrade it, or remove it: pip uninstall faulty\n"
    )
    assert wanted.code == 0
    (tmp_path / "empty.toml").write_text("")
    changes = ["--set", "data.corpus=copy", "--set", "model.kind=recurrent", "--set", "train.steps=1"]
    (refused,) = place.regard(["check", "empty.toml", *changes, "--set", "model.attention.score=mine"])
    assert f"not loaded: faulty 1.0 ({reason})" in refused.err


def test_help_without_packages_imports_neither_torch_nor_a_command(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['regard', '--help']\n"
        "from regard.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'regard.cli.translate'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
