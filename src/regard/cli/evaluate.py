"""`regard evaluate`: how good a model is, every number with its signature."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from regard.cli.arguments import Beam, Device, ModelFolder
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.data import Pair
    from regard.tasks.translator import Translator


def evaluate(
    model: ModelFolder,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES",
            help="Two files (source, target), or one .tsv or .jsonl. (default: the split of the model's own corpus)",
            show_default=False,
        ),
    ] = None,
    split: Annotated[Literal["test", "dev"], typer.Option(help="Part of the model's own corpus.")] = "test",
    beam: Beam = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Add 95 % confidence intervals, by bootstrap over lines.")
    ] = False,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="File for the outputs, line for line.")] = None,
    device: Device = "auto",
) -> None:
    """Translate held-out text and score the outputs: exact match, BLEU, chrF, TER, each with its signature.

    [bold]Examples[/bold]

      regard evaluate runs/mine

      regard evaluate runs/mine --split dev

      regard evaluate runs/mine test.de test.en --intervals -o test.out
    """
    from regard.cli.progress import progress_of
    from regard.tasks import load
    from regard.tasks.evaluation import evaluate as evaluate_on

    if out is not None:
        check_can_hold_text(out)
    changes = [] if beam is None else ["decode.method=beam", f"decode.beam={beam}"]
    translator = load(model, device=device, changes=changes)
    pairs = held_out(translator, split, data or [])
    with progress_of("translating") as on_progress:
        result = evaluate_on(translator, pairs, intervals=intervals, on_progress=on_progress)
    if out is not None:
        out.write_text("".join(output + "\n" for output in result.outputs), encoding="utf-8")
    for score in (*result.scores, *([result.alignment] if result.alignment else [])):
        typer.echo(score)
    if result.by_language:
        typer.echo(f"accuracy by language: {result.languages()}")


def check_can_hold_text(path: Path) -> None:
    """Refuses a name under which no file can be written, before minutes are spent on what should stand in it."""
    if path.is_dir():
        raise UsageError(f"{path}: this is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; make it first, or choose one that exists")


def held_out(translator: "Translator", split: Literal["test", "dev"], files: list[str]) -> "list[Pair]":
    """The pairs of the files that were named, or else of a split of the corpus the model was trained on."""
    from regard.cli.corpus import pairs_of
    from regard.data import load_corpus

    if files:
        return pairs_of(files)
    recipe = translator.recipe
    corpora = load_corpus(recipe.data, recipe.seed)
    pairs = list(corpora.test if split == "test" else corpora.dev)
    if not pairs:
        raise UsageError(f"the model's recipe names no {split} text (data.{split}); name the files to evaluate on")
    return pairs
