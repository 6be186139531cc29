"""Tables of experiments: each row is a recipe with some settings changed, repeated over seeds.

A table is a TOML file in `experiments/`:

    title = "What lifts a small model"
    recipe = "multi30k-transformer"             # a built-in recipe, or a file
    changes = ["train.steps=4000"]              # of every row, if there are any
    [sizes]                                     # if every row is to be had with several amounts of training text
    "5,000 pairs" = { pairs = 5000, changes = ["train.steps=2000"] }
    "29,000 pairs" = {}
    [rows]
    "as it is" = []
    "without weight averaging" = ["train.average.decay=0.0"]
    "recurrent" = { recipe = "multi30k-recurrent", changes = ["model.hidden=256"] }

Each row is `regard repeat` with these changes, in the folder that holds the data. Fewer pairs are drawn at random, the
same for all rows, and the fewer are among the more. With --parallel, several rows share the machine, and with --busy,
other work does: the scores are the same then, the times mean nothing and are not recorded. Finished runs are never
repeated, so an interrupted table is resumed. Rows of a table that are in its file already, and are not run now, stay
there; each records where, when and by which command it was measured. With --missing, only rows are run that are not in
that file yet.

    python benchmarks/experiments.py multi30k-ablation --data multi30k --seeds 1,2,3 --test
    python benchmarks/experiments.py multi30k --merge elsewhere/multi30k.json       # results of another machine
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

import torch
from conditions import conditions

from regard.disk import read_lines, replace_file
from regard.errors import RegardError
from regard.recipe import read_recipe
from regard.vectors import Vectors

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """One recipe of a table."""

    name: str
    recipe: str
    changes: list[str]
    size: str = ""
    """The amount of training text by its name in the table, if there are several."""
    train: list[str] = field(default_factory=list)
    """Files of training text, if they are not those of the recipe."""
    judged_by: str = ""
    """The main score, if a model writes several languages."""

    @property
    def folder(self) -> str:
        return re.sub(r"[ /]", "-", " ".join(filter(None, (self.name, self.size))))


def rows_of(table: Mapping[str, Any], arguments: argparse.Namespace) -> list[Row]:
    """Every row with every amount of text."""
    found = []
    for size, amount in table.get("sizes", {"": {}}).items():
        for name, row in table["rows"].items():
            own = row if isinstance(row, dict) else {"changes": row}
            recipe = own.get("recipe", table["recipe"])
            changes = [*table.get("changes", []), *amount.get("changes", []), *own["changes"]]
            # Without runs, no text is needed.
            train = fewer(recipe, amount["pairs"], arguments) if "pairs" in amount and not arguments.merge else []
            found.append(Row(name, recipe, changes, size, train, own.get("judged_by", "")))
    return found


def fewer(recipe: str, pairs: int, arguments: argparse.Namespace) -> list[str]:
    """Files with `pairs` of a recipe's training pairs."""
    with chdir(arguments.data):
        files = [Path(file) for file in read_recipe(recipe).data.train]
    made = [place(arguments) / "data" / f"{pairs}-{file.name.removesuffix('.gz')}" for file in files]
    if not all(file.exists() for file in made):
        made[0].parent.mkdir(parents=True, exist_ok=True)
        texts = [read_lines(file) for file in files]
        chosen = in_random_order(len(texts[0]))[:pairs]
        for file, text in zip(made, texts, strict=True):
            file.write_text("".join(text[line] + "\n" for line in chosen), encoding="utf-8")
    return list(map(str, made))


def in_random_order(lines: int) -> list[int]:
    """All lines of a text, always in the same order."""
    return Random(0).sample(range(lines), lines)


def run_row(row: Row, arguments: argparse.Namespace) -> None:
    """Repeats one row; its output goes to a file beside its models."""
    out = place(arguments) / row.folder
    out.parent.mkdir(parents=True, exist_ok=True)
    train = [f"data.train={json.dumps(row.train)}"] if row.train else []
    options = [part for change in [*arguments.set, *row.changes, *train] for part in ("--set", change)]
    more = [*(["--on-test"] if arguments.test else []), *(["--resume"] if out.exists() else [])]
    command = ["repeat", row.recipe, "--seeds", arguments.seeds, "--out", str(out), *more, *options]
    done = call(command, arguments.data, Path(f"{out}.log"))
    name = ", ".join(filter(None, (row.size, row.name)))
    print(f"{name}: {'done' if done else f'failed, see {out}.log'}", flush=True)


def call(command: list[str], folder: str, log: Path) -> bool:
    """Runs `regard` in a folder, with its output in a file; returns whether it succeeded."""
    # Our own folder is where this was started from; the recipes name their data as seen from the folder of the data.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))}
    with open(log, "w", encoding="utf-8") as file:
        done = subprocess.run(
            [sys.executable, "-m", "regard", *command],
            cwd=folder,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return done.returncode == 0


def place(arguments: argparse.Namespace) -> Path:
    """The folder of a table."""
    return Path(arguments.work).absolute() / arguments.table


def results_of(row: Row, arguments: argparse.Namespace) -> dict[str, Any]:
    """The results of `regard repeat`, or that there are none."""
    path = place(arguments) / row.folder / "results.json"
    found = {"scores": {}, "training": [], "seeds": []}
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
    training = found["training"] if arguments.parallel == 1 and not arguments.busy else []
    told = {"name": row.name, "size": row.size, "recipe": row.recipe, "changes": [*arguments.set, *row.changes]}
    told["judged_by"] = row.judged_by
    told["changes"] += [Path(file).name for file in row.train]
    return told | {"seeds": found["seeds"], "scores": found["scores"], "training": training}


def vectors_of(row: Row, arguments: argparse.Namespace) -> dict[str, Any]:
    """The file of word vectors that a row's words started from, and how many it has, as there are several by one
    name."""
    recipe = next((place(arguments) / row.folder).glob("seed-*/recipe.toml"), None)
    words = tomllib.loads(recipe.read_text(encoding="utf-8")).get("words", {}) if recipe else {}
    file = Path(words.get("vectors", {}).get("file", ""))
    return {"vectors": {"file": file.name, "words": len(Vectors.load(file))}} if file.is_file() else {}


def run_rows(title: str, rows: Sequence[Row], arguments: argparse.Namespace) -> None:
    """Runs the requested rows of a table, and saves the results after each of them."""
    chosen = [row for row in rows if not arguments.rows or row.name in arguments.rows]
    if not chosen:
        named = ", ".join(map(repr, arguments.rows))
        raise SystemExit(f"--rows {named}: no row of {arguments.table} is called so; leave it out to run all")
    made = conditions(("regard", "torch", "sacrebleu"), arguments.commit)
    made["device"] = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    out = Path(arguments.out or HERE / "results" / f"{arguments.table}.json")
    for path in arguments.merge:
        if not path.is_file():
            raise SystemExit(f"--merge {path}: no such file; name results to add")
    files = [*([out] if out.exists() else []), *arguments.merge]
    found = {(row["name"], row["size"]): row for path in files for row in rows_in(path)}
    if arguments.missing:
        wanted = "test" if arguments.test else "dev"
        chosen = [row for row in chosen if wanted not in found.get((row.name, row.size), {}).get("scores", {})]
    one_at_a_time = Lock()

    def write() -> None:
        # In the order of the table; at the end what is not in it any more.
        ordered = {key: found[key] for row in rows if (key := (row.name, row.size)) in found} | found
        record = {"title": title, "rows": list(ordered.values())}
        replace_file(out, (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())

    def run(row: Row) -> None:
        run_row(row, arguments)
        key, own = (row.name, row.size), made | vectors_of(row, arguments)
        with one_at_a_time:
            found[key] = newest(found.get(key), results_of(row, arguments), own)
            write()

    if not arguments.merge:
        with ThreadPoolExecutor(arguments.parallel) as pool:
            list(pool.map(run, chosen))
    write()
    for told in found.values():
        figures = [(split, *score) for split, scores in told["scores"].items() for score in scores.items()]
        name = ", ".join(filter(None, (told["size"], told["name"])))
        print(name, *(f"{split} {kind} {score['mean']:.2f}" for split, kind, score in figures), sep=", ")


def rows_in(path: Path) -> list[dict[str, Any]]:
    """Results from earlier, or from another machine."""
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return rows


def newest(earlier: dict[str, Any] | None, now: dict[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a row: the earlier results with their conditions, unless the new ones differ."""
    if earlier is not None and (not now["scores"] or earlier == now | {"made": earlier.get("made")}):
        return earlier
    return now | {"made": made}


def options(description: str | None) -> argparse.ArgumentParser:
    """The command-line options of every table of experiments."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=".", help="folder with the data that the recipe names")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--test", action="store_true", help="evaluate on the test text too, when all is decided")
    parser.add_argument("--rows", nargs="*", help="only these rows")
    parser.add_argument("--missing", action="store_true", help="only rows whose scores --out does not have yet")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a change to every row")
    parser.add_argument("--parallel", type=int, default=1, help="rows that run at the same time")
    parser.add_argument("--busy", action="store_true", help="other work is done here, so do not write times down")
    parser.add_argument("--merge", nargs="+", type=Path, default=[], help="run nothing, but add these results")
    parser.add_argument("--work", default="runs/experiments", help="folder for the models")
    parser.add_argument("--out", help="JSON file for the results (default: results/TABLE.json)")
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    return parser


def main() -> None:
    parser = options(__doc__)
    tables = sorted(path.stem for path in (HERE / "experiments").glob("*.toml"))
    parser.add_argument("table", choices=tables, help="name of a file in experiments/, without .toml")
    arguments = parser.parse_args()
    table = tomllib.loads((HERE / "experiments" / f"{arguments.table}.toml").read_text(encoding="utf-8"))
    try:
        rows = rows_of(table, arguments)
    except RegardError as error:
        raise SystemExit(f"--data {arguments.data}: {error}") from None
    run_rows(table["title"], rows, arguments)


if __name__ == "__main__":
    main()
