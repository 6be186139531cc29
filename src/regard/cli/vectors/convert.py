"""`regard vectors convert` and `info`: conversion between formats, and facts about a file."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from regard.cli.vectors.arguments import Frequent, VectorsPath


def convert(
    vectors: VectorsPath,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder or file to write.", show_default=False)],
    form: Annotated[
        Literal["native", "text", "binary", "glove"] | None,
        typer.Option(
            help="native: a folder that opens at once; text: word2vec's and fastText's, with a header; binary: "
            "word2vec's; glove: text without a header. (default: by the name; .txt and .vec text, .bin binary)"
        ),
    ] = None,
    frequent: Frequent = None,
) -> None:
    """Write vectors in another format. The input format is detected from the content; outputs named .gz are gzipped.

    [bold]Examples[/bold]

      regard vectors convert glove.6B.50d.txt.gz glove

      regard vectors convert runs/wiki wiki.bin

      regard vectors convert runs/wiki wiki.txt.gz --form glove --frequent 10000
    """
    from regard.errors import UsageError, counted
    from regard.vectors import Vectors
    from regard.vectors.files import kind_by_name, write

    kind = form or kind_by_name(out)
    if kind != "native" and out.is_dir():
        raise UsageError(f"{out}: this is a folder; name a file in it, or say --form native")
    if kind == "native" and out.is_file():
        raise UsageError(f"{out}: this is a file, but native vectors are a folder; choose another name")
    found = Vectors.load(vectors).first(frequent)
    if kind == "native":
        found.save(out)
    else:
        write(out, found.words, found.matrix, kind)
    typer.echo(f"{out}: {counted(len(found), 'word')} × {found.width}, {kind}")


def _about(about: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Facts about vectors; nested tables get dotted names."""
    for name, value in about.items():
        if name == "occurrences" and value:  # of each word, the most frequent first
            yield "least occurrences of a word", f"{value[-1][0]:,}"
        elif isinstance(value, Mapping):
            yield from _about(value, f"{prefix}{name}.")
        else:
            yield prefix + name, str(value)


def info(vectors: VectorsPath) -> None:
    """Show what a file or folder of vectors contains, and how long it took to open.

    [bold]Examples[/bold]

      regard vectors info glove.6B.50d.txt.gz
    """
    from regard.vectors import Vectors
    from regard.vectors.files import form_of

    begun, worked = time.perf_counter(), time.process_time()
    found = Vectors.load(vectors)
    seconds, worked = time.perf_counter() - begun, time.process_time() - worked
    rows = [
        ("form", "native folder" if vectors.is_dir() else str(form_of(vectors))),
        ("opened in", f"{seconds:.3f} s, with {worked:.3f} s of a processor"),
        ("words", f"{len(found):,}"),
        ("width", f"{found.width:,}"),
        ("first words", " ".join(found.words[:8])),
        ("mean length", f"{float(found.norms.mean()):.3f}" if len(found) else "–"),
        *_about(found.about),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        typer.echo(f"{name.ljust(width)}  {value}")
