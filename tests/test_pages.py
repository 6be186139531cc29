"""Every command and block of code of the pages is executed as it stands, from the top of a page to its end.

Text and models that a page takes as given are small (`page_supplies.py`), and runs are made short from outside: what is
written on the page is what is run. Blocks of text after a block are what it prints; they are compared, except for times,
paths and measured figures, where runs are as long as the page says: every day on quick pages, and in `make test-all` on
all tutorials. Installation is what `make release` tries.
"""

import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from forked_regard import INTERRUPT, ForkedRegard, Rules
from hypothesis import settings
from notebook_cells import run_cell
from page_blocks import Block, blocks_of, difference
from page_supplies import RECIPES, Supplies

ROOT = Path(__file__).parents[1]
AS_WRITTEN = settings.get_current_profile_name() == "long"
PAGES = [ROOT / "README.md"]
PAGES += [page for kind in ("tutorials", "guides", "coming-from") for page in sorted((ROOT / "docs" / kind).glob("*.md"))]
PAGES += [ROOT / "docs/index.md", ROOT / "docs/reference/model-folder.md", ROOT / "docs/reference/file-formats.md"]

SHORT: Rules = [
    (r"^(train|repeat) ", ["--set", "train.steps=4", "--set", "train.validation.every=4", "--set", "train.device=cpu"]),
    (r"^(train|repeat) dates", ["--set", "data.examples=100"]),
]
"""How runs are made short."""
ALWAYS: Rules = [(r"^explore ", ["--no-browser", INTERRUPT])]
"""What is changed even where runs are as long as the page says."""

NEVER_RUN = ("pip", "make", "git", "sudo", "python3")
"""Commands of installation, which do nothing here."""


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
    words: dict[str, str] = field(default_factory=dict)
    """What is replaced in blocks of Python."""
    quick: bool = False
    """Runs are as long as the page says every day, and outputs are compared."""


DE_EN = {"runs/mine": "de-en"}
GIVEN: dict[str, Given] = {
    "README.md": Given(DE_EN | {"runs/other": "de-en", "runs/lstm": "lstm"}),
    "guides/alignment": Given(
        DE_EN | {"runs/de-en": "de-en", "runs/en-de": "en-de", "runs/aligner": "aligner"},
    ),
    "guides/classifying": Given({"runs/acts": "acts", "runs/sentiment": "sentiment"}, text="sentiment"),
    "guides/data": Given({"runs/aligner": "aligner"}),
    "guides/decoding": Given(DE_EN | {"runs/a": "de-en", "runs/b": "de-en"}),
    "guides/evaluation": Given(DE_EN | {"runs/other": "de-en"}, recipe="de-en"),
    "guides/explorer": Given(DE_EN | {"runs/demo": "dates"}),
    "guides/faithfulness": Given(DE_EN | {"runs/dates-language": "dates-language"}),
    "guides/language-models": Given({"runs/lstm": "lstm", "runs/ngram": "ngram"}),
    "guides/languages-without-spaces": Given({"runs/ja-en": "ja-en", "runs/en-ja": "en-ja"}),
    "guides/looking-inside": Given(DE_EN),
    "guides/notebook": Given(DE_EN, recipe="de-en"),
    "guides/parsing": Given({"runs/parser": "parser"}, text="parser"),
    "guides/pretraining": Given({"runs/encoder": "encoder"}, text="encoder"),
    "guides/python": Given(DE_EN),
    "guides/tagging": Given({"runs/ner": "ner", "runs/atis": "atis"}, text="ner"),
    "guides/training-from-python": Given(recipe="de-en"),
    "guides/translation": Given(DE_EN | {"runs/en-de": "en-de", "runs/many": "many"}, recipe="de-en"),
    "guides/vectors": Given({"runs/wiki": "vectors"}),
    "coming-from/awd-lstm-lm": Given({"runs/lstm": "lstm"}),
    "coming-from/bertviz": Given(DE_EN),
    "coming-from/eflomal": Given(),
    "coming-from/fairseq": Given({"runs/en-de": "en-de"}),
    "coming-from/flair": Given({"runs/ner": "ner"}, text="ner"),
    "coming-from/gensim": Given({"runs/wiki": "vectors"}),
    "reference/model-folder": Given(DE_EN),
}


def given(page: Path) -> Given:
    return GIVEN.get(str(page.relative_to(ROOT)).removeprefix("docs/").removesuffix(".md"), Given())


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedRegard]:
    with ForkedRegard(tmp_path_factory.mktemp("forked")) as server:
        for name in NEVER_RUN:
            server.add_command(name, "#!/bin/sh\nexit 0\n")
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

    def put(self, wanted: Given, folder: Path) -> None:
        with FileLock(f"{self.supplies.folder}.lock"):
            shutil.copytree(self.supplies.text_of(wanted.text), folder, dirs_exist_ok=True)
            for name, kind in wanted.models.items():
                shutil.copytree(self.supplies.model(kind, self._regard), folder / name, dirs_exist_ok=True)
        if wanted.recipe:
            (folder / "my.toml").write_text(RECIPES[wanted.recipe], encoding="utf-8")
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
    words: dict[str, str]
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def does(self, block: Block) -> str:
        """What the block prints."""
        if block.file:
            (self.folder / block.file).write_text(block.code, encoding="utf-8")
        if block.language == "bash":
            return self._types(block.code)
        if block.language == "python" and not block.file:
            return self._runs(block.code)
        return ""

    def _types(self, code: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],
            cwd=self.folder,
            env=self.forked.environment(self.rules),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=3000,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def _runs(self, code: str) -> str:
        for old, new in self.words.items():
            code = code.replace(old, new)
        return run_cell(code, self.names).printed


def reads(page: Path, forked: ForkedRegard, supplies: Shared, folder: Path, *, as_written: bool) -> None:
    """Runs a page; everything that a block does not do as the page says is one failure."""
    wanted = given(page)
    supplies.put(wanted, folder)
    rules = ALWAYS + wanted.rules + ([] if as_written else SHORT)
    reader = Reader(forked, folder, rules, {} if as_written else wanted.words)
    for block in blocks_of(page):
        if block.note.startswith("not run") or (block.note == "long" and not AS_WRITTEN):
            continue
        printed = reader.does(block)
        if block.shows is not None and (as_written or "runs/" not in block.code):
            assert (found := difference(block.shows, printed)) == "", f"{page.name}:{block.line}: {found}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_what_it_says(
    page: Path, forked: ForkedRegard, supplies: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(sys, "argv", ["python"])
    reads(page, forked, supplies, tmp_path, as_written=given(page).quick)
