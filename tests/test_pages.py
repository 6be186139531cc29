"""Every command and block of code of the pages is executed as it stands, from the top of a page to its end.

Text and models that a page takes as given are small (`page_supplies.py`), and runs are made short from outside: what
is written on the page is what is run. What a block prints, if the page shows it, is compared except for times and
paths: every day but for what models of the tutorials say, which is compared in `make test-all`, where tutorials are run
for as long as they say and their figures must come close. Installation is what `make release` tries.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import torch
from explorer_pages import serving
from filelock import FileLock
from forked_regard import VISIT, ForkedRegard, Rules
from hypothesis import settings
from notebook_cells import run_cell
from page_blocks import Block, blocks_of, difference
from page_supplies import RECIPES, Supplies

import regard

ROOT = Path(__file__).parents[1]
AS_WRITTEN = settings.get_current_profile_name() == "long"
PAGES = [ROOT / "README.md"]
PAGES += [
    page for kind in ("tutorials", "guides", "coming-from") for page in sorted((ROOT / "docs" / kind).glob("*.md"))
]
PAGES.remove(ROOT / "docs/tutorials/first-look-inside.md")  # of which tests/test_looking_inside.py says more
PAGES += [ROOT / "docs/index.md"]
PAGES += [ROOT / f"docs/reference/{name}.md" for name in ("explorer", "model-folder", "file-formats")]

GPU_PAGES = [ROOT / f"docs/guides/{name}.md" for name in ("gpu", "decoding", "several-gpus", "vectors")]

TEXT = [f'data.{part}=["{part}.txt"]' for part in ("train", "dev", "test")]


def sets(*changes: str) -> list[str]:
    return [argument for change in changes for argument in ("--set", change)]


SHORT: Rules = [
    (
        r"^(train|repeat) (?!.*aligner)",
        sets("train.steps=4", "train.validation.every=4", "train.validation.examples=4"),
    ),
    (r"^(train|repeat) dates|^demo", sets("data.examples=100", "train.steps=4", "train.validation.every=4")),
    (
        r"^train (gpu|opennmt|joey|many|multi30k|tatoeba)",
        sets("model.width=16", "model.feedforward=32", "model.encoder_layers=1", "model.decoder_layers=1"),
    ),
    (r"^train ptb-", sets("model.embedding=16", "model.hidden=16", "train.batch_tokens=140", *TEXT)),
    (r"^vectors train", sets("vectors.dimension=8", "vectors.epochs=30", "data.least=1")),
    (r"^faithful ", ["--examples", "2"]),
    (r"^ladder", ["--minutes", "0.02"]),
]
"""How runs are made short."""
DRIFT = {"first-aligner": 0.001}
"""How far figures of a tutorial may be off: aligners have nothing random."""
ALWAYS: Rules = [(r"^explore (?!.* -o )", ["--no-browser", VISIT])]
"""What is changed even where runs are as long as the page says."""

NEVER_RUN = "#!/bin/sh\nexit 0\n"
STANDING_IN = {
    **dict.fromkeys(("make", "git", "sudo"), NEVER_RUN),
    "pip": f"""\
#!/bin/bash
case "${{@: -1}}" in
./*) exec {sys.executable} -m pip --disable-pip-version-check install --quiet --no-index --no-build-isolation \
    --no-deps --target "$REGARD_PACKAGES" "${{@: -1}}" ;;
esac
""",
    "curl": f"""\
#!/bin/bash
exec {shutil.which("curl") or "true"} --silent --show-error --fail-with-body "${{@//localhost:8765/$EXPLORER}}"
""",
}
"""Commands that do less than they say. Installing Regard does nothing; a package of the page is installed into a
folder, which commands after it see. What is asked of the explorer is asked of one that the test serves."""


@dataclass(frozen=True)
class Given:
    """What is put in place for a page."""

    models: dict[str, str] = field(default_factory=dict)
    """Folders that the page names, and the kind of the model in them."""
    text: str = ""
    """The kind of model whose text is in the folder; else parallel and running text."""
    recipe: str = ""
    """The kind of model whose recipe `my.toml` is."""
    files: dict[str, str] = field(default_factory=dict)
    """Further files, and which file they are copies of."""
    rules: Rules = field(default_factory=list)
    """Arguments for some calls."""
    before: str = ""
    """Python that comes before the first block of it."""
    words: dict[str, str] = field(default_factory=dict)
    """What is replaced in blocks of Python, so that they are short."""


DE_EN = {"runs/mine": "de-en"}
GIVEN: dict[str, Given] = {
    "README": Given(),
    "guides/alignment": Given(
        {"runs/mine": "en-es", "runs/de-en": "de-en", "runs/en-de": "en-de"},
        before='import regard; model = regard.load("runs/de-en"); sources, targets = ["ein Haus ."], ["a house ."]',
        files={
            **{f"test.{suffix}": f"train.{suffix}" for suffix in ("de", "en", "es", "tsv", "links")},
            **{f"{name}.links": "train.links" for name in ("gold", "eflomal", "fwd", "rev")},
        },
    ),
    "guides/classifying": Given({"runs/acts": "acts"}, text="sentiment"),
    "guides/data": Given({"runs/aligner": "aligner"}, recipe="de-en"),
    "guides/decoding": Given(DE_EN | {"runs/a": "de-en", "runs/b": "de-en"}),
    "guides/evaluation": Given(DE_EN | {"runs/other": "de-en"}, recipe="de-en", files={"other.out": "test.en"}),
    "guides/explorer": Given(
        {f"runs/{name}": "de-en" for name in ("rnn", "gru", "bottleneck", "mine")} | {"runs/lstm": "lstm"}
    ),
    "guides/faithfulness": Given(DE_EN | {"runs/dates-language": "dates-language"}),
    "guides/language-models": Given(files={"ptb.test.txt": "test.txt"}),
    "guides/languages-without-spaces": Given(
        files={"messages.ja": "train.ja", "messages.en": "train.en"},
        rules=[("japanese.toml", sets("data.held_out=0.1"))],
    ),
    "guides/looking-inside": Given(DE_EN),
    "guides/notebook": Given(DE_EN, recipe="de-en", words={"train.steps=300": "train.steps=4"}),
    "guides/parsing": Given({"runs/parser": "parser"}, text="parser"),
    "guides/pretraining": Given(text="ner", files={"few.conll": "train.conll"}),
    "guides/recipes": Given(rules=[("my.toml", sets("data.examples=100"))]),
    "guides/several-gpus": Given(recipe="de-en"),
    "guides/python": Given(DE_EN),
    "guides/tagging": Given({"runs/ner": "ner", "runs/atis": "atis"}, text="ner"),
    "guides/training-from-python": Given(recipe="de-en", words={"train.steps=200": "train.steps=4"}),
    "guides/translation": Given(
        DE_EN | {"runs/en-de": "en-de"},
        recipe="de-en",
        files={
            **{f"ende.{side}": f"train.{side}" for side in ("en", "de")},
            **{f"enfr.{side}": f"train.{side}" for side in ("en", "fr")},
            **{f"{pair}.{part}.tsv": f"{part}.tsv" for pair in ("ende", "enfr") for part in ("dev", "test")},
        },
        rules=[("train tatoeba", sets('data.train=["train.tsv"]', "data.held_out=0.1"))],
    ),
    "guides/vectors": Given(text="vectors"),
    "coming-from/awd-lstm-lm": Given({"runs/lstm": "lstm"}),
    "coming-from/bertviz": Given(DE_EN),
    "coming-from/eflomal": Given(),
    "coming-from/fairseq": Given({"runs/en-de": "en-de"}),
    "coming-from/flair": Given({"runs/ner": "ner"}, text="ner"),
    "coming-from/gensim": Given({"runs/wiki": "vectors"}, text="vectors", files={"my.txt": "train.txt"}),
    "reference/explorer": Given({"runs/demo": "dates", "runs/lstm": "lstm", "runs/wiki": "vectors"}),
    "reference/model-folder": Given(DE_EN),
}


def given(page: Path) -> Given:
    return GIVEN.get(str(page.relative_to(ROOT)).removeprefix("docs/").removesuffix(".md"), Given())


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedRegard]:
    with ForkedRegard(tmp_path_factory.mktemp("forked")) as server:
        for name, script in STANDING_IN.items():
            server.add_command(name, script)
        yield server


@pytest.fixture(scope="module")
def supplies(forked: ForkedRegard, tmp_path_factory: pytest.TempPathFactory) -> "Shared":
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return Shared(forked, Supplies(shared / "page-supplies"))


class Shared:
    """Supplies that processes of one run of tests share."""

    def __init__(self, forked: ForkedRegard, supplies: Supplies) -> None:
        self.forked, self.supplies = forked, supplies

    def put(self, wanted: Given, folder: Path, *, several_gpus: bool = False) -> None:
        with FileLock(f"{self.supplies.folder}.lock"):
            shutil.copytree(self.supplies.text_of(wanted.text), folder, dirs_exist_ok=True)
            for name, kind in wanted.models.items():
                shutil.copytree(self.supplies.model(kind, self._regard), folder / name, dirs_exist_ok=True)
        if wanted.recipe:
            device = 'device = "auto"' if several_gpus else 'device = "cpu"'
            recipe = RECIPES[wanted.recipe].replace('device = "cpu"', device)
            (folder / "my.toml").write_text(recipe, encoding="utf-8")
        for name, original in wanted.files.items():
            shutil.copy(folder / original, folder / name)

    def _regard(self, folder: Path, *arguments: object) -> None:
        command = ["regard", *map(str, arguments)]
        done = subprocess.run(
            command, cwd=folder, env=self.forked.environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


@dataclass
class Reader:
    """Someone who does what a page says, in a folder of their own."""

    forked: ForkedRegard
    folder: Path
    rules: Rules
    before: str
    words: dict[str, str]
    gpu: bool = False
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def does(self, block: Block) -> str:
        """What the block prints."""
        if block.file:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code, encoding="utf-8")
        if block.language == "bash":
            return self._types(block.code)
        if block.language == "python" and not block.file:
            return self._runs(block.code)
        return ""

    def _types(self, code: str) -> str:
        if "localhost:8765" not in code:
            return self._runs_script(code)
        model = regard.load(self.folder / "runs/demo", device="cpu")
        with serving({"demo": model}) as address:
            return self._runs_script(code, address)

    def _runs_script(self, code: str, explorer: str = "") -> str:
        self.forked.failures.unlink(missing_ok=True)
        served = {"EXPLORER": urlsplit(explorer).netloc, "REGARD_PACKAGES": str(self.folder / "packages")}
        done = subprocess.run(
            ["bash", "-euc", code],
            cwd=self.folder,
            env=self.forked.environment(self.rules, gpu=self.gpu) | served,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=3000,
        )
        # In the middle of a pipe, the shell does not ask.
        failed = self.forked.failures.read_text("utf-8") if self.forked.failures.exists() else ""
        assert (done.returncode, failed) == (0, ""), done.stdout
        return done.stdout

    def _runs(self, code: str) -> str:
        if self.before:
            run_cell(self.before, self.names)
            self.before = ""
        for long, short in self.words.items():
            code = code.replace(long, short)
        return run_cell(code, self.names).printed


def reads(
    page: Path, forked: ForkedRegard, supplies: Shared, folder: Path, *, as_written: bool = False, gpu: bool = False
) -> None:
    """Runs a page; everything that a block does not do as the page says is one failure."""
    wanted = given(page)
    supplies.put(wanted, folder, several_gpus=gpu and torch.cuda.device_count() > 1)
    rules = ALWAYS + wanted.rules + ([] if as_written else SHORT)
    reader = Reader(forked, folder, rules, wanted.before, {} if as_written else wanted.words, gpu)
    for block in blocks_of(page):
        if block.note.startswith("not run") or (block.note == "long" and not AS_WRITTEN and not gpu):
            continue
        printed = reader.does(block)
        learned = page.parent.name == "tutorials" and "runs/" in block.code
        if block.shows is not None and (as_written or not learned):
            found = difference(block.shows, printed, drift=DRIFT.get(page.stem, 0.25) if as_written else None)
            assert found == "", f"{page.name}:{block.line}: {found}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_what_it_says(
    page: Path, forked: ForkedRegard, supplies: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(sys, "argv", ["python"])
    reads(page, forked, supplies, tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize("page", GPU_PAGES, ids=lambda page: page.stem)
def test_a_page_about_gpus_does_what_it_says_on_one(
    page: Path, forked: ForkedRegard, supplies: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reads(page, forked, supplies, tmp_path, gpu=True)


@pytest.mark.long
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name == "tutorials"], ids=lambda page: page.stem
)
def test_a_tutorial_prints_what_it_shows(
    page: Path, forked: ForkedRegard, supplies: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as it says, with the numbers of steps that it has."""
    monkeypatch.chdir(tmp_path)
    reads(page, forked, supplies, tmp_path, as_written=True)
