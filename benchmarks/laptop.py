"""Results of at most ten minutes on two cores, and of an hour: a translator, a language model, word vectors.

    python benchmarks/laptop.py --data data --seeds 1,2,3 --test
    python benchmarks/laptop.py --data data --seeds 1 --rows "language model" --busy --test
    python benchmarks/laptop.py --data data --seeds 1,2,3 --test --rows hour

Each row is one command as it is typed, in the folder of the data (multi30k, ptb and wiki2018, as published; wordsim
has the rated pairs and analogies). Its time is that of the whole process, from its start over reading the files to
its end, by the clock and of the processors. With --busy other work is done on the machine, so that only the second is
recorded. The rows of an hour are run only where they are named (`hour` means all of them). Scores of the
development text are always found, those of the test text with --test, once everything is decided; of vectors, MEN's
pairs are what settings were chosen by. What is finished is never repeated.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conditions import conditions

from regard.disk import replace_file
from regard.recipe import AnyRecipe, read_recipe
from regard.tasks import load
from regard.train.repeating import Spread
from regard.vectors import Vectors, evaluate
from regard.vectors.analogies import AnalogyScore

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """One recipe, perhaps with some settings changed."""

    name: str
    data: str
    """The folder that holds its text."""
    recipe: str
    changes: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        """Its training command, without seed and folder."""
        verb = ["vectors", "train"] if read_recipe(self.recipe, kind=AnyRecipe).task == "vectors" else ["train"]
        return [*verb, self.recipe, *(part for change in self.changes for part in ("--set", change))]


ROWS = (
    Row("translator", "multi30k", "multi30k-laptop"),
    Row("language model", "ptb", "ptb-laptop"),
    Row("word vectors", "wiki2018", "wiki-vectors-laptop"),
)
HOUR = (
    Row(
        "translator, an hour",
        "multi30k",
        "multi30k-laptop",
        (
            *("model.width=256", "model.feedforward=1024", "model.encoder_layers=3", "model.decoder_layers=3"),
            *("model.dropout=0.2", "train.optimizer.rate=2e-3", "train.batch_tokens=1024"),
            *("train.steps=7000", "train.schedule.warmup=400", "train.validation.every=1000", "train.minutes=58"),
        ),
    ),
    Row(
        "language model, an hour",
        "ptb",
        "ptb-laptop",
        (
            *("model.embedding=512", "model.hidden=512", "model.dropout.input=0.3", "model.dropout.output=0.5"),
            *("train.steps=20000", "train.validation.every=4000", "train.minutes=58"),
        ),
    ),
    Row("word vectors, an hour", "wiki2018", "wiki-vectors-laptop", ("vectors.kind=skipgram", "vectors.epochs=150")),
)
RATED = {
    "dev": {"MEN": "EN-MEN-TR-3k.txt"},
    "test": {
        "analogies, %": "questions-words.txt",
        "WordSim-353": "EN-WS-353-ALL.txt",
        "SimLex-999": "EN-SIMLEX-999.txt",
    },
}
"""Files by which vectors are judged."""


def trained(row: Row, seed: int, folder: Path, data: Path) -> dict[str, float | None]:
    """Trains a model in a process of its own; how long it took; None for a resumed run."""
    goes_on = folder.exists()
    command = [*row.command, "--set", f"seed={seed}", "--out", str(folder), *(["--resume"] if goes_on else [])]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, "-m", "regard", *command], cwd=data / row.data, check=True)
    clock, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": None if goes_on else clock, "processor_seconds": None if goes_on else processor}


def scores(folder: Path, split: str, data: Path) -> dict[str, tuple[float, str]]:
    """Each score of a model on the development or test text, and its signature."""
    if not (folder / "vectors.json").exists():
        return {score.name: (score.value, score.signature) for score in load(folder, device="cpu").evaluate(split)}
    files = [data / "wordsim" / file for file in RATED[split].values()]
    found = evaluate(Vectors.load(folder), files)
    values = [100 * score.total.share if isinstance(score, AnalogyScore) else score.spearman for score in found]
    return dict(zip(RATED[split], ((value, "") for value in values), strict=True))


def measured(row: Row, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """The times and scores of a seed: earlier ones, and those requested now."""
    folder = given.work.absolute() / row.name.replace(",", "").replace(" ", "-") / f"seed-{seed}"
    known = folder.with_suffix(".json")
    record = json.loads(known.read_text(encoding="utf-8")) if known.exists() else {}
    if not record:
        times = trained(row, seed, folder, given.data.absolute())
        record = {"seed": seed, **times, **({"seconds": None} if given.busy else {}), "scores": {}}
    for split in ("dev", *(["test"] if given.test else [])):
        record["scores"].setdefault(split, scores(folder, split, given.data.absolute()))
        replace_file(known, json.dumps(record, indent=1).encode())
    return record


def summed_up(row: Row, records: Sequence[dict[str, Any]], made: dict[str, Any]) -> dict[str, Any]:
    """The record of a row."""
    seeds = tuple(record["seed"] for record in records)
    splits = [split for split in ("dev", "test") if all(split in record["scores"] for record in records)]
    return {
        "name": row.name,
        "recipe": row.recipe,
        "changes": list(row.changes),
        "seeds": seeds,
        "runs": [{name: record[name] for name in ("seed", "seconds", "processor_seconds")} for record in records],
        "scores": {
            split: {
                kind: Spread(
                    kind,
                    tuple(record["scores"][split][kind][0] for record in records),
                    tuple(dict.fromkeys(record["scores"][split][kind][1] for record in records)),
                    seeds,
                ).as_json()
                for kind in records[0]["scores"][split]
            }
            for split in splits
        },
        "made": made,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with a folder for each corpus")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument(
        "--rows", nargs="*", choices=["hour", *(row.name for row in (*ROWS, *HOUR))], help="only these rows"
    )
    parser.add_argument("--test", action="store_true", help="score the test text too, when all is decided")
    parser.add_argument("--busy", action="store_true", help="other work is done here: no time by the clock is stated")
    parser.add_argument("--work", type=Path, default=Path("runs/laptop"), help="folder for the models")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "laptop.json")
    given = parser.parse_args()
    told = conditions(["regard", "torch", "numpy", "sacrebleu"])
    found = {row["name"]: row for row in json.loads(given.out.read_text())["rows"]} if given.out.exists() else {}
    wanted = given.rows or [row.name for row in ROWS]
    for row in (*ROWS, *HOUR):
        if row.name in wanted or (row in HOUR and "hour" in wanted):
            records = [measured(row, int(seed), given) for seed in given.seeds.split(",")]
            found[row.name] = summed_up(row, records, told)
            ordered = {each.name: found[each.name] for each in (*ROWS, *HOUR) if each.name in found}
            replace_file(given.out, (json.dumps({"rows": list(ordered.values())}, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
