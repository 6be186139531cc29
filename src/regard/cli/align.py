"""`regard align`: word alignments of given translations."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.arguments import Device, ModelFolder, Source, Target
from regard.errors import DataError


def align(
    model: ModelFolder,
    source: Source,
    target: Target,
    gold: Annotated[
        Path | None, typer.Option(help="True alignments (i-j sure, ipj possible): prints the error rate instead.")
    ] = None,
    layer: Annotated[str | None, typer.Option(help="Name of the layer's tap. (default: the mean of all)")] = None,
    head: Annotated[int | None, typer.Option(help="Number of the head, from 0. (default: the mean of all)")] = None,
    threshold: Annotated[float, typer.Option(help="Least weight that makes a link, from 0 to 1.")] = 0.0,
    reverse: Annotated[
        Path | None, typer.Option(help="Model of the other direction, whose links are joined by grow-diag.")
    ] = None,
    device: Device = "auto",
) -> None:
    """Print word alignments i-j (source word - target word, from 0) of given translations, by attention.

    [bold]Examples[/bold]

      regard align runs/mine test.de test.en > test.links

      regard align runs/mine test.de test.en --gold gold.links

      regard align runs/de-en test.de test.en --reverse runs/en-de > test.links
    """
    from regard.cli.corpus import pairs_of
    from regard.inspect import pharaoh, read_gold, symmetrize
    from regard.inspect import reverse as turned
    from regard.metrics import alignment_error_rate
    from regard.tasks import load

    pairs = pairs_of([source, target])
    true = list(read_gold(gold)) if gold is not None else []
    if gold is not None and len(true) != len(pairs):
        raise DataError(
            f"{gold}: {len(true)} lines of links for {len(pairs)} sentence pairs; "
            "give a line for each pair, an empty one where there are no links"
        )
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    links = load(model, device=device).align(sources, targets, layer=layer, head=head, threshold=threshold)
    if reverse is not None:
        other = load(reverse, device=device)
        backward = other.align(targets, sources, layer=layer, head=head, threshold=threshold)
        links = [symmetrize(there, turned(back)) for there, back in zip(links, backward, strict=True)]
    if gold is None:
        for row in links:
            typer.echo(pharaoh(row))
        return
    typer.echo(alignment_error_rate(links, [row.sure for row in true], [row.possible for row in true]))
