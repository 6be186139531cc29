"""Tokenizers on disk: what is missing or damaged is told."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from regard import recipe
from regard.errors import ModelError
from regard.tokens import TOKENIZERS, Vocabulary, load_tokenizer, save_tokenizer, train_tokenizer


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_tokenizer(train_tokenizer(recipe.TokenizerSettings(kind="bpe"), ["ab ab"] * 2), tmp_path / "source.json")
    return tmp_path / "source.json"


def refused(path: Path) -> str:
    with pytest.raises(ModelError) as refusal:
        load_tokenizer(path)
    message = str(refusal.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_missing(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.json") == (
        "this tokenizer is missing; a model folder holds those it was trained with"
    )


def test_a_folder(tmp_path: Path) -> None:
    assert refused(tmp_path) == "this tokenizer cannot be read: Is a directory"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"\x00" * 10])
def test_not_json(saved: Path, content: bytes) -> None:
    saved.write_bytes(content)
    assert refused(saved).startswith("this tokenizer is damaged; restore the folder from a copy, or train again (")


def test_cut_off_at_any_place(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in range(0, len(whole), 7):
        saved.write_bytes(whole[:length])
        assert "this tokenizer is damaged" in refused(saved)


@pytest.mark.parametrize("content", [[], "text", {}, {"format": 2}, {"format": None}])
def test_another_format(saved: Path, content: Any) -> None:
    saved.write_text(json.dumps(content))
    found = content.get("format") if isinstance(content, dict) else None
    assert refused(saved) == f"tokenizer format {found!r} is not known here; this version reads format 1"


def test_another_kind(saved: Path) -> None:
    saved.write_text(json.dumps({"format": 1, "kind": "bpf"}))
    assert refused(saved) == (
        "tokenizer kind 'bpf' is not known; known are 'bpe', 'words', 'characters', 'bytes' or 'unigram'"
    )


@pytest.mark.parametrize("kind", sorted(set(TOKENIZERS) - {"bytes"}))
@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        {"tokens": 3, "alphabet": 3, "merges": 3, "scores": 3},
        {"tokens": [1], "alphabet": [1], "merges": [], "scores": [[1, 1.0]]},
        {"tokens": ["a", "a"], "alphabet": ["a"], "merges": [["a", "b"]], "scores": [["a", "x"]]},
        {"tokens": [["a"]], "alphabet": ["a"], "merges": [["a"]], "scores": ["a"]},
    ],
)
def test_a_state_that_no_tokenizer_has(saved: Path, kind: str, state: Any) -> None:
    settings = recipe.TokenizerSettings.model_validate({"kind": kind}).model_dump()
    saved.write_text(json.dumps({"format": 1, "kind": kind, "settings": settings, "state": state}))
    assert refused(saved).startswith("this tokenizer is damaged; restore the folder from a copy, or train again (")


def test_settings_that_no_tokenizer_has(saved: Path) -> None:
    content = json.loads(saved.read_text())
    content["settings"]["size"] = "many"
    saved.write_text(json.dumps(content))
    assert refused(saved).startswith("this tokenizer is damaged")


def test_special_tokens_cannot_be_found_by_name() -> None:
    vocabulary = Vocabulary(["a", "<pad>"])
    assert list(vocabulary) == ["<pad>", "<unk>", "<s>", "</s>", "a", "<pad>"]
    assert vocabulary.find("<pad>") == 5
    assert vocabulary.find("</s>") == 1
    assert "</s>" not in vocabulary
    assert vocabulary[4] == "a"


def test_a_tokenizer_is_on_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: done.append("fsync") or sync(file))
    monkeypatch.setattr(os, "replace", lambda old, new: done.append("replace") or replace(old, new))
    save_tokenizer(train_tokenizer(recipe.TokenizerSettings(kind="words"), ["ab"]), tmp_path / "source.json")
    assert done == ["fsync", "replace", "fsync"]
    assert load_tokenizer(tmp_path / "source.json").encode("ab") == [4]
