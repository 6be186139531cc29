"""`regard vectors evaluate`: intrinsic evaluation of vectors."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import JsonFile
from regard.cli.json_files import write_json
from regard.cli.table import table
from regard.cli.vectors.arguments import Frequent, Method, VectorsPath

if TYPE_CHECKING:
    from regard.vectors import AnalogyScore, Answers, PairScore


def evaluate(
    vectors: VectorsPath,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES...", help="Files of analogies or of rated pairs.", show_default=False),
    ],
    method: Method = "additive",
    frequent: Frequent = None,
    exact_case: Annotated[
        bool, typer.Option("--exact-case", help="Distinguish upper and lower case. (default: compare in lower case)")
    ] = False,
    json: JsonFile = None,
) -> None:
    """Evaluate vectors on files of analogies (such as Google's questions-words.txt) and of word pairs with human
    ratings (such as WordSim-353, SimLex-999, MEN, or RG-65).

    Analogies are scored by category, pairs by Spearman's rank correlation. Items with unknown words are left out and
    counted.

    [bold]Examples[/bold]

      regard vectors evaluate runs/wiki questions-words.txt

      regard vectors evaluate runs/wiki EN-WS-353-ALL.txt EN-SIMLEX-999.txt --json scores.json
    """
    from regard.cli.evaluate import check_files
    from regard.vectors import AnalogyScore, PairScore, Vectors
    from regard.vectors import evaluate as scores_of

    if json is not None:
        check_files(None, json, None)
    found = scores_of(Vectors.load(vectors), files, method=method, frequent=frequent, exact=exact_case)
    for score in (score for score in found if isinstance(score, AnalogyScore)):
        _show_analogies(score)
    pairs = [score for score in found if isinstance(score, PairScore)]
    if pairs:
        _show_pairs(pairs)
    if json is not None:
        write_json(json, {"vectors": str(vectors), "scores": [score.plain() for score in found]})


def _show_analogies(score: "AnalogyScore") -> None:
    typer.echo(f"{score.file} ({score.conditions})")
    totals = {"semantic": score.semantic, "syntactic": score.syntactic, "total": score.total}
    rows = [_cells(name, answers) for name, answers in (score.categories | totals).items()]
    for line in table([("category", "right", "asked", "unknown", "%"), *rows]):
        typer.echo(f"  {line}")


def _cells(name: str, found: "Answers") -> tuple[str, ...]:
    share = "–" if found.share is None else f"{100 * found.share:.1f}"
    return name, f"{found.right:,}", f"{found.asked:,}", f"{found.unknown:,}", share


def _show_pairs(scores: "list[PairScore]") -> None:
    typer.echo(f"rated pairs ({scores[0].conditions})")
    rows = [(score.file, f"{score.pairs:,}", f"{score.unknown:,}", _correlation(score)) for score in scores]
    for line in table([("file", "pairs", "unknown", "Spearman"), *rows]):
        typer.echo(f"  {line}")


def _correlation(score: "PairScore") -> str:
    return "–" if score.spearman is None else f"{score.spearman:.3f}"
