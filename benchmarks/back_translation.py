"""The effect of back-translation on Multi30k: few pairs, and the German of all others, back-translated by a model.

    python benchmarks/back_translation.py --data multi30k --seeds 1,2,3

A model of the reverse direction learns from the few pairs; `regard back-translate` writes English for the German of the
others, by a beam, drawn at random, and by a beam with a tag before it. Then the recipe is repeated with the few pairs
alone, with each kind of synthetic pairs added, and with all original pairs. Finished runs are never repeated.
"""

import argparse
import json
from contextlib import chdir
from pathlib import Path

from experiments import Row, call, in_random_order, options, place, run_rows

from regard.disk import read_lines
from regard.recipe import read_recipe

RECIPE = "multi30k-transformer"
TITLE = "Multi30k en→de, Transformer: German text without its English"
WAYS: dict[str, list[str]] = {
    "beam": [],
    "drawn": ["--set", "decode.method=sample"],
    "tagged": ["--tag", "<bt>"],
}
"""Ways to back-translate the other German: options of the command."""


def divided(arguments: argparse.Namespace) -> Path:
    """The folder with the few pairs, in the reverse order too, and with the other German."""
    folder = place(arguments) / "data"
    if not (folder / "few.tsv").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with chdir(arguments.data):
            files = [Path(file) for file in read_recipe(RECIPE).data.train]
        # A tab separates the two sides of a pair.
        source, target = ([line.replace("\t", " ") for line in read_lines(file)] for file in files)
        order = in_random_order(len(source))
        few, others = order[: arguments.pairs], order[arguments.pairs :]
        write(folder / "others.txt", [target[line] for line in others])
        write(folder / "reverse.tsv", [f"{target[line]}\t{source[line]}" for line in few])
        write(folder / "few.tsv", [f"{source[line]}\t{target[line]}" for line in few])
    return folder


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def written(arguments: argparse.Namespace, folder: Path, way: str) -> list[str]:
    """The file of the few pairs and of those written in one way."""
    both, model = folder / f"{way}.tsv", place(arguments) / "reverse"
    if both.exists():
        return [str(both)]
    if not (model / "finished").exists():
        with chdir(arguments.data):
            dev = read_recipe(RECIPE).data.dev[::-1]
        texts = {"data.train": [str(folder / "reverse.tsv")], "data.dev": dev, "data.test": []}
        changes = [*arguments.set, *(f"{name}={json.dumps(value)}" for name, value in texts.items())]
        settings = [part for change in changes for part in ("--set", change)]
        do(arguments, "train", RECIPE, "--out", str(model), "--resume", *settings)
        (model / "finished").touch()
    found = folder / f"{way}-written.tsv"
    do(arguments, "back-translate", str(model), str(folder / "others.txt"), "-o", str(found), "--resume", *WAYS[way])
    write(both, [*read_lines(folder / "few.tsv"), *read_lines(found)])
    return [str(both)]


def do(arguments: argparse.Namespace, *command: str) -> None:
    log = place(arguments) / f"{command[0]}.log"
    if not call(list(command), arguments.data, log):
        raise SystemExit(f"regard {command[0]} failed, see {log}")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--pairs", type=int, default=10_000, help="pairs that are given as such")
    arguments = parser.parse_args()
    arguments.table = "back-translation"
    folder = divided(arguments)
    others = len(read_lines(folder / "others.txt"))
    few = f"{arguments.pairs:,} pairs"
    told = {"beam": "translated back by a beam", "drawn": "drawn at random", "tagged": "by a beam, with a tag"}
    rows = [Row(few, RECIPE, [], train=[str(folder / "few.tsv")])]
    rows += [
        Row(f"{few} and {others:,} {told[way]}", RECIPE, [], train=written(arguments, folder, way)) for way in WAYS
    ]
    rows += [Row(f"{arguments.pairs + others:,} pairs", RECIPE, [])]
    run_rows(TITLE, rows, arguments)


if __name__ == "__main__":
    main()
