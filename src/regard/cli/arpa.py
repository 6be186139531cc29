"""`regard arpa`: n-gram models as ARPA files, which other programs read and write."""

from pathlib import Path
from typing import Annotated

import typer


def arpa(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="Folder of an n-gram model, or an ARPA file.", show_default=False)
    ],
    target: Annotated[
        Path, typer.Argument(metavar="TARGET", help="ARPA file to write, or folder to create.", show_default=False)
    ],
) -> None:
    """Write an n-gram model as an ARPA file, or turn an ARPA file into a model; the file may be gzipped (.gz).

    [bold]Examples[/bold]

      regard arpa runs/ngram ngram.arpa.gz

      regard arpa kenlm.arpa runs/kenlm
    """
    from regard.tasks import load_writer
    from regard.train.arpa import export_arpa, import_arpa

    writes = source.is_dir()
    count = export_arpa(load_writer(source, device="cpu"), target) if writes else import_arpa(source, target)
    typer.echo(f"{count:,} n-grams in {target}", err=True)
