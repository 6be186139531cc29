"""`regard lexicon`: a bilingual dictionary from aligned text."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.aligning import AlignerName, Aligners, HowToLoad, Reverse, Symmetrize, Threshold, UnitsName, joining_of
from regard.cli.arguments import DecodingChanges, Device, Pairs, To, refuse_less_than_one
from regard.cli.progress import progress_of

Least = Annotated[int, typer.Option("--least-count", help="Minimum number of links of an entry.")]
Out = Annotated[
    Path | None,
    typer.Option("-o", "--out", help="File for the entries. (default: standard output)", show_default=False),
]


def lexicon(
    model: AlignerName,
    files: Pairs = None,
    least: Least = 2,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Count words in lower case.")] = False,
    out: Out = None,
    symmetrize: Symmetrize = None,
    threshold: Threshold = None,
    reverse: Reverse = None,
    settings: DecodingChanges = None,
    units: UnitsName = "auto",
    to: To = None,
    device: Device = "auto",
) -> None:
    """Make a bilingual dictionary from aligned text: source word, target word, the number of their links, and the share
    of these among the links of the source word and of the target word; separated by tabs.

    [bold]Examples[/bold]

      regard lexicon runs/mine train.de train.en -o de-en.tsv

      regard lexicon eflomal.links train.de train.en --least-count 5 --lowercase

      regard lexicon runs/de-en train.tsv --reverse runs/en-de --symmetrize intersection
    """
    from regard.cli.corpus import count_pairs, pieces_of
    from regard.cli.evaluate import check_files, check_pairs, write_text
    from regard.inspect.lexicon import Lexicon
    from regard.tokens.segmentation import pieces_of as words_of
    from regard.tokens.segmentation import unit_name

    files = files or []
    check_pairs(files)
    refuse_less_than_one({"--least-count": least})
    counted_by, how = unit_name(units), HowToLoad(device)
    if out is not None:
        check_files(out, None, None)
    backward = None if reverse is None else how.load(reverse, [], None, turned=True)
    aligners = Aligners(model, how.load(model, settings or [], to), backward, joining_of(symmetrize, threshold))
    if (known := count_pairs(files)) is not None:
        aligners.check_count(known)
    found = Lexicon()
    count = 0
    with progress_of("pairs") as show:
        for pairs in pieces_of(files):
            for pair, alignment in zip(pairs, aligners.align(pairs, counted_by), strict=True):
                sides = [words_of(text, counted_by) for text in (pair.source, pair.target)]
                source, target = ([word.lower() for word in side] if lowercase else side for side in sides)
                found.add(source, target, alignment.links(aligners.joining))
            count += len(pairs)
            show(count, None)
    aligners.check_ended()
    lines = (
        f"{entry.source}\t{entry.target}\t{entry.count}\t{entry.forward:.4f}\t{entry.backward:.4f}\n"
        for entry in found.entries(least)
    )
    if out is not None:
        write_text(out, "".join(lines))
        return
    for line in lines:
        typer.echo(line, nl=False)
