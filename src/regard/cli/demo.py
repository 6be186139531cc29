"""`regard demo`: trains on built-in data and shows where the model looks."""

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import Changes
from regard.cli.train import leave_if_stopped

if TYPE_CHECKING:
    from rich.console import Console

    from regard.data import Pair
    from regard.tasks.evaluation import Evaluation

SHOWN_IN_TERMINAL = ("en-GB", "de", "ja", "ar")
"""Languages of the examples drawn in the terminal: three scripts, and one that runs from right to left."""


def demo(
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Folder of the model. (default: runs/demo, or the next free one)"),
    ] = None,
    settings: Changes = None,
) -> None:
    """Train a model on built-in data, in about a minute, and show its attention.

    An encoder–decoder with attention learns to translate dates, as people write them in many languages, into ISO 8601.
    To do the same by hand: regard train dates; regard evaluate runs/dates; regard look runs/dates "3. März 2021"

    [bold]Examples[/bold]

      regard demo

      regard demo --set model.attention.score=multiplicative
    """
    from rich.console import Console

    from regard.cli.evaluate import held_out
    from regard.cli.progress import progress_of
    from regard.inspect import print_inspection, save_page
    from regard.recipe import read_recipe
    from regard.tasks import load_translator
    from regard.tasks.evaluation import evaluate
    from regard.train import run

    folder = out or next_free(Path("runs/demo"))
    typer.echo(f"A model with attention learns to read dates of many languages into ISO 8601, in {folder}.", err=True)
    leave_if_stopped(run(read_recipe("dates", settings or []), folder))
    translator = load_translator(folder)
    pairs = held_out(translator, "test", [])
    with progress_of("reading held-out dates") as on_progress:
        result = evaluate(translator, pairs, on_progress=on_progress)

    console = Console(highlight=False)
    examples = chosen_examples(pairs, result)
    looks = [translator.inspect(pair.source, pair.target, links=pair.links) for pair in examples]
    for look in looks[: len(SHOWN_IN_TERMINAL)]:
        console.print()
        print_inspection(look, console)
    page, picture = folder / "looks.html", folder / "look.png"
    save_page(looks, page, title="Where the model looks while it reads a date")
    looks[0].save(picture)
    tell(console, result)
    console.print(f"\nAn example of each language: {page}\nThe first as a picture: {picture}", soft_wrap=True)
    console.print(f'Your own: regard look {folder} "3. März 2021"', soft_wrap=True)
    console.print(f"\nIn the browser, with a tour of attention: regard explore {folder}", soft_wrap=True)
    both = f"regard train dates-transformer; regard explore {folder} runs/dates-transformer"
    console.print(f"With a Transformer beside it that reads the same dates: {both}", soft_wrap=True)


def next_free(folder: Path) -> Path:
    """The folder, or the next one whose name is free: a demo never touches an earlier model."""
    names = (folder if number == 1 else folder.with_name(f"{folder.name}-{number}") for number in count(1))
    return next(name for name in names if not name.exists())


def chosen_examples(pairs: "list[Pair]", result: "Evaluation") -> "list[Pair]":
    """An example of each language, those for the terminal first; if possible one that was translated correctly, and a
    long one, because it shows more."""
    by_language: dict[str, tuple[bool, int, Pair]] = {}
    for pair, output in zip(pairs, result.outputs, strict=True):
        candidate = (output == pair.target, len(pair.source), pair)
        best = by_language.setdefault(pair.language, candidate)
        if candidate[:2] > best[:2]:
            by_language[pair.language] = candidate
    first = [language for language in SHOWN_IN_TERMINAL if language in by_language]
    return [by_language[language][2] for language in [*first, *sorted(set(by_language) - set(first))]]


def tell(console: "Console", result: "Evaluation") -> None:
    """Prints the scores."""
    console.print(f"\nHeld-out dates read exactly right: {result.accuracy.value:.1%} of {len(result.outputs):,}")
    # no line break between a language and its number
    languages = "  ".join(each.replace(" ", "\N{NO-BREAK SPACE}") for each in result.languages())
    console.print(f"In percent by language: {languages}")
    if result.alignment is not None:
        console.print(f"Alignment error rate for year, month and day: {result.alignment.value:.3f}")
