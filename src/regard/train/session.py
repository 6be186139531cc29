"""A training run with its folder, processes, signal handling and records."""

import sys
from collections.abc import Callable
from contextlib import ExitStack, closing, nullcontext
from dataclasses import replace
from pathlib import Path
from signal import SIGINT

import torch
from rich.console import Console

from regard.checkpoint import ModelFolder, cannot_write
from regard.device import choose_device
from regard.errors import UsageError
from regard.misuse import explained
from regard.recipe import TASKS, AnyRecipe, Recipe, read_recipe
from regard.registry import locate
from regard.tasks.task import CountingTask, Task
from regard.train.events import Ended, Prepared
from regard.train.fast_defaults import settled
from regard.train.loop import train
from regard.train.metrics import MetricsFile
from regard.train.ngram_run import count
from regard.train.ranks import Ranks, joined_ranks
from regard.train.report import Reporter, reporting
from regard.train.signals import asked_to_stop
from regard.train.starting import FREE, check_same_run


@explained
def run(
    recipe: Recipe | str | Path, out: str | Path, *, resume: bool = False, reporter: Reporter | None = None
) -> Ended:
    """Prepares the data of a recipe (or of a recipe file, or a built-in recipe's name) and trains in the folder `out`
    until the recipe or a signal ends it.

    A new run needs a folder without a model; with `resume`, an existing run continues, or else a new one starts. The
    reporter gets every event, with what was found in the data (`Prepared`); by default they go to standard error.
    """
    recipe = read_recipe(recipe) if isinstance(recipe, str | Path) else recipe
    if not isinstance(recipe, Recipe):
        kind = f"task = {recipe.task!r}" if isinstance(recipe, AnyRecipe) else f"{recipe!r:.60}"
        raise UsageError(f"run trains recipes of models, not {kind}; word vectors are learned by regard.learn_vectors")
    console = Console(file=sys.stderr, highlight=False)

    def prepare(folder: Path, ranks: Ranks) -> Task:
        def say(line: str) -> None:
            if ranks.leads and reporter is not None:
                reporter(Prepared(line))
            elif ranks.leads:
                console.print(line, soft_wrap=True, markup=False)

        _refuse_other_settings(chosen, ModelFolder(folder))
        task: Task = locate(TASKS[chosen.task].prepare)(chosen, folder, say)
        return task

    device = choose_device(recipe.train.device)
    chosen = settled(recipe, device, _begun(ModelFolder(Path(out))) if resume else None)
    if chosen.train.threads:
        torch.set_num_threads(chosen.train.threads)
    with joined_ranks(device) as (ranks, device):
        return run_task(prepare, Path(out), resume=resume, reporter=reporter, ranks=ranks, device=device)


def run_task(
    prepare: Callable[[Path, Ranks], Task],
    out: Path,
    *,
    resume: bool = False,
    reporter: Reporter | None = None,
    ranks: Ranks | None = None,
    device: torch.device | None = None,
) -> Ended:
    """The same for a task that `prepare` makes, given the folder. Of several processes, the leading one prepares first,
    and only it writes and reports."""
    ranks, folder = ranks or Ranks(), ModelFolder(out)
    if not ranks.leads:
        with ranks.leader_first():
            task = prepare(out, ranks)
        return _follow(task, folder, ranks, device, [])
    with ExitStack() as lock:
        with ranks.leader_first():
            folder.check_may_train(resume)
            lock.enter_context(folder.locked())
            task = prepare(out, ranks)
            _save_task(task, folder)
        metrics = MetricsFile(folder, task.recipe.train.log_every)
        with nullcontext(reporter) if reporter else reporting(task.recipe, out) as tell:
            return _follow(task, folder, ranks, device, [metrics, tell])


def _follow(
    task: Task, folder: ModelFolder, ranks: Ranks, device: torch.device | None, listeners: list[Reporter]
) -> Ended:
    with asked_to_stop() as asked:
        if isinstance(task, CountingTask):
            events = count(task, folder, ranks=ranks, interrupted=asked)
        else:
            events = train(task, folder, ranks=ranks, device=device, interrupted=asked)
        # Closed before the folder is unlocked, even if a listener fails: a checkpoint may still be being written.
        with closing(events):
            for event in events:
                if isinstance(event, Ended) and event.reason == "interrupted":
                    # The signal may have been sent to another process.
                    event = replace(event, signal=asked.signal or SIGINT)
                for listener in listeners:
                    listener(event)
                if isinstance(event, Ended):
                    return event
    raise AssertionError("the last event of `train` is Ended")


def _begun(folder: ModelFolder) -> Recipe | None:
    """The recipe of a run that can be resumed."""
    return read_recipe(folder.recipe, saved=True) if folder.can_resume else None


def _refuse_other_settings(recipe: Recipe, folder: ModelFolder) -> None:
    """Called before the data is prepared, where a changed setting would look like changed text."""
    begun = _begun(folder)
    if begun is not None:
        # A model to start from brings its own tokenizer, which overrides the recipe's.
        free = (*FREE, "tokens.") if recipe.train.start_from or recipe.train.start.model else FREE
        check_same_run(begun, recipe, folder.path, free)


def _save_task(task: Task, folder: ModelFolder) -> None:
    """Writes the recipe and the files of the task."""
    if folder.can_resume:
        check_same_run(read_recipe(folder.recipe, saved=True), task.recipe, folder.path)
    try:
        if not folder.can_resume:
            task.save(folder.path)
        folder.write_recipe(task.recipe)
    except OSError as error:
        raise cannot_write(folder, "the recipe or a file of the task", error) from error
