"""Language models on their benchmarks, each by its recipe: perplexity of the test text, with and without a cache.

    python benchmarks/language.py --folder ptb ptb-ngram ptb-lstm ptb-awd-lstm
    python benchmarks/language.py --folder wikitext2 wikitext2-awd-lstm --train wiki.train.tokens.gz --seeds 1,2
    python benchmarks/language.py --merge elsewhere/lstm.json elsewhere/copying.json --against ptb-lstm

Trains the named recipes as `regard train` would, in runs/RECIPE-SEED (an unfinished run is resumed, a finished one not
repeated), and scores them as `regard score` would, in one row, with the state carried over the whole text. A cache is
chosen on the development text, and then scored on the test text once. Results are added to those in the file, and
replace those of the same recipe and seed. `tables.py` makes the tables in the documentation from it.

Beside the file, in a folder of its name, are each model's scores of each line of the test text. With `--against`, every
model of the same text and seed is compared with another, line by line, by the paired bootstrap (Koehn 2004).
"""

import argparse
import json
import math
import shutil
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from conditions import conditions

from regard.data.examples import Split
from regard.data.text import Text
from regard.metrics.resampling import RESAMPLES, interval_of_mean
from regard.recipe import LanguageRecipe, RecurrentLanguageModel, read_recipe, toml
from regard.study.caching import Caches, best_cache
from regard.tasks import Writer, load_writer
from regard.tasks.writer import ScoredText
from regard.train import Event, Started, Step, run

CACHES = Caches((500, 2000, 3785), (0.3, 0.662, 1.0, 1.5), (0.02, 0.05, 0.08, 0.1, 0.1279, 0.16, 0.2, 0.25, 0.3))
"""Settings to try, including those of AWD-LSTM: 500, 1.0 and 0.1 on Penn Treebank, and 3785, 0.662 and 0.1279 on
WikiText-2 (Merity et al. 2018)."""
TRIAL_ROWS = 4
"""Rows in which the development text is read to choose among them: faster than in one, and still far longer than any
cache."""

Figures = dict[tuple[str, int], dict[str, Any]]
"""By recipe and seed."""


def main() -> None:
    arguments = parse()
    record = conditions(("regard", "torch", "numpy"), arguments.commit)
    before = json.loads(arguments.out.read_text())["figures"] if arguments.out.exists() else []
    for path in arguments.merge:
        before += json.loads(path.read_text())["figures"]
        for lines in path.with_suffix("").glob("*.npy"):
            shutil.copy(lines, folder_of_lines(arguments.out))
    figures: Figures = {(figure["recipe"], figure["seed"]): figure for figure in before}
    write(arguments, record, figures)
    for name, seed in product(arguments.recipes, arguments.seeds):
        for figure in measured(arguments, name, seed):
            figures[name, seed] = figure | {"commit": record["commit"], "date": record["date"]}
            write(arguments, record, figures)
        print(json.dumps(figures[name, seed], indent=2))
    for reference in arguments.against:
        if not any(figure.get("against", {}).get("recipe") == reference for figure in figures.values()):
            print(f"nothing was compared with {reference}: no other model of its text and seed, or no lines of them")


def write(arguments: argparse.Namespace, record: dict[str, Any], figures: Figures) -> None:
    """Writes all results so far, with the requested comparisons."""
    compare_all(figures, arguments.against, folder_of_lines(arguments.out))
    content = json.dumps(record | {"figures": list(figures.values())}, indent=2)
    arguments.out.write_text(content + "\n", encoding="utf-8")


def folder_of_lines(results: Path) -> Path:
    """The folder of the line scores of some results."""
    folder = results.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def compare_all(figures: Figures, references: Sequence[str], folder: Path) -> None:
    """Adds to every figure its difference from the first of the references with the same text and seed. Earlier
    comparisons are recomputed, and dropped if the line scores of the other no longer exist."""
    lines = {key: lines_of(figure, folder / f"{key[0]}-{key[1]}.npy") for key, figure in figures.items()}
    for (name, seed), figure in figures.items():
        earlier = [figure.pop("against")["recipe"]] if "against" in figure else []
        for reference in (*references, *earlier):
            ours, theirs = lines[name, seed], lines.get((reference, seed))
            if name != reference and ours is not None and theirs is not None and np.array_equal(ours[1], theirs[1]):
                figure["against"] = {"recipe": reference} | compared(ours, theirs)
                break


def lines_of(figure: dict[str, Any], path: Path) -> npt.NDArray[np.float64] | None:
    """The saved result of `by_line`, if it exists and belongs to this figure, not to another run of the same name."""
    if not path.exists():
        return None
    found = np.load(path).astype(np.float64)
    perplexity = math.exp(found[0].sum() / found[1].sum())
    return found if math.isclose(perplexity, figure["test"]["perplexity"], rel_tol=1e-4) else None


def by_line(scored: ScoredText) -> npt.NDArray[np.float32]:
    """The negative log-likelihood and the number of tokens of each line."""
    sums = np.concatenate([[0.0], -scored.log_probs.cumsum(dtype=np.float64)])
    ends = np.concatenate([[0], scored.text.lines])
    return np.stack([np.diff(sums[ends]), np.diff(ends)]).astype(np.float32)


def compared(ours: npt.NDArray[np.float64], theirs: npt.NDArray[np.float64]) -> dict[str, Any]:
    """The difference in negative log-likelihood per token, ours − theirs, and the ratio of perplexities, with
    intervals."""
    difference, sizes = ours[0] - theirs[0], ours[1]
    mean, (low, high) = float(difference.sum() / sizes.sum()), interval_of_mean(difference, sizes)
    return {
        "nats": mean,
        "nats_interval": [low, high],
        "ratio": math.exp(mean),
        "ratio_interval": [math.exp(low), math.exp(high)],
        "interval": f"95 %, {RESAMPLES} bootstrap samples of {len(sizes)} lines",
    }


def measured(arguments: argparse.Namespace, name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Trains a recipe with a seed, and scores it; then with a cache too, if requested."""
    recipe = recipe_of(arguments, name, seed)
    folder = arguments.runs / f"{name}-{seed}"
    told: list[Event] = []
    ended = run(recipe, folder, resume=True, reporter=told.append)
    if ended.reason == "interrupted":
        raise SystemExit(f"{name}, seed {seed}: {ended.message}: run this again")
    writer = load_writer(folder, device=arguments.device)
    device = writer.model.like.device
    parameters = next(event.parameters for event in told if isinstance(event, Started))
    steps = [event for event in told if isinstance(event, Step)]
    scored = {part: writer.score_text(Text(part, recipe.data)) for part in SCORED}
    np.save(folder_of_lines(arguments.out) / f"{name}-{seed}.npy", by_line(scored["test"]))
    busy = steps[-1].seconds - steps[-1].aside - steps[0].seconds + steps[0].aside if len(steps) > 1 else 0.0
    figure = {
        "recipe": name,
        "seed": seed,
        "changes": arguments.settings,
        "parameters": parameters,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
        "seconds": ended.seconds,
        "ended": ended.message,
        "tokens_per_second": sum(step.count for step in steps[1:]) / busy if busy else None,
        **{part: noted(found) for part, found in scored.items()},
        "cache": None,
    }
    yield figure
    if isinstance(recipe.model, RecurrentLanguageModel) and arguments.cache:
        yield figure | {"cache": cached(writer)}


def recipe_of(arguments: argparse.Namespace, name: str, seed: int) -> LanguageRecipe:
    named = read_recipe(name, kind=LanguageRecipe).data
    files = {part: [str(arguments.folder / Path(path).name) for path in getattr(named, part)] for part in PARTS}
    if arguments.train:
        files["train"] = [str(arguments.folder / arguments.train)]
    changes = [f"data.{part}={toml(paths)}" for part, paths in files.items()]
    changes += [f"seed={seed}", f"train.device={arguments.device}", *arguments.settings]
    return read_recipe(name, changes, kind=LanguageRecipe)


PARTS = ("train", "dev", "test")
SCORED: tuple[Split, ...] = ("dev", "test")


def noted(scored: ScoredText) -> dict[str, Any]:
    perplexity = scored.scores[0]
    return {"perplexity": perplexity.value, "signature": perplexity.signature}


def cached(writer: Writer) -> dict[str, Any]:
    """The best cache on the development text, and the scores of the test text with it."""
    size, theta, share = best_cache(writer, Text("dev", writer.recipe.data), CACHES, rows=TRIAL_ROWS)
    best = writer.with_cache(size, theta, share)
    scores = {part: noted(best.score_text(Text(part, writer.recipe.data))) for part in SCORED}
    return {"size": size, "theta": theta, "share": share} | scores


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", help="built-in recipes of language models")
    parser.add_argument("--folder", type=Path, default=Path(), help="where the files are that the recipes name")
    parser.add_argument("--merge", nargs="*", type=Path, default=[], help="results of other machines to be added")
    parser.add_argument("--train", default="", help="another name for the training text in that folder")
    parser.add_argument("--seeds", default="1", type=lambda text: [int(seed) for seed in text.split(",")])
    parser.add_argument("--set", dest="settings", action="append", default=[], help="change a setting of the recipes")
    parser.add_argument("--against", action="append", default=[], help="a recipe to compare the others with")
    parser.add_argument("--cache", action="store_true", help="choose a cache for recurrent models, and score with it")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--commit", default="", help="what is measured, where git cannot say it")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "language.json")
    return parser.parse_args()


if __name__ == "__main__":
    main()
