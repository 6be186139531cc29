"""Recipes: strict, complete, and refused in the user's own words."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RecipeError
from regard.recipe import (
    TASKS,
    AnyRecipe,
    OptimizerSettings,
    Recipe,
    Setting,
    TranslationRecipe,
    built_in_recipes,
    parse_recipe,
    read_recipe,
    settings,
    write_recipe,
)
from regard.registry import REGISTRIES, Registry

MINIMAL = {"data": {"corpus": "dates"}, "model": {"kind": "transformer"}, "train": {"steps": 10}}


def test_a_written_recipe_reads_back_as_itself() -> None:
    for name in built_in_recipes():
        recipe = read_recipe(name, kind=AnyRecipe)
        assert parse_recipe(tomllib.loads(write_recipe(recipe)), kind=AnyRecipe) == recipe


@given(st.text())
def test_any_text_survives_being_written(text: str) -> None:
    recipe = parse_recipe(MINIMAL | {"data": {"corpus": "files", "train": [text, text]}})
    assert parse_recipe(tomllib.loads(write_recipe(recipe))) == recipe


def test_every_setting_has_a_sentence() -> None:
    for setting in settings():
        assert setting.sentence.endswith((".", "…")), setting.name
        assert setting.kind, setting.name


def test_names_of_settings_are_unique_within_a_model() -> None:
    for task in TASKS:
        for kind in {setting.only_for for setting in settings(task)} - {""}:
            found = [setting.name for setting in settings(task) if setting.only_for in ("", kind)]
            assert len(found) == len(set(found))


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: f"{registry.noun}s {len(registry)}")
def test_every_name_can_be_imported(registry: Registry[Any]) -> None:
    """Names are known before what they stand for is; so each must be where its registration says."""
    assert all(registry[name] is not None for name in registry)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            ["train.optimizer.kind=sgd", "train.optimizer.beta1=0.5"],
            "train.optimizer.beta1 = 0.5 is not used with train.optimizer.kind = 'sgd'; it is for 'adamw' or 'adam'; "
            "leave it out",
        ),
        (
            ["train.schedule.kind=constant", "train.schedule.factor=0.3"],
            "train.schedule.factor = 0.3 is not used with train.schedule.kind = 'constant'; it is for 'plateau'; leave "
            "it out",
        ),
        (
            ["decode.temperature=2.0"],
            "decode.temperature = 2.0 is not used with decode.method = 'greedy'; it is for 'sample'; leave it out",
        ),
        (
            ["decode.beam=9"],
            "decode.beam = 9 is not used with decode.method = 'greedy'; it is for 'beam'; leave it out",
        ),
        (
            ["model.attention.score=dot", "model.attention.hidden=77"],
            "model.attention.hidden = 77 is not used with model.attention.score = 'dot'; it is for 'additive' or "
            "'concatenation'; leave it out",
        ),
        (
            ["model.attention.score=none", "model.attention.hidden=256", "model.attention.placement=feed"],
            "model.attention.placement = 'feed' is not used with model.attention.score = 'none'; leave it out",
        ),
        (
            ["data.format=tsv"],
            "data.format = 'tsv' is not used with data.corpus = 'dates'; it is for 'files'; leave it out",
        ),
    ],
)
def test_a_setting_that_the_chosen_kind_does_not_use_is_refused(changes: list[str], words: str) -> None:
    with pytest.raises(RecipeError) as refusal:
        read_recipe("dates", changes)
    assert str(refusal.value) == f"--set {changes[-1]!r}: {words}"


def test_paths_of_all_settings_follow_the_recipe(tmp_path: Path) -> None:
    """Which settings are paths is said by their types."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "mine.toml").write_text(
        '[data]\ntrain = ["a.de", "a.en"]\n[model]\nkind = "transformer"\n[model.vectors]\nsource = "v.vec"\n'
        '[train]\nsteps = 1\nstart_from = "../other"\n'
    )
    recipe = read_recipe(tmp_path / "sub" / "mine.toml", kind=TranslationRecipe)
    assert recipe.model.vectors.source == str(tmp_path / "sub" / "v.vec")
    assert Path(recipe.train.start_from).resolve() == tmp_path / "other"
    paths = {setting.name for setting in settings() if setting.is_path}
    assert {"data.train", "data.dev", "data.test", "train.start_from", "model.vectors.file"} <= paths
    assert not {"data.tags", "data.languages", "data.format"} & paths


def test_a_language_code_stays_text() -> None:
    assert read_recipe("dates", ['data.languages=["no"]']).data.languages == ["no"]


def test_checking_a_recipe_needs_no_torch() -> None:
    code = "import sys, regard.recipe; regard.recipe.read_recipe('dates'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_paths_are_relative_to_the_recipe(tmp_path: Path) -> None:
    written = write_recipe(parse_recipe(MINIMAL | {"data": {"corpus": "files", "train": ["a.de", "a.en"]}}, folder="/"))
    (tmp_path / "mine.toml").write_text(written.replace('"/a.', '"a.'))
    assert read_recipe(tmp_path / "mine.toml").data.train == [str(tmp_path / "a.de"), str(tmp_path / "a.en")]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("train.stps=1", "unknown setting 'train.stps'; nearest known: 'train.steps'"),
        ("train.steps", "expected key=value, for example train.steps=1000"),
        ("=1", "expected key=value"),
        ("task=langage", "--set 'task=langage': task = 'langage' is not known; known are 'language', "),
        ("task=vectors", "--set 'task=vectors': task = 'vectors', but a recipe with task = 'translation', "),
        ("model.kind=transformr", "--set 'model.kind=transformr': model.kind = 'transformr' is not allowed; allowed "),
        ("train.steps=-1", "--set 'train.steps=-1': train.steps = -1: must be greater than or equal to 0"),
        ("data.train=[1, 2]", "--set 'data.train=[1, 2]': data.train.0 = 1: must be text in quotes"),
        ("data.train=a", 'data.train = \'a\': must be a list in brackets, such as ["one", "two"]'),
        ("train.steps=many", "train.steps = 'many': must be a whole number"),
        ("seed=1.5", "seed = 1.5: must be a whole number"),
        (f"seed={2**63}", f"seed = {2**63}: must be less than {2**63}"),
        ("model.kind=rnn", "model.kind = 'rnn' is not allowed; allowed are 'recurrent' or 'transformer'"),
        ("model.heads=3", "unknown setting 'model.heads'; known here, nearest first: 'kind', 'tie'"),
        ("model.attention.score=aditive", "--set 'model.attention.score=aditive': model.attention.score = 'aditive' "),
        ("model.attention.score=aditive", "allowed are 'additive'"),
        ("model.tie=all", "it needs tokens.shared = true"),
        ("tokens.source.dropout=0.1", "skips BPE merges; kind = 'characters' has none"),
        ('data.train=["a", "b"]', "train names files, but corpus is 'dates'"),
        ('data.train=["a", "b", "c"]', "train names 3 files; give two (source, target) or one (.tsv, .jsonl)"),
        ("data.corpus=files", "train is missing: name two files"),
        ("decode.n_best=9", "greedy decoding gives one output, not n_best = 9; use 'beam' or 'sample'"),
    ],
)
def test_a_wrong_change_is_refused_in_words(change: str, words: str) -> None:
    with pytest.raises(RecipeError) as refusal:
        read_recipe("dates", [change])
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("decode.risk=ter", "decode.risk = 'ter' is not allowed; allowed are 'none', 'chrf' or 'bleu'"),
        ("decode.risk=1", "decode.risk = 1 is not allowed; allowed are 'none', 'chrf' or 'bleu'"),
        ("decode.risk=chr", "decode.risk = 'chr' is not allowed; allowed are 'chrf', 'none' or 'bleu'"),
        ("train.compile=never", "train.compile = 'never' is not allowed; allowed are true, false or 'auto'"),
        ("train.compile=1", "train.compile = 1 is not allowed; allowed are true, false or 'auto'"),
    ],
)
def test_a_setting_that_takes_this_or_that_is_refused_once(change: str, words: str) -> None:
    with pytest.raises(RecipeError) as refusal:
        read_recipe("dates", [change])
    assert str(refusal.value) == f"--set {change!r}: {words}"


@pytest.mark.parametrize("setting", [setting for setting in settings("translation") if not setting.only_for])
def test_a_refused_value_takes_one_line_that_names_the_setting(setting: Setting) -> None:
    change = f"{setting.name}={{strange = 1}}"
    with pytest.raises(RecipeError) as refusal:
        read_recipe("dates", [change])
    said = str(refusal.value)
    assert said.startswith(f"--set {change!r}: {setting.name} = ")
    assert "\n" not in said
    assert "literal[" not in said


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({}, "'data' is missing; add a [data] table"),
        (MINIMAL | {"modl": {}}, "unknown setting 'modl'; known here, nearest first: 'model'"),
        (MINIMAL | {"model": {}}, "'model.kind' is missing; allowed are 'recurrent' or 'transformer'"),
        (MINIMAL | {"model": {"kind": "transformer", "heads": 3}}, "width = 256 cannot be divided among heads = 3"),
        (MINIMAL | {"model": {"kind": "transformer", "groups": 3}}, "heads = 4 cannot be divided among groups = 3"),
        (
            MINIMAL | {"model": {"kind": "transformer", "width": 12, "position": "rotary"}},
            "rotary positions turn pairs of features, but width / heads = 3",
        ),
        (MINIMAL | {"train": {}}, "nothing ends this run; set steps, epochs, minutes"),
        (MINIMAL | {"train": {"minutes": 1, "schedule": {"kind": "cosine"}}}, "a cosine schedule must know its end"),
        (
            MINIMAL | {"data": {"train": ["a", "b"]}, "train": {"validation": {"patience": 2}}},
            "train.validation.patience needs development text; set data.dev",
        ),
        (
            MINIMAL | {"model": {"kind": "transformer", "dropout": 0.0}, "train": {"steps": 1, "r_drop": 5.0}},
            "train.r_drop = 5.0 compares two passes with different dropout, but [model] drops nothing; set",
        ),
        (MINIMAL | {"model": {"kind": "recurrent"}, "train": {"steps": 1, "r_drop": 5.0}}, "[model] drops nothing"),
        (MINIMAL | {"tokens": {"shared": True, "target": {"kind": "words"}}}, "leave tokens.target out"),
        (MINIMAL | {"decode": {"method": "greedy", "n_best": 2}}, "greedy decoding gives one output, not n_best = 2"),
        (
            MINIMAL | {"decode": {"method": "greedy", "risk": "chrf"}},
            "greedy decoding gives nothing to choose from by risk = 'chrf'; use 'beam' or 'sample'",
        ),
        (
            MINIMAL | {"decode": {"risk": "bleu", "candidates": 2, "n_best": 3}},
            "n_best = 3 outputs cannot be chosen from 2 candidates; raise candidates or lower n_best",
        ),
    ],
)
def test_contradictions_are_refused_in_words(tables: dict[str, object], words: str) -> None:
    with pytest.raises(RecipeError) as refusal:
        parse_recipe(tables)
    assert words in str(refusal.value)


def test_what_is_wrong_in_the_recipe_is_said_of_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(write_recipe(parse_recipe(MINIMAL)).replace("\nsteps = 1", "\nsteps = -1"))
    with pytest.raises(RecipeError, match=r"my\.toml: train\.steps = -1\d*: must be") as refusal:
        read_recipe(tmp_path / "my.toml", ["seed=3", "train.batch_tokens=0"])
    assert "--set 'train.batch_tokens=0': train.batch_tokens = 0: must be" in str(refusal.value)


def test_a_file_that_is_no_recipe(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("seed = ")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "c").mkdir()
    (tmp_path / "d.txt").write_text("the cat sat\n")
    for name, words in {
        tmp_path / "a.toml": ". Strings need quotes, lists brackets, tables a [header].",
        tmp_path / "b.toml": "not UTF-8 text (byte 0)",
        tmp_path: f"{tmp_path}: this is a folder, not a recipe; name a recipe in it: 'a.toml' or 'b.toml'",
        tmp_path / "c": "c: this is a folder, not a recipe; name a recipe file, or a built-in recipe",
        tmp_path / "d.txt": ". A recipe is a TOML file; a text to train on is named in one, as data.train.",
        tmp_path / "b.tmol": "built-in recipe; recipe files there are 'b.toml' or 'a.toml'; built in:",
        tmp_path / "bb.toml": "a recipe file nor a built-in recipe; recipe files there are 'b.toml' or 'a.toml'; built",
        tmp_path / "c" / "none.toml": "neither a recipe file nor a built-in recipe; built in:",
        "date": "'dates'",
    }.items():
        with pytest.raises(RecipeError) as refusal:
            read_recipe(name)
        assert words in str(refusal.value)


@pytest.mark.parametrize(("kind", "refused"), [("learned", True), ("sinusoidal", False)])
def test_learned_positions_must_hold_the_longest_text(kind: str, refused: bool) -> None:
    def tables(longest: int) -> dict[str, Any]:
        model = {"kind": "transformer", "position": kind, **({"longest": 100} if kind == "learned" else {})}
        return {"data": {"corpus": "copy", "longest": longest}, "model": model, "train": {"steps": 1}}

    assert parse_recipe(tables(99)).data.longest == 99
    if not refused:
        assert parse_recipe(tables(100)).data.longest == 100
        return
    with pytest.raises(RecipeError) as refusal:
        parse_recipe(tables(100))
    assert str(refusal.value) == (
        "recipe: model.longest = 100 learned positions are too few for data.longest = 100 tokens and the "
        "end-of-sentence mark; raise model.longest to 101, or lower data.longest"
    )


def test_an_n_gram_model_needs_no_training_table() -> None:
    tables = {"task": "language", "data": {"train": ["a.txt"], "context": "lines"}, "model": {"kind": "ngram"}}
    assert parse_recipe(tables).train.steps == 1
    assert parse_recipe(tables | {"train": {"device": "cpu"}}).train.steps == 1
    with pytest.raises(RecipeError, match="recipe: 'train' is missing; add a \\[train\\] table"):
        parse_recipe(tables | {"model": {"kind": "window"}})
    with pytest.raises(RecipeError, match="recipe: train = 3 is not a table; write its settings below a line"):
        parse_recipe(tables | {"train": 3})


def test_a_section_is_called_as_in_recipes() -> None:
    with pytest.raises(RecipeError, match=r"^optimizer: rate = "):
        OptimizerSettings(rate=-1.0)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("optimizer = { rate = 0.1 }", "train.optimizer.rate = 0.1"),
        ("average = { decay = 0.9 }", "train.average.decay = 0.9"),
        ("clip = 0.5", "train.clip = 0.5"),
        ('start_from = "/other"', "train.start_from = '/other'"),
    ],
)
def test_settings_of_steps_are_refused_where_a_model_is_counted(setting: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    text = 'task = "language"\n[data]\ntrain = ["a.txt"]\ncontext = "lines"\n[train]\nsteps = 1\n'
    refused = f"{said} is not used with model.kind = 'ngram'; leave it out"
    path.write_text(f'{text}{setting}\n[model]\nkind = "ngram"\n')
    with pytest.raises(RecipeError) as refusal:
        read_recipe(path)
    assert str(refusal.value) == f"{path}: {refused}"
    plain = read_recipe(path, saved=True).train
    path.write_text(f'{text}{setting}\n[model]\nkind = "window"\n')
    # What a change of the model leaves unused is left out; what a change names itself is refused.
    assert read_recipe(path, ["model.kind=ngram"]).train == plain
    with pytest.raises(RecipeError, match=r"train\.clip = 3\.0 is not used with model\.kind = 'ngram'; leave it out"):
        read_recipe(path, ["model.kind=ngram", "train.clip=3.0"])


@pytest.mark.parametrize(("changes", "dev", "test"), [([], True, False), (["data.dev=[]"], False, False)])
def test_which_text_there_is(changes: list[str], dev: bool, test: bool) -> None:
    pairs = ['data.train=["a.tsv"]', 'data.dev=["b.tsv"]', "model.kind=transformer", "train.steps=1", *changes]
    text = ["task=language", 'data.train=["a.txt"]', 'data.dev=["b.txt"]', "model.kind=window", "train.steps=1"]
    for recipe in (read_recipe(None, pairs, kind=Recipe), read_recipe(None, [*text, *changes], kind=Recipe)):
        assert (recipe.data.has("dev"), recipe.data.has("test")) == (dev, test)
    divided = read_recipe(None, [*pairs, "data.dev=[]", "data.held_out=0.1"], kind=Recipe)
    assert divided.data.has("dev")
    assert divided.data.has("test")
