"""Language models on their benchmarks, each by its recipe: perplexity of the test text, with and without a cache.

    python benchmarks/language.py --folder ptb ptb-ngram ptb-lstm ptb-awd-lstm
    python benchmarks/language.py --folder wikitext2 wikitext2-awd-lstm --train wiki.train.tokens.gz --seeds 1,2
    python benchmarks/language.py --merge elsewhere/lstm.json elsewhere/copying.json

Trains what is named as `regard train` would, in runs/RECIPE-SEED (a run that is there goes on, one that is done is not
repeated), and scores it as `regard score` would, in one row, with the state carried on over the whole text. A cache is
chosen on the development text, and then scored on the test text once. Results are added to those in the file; the same
recipe and seed replace what is there. `tables.py` makes the tables in the documentation of it.
"""

import argparse
import json
from itertools import product
from pathlib import Path
from typing import Any

from conditions import conditions

from regard.data.text import Text
from regard.recipe import LanguageRecipe, RecurrentLanguageModel, read_recipe, toml
from regard.tasks import Writer, load_writer
from regard.train import Event, Started, Step, run

CACHES = tuple(product((500, 2000), (0.3, 0.66, 1.0), (0.05, 0.1, 0.13, 0.2)))
"""Words, theta and share of the caches that are tried."""


def main() -> None:
    arguments = parse()
    record = conditions(("regard", "torch", "numpy"), arguments.commit)
    # Where files lie is nobody's business.
    for path in (arguments.folder, arguments.runs, arguments.out, *arguments.merge):
        if path.name:
            record["command"] = record["command"].replace(str(path), path.name)
    before = json.loads(arguments.out.read_text())["figures"] if arguments.out.exists() else []
    for path in arguments.merge:
        before += json.loads(path.read_text())["figures"]
    figures = {(figure["recipe"], figure["seed"]): figure for figure in before}
    write(arguments.out, record | {"figures": list(figures.values())})
    for name, seed in product(arguments.recipes, arguments.seeds):
        figures[name, seed] = measure(arguments, name, seed) | {"commit": record["commit"], "date": record["date"]}
        print(json.dumps(figures[name, seed], indent=2))
        write(arguments.out, record | {"figures": list(figures.values())})


def write(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def measure(arguments: argparse.Namespace, name: str, seed: int) -> dict[str, Any]:
    """Trains a recipe with a seed, and scores it."""
    recipe = recipe_of(arguments, name, seed)
    folder = arguments.runs / f"{name}-{seed}"
    told: list[Event] = []
    ended = run(recipe, folder, resume=True, reporter=told.append)
    writer = load_writer(folder, device=arguments.device)
    parameters = next(event.parameters for event in told if isinstance(event, Started))
    steps = [event for event in told if isinstance(event, Step)]
    busy = steps[-1].seconds - steps[-1].aside - steps[0].seconds + steps[0].aside if len(steps) > 1 else 0.0
    return {
        "recipe": name,
        "seed": seed,
        "changes": arguments.settings,
        "parameters": parameters,
        "device": str(writer.model.like.device),
        "seconds": ended.seconds,
        "ended": ended.message,
        "tokens_per_second": sum(step.count for step in steps[1:]) / busy if busy else None,
        "dev": score(writer, "dev"),
        "test": score(writer, "test"),
        "cache": cached(writer) if isinstance(recipe.model, RecurrentLanguageModel) and arguments.cache else None,
    }


def recipe_of(arguments: argparse.Namespace, name: str, seed: int) -> LanguageRecipe:
    named = read_recipe(name, kind=LanguageRecipe).data
    files = {part: [str(arguments.folder / Path(path).name) for path in getattr(named, part)] for part in PARTS}
    if arguments.train:
        files["train"] = [str(arguments.folder / arguments.train)]
    changes = [f"data.{part}={toml(paths)}" for part, paths in files.items()]
    changes += [f"seed={seed}", f"train.device={arguments.device}", *arguments.settings]
    return read_recipe(name, changes, kind=LanguageRecipe)


PARTS = ("train", "dev", "test")


def score(writer: Writer, split: Any, rows: int = 1) -> dict[str, Any]:
    found = writer.score_text(Text(split, writer.recipe.data), rows=rows).scores[0]
    return {"perplexity": found.value, "signature": found.signature}


def cached(writer: Writer) -> dict[str, Any]:
    """The cache that suits the development text best (read in ten rows, for speed), and the test text with it."""
    trials = {settings: score(writer.with_cache(*settings), "dev", rows=10)["perplexity"] for settings in CACHES}
    size, theta, share = min(trials, key=trials.__getitem__)
    best = writer.with_cache(size, theta, share)
    return {"size": size, "theta": theta, "share": share, "dev": score(best, "dev"), "test": score(best, "test")}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", help="built-in recipes of language models")
    parser.add_argument("--folder", type=Path, default=Path(), help="where the files are that the recipes name")
    parser.add_argument("--merge", nargs="*", type=Path, default=[], help="results of other machines to be added")
    parser.add_argument("--train", default="", help="another name for the training text in that folder")
    parser.add_argument("--seeds", default="1", type=lambda text: [int(seed) for seed in text.split(",")])
    parser.add_argument("--set", dest="settings", action="append", default=[], help="change a setting of the recipes")
    parser.add_argument("--cache", action="store_true", help="choose a cache for recurrent models, and score with it")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--commit", default="", help="what is measured, where git cannot say it")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "language.json")
    return parser.parse_args()


if __name__ == "__main__":
    main()
