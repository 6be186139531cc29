"""Commands agree: options of one name have one type and meaning everywhere; old spellings are told what is new."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Trained, regard

from regard.cli.commands import commands, made
from regard.cli.renamed import OLD


def options() -> Iterator[tuple[str, Any]]:
    """Every option of every command, with the command's name."""
    for name, command in commands().items():
        for target in command.of_task.values():
            found = made(target)
            for inner, each in getattr(found, "commands", {"": found}).items():
                for option in each.params:
                    if option.opts[0].startswith("-"):
                        yield f"{name} {inner}".strip(), option


EVERY = list(options())
NAMES = sorted({name for _, option in EVERY for name in option.opts if name.startswith("--")})
ABOUT_THEIR_COMMAND = {"--out", "--set"}
"""Options that mean the same everywhere and say in their help what that is here."""


def meaning(text: str) -> str:
    """A help text without its default."""
    return re.sub(r" ?\(default: .*\)", "", text).strip()


def kind(option: Any) -> str:
    """The type of an option, or of each of its values; releases of typer name it in two ways."""
    name: str = option.bare_type() if hasattr(option, "bare_type") else option.type.name
    return re.sub(r"(?i)list\[(.*)\]", r"\1", name)


@pytest.mark.parametrize("name", NAMES)
def test_an_option_has_one_type_and_one_meaning(name: str) -> None:
    same = [(command, option) for command, option in EVERY if name in option.opts]
    assert len({(kind(option), bool(option.is_flag)) for _, option in same}) == 1, same
    if name not in ABOUT_THEIR_COMMAND:
        assert len({meaning(option.help) for _, option in same}) == 1, [option.help for _, option in same]


def test_every_out_has_a_short_form() -> None:
    short = [(command, option.opts) for command, option in EVERY if "--out" in option.opts]
    assert len(short) > 5
    assert all("-o" in names for _, names in short), short


def test_commands_that_load_a_model_to_use_it_can_change_how_it_decodes() -> None:
    changed = {command for command, option in EVERY if "--set" in option.opts}
    assert {"translate", "back-translate", "evaluate", "score", "align", "look", "generate"} <= changed


@pytest.mark.parametrize(("command", "option"), OLD)
def test_old_spellings_are_told_what_is_new(command: str, option: str) -> None:
    told = regard(*command.split(), "something", option, "value")
    assert (told.code, told.out, told.err) == (2, "", f"regard: {option} {OLD[command, option]}\n")
    new = re.findall("--[a-z-]+", OLD[command, option])
    assert all(name in NAMES for name in new)


def test_the_help_shows_no_type_of_flags_and_fills_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    told = regard("train", "--help").out
    assert "bool" not in told.lower()
    assert "130 after Ctrl-C (SIGINT) and 143 after" in told
    assert "both of which save first" in " ".join(told.split())
    assert not re.search(r"both of which *\\n", told)


@pytest.mark.parametrize("command", [["train", "my.toml"], ["repeat", "my.toml"], ["ladder"], ["vectors", "train"]])
def test_nothing_to_resume_is_refused(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs/mine").mkdir(parents=True)
    Path("runs/minx").write_text("")  # nothing that could be gone on with
    told = regard(*command, "-o", "runs/mini", "--resume")
    said = (
        "runs/mini: nothing was begun here; folders there are 'runs/mine'; name the folder to go on with, or leave "
        "--resume out"
    )
    assert (told.code, told.err) == (2, f"regard: {said}\n")


def test_a_built_in_recipe_says_where_its_data_is_to_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = regard("train", "ptb-lstm")
    assert told.code == 2
    assert (
        "no such file, which the built-in recipe 'ptb-lstm' needs. Penn Treebank as a language model (github"
        in told.err
    )


def test_recipes_of_word_vectors_are_built_in_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = regard("train", "wiki-vectors-laptop")
    said = "wiki-vectors-laptop: a recipe for vectors, by which `regard vectors train wiki-vectors-laptop` trains"
    assert (told.code, told.out, told.err) == (2, "", f"regard: {said}\n")
    told = regard("vectors", "train", "wiki-vectors-laptop")
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(
        "regard: wiki2018.txt.gz: no such file, which the built-in recipe 'wiki-vectors-laptop' needs. Word vectors of "
    )


def test_settings_of_one_table() -> None:
    told = regard("recipes", "--settings", "model.transformer")
    names = {line.split()[0] for line in told.out.splitlines() if not line.startswith(" ")}
    assert {"model.width", "model.heads"} <= names
    assert "model.hidden" not in names
    assert regard("recipes", "--settings", "train.steps").out.startswith("train.steps = 0")
    refused = regard("recipes", "--settings", "model.transfomer")
    assert "model.transfomer: neither a setting nor a table; tables are 'model.transformer', " in refused.err


@pytest.mark.long
def test_score_and_align_take_the_files_that_evaluate_takes(trained: Trained, tmp_path: Path) -> None:
    pairs = tmp_path / "both.tsv"
    pairs.write_text("rot\tred\nblau\tblue\n", encoding="utf-8")
    for command in ("evaluate", "score", "align"):
        told = regard(command, trained.folder, pairs, "--set", "decode.beam=2")
        assert told.code == 0, told.err
    assert regard("score", trained.folder, pairs, "--json", tmp_path / "a.json", "--per-token").code == 0
    assert (tmp_path / "a.json").read_text(encoding="utf-8").count("log_probs") == 2
    (tmp_path / "one.de").write_text("rot\n", encoding="utf-8")
    refused = regard("align", trained.folder, tmp_path / "one.de")
    assert "one.de: is one side of pairs, by its name; name the file of the target after it, or give" in refused.err
    refused = regard("look", trained.folder, "rot", "--set", "model.cell=lstm")
    assert "a trained model stays as it is; only decode.* and evaluation.* can be changed" in refused.err


def test_nothing_to_look_at_is_refused(trained: Trained) -> None:
    told = regard("look", trained.folder, " ")
    assert (told.code, told.out) == (2, "")
    assert told.err == "regard: the source is empty: there is nothing to look at; give at least one word\n"
