"""Training a recipe with several seeds, for the mean and the spread of its scores.

repeated.toml        the recipe
seed-1/              the model of each seed, an ordinary model folder …
seed-1/results.json  … with its scores, written when it has been trained and evaluated
results.json         mean, standard deviation and range of every score over all finished seeds of the folder
"""

import json
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.disk import parse_json, replace_file
from regard.errors import ModelError, TrainingError, UsageError
from regard.format_version import FormatVersion
from regard.metrics import MetricScore
from regard.recipe import HeldOut, Recipe, change_section, read_recipe, write_recipe
from regard.tasks.evaluation import versions
from regard.tasks.fingerprints import FINGERPRINT
from regard.tasks.loading import load
from regard.tasks.trained import Trained
from regard.train.report import reporting
from regard.train.session import run
from regard.train.starting import check_same_run

FREE = ("seed", "data.train", "data.dev", "data.test", "train.device", "train.keep", "train.log_every")
"""Settings that may differ between comparable seeds; files are compared by content."""
RESULTS = "results.json"
HELD_OUT: tuple[HeldOut, ...] = ("dev", "test")


@dataclass(frozen=True)
class Spread:
    """One score over the seeds."""

    name: str
    values: tuple[float, ...]
    """In the order of the seeds."""
    signatures: tuple[str, ...]
    """One, or several if the seeds were not evaluated in the same way."""
    seeds: tuple[int, ...] = ()
    """The seeds that have this score."""

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the sample; a single seed has none."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    def as_json(self) -> dict[str, Any]:
        return {
            "mean": self.mean,
            "standard_deviation": self.deviation,
            "range": [min(self.values), max(self.values)],
            "seeds": self.seeds,
            "values": self.values,
            "signatures": self.signatures,
        }


@dataclass(frozen=True)
class Results:
    """The scores of the finished seeds."""

    seeds: tuple[int, ...]
    """Finished seeds, those of earlier commands in the same folder too."""
    unfinished: tuple[int, ...]
    """Of the seeds that were asked for."""
    spreads: Mapping[HeldOut, tuple[Spread, ...]]
    """The scores on each split, over all seeds that have them."""


class Repeat:
    """A recipe repeated in a folder."""

    def __init__(self, recipe: Recipe, seeds: Sequence[int], out: Path, *, test: bool = False) -> None:
        self.recipe, self.seeds, self.out = recipe, tuple(seeds), out
        self.splits: tuple[HeldOut, ...] = _splits(recipe, test)
        _refuse_seeds(self.seeds)
        self._told: set[str] = set()
        self.recipes = {seed: change_section(recipe, {"seed": seed}) for seed in seeds}
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise UsageError("repeat runs in one process; with torchrun, use `regard train --set seed=N` for each seed")

    def run(self, *, resume: bool = False, say: Callable[[str], None] = print) -> Results:
        """Trains and evaluates the unfinished seeds, until all are finished or a signal arrives."""
        self._begin(resume)
        for place, seed in enumerate(self.seeds, start=1):
            if self._is_finished(seed):
                say(f"seed {seed} ({place} of {len(self.seeds)}): finished before")
                continue
            say(f"seed {seed} ({place} of {len(self.seeds)})")
            try:
                finished = self._finish(seed, say)
            except KeyboardInterrupt:
                finished = False
            if not finished:
                break
            self._write()
        return self._write()

    def folder(self, seed: int) -> Path:
        return self.out / f"seed-{seed}"

    def results(self) -> Results:
        """The scores of all finished seeds of the folder together."""
        unfinished = tuple(seed for seed in self.seeds if not self._is_finished(seed))
        records = {seed: self._record(seed) for seed in self._known if seed not in unfinished}
        spreads: dict[HeldOut, tuple[Spread, ...]] = {}
        for split in HELD_OUT:
            scores = {seed: record["scores"][split] for seed, record in records.items() if split in record["scores"]}
            if scores:
                spreads[split] = _spreads(scores)
        return Results(tuple(records), unfinished, spreads)

    @property
    def _known(self) -> tuple[int, ...]:
        """The seeds of earlier commands that have results in the folder, and those that were asked for."""
        folders = (path.parent.name.removeprefix("seed-") for path in self.out.glob(f"seed-*/{RESULTS}"))
        earlier = sorted({int(seed) for seed in folders if seed.isdecimal()} - set(self.seeds))
        return (*earlier, *self.seeds)

    def _begin(self, resume: bool) -> None:
        """Creates the folder, or checks that it holds the same run."""
        before = self.out / "repeated.toml"
        if self.out.exists() and not self.out.is_dir():
            raise UsageError(f"{self.out}: is a file, but the seeds need a folder; choose another --out")
        if before.exists() and not resume:
            raise UsageError(
                f"{self.out}: something was repeated here already; "
                "continue it with --resume, choose another --out, or delete the folder"
            )
        if before.exists():
            check_same_run(read_recipe(before, saved=True), self.recipe, self.out, FREE)
            for folder in map(self.folder, filter(self._record, self._known)):
                FormatVersion.read(folder).check_readable(folder)
            return
        if self.out.is_dir() and any(self.out.iterdir()):
            raise UsageError(f"{self.out}: there are other files in this folder; choose another --out")
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            replace_file(before, write_recipe(self.recipe).encode())
        except OSError as error:
            raise UsageError(f"{self.out}: cannot be written: {error.strerror}; choose another --out") from None

    def _finish(self, seed: int, say: Callable[[str], None]) -> bool:
        """Trains a seed if necessary, and evaluates it; False if we were asked to stop."""
        folder, recipe = self.folder(seed), self.recipes[seed]
        record = self._record(seed)
        if not record:
            with reporting(recipe, folder, told=self._told) as tell:
                ended = run(recipe, folder, resume=True, reporter=tell)
            if ended.reason == "interrupted":
                return False
            record = {"seed": seed, "steps": ended.step, "seconds": ended.seconds, "ended": ended.reason, "scores": {}}
        self._refuse_other_text(seed)
        for split in self.splits:
            # Each seed is evaluated on the test text once, however often the command is called.
            if split not in record["scores"]:
                scores = scores_of(folder, recipe, split)
                record["scores"][split] = [asdict(score) for score in scores]
                _save(folder / RESULTS, record)
                say(f"seed {seed}, {split}: " + ", ".join(f"{score.name} {score.value:.4g}" for score in scores))
        return True

    def _refuse_other_text(self, seed: int) -> None:
        """Refuses to average scores of models trained on different files; generated corpora depend on the seed."""
        if self.recipe.data.is_generated:
            return
        texts = {other: self.folder(other) / FINGERPRINT for other in self._known if self._record(other)}
        mine = (self.folder(seed) / FINGERPRINT).read_bytes()
        for other, text in texts.items():
            if text.exists() and text.read_bytes() != mine:
                raise UsageError(
                    f"{self.out}: the text of seed {seed} is not that of seed {other}; "
                    "bring the old text back, or repeat all seeds in another folder"
                )

    def _record(self, seed: int) -> dict[str, Any]:
        """The results of a seed; empty if its training has not ended."""
        path = self.folder(seed) / RESULTS
        if not path.exists():
            return {}
        try:
            record = parse_json(path.read_text(encoding="utf-8"))
            for scores in record["scores"].values():
                _spreads({seed: scores})
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ModelError(f"{path}: damaged; delete it, and the model of seed {seed} is evaluated again") from None
        return dict(record)

    def _is_finished(self, seed: int) -> bool:
        return set(self.splits) <= set(self._record(seed).get("scores", ()))

    def _write(self) -> Results:
        results = self.results()
        records = [self._record(seed) for seed in results.seeds]
        content = {
            "seeds": results.seeds,
            "unfinished": results.unfinished,
            "versions": versions(),
            "scores": {
                split: {spread.name: spread.as_json() for spread in spreads}
                for split, spreads in results.spreads.items()
            },
            "training": [{name: record[name] for name in ("seed", "steps", "seconds", "ended")} for record in records],
        }
        _save(self.out / RESULTS, content)
        return results


def scores_of(folder: Path, recipe: Recipe, split: HeldOut) -> tuple[MetricScore, ...]:
    """The scores of the model in a folder on the development or test text of its recipe."""
    trained: Trained = load(folder, device=recipe.train.device)
    return trained.evaluate(split)


def _splits(recipe: Recipe, test: bool) -> tuple[HeldOut, ...]:
    has_dev = recipe.data.has("dev")
    if test and not recipe.data.has("test"):
        raise UsageError("--on-test: the recipe names no test text; set data.test")
    if not has_dev and not test:
        raise UsageError(
            "the recipe names no development text to evaluate on; set data.dev, or evaluate with --on-test"
        )
    wanted: dict[HeldOut, bool] = {"dev": has_dev, "test": test}
    return tuple(split for split, is_wanted in wanted.items() if is_wanted)


def _refuse_seeds(seeds: Sequence[int]) -> None:
    if not seeds:
        raise UsageError("there is no seed to train with; name at least one")
    twice = next((seed for seed in seeds if seeds.count(seed) > 1), None)
    if twice is not None:
        raise UsageError(f"seed {twice} is named twice; the same seed gives the same model")


def _spreads(seeds: Mapping[int, Sequence[Mapping[str, Any]]]) -> tuple[Spread, ...]:
    """Transposes the scores of each seed."""
    found = []
    for scores in zip(*seeds.values(), strict=True):
        signatures = tuple(dict.fromkeys(str(score["signature"]) for score in scores))
        values = tuple(float(score["value"]) for score in scores)
        found.append(Spread(scores[0]["name"], values, signatures, tuple(seeds)))
    return tuple(found)


def _save(path: Path, content: Any) -> None:
    try:
        replace_file(path, (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode())
    except OSError as error:
        raise TrainingError(f"{path}: cannot be written: {error.strerror}; make room and --resume") from None
