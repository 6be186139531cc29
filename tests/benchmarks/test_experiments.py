"""Tables of experiments: every row is a recipe that parses, and fewer pairs are among the more."""

import gzip
import json
import sys
import time
import tomllib
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from regard.recipe import read_recipe

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TABLES = sorted(path.stem for path in (BENCHMARKS / "experiments").glob("*.toml"))


@pytest.fixture
def experiments(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("experiments")


def texts(folder: Path, recipe: str, lines: int = 40) -> None:
    """A text of numbered lines in the files of a recipe."""
    for file in read_recipe(recipe).data.train:
        text = "".join(f"{number}\n" for number in range(lines)).encode()
        (folder / Path(file).name).write_bytes(gzip.compress(text) if file.endswith(".gz") else text)


@pytest.mark.parametrize("name", TABLES)
def test_every_row_is_a_recipe(experiments: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tomllib.loads((BENCHMARKS / "experiments" / f"{name}.toml").read_text(encoding="utf-8"))
    monkeypatch.setattr(experiments, "fewer", lambda recipe, pairs, arguments: [f"{pairs}.en", f"{pairs}.de"])
    rows = experiments.rows_of(table, Namespace(rows=None, merge=[]))
    assert len({row.folder for row in rows}) == len(rows) == len(table["rows"]) * len(table.get("sizes", [""]))
    for row in rows:
        changes = [*row.changes, *([f"data.train={json.dumps(row.train)}"] if row.train else [])]
        changed = read_recipe(row.recipe, changes) != read_recipe(row.recipe)
        # One that is said to differ does; a size of model may be that of the recipe.
        assert changed or not changes or "sizes" in table


def test_fewer_pairs_are_among_the_more(experiments: ModuleType, tmp_path: Path) -> None:
    recipe = "multi30k-transformer"
    texts(tmp_path, recipe)
    arguments = Namespace(data=str(tmp_path), work=str(tmp_path / "work"), table="guide")
    few, more = ([Path(file).read_text() for file in experiments.fewer(recipe, pairs, arguments)] for pairs in (5, 20))
    assert few[0] == few[1], "line i of both files belongs together"
    assert (len(few[0].split()), len(more[0].split())) == (5, 20)
    assert set(few[0].split()) < set(more[0].split())
    assert more[0].split() != sorted(more[0].split(), key=int), "they are drawn"


def test_a_table_is_run_and_written(
    experiments: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[list[str]] = []

    def call(command: list[str], folder: str, log: Path) -> bool:
        called.append(command)
        if "recurrent" in command[1]:
            return False
        out = Path(command[command.index("--out") + 1])
        out.mkdir(parents=True)
        score = {"mean": 40.0, "values": [40.0]}
        found = {"seeds": [1], "scores": {"dev": {"BLEU": score}}, "training": [{"seconds": 3.0}]}
        (out / "results.json").write_text(json.dumps(found))
        return True

    monkeypatch.setattr(experiments, "call", call)
    texts(tmp_path, "europarl-transformer", 31000)
    folders = ["--data", str(tmp_path), "--work", str(tmp_path / "work"), "--out", str(tmp_path / "out.json")]
    rows = ["--rows", "Transformer, 2 + 2 layers of 128", "LSTM of 512 with attention"]
    monkeypatch.setattr(sys, "argv", ["experiments.py", "guide-europarl", "--seeds", "1", *folders, *rows])
    experiments.main()
    record = json.loads((tmp_path / "out.json").read_text())
    assert [(row["size"], row["recipe"], len(row["scores"])) for row in record["rows"]] == [
        (size, f"europarl-{model}", count)
        for size in ("5,000 pairs", "30,000 pairs", "150,000 pairs")
        for model, count in (("transformer", 1), ("recurrent", 0))
    ]
    assert record["rows"][0]["changes"][-2:] == ["5000-train.de", "5000-train.en"]
    assert "train.steps=3000" in called[0]
    assert called[0][-1].startswith('data.train=["')
    said = capsys.readouterr().out
    assert "5,000 pairs, Transformer, 2 + 2 layers of 128: done\n" in said
    assert "150,000 pairs, LSTM of 512 with attention: failed, see " in said
    assert "150,000 pairs, Transformer, 2 + 2 layers of 128, dev BLEU 40.00\n" in said


def test_what_was_found_before_a_stop_is_written(
    experiments: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_row(row: Any, arguments: Namespace) -> None:
        if row.name == "second":
            raise KeyboardInterrupt

    out = tmp_path / "out.json"
    found = {"size": "", "scores": {"dev": {"BLEU": {"mean": 1.0}}}}
    out.write_text(json.dumps({"rows": [{"name": name, "found": "earlier"} | found for name in ("first", "last")]}))
    monkeypatch.setattr(experiments, "run_row", run_row)
    monkeypatch.setattr(experiments, "results_of", lambda row, arguments: {"name": row.name} | found)
    arguments = Namespace(
        table="any",
        work="",
        out=str(out),
        parallel=1,
        commit="of now",
        rows=["first", "second"],
        merge=[],
        missing=False,
    )
    rows = [experiments.Row(name, "any", []) for name in ("last", "first", "second")]
    with pytest.raises(KeyboardInterrupt):
        experiments.run_rows("title", rows, arguments)
    last, first = json.loads(out.read_text())["rows"]
    assert (last["name"], last["found"], first["name"]) == ("last", "earlier", "first")
    assert (first["made"]["commit"], "found" in first) == ("of now", False)


def test_a_row_that_takes_long_holds_up_no_other(
    experiments: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.json"

    def run_row(row: Any, arguments: Namespace) -> None:
        give_up = time.monotonic() + 60
        while row.name == "long" and '"short"' not in (out.read_text() if out.exists() else ""):
            assert time.monotonic() < give_up, "the other was not written"
            time.sleep(0.01)

    monkeypatch.setattr(experiments, "run_row", run_row)
    monkeypatch.setattr(experiments, "results_of", lambda row, _: {"name": row.name, "size": "", "scores": {}})
    arguments = Namespace(table="any", work="", out=str(out), parallel=2, commit="", rows=[], merge=[], missing=False)
    experiments.run_rows("title", [experiments.Row(name, "any", []) for name in ("long", "short")], arguments)
    assert [each["name"] for each in json.loads(out.read_text())["rows"]] == ["long", "short"]


def test_a_row_that_finds_nothing_new_stays_as_it_was(experiments: ModuleType) -> None:
    found = {"scores": {"dev": {"BLEU": {"mean": 1.0}}}}
    earlier, now = found | {"made": {"date": "then"}}, {"date": "now"}
    for nothing in (found, {"scores": {}}):  # the same once more; a run that failed
        assert experiments.newest(earlier, nothing, now) == earlier
    for before, after in ((earlier, found | {"seeds": [1, 2]}), (None, found), (None, {"scores": {}})):
        assert experiments.newest(before, after, now) == after | {"made": now}


def test_the_word_vectors_of_a_row_are_written_with_their_number_of_words(
    experiments: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "three.txt").write_text("the 1 0\ndog 0 1\nbarks 1 1\n", encoding="utf-8")
    arguments, row = Namespace(work=str(tmp_path), table="any"), experiments.Row("a row", "any", [])
    assert experiments.vectors_of(row, arguments) == {}  # nothing was trained
    model = experiments.place(arguments) / row.folder / "seed-1"
    model.mkdir(parents=True)
    for recipe in ("", "[words]\nwidth = 2\n", '[words.vectors]\nfile = ""\n'):
        (model / "recipe.toml").write_text(recipe, encoding="utf-8")
        assert experiments.vectors_of(row, arguments) == {}
    (model / "recipe.toml").write_text(f'[words.vectors]\nfile = "{tmp_path / "three.txt"}"\n', encoding="utf-8")
    assert experiments.vectors_of(row, arguments) == {"vectors": {"file": "three.txt", "words": 3}}


def test_results_to_add_must_be_there(experiments: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "missing.json"
    monkeypatch.setattr(sys, "argv", ["experiments.py", "multi30k", "--merge", str(missing)])
    with pytest.raises(SystemExit) as refused:
        experiments.main()
    assert str(refused.value) == f"--merge {missing}: no such file; name results to add"


def test_results_of_another_machine_are_added(
    experiments: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(("Transformer", "Transformer, 3,500 steps")):
        row = {"name": name, "size": "", "scores": {}, "made": {"device": "elsewhere"}}
        (tmp_path / f"{number}.json").write_text(json.dumps({"rows": [row]}))
    files = [str(tmp_path / f"{number}.json") for number in (1, 0)]
    out = tmp_path / "out.json"
    monkeypatch.setattr(sys, "argv", ["experiments.py", "multi30k", "--out", str(out), "--merge", *files])
    experiments.main()
    rows = json.loads(out.read_text())["rows"]
    assert [(row["name"], row["made"]) for row in rows] == [
        (name, {"device": "elsewhere"}) for name in ("Transformer", "Transformer, 3,500 steps")
    ]


def test_results_of_a_table_of_sizes_are_added_where_there_is_no_text(
    experiments: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"name": "LSTM of 512 with attention", "size": "5,000 pairs", "scores": {}, "made": {}}
    (tmp_path / "found.json").write_text(json.dumps({"rows": [row]}))
    out = tmp_path / "out.json"
    merge = ["--merge", str(tmp_path / "found.json")]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["experiments.py", "guide-europarl", "--out", str(out), *merge])
    experiments.main()
    assert json.loads(out.read_text())["rows"] == [row]


@pytest.mark.parametrize("test", [False, True])
def test_only_rows_that_are_missing(
    experiments: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, test: bool
) -> None:
    out, ran = tmp_path / "out.json", []
    dev = {"dev": {"BLEU": {"mean": 1.0}}}
    there = [
        {"name": "dev", "scores": dev},
        {"name": "both", "scores": dev | {"test": {}}},
        {"name": "failed", "scores": {}},
    ]
    out.write_text(json.dumps({"rows": [row | {"size": "few"} for row in there]}))
    monkeypatch.setattr(experiments, "run_row", lambda row, _: ran.append((row.name, row.size)))
    monkeypatch.setattr(experiments, "results_of", lambda row, _: {"name": row.name, "size": row.size, "scores": {}})
    rows = [experiments.Row(name, "any", [], size) for size in ("few", "many") for name in ("dev", "both", "failed")]
    how = {"table": "any", "work": "", "out": str(out), "parallel": 1, "commit": "", "rows": [], "merge": []}
    experiments.run_rows("title", rows, Namespace(**how, missing=True, test=test))
    absent = [("dev", "few")] if test else []
    assert ran == [*absent, ("failed", "few"), ("dev", "many"), ("both", "many"), ("failed", "many")]
    written = json.loads(out.read_text())["rows"]
    assert [(row["name"], row["size"]) for row in written] == [(row.name, row.size) for row in rows]
    assert [row["scores"] for row in written[:2]] == [row["scores"] for row in there[:2]]


def test_rows_that_a_table_does_not_have(
    experiments: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.json"
    monkeypatch.setattr(sys, "argv", ["experiments.py", "multi30k", "--rows", "Transformed", "--out", str(out)])
    with pytest.raises(SystemExit) as ended:
        experiments.main()
    assert ended.value.code == "--rows 'Transformed': no row of multi30k is called so; leave it out to run all"
    assert not out.exists(), "so that nothing is lost"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [(["no-such-table"], "invalid choice: 'no-such-table' "), (["guide-europarl", "--data", "."], "--data .: ")],
)
def test_what_is_not_there_is_said_without_a_traceback(
    experiments: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["experiments.py", *arguments, "--work", str(tmp_path / "work")])
    with pytest.raises(SystemExit) as stopped:
        experiments.main()
    assert expected in f"{stopped.value} {capsys.readouterr().err}"
