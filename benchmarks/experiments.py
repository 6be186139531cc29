"""Tables of experiments: each row is a recipe with some settings changed, repeated over seeds.

A table is a TOML file in `experiments/`:

    title = "What lifts a small model"
    recipe = "multi30k-transformer"             # a built-in recipe, or a file
    [rows]
    "as it is" = []
    "without weight averaging" = ["train.average.decay=0.0"]

Each row is `regard repeat` with these changes, in the folder that holds the data. With --parallel, several rows share
the machine: their scores are the same then, their times mean nothing and are not written down. What is finished is
never repeated, so a table that was interrupted goes on where it was.

    python benchmarks/experiments.py multi30k-ablation --data multi30k --seeds 1,2,3 --test
"""

import argparse
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from conditions import conditions

HERE = Path(__file__).parent


def run_row(name: str, changes: list[str], table: Mapping[str, Any], arguments: argparse.Namespace) -> None:
    """Repeats one row; what it says goes into a file beside its models."""
    out = folder_of(name, arguments)
    out.parent.mkdir(parents=True, exist_ok=True)
    options = [part for change in [*arguments.set, *changes] for part in ("--set", change)]
    test = ["--test"] if arguments.test else []
    command = [table["recipe"], "--seeds", arguments.seeds, "--out", str(out), "--resume", *test, *options]
    # Our own folder is where this was started from; the recipes name their data as seen from the folder of the data.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))}
    with open(f"{out}.log", "w", encoding="utf-8") as log:
        done = subprocess.run(
            [sys.executable, "-m", "regard", "repeat", *command],
            cwd=arguments.data,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    print(f"{name}: {'done' if done.returncode == 0 else f'failed, see {out}.log'}", flush=True)


def folder_of(name: str, arguments: argparse.Namespace) -> Path:
    return Path(arguments.work).absolute() / arguments.table / name.replace(" ", "-").replace("/", "-")


def results_of(name: str, changes: list[str], arguments: argparse.Namespace) -> dict[str, Any]:
    """What `regard repeat` found, or that it found nothing."""
    path = folder_of(name, arguments) / "results.json"
    found = {"scores": {}, "training": [], "seeds": []}
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
    training = found["training"] if arguments.parallel == 1 else []
    return {"name": name, "changes": changes, "seeds": found["seeds"], "scores": found["scores"], "training": training}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", help="name of a file in experiments/, without .toml")
    parser.add_argument("--data", default=".", help="folder with the data that the recipe names")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--test", action="store_true", help="evaluate on the test text too, when all is decided")
    parser.add_argument("--rows", nargs="*", help="only these rows")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a change to every row")
    parser.add_argument("--parallel", type=int, default=1, help="rows that run at the same time")
    parser.add_argument("--work", default="runs/experiments", help="folder for the models")
    parser.add_argument("--out", help="JSON file for the results (default: results/TABLE.json)")
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    arguments = parser.parse_args()
    table = tomllib.loads((HERE / "experiments" / f"{arguments.table}.toml").read_text(encoding="utf-8"))
    rows = {name: changes for name, changes in table["rows"].items() if not arguments.rows or name in arguments.rows}
    with ThreadPoolExecutor(arguments.parallel) as pool:
        list(pool.map(lambda row: run_row(*row, table, arguments), rows.items()))
    record = {"title": table["title"], "recipe": table["recipe"]}
    record |= conditions(("regard", "torch", "sacrebleu"), arguments.commit)
    record["device"] = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    record["rows"] = [results_of(name, changes, arguments) for name, changes in rows.items()]
    out = Path(arguments.out or HERE / "results" / f"{arguments.table}.json")
    out.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    for row in record["rows"]:
        found = [(split, *score) for split, scores in row["scores"].items() for score in scores.items()]
        print(row["name"], *(f"{split} {kind} {score['mean']:.2f}" for split, kind, score in found), sep=", ")


if __name__ == "__main__":
    main()
