"""`regard vectors map`: words as points of a plane."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from regard.cli.arguments import Seed
from regard.cli.vectors.arguments import VectorsPath
from regard.errors import UsageError

PAGES = (".html", ".htm")
FREQUENT = 300
"""Number of words on a map if none are named."""


def draw_map(
    vectors: VectorsPath,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD...]", help="Words to place.", show_default=False)
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="NAME=WORD,WORD,…", help="Words with their own color; repeatable."),
    ] = None,
    most_frequent: Annotated[
        int | None,
        typer.Option(
            min=0, help=f"Also place this many of the most frequent words. (default: {FREQUENT} if no word is named)"
        ),
    ] = None,
    projection: Annotated[
        Literal["tsne", "pca", "umap"],
        typer.Option(help="t-SNE (needs scikit-learn), principal components, or UMAP (needs umap-learn)."),
    ] = "tsne",
    seed: Seed = None,
    out: Annotated[
        list[Path] | None,
        typer.Option("-o", "--out", help="A .png, .svg, .pdf, or .html file; repeatable. (default: map.html)"),
    ] = None,
) -> None:
    """Draw words as points in a plane, similar words close together: a picture, or a page to zoom, pan, and search.

    [bold]Examples[/bold]

      regard vectors map runs/wiki --most-frequent 500

      regard vectors map runs/wiki --group numbers=one,two,three --group months=may,june,july -o map.png -o map.html

      regard vectors map runs/wiki man woman king queen --projection pca -o royal.svg
    """
    from regard.inspect import check_picture_name, save_map, save_map_page
    from regard.vectors import Vectors
    from regard.vectors.mapping import word_map

    files = out or [Path("map.html")]
    for path in files:
        if path.suffix.lower() not in PAGES:
            check_picture_name(path, others=PAGES[:1])
    groups = dict(_group(text) for text in group or [])
    frequent = FREQUENT if most_frequent is None and not words and not groups else most_frequent or 0
    found = word_map(
        Vectors.load(vectors),
        words or [],
        groups=groups,
        top=frequent,
        method=projection,
        seed=1 if seed is None else seed,
    )
    for path in files:
        (save_map_page if path.suffix.lower() in PAGES else save_map)(found, path)
        typer.echo(path)


def _group(text: str) -> tuple[str, Sequence[str]]:
    name, _, members = text.partition("=")
    words = [word for word in members.replace(",", " ").split() if word]
    if not name or not words:
        raise UsageError(f"--group {text!r}: write a name, =, and words with commas between, as in colors=red,green")
    return name, words
