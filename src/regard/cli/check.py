"""`regard check`: the problems in a corpus, by file and line."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import Changes, Dev, Device, LeastScore, Test
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.data import Report
    from regard.recipe import AnyRecipe

AlignerFolder = Annotated[
    Path | None,
    typer.Option(
        "--aligner",
        metavar="MODEL",
        help="An aligner or a translator, whose scores find pairs that do not belong together.",
        show_default=False,
    ),
]


def check(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES|RECIPE",
            help="Two files (source, target), one .tsv or .jsonl, one file of text, files of the task that --set "
            "task=NAME names, or a recipe (.toml, or a built-in name).",
            show_default=False,
        ),
    ],
    dev: Dev = None,
    test: Test = None,
    settings: Changes = None,
    aligner: AlignerFolder = None,
    least_score: LeastScore = None,
    device: Device = "auto",
) -> None:
    """Report what is wrong with a corpus, by file and line. Nothing is changed. The report also says which development
    and test text occurs in the training text. If these are two files each, give each its own --dev or --test.

    The exit code is 2 if training would refuse the corpus.

    [bold]Examples[/bold]

      regard check train.de train.en

      regard check train.tsv --test test.tsv

      regard check text.txt --test test.txt

      regard check train.de train.en --test test.de --test test.en

      regard check labels.tsv --set task=classifying

      regard check my.toml --set data.longest=100

      regard check train.de train.en --aligner runs/aligner
    """
    from regard.cli.corpus import corpus_of, is_recipe, task_among
    from regard.errors import one_of, with_short_paths
    from regard.recipe import TASKS
    from regard.registry import locate

    if least_score is not None and aligner is None:
        raise UsageError("--least-score needs --aligner MODEL, which scores the pairs")
    corpus = corpus_of(data, dev or [], test or [], settings or [])
    report: Report = locate(TASKS[corpus.task].check)(corpus)
    if aligner is not None and not report.refused:
        report = _scored(report, corpus, aligner, least_score, device)
    refused = {finding.line() for finding in report.refused}
    for line in report.lines():
        if line not in refused:  # the error's message has those
            typer.echo(with_short_paths(line))
    if len(data) == 1 and not (is_recipe(data) or task_among(settings or [])):  # one file may suit many tasks
        others = one_of([name for name in TASKS if name != corpus.task])
        told = f"{data[0]}: read as data of the task {corpus.task!r}; for another: --set task=NAME, {others}"
        typer.echo(told, err=True)
    report.raise_if_refused()


def _scored(report: "Report", corpus: "AnyRecipe", folder: Path, least: float | None, device: str) -> "Report":
    """The report, with the pairs that an aligner finds unfit."""
    from regard.cli.aligning import HowToLoad
    from regard.data import load_corpus
    from regard.recipe import Data
    from regard.tasks.unfit_pairs import with_unfit_pairs

    data = getattr(corpus, "data", None)
    if not isinstance(data, Data):
        raise UsageError(f"--aligner {folder}: is for pairs of texts, and this corpus has none; leave it out")
    if folder.is_file():
        raise UsageError(f"--aligner {folder}: links in a file have no scores; name the folder of a model")
    parts = load_corpus(data, corpus.seed)
    named = {name: each for name in ("train", "dev", "test") if (each := getattr(parts, name)) != ()}
    model = HowToLoad(device).load(folder, [], None)
    return with_unfit_pairs(report, model, str(folder), named, least, lambda line: typer.echo(line, err=True))
