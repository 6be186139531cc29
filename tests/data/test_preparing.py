"""`prepare`: from a recipe to token pairs, with everything counted, and the same from the cache."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pair_strategies import two_files

from regard.data import CorpusPosition, PairBatches, PreparedPairs, prepare
from regard.data.generated import Generated
from regard.data.sequences import SequenceExamples
from regard.errors import DataError, RecipeError
from regard.recipe import Recipe, parse_recipe
from regard.tokens import save_tokenizer

GOOD = [("ein Haus", "a house"), ("ein Hund", "a dog"), ("das Haus", "the house")]


def recipe(train: list[str], tokens: dict[str, Any] | None = None, **data: Any) -> Recipe:
    return parse_recipe({
        "data": {"train": train, **data},
        "tokens": tokens or {"source": {"kind": "words"}, "target": {"kind": "characters"}},
        "model": {"kind": "recurrent"},
        "train": {"steps": 1, "batch_tokens": 10},
    })  # fmt: skip


def contents(prepared: PreparedPairs) -> list[tuple[str, str]]:
    """The pairs that are trained on, decoded."""
    source, target = prepared.tokenizers
    rows = (side.lists() for side in prepared.train.sides(np.arange(len(prepared.train))))
    return [(source.decode(left), target.decode(right)) for left, right in zip(*rows, strict=True)]


def test_pairs_become_tokens_and_everything_is_counted(tmp_path: Path) -> None:
    train = two_files(tmp_path, [*GOOD, ("", "nothing"), ("viel zu lang hier", "x")])
    prepared = prepare(recipe(train, longest=9, empty="drop"), tmp_path / "cache")
    assert contents(prepared) == [*GOOD, ("viel zu lang hier", "x")]
    assert prepared.report.lines() == [
        f"train: 5 pairs in {train[0]} and {train[1]}, 41 source and 29 target characters",
        f"train: 1 pair with an empty side: dropped (data.empty); {train[0]}:4",
        f"train: 1 pair with a length ratio above 9 in characters: kept; {train[0]}:5 (17 to 1)",
        "train: 4 pairs to train on",
        "source: a vocabulary of 12 (words); 10 tokens, none of them unknown",
        "target: a vocabulary of 15 (characters); 22 tokens, none of them unknown",
    ]


def test_over_long_pairs_are_counted_in_tokens(tmp_path: Path) -> None:
    tokens = {"shared": True, "source": {"kind": "bpe", "size": 60}}
    train = two_files(tmp_path, [("qwrtzp", "pztrwq"), *GOOD])
    found = prepare(recipe(train, tokens, longest=6), tmp_path / "cache")
    finding = f"train: 1 pair with more than 6 tokens on a side: dropped (data.over_long); {train[0]}:1"
    assert finding in found.report.lines()
    assert contents(found) == [found.train.text(index) for index in range(3)] == GOOD
    assert found.tokenizers[0] is found.tokenizers[1]


def test_over_long_pairs_can_be_cut_or_refused(tmp_path: Path) -> None:
    train = two_files(tmp_path, [*GOOD, ("eins zwei drei", "abcdefghijkl")])
    cut = prepare(recipe(train, longest=9, over_long="cut"), tmp_path / "cache")
    assert contents(cut)[-1] == ("eins zwei drei", "abcdefghi")
    assert f"train: 1 pair with more than 9 tokens on a side: cut (data.over_long); {train[0]}:4" in cut.report.lines()
    with pytest.raises(DataError, match=r"1 pair with more than 9 words or characters on a side: refused"):
        prepare(recipe(train, longest=9, over_long="refuse"), tmp_path / "cache")


def test_what_is_refused_only_in_tokens_leaves_no_cache(tmp_path: Path) -> None:
    train = two_files(tmp_path, [("abcdefgh", "x"), ("y", "z")])
    tokens = {"source": {"kind": "bpe", "size": 300}, "target": {"kind": "words"}}
    with pytest.raises(DataError) as refusal:
        prepare(recipe(train, tokens, longest=4, over_long="refuse"), tmp_path / "cache")
    assert str(refusal.value) == (
        f"train: 1 pair with more than 4 tokens on a side: refused (data.over_long); {train[0]}:1; "
        'raise data.longest, or set data.over_long to "drop" or "cut"'
    )
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("rows", [[("", "x"), ("y", "")], [("a b c", "x"), ("y", "a b c")]])
def test_nothing_left_is_refused(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    tokens = {"source": {"kind": "words"}, "target": {"kind": "words"}}
    with pytest.raises(DataError, match="train: no pair is left to train on; change what is dropped"):
        prepare(recipe(two_files(tmp_path, rows), tokens, longest=2), tmp_path / "cache")


def test_unknown_tokens_and_pairs_beyond_the_budget_are_told(tmp_path: Path) -> None:
    tokens = {"source": {"kind": "words", "size": 6}, "target": {"kind": "words"}}
    train = two_files(tmp_path, [*GOOD, ("a b c d e f g h i j", "x")])
    lines = prepare(recipe(train, tokens), tmp_path / "cache").report.lines()
    assert "source: a vocabulary of 6 (words); 16 tokens, 12 of them unknown (75.00%)" in lines
    assert "train: 1 pair is longer than train.batch_tokens = 10; each is a batch by itself" in lines


def test_the_cache_is_used_again_until_something_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = two_files(tmp_path, GOOD)
    first = prepare(recipe(train), tmp_path / "cache")
    with monkeypatch.context() as patch:
        patch.setattr("regard.data.preparing.check_corpora", None)  # would fail if anything were built
        again = prepare(recipe(train), tmp_path / "cache")
    assert again.report == first.report
    assert again.fingerprint == first.fingerprint
    assert contents(again) == contents(first)
    assert again.tokenizers[0].state() == first.tokenizers[0].state()
    two_files(tmp_path, [*GOOD, ("neu", "new")])
    changed = prepare(recipe(train), tmp_path / "cache")
    assert len(changed.train) == 4
    assert changed.fingerprint != first.fingerprint
    assert len(prepare(recipe(train, longest=5), tmp_path / "cache").train) == 2
    assert len(list((tmp_path / "cache").iterdir())) == 3


@pytest.mark.parametrize("damage", ["cut", "gone", "sizes"])
def test_a_damaged_cache_is_built_again(tmp_path: Path, damage: str) -> None:
    train = two_files(tmp_path, GOOD)
    first = prepare(recipe(train), tmp_path / "cache")
    (cache,) = (tmp_path / "cache").iterdir()
    values = cache / "tokens.uint16"
    match damage:
        case "cut":
            values.write_bytes(values.read_bytes()[:-1])
        case "gone":
            values.unlink()
        case "sizes":
            (cache / "sizes.json").write_text("[")
    assert contents(prepare(recipe(train), tmp_path / "cache")) == contents(first)


def test_given_tokenizers_are_used(tmp_path: Path) -> None:
    train = two_files(tmp_path, GOOD)
    given = prepare(recipe(train), tmp_path / "cache").tokenizers
    other = two_files(tmp_path, [("ein Hund ist da", "a x")], "other")
    prepared = prepare(recipe(other), tmp_path / "cache", given)
    assert prepared.tokenizers == given
    assert contents(prepared) == [("ein Hund \ufffd \ufffd", "a \ufffd")]
    assert contents(prepare(recipe(other), tmp_path / "cache")) == [("ein Hund ist da", "a x")]


@pytest.mark.parametrize("shared", [True, False])
def test_given_tokenizers_drop_what_the_recipe_says(tmp_path: Path, shared: bool) -> None:
    train = two_files(tmp_path, GOOD)

    def tokens(dropout: float) -> dict[str, Any]:
        side = {"kind": "bpe", "size": 60, "dropout": dropout}
        return {"shared": True, "source": side} if shared else {"source": side, "target": {"kind": "words"}}

    given = prepare(recipe(train, tokens(0.0)), tmp_path / "cache").tokenizers
    source, target = prepare(recipe(train, tokens(0.5)), tmp_path / "cache", given).tokenizers
    assert source.settings.dropout == 0.5
    assert source.state() == given[0].state()
    assert (target is source) == shared
    assert shared or target is given[1]


def test_the_recipe_states_the_truth_about_given_tokenizers(tmp_path: Path) -> None:
    train = two_files(tmp_path, GOOD)
    given = prepare(recipe(train), tmp_path / "cache").tokenizers
    other = {"shared": True, "source": {"kind": "bpe", "size": 60, "dropout": 0.5}}
    prepared = prepare(recipe(train, other), tmp_path / "cache", given)
    assert prepared.recipe == recipe(train)
    # What cannot have any effect changes nothing.
    assert prepared.fingerprint == prepare(recipe(train), tmp_path / "cache", given).fingerprint
    shared = prepare(recipe(train, other), tmp_path / "cache").tokenizers
    assert prepare(recipe(train), tmp_path / "cache", shared).recipe == recipe(train, other)


def test_a_recipe_that_does_not_fit_given_tokenizers_is_refused(tmp_path: Path) -> None:
    train = two_files(tmp_path, GOOD)
    given = prepare(recipe(train), tmp_path / "cache").tokenizers
    tables = recipe(train, {"shared": True}).model_dump()
    tied = parse_recipe(tables | {"model": {"kind": "recurrent", "tie": "all"}})
    with pytest.raises(RecipeError, match=r"^\[tokens\] of the model to start from: model.tie = 'all' shares one"):
        prepare(tied, tmp_path / "cache", given)


def test_generated_text_is_made_once_and_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = parse_recipe({
        "data": {"corpus": "copy", "examples": 50}, "tokens": {"source": {"kind": "characters"}},
        "model": {"kind": "recurrent"}, "train": {"steps": 1, "batch_tokens": 64},
    })  # fmt: skip
    made: list[int] = []
    original = SequenceExamples.example
    monkeypatch.setattr(SequenceExamples, "example", lambda self, index: made.append(index) or original(self, index))
    prepared = prepare(toy, tmp_path / "cache")
    assert len(made) == 50 + 5 + 5
    assert isinstance(prepared.corpora.train, Generated)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [prepared.cache.name]
    again = prepare(toy, tmp_path / "cache")
    assert contents(again) == contents(prepared) == [(pair.source, pair.target) for pair in prepared.corpora.train]


def test_one_of_everything_is_said_so(tmp_path: Path) -> None:
    train = two_files(tmp_path, [("a", "b")])
    lines = prepare(recipe(train), tmp_path / "cache").report.lines()
    assert lines[0] == f"train: 1 pair in {train[0]} and {train[1]}, 1 source and 1 target character"
    assert "train: 1 pair to train on" in lines
    assert "source: a vocabulary of 5 (words); 1 token, none of them unknown" in lines


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("regard.data.preparing.write_texts", full)
    with pytest.raises(DataError, match=r"cache cannot be written or read: No space left on device; make room"):
        prepare(recipe(two_files(tmp_path, GOOD)), tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    train = two_files(tmp_path, GOOD)
    prepare(recipe(train), tmp_path / "cache", on_progress=lambda what, count: told.append((what, count)))
    assert told == [("tokenizing", 3)]


def test_built_in_corpora_and_dropped_pairs_reach_batches(tmp_path: Path) -> None:
    toy = parse_recipe({
        "data": {"corpus": "reverse", "examples": 200, "duplicates": "drop", "longest": 6},
        "tokens": {"shared": True, "source": {"kind": "bpe", "size": 40, "dropout": 0.3}},
        "model": {"kind": "recurrent"}, "train": {"steps": 1, "batch_tokens": 64},
    })  # fmt: skip
    prepared = prepare(toy, tmp_path)
    source, target = prepared.tokenizers
    assert len(prepared.train) < 200
    batches = PairBatches(prepared.train, seed=1, batch_tokens=64, source=source, target=target, longest=6)
    seen: dict[int, str] = {}
    for batch, after in batches.from_position(CorpusPosition()):
        for example, row in zip(batch.examples, batch.source.tokens.tolist(), strict=True):
            seen[example] = source.decode(row)
        assert batch.source.tokens.shape[1] <= 7
        if after.epoch:
            break
    assert seen == {index: prepared.train.text(index)[0] for index in range(len(prepared.train))}
    assert all(pair.target == pair.source[::-1] for pair in prepared.corpora.dev)


def test_tokenizers_of_two_runs_are_the_same_bytes(tmp_path: Path) -> None:
    train = two_files(tmp_path, GOOD)
    tokens = {"source": {"kind": "unigram", "size": 50}, "target": {"kind": "bpe", "size": 50}}
    for run in ("one", "two"):
        tokenizers = prepare(recipe(train, tokens), tmp_path / run).tokenizers
        for name, tokenizer in zip(("source", "target"), tokenizers, strict=True):
            save_tokenizer(tokenizer, tmp_path / f"{run}.{name}.json")
    for name in ("source", "target"):
        assert (tmp_path / f"one.{name}.json").read_bytes() == (tmp_path / f"two.{name}.json").read_bytes()
