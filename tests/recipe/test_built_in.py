"""The recipes that come with Regard: they parse, say where their text comes from, and train."""

import gzip
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from regard.data import load_corpus
from regard.models import build_model
from regard.recipe import LanguageRecipe, RecurrentModel, TransformerModel, built_in_recipes, read_recipe
from regard.recipe.loading import BUILT_IN
from regard.tasks import load
from regard.tasks.evaluation import evaluate, split_of
from regard.tokens import load_tokenizer
from regard.train import Ended, run

MULTI30K = Path(os.environ.get("MULTI30K", Path(__file__).parents[3] / "shared" / "data" / "multi30k"))
"""Where the text may lie, as its README has it: data/task1/raw, unpacked."""
NEED_FILES = ["europarl-recurrent", "europarl-transformer", "multi30k-recurrent", "multi30k-transformer"]
LAPTOP = ["multi30k-laptop", "ptb-laptop", "wiki-vectors-laptop"]
TATOEBA = [f"tatoeba-{pair}-{model}" for pair in ("ende", "enfr") for model in ("recurrent", "transformer")]
TATOEBA_TEXT = Path(os.environ.get("TATOEBA", Path(__file__).parents[3] / "shared" / "data" / "tatoeba"))
PTB = ["attentive", "awd-lstm", "copying", "lstm", "ngram", "rnn", "transformer", "window"]
WIKITEXT2 = ["awd-lstm", "copying", "lstm"]
LANGUAGE = [*(f"ptb-{rung}" for rung in PTB), *(f"wikitext2-{rung}" for rung in WIKITEXT2)]
ON_TEXT = [*LANGUAGE, "ptb-laptop"]
TAGGING = ["atis-tagger", "conll2003-tagger", "ewt-tagger"]
CLASSIFYING = ["sst2-classifier", "swda-classifier"]
PARSING = ["ewt-graph-parser", "ewt-transition-parser"]
OF_WORDS = [*TAGGING, *CLASSIFYING, *PARSING]
EVERY_DAY = [pytest.param(name, marks=pytest.mark.long if "recurrent" in name else ()) for name in NEED_FILES]
TINY = {
    "transformer": ["model.width=16", "model.heads=2", "model.feedforward=16"],
    "recurrent": ["model.embedding=16", "model.hidden=16", "model.attention.hidden=16"],
}


def tiny(name: str) -> list[str]:
    limits = ["train.steps=2", "train.validation.every=1", "train.validation.examples=2"]
    limits += ["decode.method=greedy", "decode.longest_factor=1", "decode.longest_extra=0"]
    return [*TINY[name.split("-")[-1]], *limits, "tokens.source.size=300", "train.batch_tokens=512", "train.device=cpu"]


def test_the_list() -> None:
    dates = ["dates", "dates-tagging", "dates-language", "dates-transformer", "dates-echoes"]
    assert list(built_in_recipes()) == sorted([*dates, *NEED_FILES, *LAPTOP, *TATOEBA, *LANGUAGE, *OF_WORDS])


@pytest.mark.parametrize("name", built_in_recipes())
def test_its_line_in_the_list_is_whole(name: str) -> None:
    assert built_in_recipes()[name].endswith(".")


@pytest.mark.parametrize("name", [*NEED_FILES, "multi30k-laptop"])
def test_a_recipe_that_needs_files_says_where_they_come_from(name: str) -> None:
    assert "github.com/" in built_in_recipes()[name]
    recipe = read_recipe(name)
    assert [len(files) for files in (recipe.data.train, recipe.data.dev, recipe.data.test)] == [2, 2, 2]
    assert all(Path(file).parent == Path.cwd() for file in (*recipe.data.train, *recipe.data.dev, *recipe.data.test))
    moved = read_recipe(name, ['data.train=["elsewhere/a.en", "elsewhere/a.de"]'])
    assert moved.data.train == [str(Path.cwd() / "elsewhere/a.en"), str(Path.cwd() / "elsewhere/a.de")]


RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
EUROPARL = json.loads((RESULTS / "europarl.json").read_text(encoding="utf-8"))


def changes_nothing(row: dict[str, Any]) -> bool:
    return read_recipe(row["recipe"], row["changes"]) == read_recipe(row["recipe"])


@cache
def measured() -> set[str]:
    """Recipes that figures are known of, as they are: language models, the one that is compared with a peer, and rows
    of experiments that change nothing, or nothing that the recipe does not have by now."""
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    language = json.loads((RESULTS / "language.json").read_text(encoding="utf-8"))
    rows = (row for record in records for row in record.get("rows", []) if row["scores"])
    plain = [row for row in rows if not row["changes"] or (row["recipe"] in OF_WORDS and changes_nothing(row))]
    beside_a_peer = {"europarl-transformer"} if not EUROPARL["own"]["settings"] else set()
    return {figure["recipe"] for figure in language["figures"]} | {row["recipe"] for row in plain} | beside_a_peer


@pytest.mark.parametrize("name", [*NEED_FILES, *LAPTOP, *TATOEBA, *LANGUAGE, *OF_WORDS])
def test_it_says_whether_it_was_measured(name: str) -> None:
    head = (BUILT_IN / f"{name}.toml").read_text(encoding="utf-8").split("\nseed")[0]
    is_said = (
        re.search(r"\n# Measured (as it stood|by --set) at the commit that\s(# )?benchmarks/results/", head) is not None
    )
    assert is_said == (name in measured())
    not_yet = "\n# Its settings are a starting point: no figure of it has been measured yet."
    assert (not_yet in head) == (not is_said)


@pytest.mark.parametrize("name", [*NEED_FILES, *TATOEBA])
def test_recipes_for_files_agree_in_what_is_compared(name: str) -> None:
    recipe = read_recipe(name)
    size = 10_000 if name.startswith("europarl") else 8_000
    assert (recipe.tokens.shared, recipe.tokens.source.kind, recipe.tokens.source.size) == (True, "bpe", size)
    assert (recipe.model.tie, recipe.train.label_smoothing) == ("all", 0.1)
    assert recipe.train.precision == "auto"
    assert recipe.train.average.checkpoints
    assert isinstance(recipe.model, TransformerModel if name.endswith("transformer") else RecurrentModel)
    model = build_model(read_recipe(name, TINY[name.split("-")[-1]]).model, 50, 50)
    assert sum(parameter.numel() for parameter in model.parameters()) > 0


def written(folder: Path, name: str) -> None:
    """A tiny text in the files that the recipe names, packed where it says so."""
    data = read_recipe(name).data
    for files in (data.train, data.dev, data.test):
        for file in files:
            lines = "".join(f"{'ab' * (number % 3 + 1)} c{number % 5} .\n" for number in range(30)).encode()
            (folder / Path(file).name).write_bytes(gzip.compress(lines) if file.endswith(".gz") else lines)


@pytest.mark.spread(1)
@pytest.mark.parametrize("name", EVERY_DAY)
def test_they_train_on_files_of_those_names(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, name)
    ended = run(read_recipe(name, tiny(name)), tmp_path / "model", reporter=lambda event: None)
    assert isinstance(ended, Ended)
    assert ended.step == 2
    assert (tmp_path / "model" / "chosen").read_text().startswith("average-")


@pytest.mark.long
@pytest.mark.skipif(not MULTI30K.is_dir(), reason="needs the text of Multi30k")
@pytest.mark.parametrize("name", [pytest.param("multi30k-transformer", marks=pytest.mark.long), "multi30k-recurrent"])
def test_they_train_on_some_lines_of_multi30k(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in sorted(MULTI30K.glob("*.[de][en]")):
        with file.open(encoding="utf-8") as lines:
            (tmp_path / file.name).write_text("".join(line for line, _ in zip(lines, range(100), strict=False)))
    ended = run(read_recipe(name, tiny(name)), tmp_path / "model", reporter=lambda event: None)
    assert ended.best is not None


SMALL = {
    "ngram": ["model.order=2"],
    "transformer": ["model.width=12", "model.feedforward=16", "model.layers=2", "model.memory=4"],
}
TINY_TEXT = ["data.segment=8", "train.batch_tokens=64", "train.epochs=1", "train.device=cpu"]


@pytest.mark.spread(4)
@pytest.mark.parametrize("name", ON_TEXT)
def test_recipes_of_language_models_train_on_files_of_those_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "github.com/" in built_in_recipes()[name]
    monkeypatch.chdir(tmp_path)
    recipe = read_recipe(name, kind=LanguageRecipe)
    for files in (recipe.data.train, recipe.data.dev, recipe.data.test):
        (Path(files[0])).write_text("".join(f" the <unk> has c{number % 5} . \n" for number in range(40)))
    kind = recipe.model.kind
    small = SMALL.get(kind, ["model.embedding=6", "model.hidden=7"])
    end = ["train.epochs=0"] if kind == "ngram" else []
    chosen = read_recipe(name, [*TINY_TEXT, *end, *small], kind=LanguageRecipe)
    ended = run(chosen, tmp_path / "model", reporter=lambda event: None)
    assert ended.reason == ("steps" if kind == "ngram" else "epochs")
    assert ended.best is not None
    # All words of the text are known, and what stands for unknown ones is no word.
    assert len(load_tokenizer(tmp_path / "model/tokenizer.json").vocabulary.tokens) == 8


@pytest.mark.parametrize("name", TATOEBA)
def test_tatoeba_is_one_file_that_is_divided(name: str) -> None:
    assert "manythings.org/" in built_in_recipes()[name]
    data = read_recipe(name).data
    language = {"ende": "deu", "enfr": "fra"}[name.split("-")[1]]
    assert data.train == [str(Path.cwd() / f"eng-{language}.txt.gz")]
    assert (data.dev, data.test, data.format, data.held_out) == ([], [], "tsv", 0.01)


@pytest.mark.parametrize("name", [pytest.param(TATOEBA[0], marks=pytest.mark.long), TATOEBA[1]])
def test_they_train_on_a_file_that_is_divided(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"Say {number // 2} .\tSag {number % 7} .\n" for number in range(400)).encode()
    (tmp_path / "eng-deu.txt.gz").write_bytes(gzip.compress(lines))
    ended = run(read_recipe(name, [*tiny(name), "data.held_out=0.1"]), tmp_path / "model", reporter=lambda event: None)
    assert isinstance(ended, Ended)
    assert evaluate(load(tmp_path / "model"), split_of(read_recipe(tmp_path / "model" / "recipe.toml"), "test")).outputs


@pytest.mark.long
@pytest.mark.skipif(not TATOEBA_TEXT.is_dir(), reason="needs the text of Tatoeba")
def test_no_english_sentence_of_tatoeba_is_on_two_sides() -> None:
    path = TATOEBA_TEXT / "eng-deu.txt.gz"
    corpora = load_corpus(read_recipe("tatoeba-ende-transformer", [f'data.train=["{path}"]']).data, 1)
    train, dev, test = ({pair.source for pair in part} for part in (corpora.train, corpora.dev, corpora.test))
    assert not (train & (dev | test) | dev & test)
    assert 0.008 < len(dev) / len(train) < 0.012
    assert 0.008 < len(test) / len(train) < 0.012
