"""A run that learns word vectors, with its folder, signal handling and records.

The folder holds the vectors (see `regard.vectors.native`), recipe.toml, format.json, metrics.jsonl, the tokenized text
in cache/, which may be deleted, and, until the run has ended, a state to resume from in checkpoints/.
"""

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from regard.checkpoint import ModelFolder, cannot_write
from regard.data.unspaced import find_unspaced_words
from regard.misuse import explained
from regard.recipe import VectorsRecipe, read_recipe
from regard.train.durations import duration
from regard.train.signals import asked_to_stop
from regard.train.starting import check_same_run
from regard.vectors import Vectors
from regard.vectors.corpus import Corpus, OnRead, Vocabulary, first_lines, load_corpus
from regard.vectors.learning import checkpoints_in, learn
from regard.vectors.learning_method import Advance
from regard.vectors.native import is_native

FREE = ("data.train", "vectors.save_every", "vectors.workers")
"""Settings that may change when a run is resumed; the text is compared by its fingerprint."""

REPORT_EVERY = 10.0
"""Seconds between two lines if there is no terminal for a progress bar."""


@dataclass(frozen=True)
class Pace:
    """Progress and speed of learning."""

    words: int
    total: int
    stage: str
    seconds: float
    """Since learning started or resumed."""
    words_per_second: float

    @property
    def left(self) -> float:
        """Estimated seconds left; infinite while the speed is unknown."""
        return (self.total - self.words) / self.words_per_second if self.words_per_second else float("inf")


@dataclass(frozen=True)
class VectorsRun:
    """How a run ended."""

    vectors: Vectors | None
    """None if a signal ended it."""
    pace: Pace | None
    """None if nothing was left to learn."""
    signal: int | None = None


Teller = Callable[[Pace], None]


@explained
def learn_vectors(
    recipe: VectorsRecipe | str | Path, out: str | Path, *, resume: bool = False, tell: Teller | None = None
) -> VectorsRun:
    """Learns the vectors of a recipe (or of a recipe file) in the folder `out`, until they are learned or a signal ends
    it.

    A new run needs a folder without a model; with `resume`, an existing run continues from its last state. `tell` gets
    the pace after every step of learning; by default it is shown on standard error, also while the text is read.
    """
    recipe = read_recipe(recipe, kind=VectorsRecipe) if isinstance(recipe, str | Path) else recipe
    folder, console = ModelFolder(Path(out)), Console(file=sys.stderr, highlight=False, quiet=tell is not None)
    folder.check_may_train(resume)
    with folder.locked():
        if folder.can_resume:
            check_same_run(read_recipe(folder.recipe, kind=VectorsRecipe, saved=True), recipe, folder.path, FREE)
            if is_native(folder.path) and not any(folder.checkpoints.iterdir()):
                return VectorsRun(Vectors.load(folder.path), None)
        try:
            console.print("reading the text")
            for finding in find_unspaced_words(first_lines(recipe.data)):
                console.print(finding.line(), soft_wrap=True, markup=False)
            with _reporting(console) as report:
                corpus = load_corpus(recipe.data, folder.cache, _reading(report))
                console.print(f"{corpus.vocabulary.total:,} words, {len(corpus.vocabulary):,} of them different")
                return _follow(recipe, corpus, folder, tell or report)
        except OSError as error:
            raise cannot_write(folder, "a file of this run", error) from error


def _reading(report: Teller) -> OnRead:
    """Reports the pace at which a text is read."""
    begun = time.perf_counter()

    def on_read(words: int, share: float) -> None:
        seconds = time.perf_counter() - begun
        report(Pace(words, round(words / share), "reading the text", seconds, words / seconds))

    return on_read


def _follow(recipe: VectorsRecipe, corpus: Corpus, folder: ModelFolder, report: Teller) -> VectorsRun:
    checkpoints, pace = checkpoints_in(folder.checkpoints, recipe, corpus), None
    with asked_to_stop() as asked:
        for event in _paced(learn(recipe, corpus, checkpoints)):
            if pace is None:
                # Only now, so that a run that is refused at the start leaves nothing behind.
                _begin(folder, recipe)
            if isinstance(event, Vectors):
                return _finish(folder, recipe, event, corpus.vocabulary, pace)
            pace = event
            report(pace)
            if checkpoints.asked:
                _record(folder, "interrupted", pace)
                return VectorsRun(None, pace, asked.signal)
            checkpoints.asked = asked()
    raise AssertionError("the last thing a learner gives are vectors")


def _paced(events: Iterator[Advance | Vectors]) -> Iterator[Pace | Vectors]:
    """Advances with their speed since the first, because the time before it is mostly compiling."""
    begun, first, at_first = time.perf_counter(), None, 0.0
    for event in events:
        if isinstance(event, Vectors):
            yield event
            continue
        now = time.perf_counter()
        if first is None:
            first, at_first = event, now
        speed = (event.words - first.words) / (now - at_first) if event is not first else 0.0
        yield Pace(event.words, event.total, event.stage, now - begun, speed)


def _begin(folder: ModelFolder, recipe: VectorsRecipe) -> None:
    try:
        folder.write_recipe(recipe)
        folder.checkpoints.mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, "the recipe", error) from error


def _finish(
    folder: ModelFolder, recipe: VectorsRecipe, vectors: Vectors, vocabulary: Vocabulary, pace: Pace | None
) -> VectorsRun:
    about = {
        "method": recipe.vectors.model_dump(),
        "data": recipe.data.model_dump(),
        "seed": recipe.seed,
        # Sorted counts, run-length encoded: each count, and the number of words with it.
        "occurrences": [[count, len(list(words))] for count, words in groupby(vocabulary.counts.tolist())],
    }
    made = Vectors(vectors.words, vectors.matrix, about)
    made.save(folder.path)
    if pace:
        _record(folder, "ended", pace)
    for state in folder.checkpoints.iterdir():
        shutil.rmtree(state)
    return VectorsRun(Vectors.load(folder.path), pace)


def _record(folder: ModelFolder, event: str, pace: Pace) -> None:
    try:
        with open(folder.metrics, "a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, **asdict(pace), "most_memory": _most_memory()}) + "\n")
    except OSError as error:
        raise cannot_write(folder, "metrics.jsonl", error) from error


def _most_memory() -> int | None:
    """Peak memory of this process in bytes; None on Windows."""
    try:
        import resource
    except ModuleNotFoundError:
        return None
    # Kilobytes on Linux.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def in_words(pace: Pace) -> str:
    """`41 %, 350,000 words/s, 1:10 min left`; only the stage's name after the last word."""
    if pace.stage and pace.words == pace.total:
        return pace.stage
    speed = f", {pace.words_per_second:,.0f} words/s, {duration(pace.left)} left" if pace.words_per_second else ""
    return f"{f'{pace.stage}: ' if pace.stage else ''}{100 * pace.words / pace.total:.0f} %{speed}"


@contextmanager
def _reporting(console: Console) -> Iterator[Teller]:
    """A progress bar on a terminal, and a line every few seconds elsewhere."""
    last = time.monotonic()
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=1.0)

        def tell(pace: Pace) -> None:
            nonlocal last
            bar.update(task, completed=pace.words / max(pace.total, 1), description=in_words(pace))
            if not console.is_terminal and time.monotonic() - last >= REPORT_EVERY:
                last = time.monotonic()
                console.print(in_words(pace), soft_wrap=True)

        yield tell
