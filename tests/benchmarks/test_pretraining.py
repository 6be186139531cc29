"""The comparison of few labelled sentences: its text, its recipes, and its table."""

import gzip
import re
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from regard.recipe import read_recipe

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
CONDITIONS: dict[str, Any] = {
    "command": "c",
    "commit": "0123456789abc",
    "uncommitted_changes": False,
    "date": "today",
    "versions": {},
    "processor": "P",
    "cpus": 2,
}


@pytest.fixture
def pretraining(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("pretraining")


def given(folder: Path) -> Namespace:
    """Small texts of each kind."""
    with gzip.open(folder / "plain.txt.gz", "wt", encoding="utf-8") as file:
        file.write(
            "Mr. Shaw (born 1990) doesn\u2019t play. The 18th of May, U.S. time: \u201cIt\u2019s 3.5%.\u201d He left.\n"
            * 900
        )
    for part in ("train", "testa", "testb"):
        block = "-DOCSTART- -X- O O\n\n" + "".join(
            f"Anna{number} NNP I-NP I-PER\nsees VBZ I-VP O\n\n" for number in range(9)
        )
        (folder / f"eng.{part}").write_text(block, encoding="utf-8")
    for part in ("train", "dev", "test"):
        (folder / f"sst2.{part}.tsv").write_text("".join(f"{number % 2}\ta film {number}\n" for number in range(9)))
    return Namespace(text=folder / "plain.txt.gz", conll=folder, sst=folder, sentences=500)


def test_plain_text_is_split_as_labelled_text_is(pretraining: ModuleType, tmp_path: Path) -> None:
    first, second, *_ = pretraining.sentences(given(tmp_path).text)
    assert " ".join(first) == "Mr. Shaw ( born 1990 ) does n't play ."
    assert " ".join(second) == 'The 18th of May , U.S. time : " It \'s 3.5 % . "'


def test_texts_are_written_under_the_names_of_recipes_that_parse(
    pretraining: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pretraining, "SIZES", (3, 6))
    work = tmp_path / "work"
    pretraining.write_texts(given(tmp_path), work)
    assert len((work / "text.txt").read_text().splitlines()) == 500
    few, more = ((work / f"conll-{size}.conll").read_text().strip().split("\n\n") for size in (3, 6))
    assert (len(few), len(more), few) == (3, 6, more[:3])
    assert "DOCSTART" not in (work / "conll-test.conll").read_text()
    commands: list[list[str]] = []
    monkeypatch.setattr(pretraining, "call", lambda command, folder, log: commands.append(command) or True)
    arguments = Namespace(seeds="1,2", steps=5)
    pretraining.pretrain(arguments, work)
    for task in pretraining.TASKS:
        for start in pretraining.STARTS:
            assert pretraining.repeat(task, 3, start, arguments, work)["seeds"] == []
    (work / "encoder").mkdir()
    for command in commands:
        changes = [command[place + 1] for place, option in enumerate(command) if option == "--set"]
        recipe = read_recipe(work / command[1], changes)
        assert all(Path(file).exists() for file in recipe.data.train)
    starts = [[change for change in command if "train.start.parts" in change] for command in commands[1:6]]
    words, both = (['train.start.parts=["words"]'], ['train.start.parts=["words", "encoder"]'])
    assert starts == [[], both, words, both, both]


def test_its_table_compares_with_what_started_from_nothing(pretraining: ModuleType) -> None:
    tables = import_module("experiment_tables")

    def row(start: str, values: list[float]) -> dict[str, Any]:
        scores = {split: {"F1": {"values": values}} for split in ("dev", "test")} if values else {}
        return {
            "task": "named entities",
            "size": 1000,
            "start": start,
            "seeds": [1, 2][: len(values)],
            "scores": scores,
        }

    rows = [row("from nothing", [40.0, 41.0]), row("from the encoder", [50.0, 52.0]), row("frozen", [])]
    made = tables.low_resource(
        {**CONDITIONS, "text": {"sentences": 9, "steps": 2000, "perplexity": 99.6}, "rows": rows}
    )
    assert made.lines[2] == "| named entities (F1), 1,000 | from nothing | 2 | 40.5 ± 0.7 | 40.5 ± 0.7 |  |"
    assert re.search(r"from the encoder \| 2 \| 51.0 ± 1.4 \| 51.0 ± 1.4 \| \+10.50 \[\+.*\] \|$", made.lines[3])
    assert made.lines[4].endswith("| frozen | 0 | – | – |  |")
    assert "2,000 batches of 4,096 words out of 9 sentences" in made.caption
