"""`regard check`: what is wrong with my data, by file and line."""

from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import Changes, Dev, Test

if TYPE_CHECKING:
    from regard.data import Report


def check(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES|RECIPE",
            help="Two files (source, target), one .tsv or .jsonl, one file of text, or a recipe (.toml, or a built-in "
            "name).",
            show_default=False,
        ),
    ],
    dev: Dev = None,
    test: Test = None,
    settings: Changes = None,
) -> None:
    """Say what is wrong with a corpus, by file and line. Nothing is changed. Development and test text is
    looked for in the training text too; of two files each is named by an option of its own.

    Ends with exit code 2 if something is found that training would refuse.

    [bold]Examples[/bold]

      regard check train.de train.en

      regard check train.tsv --test test.tsv

      regard check text.txt --test test.txt

      regard check train.de train.en --test test.de --test test.en

      regard check my.toml --set data.longest=100
    """
    from regard.cli.corpus import corpus_of
    from regard.errors import with_short_paths
    from regard.recipe import TASKS
    from regard.registry import locate

    corpus = corpus_of(data, dev or [], test or [], settings or [])
    report: Report = locate(TASKS[corpus.task].check)(corpus)
    refused = {finding.line() for finding in report.refused}
    for line in report.lines():
        if line not in refused:  # those are the message of the error
            typer.echo(with_short_paths(line))
    report.raise_if_refused()
