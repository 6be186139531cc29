"""`regard align`: word alignments of given translations."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.arguments import DecodingChanges, Device, Head, ModelFolder, Pairs, To
from regard.errors import DataError, counted


def align(
    model: ModelFolder,
    files: Pairs,
    gold: Annotated[
        Path | None, typer.Option(help="True alignments (i-j sure, ipj possible): prints the error rate instead.")
    ] = None,
    layer: Annotated[str | None, typer.Option(help="Name of the layer's tap. (default: the mean of all)")] = None,
    head: Head = None,
    threshold: Annotated[float, typer.Option(help="Least weight that makes a link, from 0 to 1.")] = 0.0,
    reverse: Annotated[
        Path | None, typer.Option(help="Model of the other direction, whose links are joined by grow-diag.")
    ] = None,
    settings: DecodingChanges = None,
    units: Annotated[
        str,
        typer.Option(
            help="What is counted: words between blanks, characters where a script has no blanks (Japanese, Chinese, "
            "Thai …), or auto: either, by line."
        ),
    ] = "auto",
    to: To = None,
    device: Device = "auto",
) -> None:
    """Print word alignments i-j (source word - target word, from 0) of given translations, by attention.

    [bold]Examples[/bold]

      regard align runs/mine test.de test.en > test.links

      regard align runs/mine test.de test.en --gold gold.links

      regard align runs/de-en test.de test.en --reverse runs/en-de > test.links
    """
    from regard.cli.corpus import pieces_of, warn_if_swapped
    from regard.cli.evaluate import check_pairs
    from regard.inspect import Links, pharaoh, read_gold, symmetrize
    from regard.inspect import reverse as turned
    from regard.metrics import alignment_error_rate
    from regard.tasks import load_translator
    from regard.tokens.segmentation import unit_name

    check_pairs(files)
    counted_by = unit_name(units)
    true = list(read_gold(gold)) if gold is not None else []
    forward = load_translator(model, device=device, changes=settings or []).into(to)
    backward = load_translator(reverse, device=device) if reverse is not None else None
    found: list[Links] = []
    for number, pairs in enumerate(pieces_of(files)):
        if not number:
            warn_if_swapped(forward, pairs)
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        links = forward.align(sources, targets, layer=layer, head=head, threshold=threshold, units=counted_by)
        if backward is not None:
            others = backward.align(targets, sources, layer=layer, head=head, threshold=threshold, units=counted_by)
            links = [symmetrize(there, turned(back)) for there, back in zip(links, others, strict=True)]
        if gold is not None:
            found += links
            continue
        for row in links:
            typer.echo(pharaoh(row))
    if gold is not None and len(true) != len(found):
        raise DataError(
            f"{gold}: {counted(len(true), 'line')} of links for {counted(len(found), 'sentence pair')}; "
            "give a line for each pair, an empty one where there are no links"
        )
    if gold is not None:
        typer.echo(alignment_error_rate(found, [row.sure for row in true], [row.possible for row in true]))
