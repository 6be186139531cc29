"""Alignments by the attention of translators, whose layer, heads and row are chosen without gold (`align --choose`).

    python benchmarks/alignment.py prepare …                      # the text: benchmarks/alignment.py says how
    python benchmarks/attention_alignment.py train --work work --set train.epochs=12    # again, if it was stopped
    python benchmarks/attention_alignment.py judge --work work --out benchmarks/results/attention_alignment.json

`train` trains, with each seed, a translator from English to Spanish and one back on the 60,000 pairs of Europarl only,
by the recipe `--recipe` with the settings of `--set`, `--at-once` of them at the same time (all, unless it is given);
when it is called again, it resumes. `judge` aligns the development and the test text of XL-WA, which none was trained
on, by the commands of the product: with the mean of all layers, before any choice; with the choice for both directions,
made by their agreement on the development text; and with the choice for English to Spanish alone, made by links of the
translator's own training text. Gold is read only for the error rates. The translators' settings, and how they differ
from those of `--recipe`, are read from their folders (`en-es.SEED`, `es-en.SEED`).
"""

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from statistics import mean
from threading import Event
from typing import Any

import numpy as np
import torch
from aligners import lines, read_links
from alignment import PARTS, bounds, counts, error_rate, rate
from conditions import conditions

from regard import load
from regard.recipe import TranslationRecipe, read_recipe
from regard.tasks.attention_choice import FILE
from regard.tasks.translator import Translator

TEXT = "es-60000"
LANGUAGES = {"source": "en", "target": "es"}
DIRECTIONS = ("en-es", "es-en")
REGARD = (sys.executable, "-m", "regard")


def split_text(work: Path) -> None:
    """Writes the development, test and training text of `alignment.py prepare` apart from each other."""
    sizes = [len(lines(work / f"es.{part}.links")) for part in PARTS]
    for side, language in LANGUAGES.items():
        every = lines(work / f"{TEXT}.{side}")
        starts = [0, sizes[0], sum(sizes), len(every)]
        for part, (first, last) in zip((*PARTS, "train"), pairwise(starts), strict=True):
            (work / f"{part}.{language}").write_text("".join(f"{line}\n" for line in every[first:last]), "utf-8")


def folder(work: Path, direction: str, run: int) -> Path:
    return work / f"{direction}.{run}"


def train(work: Path, recipe: str, runs: Sequence[int], changes: Sequence[str], at_once: int) -> None:
    """If interrupted, the translators save, and resume when it is called again."""
    split_text(work)
    stopped = Event()
    # Ctrl-C and `timeout` reach the translators too, which save before they leave.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: stopped.set())

    def trained(direction: str, run: int) -> bool:
        if stopped.is_set():
            return False
        out = folder(work, direction, run)
        files = {part: json.dumps([f"{part}.{each}" for each in direction.split("-")]) for part in ("train", "dev")}
        settings = [f"data.train={files['train']}", f"data.dev={files['dev']}", "data.test=[]", f"seed={run}", *changes]
        command = [*REGARD, "train", recipe, "--out", out.name]
        command += [part for setting in settings for part in ("--set", setting)]
        with (work / f"{out.name}.log").open("a") as log:
            again = ["--resume"] if out.exists() else []
            done = subprocess.run([*command, *again], cwd=work, stdout=log, stderr=subprocess.STDOUT, check=False)
        return done.returncode == 0

    every = [(direction, run) for run in runs for direction in DIRECTIONS]
    with ThreadPoolExecutor(at_once or len(every)) as pool:
        ended = list(pool.map(lambda each: trained(*each), every))
    failed = [str(folder(work, *each)) for each, done in zip(every, ended, strict=True) if not done]
    if failed:
        raise SystemExit(f"not trained to the end: {', '.join(failed)}; their logs say why")


def judge_run(work: Path, run: int) -> dict[str, Any]:
    """One pair of translators: the choice, and its error rates on both parts."""
    forward, backward = (folder(work, direction, run) for direction in DIRECTIONS)
    for each in (forward, backward):
        (each / FILE).unlink(missing_ok=True)
    both = ["--reverse", str(backward)]
    figures: dict[str, Any] = {"run": run}
    for chosen in (False, True):
        for name, partner in (("joined", both), ("alone", [])):
            key = name if chosen else f"all layers, {name}"
            if chosen:
                align(work, forward, "dev", *partner, "--choose")
                figures[f"choice, {name}"] = [
                    json.loads((each / FILE).read_text()) for each in (forward, backward)[: 2 if partner else 1]
                ]
            figures[key] = {part: judged(work, forward, part, partner, f"{run}.{key}") for part in PARTS}
    return figures


def trained_as(work: Path, recipe: str, runs: Sequence[int]) -> dict[str, Any]:
    """The translators' settings by their folders; both directions must be trained with the same ones."""
    usual = settings_of(read_recipe(recipe, kind=TranslationRecipe))
    found, changes = [], []
    for run in runs:
        for direction in DIRECTIONS:
            path = folder(work, direction, run)
            translator = load(path, device="cpu")
            assert isinstance(translator, Translator)
            settings = settings_of(translator.recipe)
            changes.append({name: value for name, value in settings.items() if value != usual.get(name)})
            steps = [json.loads(line) for line in (path / "metrics.jsonl").read_text("utf-8").splitlines()]
            found.append(
                {
                    "translator": path.name,
                    "vocabulary": [translator.source_tokenizer.size, translator.target_tokenizer.size],
                    "parameters": sum(each.numel() for each in translator.model.parameters()),
                    "steps": max((step["step"] for step in steps if step["event"] == "step"), default=0),
                }
            )
    if any(each != changes[0] for each in changes):
        raise SystemExit("these translators were trained with different settings; train all with the same")
    return {"recipe": recipe, "settings": changes[0], "translators": found}


def settings_of(recipe: TranslationRecipe) -> dict[str, Any]:
    """The training settings by name; the text and the seeds are set by this benchmark."""
    tables = recipe.model_dump(mode="json")
    every = flat({name: tables[name] for name in ("data", "tokens", "model", "train")})
    return {name: value for name, value in every.items() if name not in ("data.train", "data.dev", "data.test")}


def flat(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in tables.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def align(work: Path, model: Path, part: str, *options: str) -> str:
    texts = [str(work / f"{part}.{language}") for language in LANGUAGES.values()]
    command = [*REGARD, "align", str(model), *texts, *options]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def judged(work: Path, forward: Path, part: str, options: Sequence[str], name: str) -> float:
    """The error rate of the links of a part, which are saved."""
    kept = work / f"{name}.{part}.links"
    kept.write_text(align(work, forward, part, *options), "utf-8")
    return round(error_rate(of_sentences(work, kept, part)), 4)


def of_sentences(work: Path, found: Path, part: str) -> np.ndarray:
    gold = read_links(work / f"es.{part}.links", sys.maxsize)
    return counts(read_links(found, sys.maxsize), gold)


def judge(work: Path, runs: Sequence[int]) -> list[dict[str, Any]]:
    """A row for each way to choose: the error rates of the runs, and their mean with its interval."""
    with ThreadPoolExecutor() as pool:
        every = list(pool.map(lambda run: judge_run(work, run), runs))
    rows = []
    for name in ("all layers, joined", "joined", "all layers, alone", "alone"):
        test = np.stack([of_sentences(work, work / f"{run}.{name}.test.links", "test") for run in runs])
        rows.append(
            {
                "links": name,
                "dev_runs": [each[name]["dev"] for each in every],
                "test_runs": [each[name]["test"] for each in every],
                "dev": round(mean(each[name]["dev"] for each in every), 4),
                "test": round(rate(test), 4),
                "interval": bounds(lambda drawn, of=test: rate(of, drawn), test.shape[1]),
                "choices": [each.get(f"choice, {name}") for each in every],
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("train", "judge"))
    parser.add_argument("--work", type=Path, required=True, help="folder of `alignment.py prepare`")
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 2, 3], help="seeds")
    parser.add_argument("--recipe", default="europarl-transformer", help="that they are trained by")
    parser.add_argument("--set", nargs="+", default=[], help="other settings of the recipe")
    parser.add_argument("--at-once", type=int, default=0, help="how many are trained at the same time; 0 is all")
    parser.add_argument("--commit", default="", help="where there is no repository to ask")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.command == "train":
        train(given.work, given.recipe, given.runs, given.set, given.at_once)
        return
    trained = trained_as(given.work, given.recipe, given.runs)
    figures = judge(given.work, given.runs)
    device = {"device": torch.cuda.get_device_name()} if torch.cuda.is_available() else {}
    record = conditions(("regard", "torch", "numpy"), given.commit) | device | trained
    given.out.write_text(json.dumps(record | {"figures": figures}, indent=1, ensure_ascii=False) + "\n")
    for row in figures:
        print(row["links"], row["test"], row["test_runs"], row["interval"])


if __name__ == "__main__":
    main()
