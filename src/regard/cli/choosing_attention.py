"""`regard align --choose`: which attention a translator's links come from."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.errors import RegardError, UsageError, counted

if TYPE_CHECKING:
    from regard.data import Pair
    from regard.tasks.attention_choice import AttentionChoice
    from regard.tasks.trained import Aligner
    from regard.tasks.translator import Translator
    from regard.tokens.segmentation import UnitName

CHOSEN_ON = 300
"""Pairs whose attention is compared."""
COUNTED = 20_000
"""Pairs that an aligner is trained on if there is no second direction."""


def choose_attention(
    one: "tuple[Path, Aligner]",
    other: "tuple[Path | None, Aligner | None]",
    files: Sequence[str],
    units: "UnitName",
    *,
    asked: bool,
) -> None:
    """Chooses on the first pairs of the files, prints the comparison, and saves the choice in the models' folders."""
    from regard.cli.corpus import pieces_of
    from regard.tasks.attention_choice import choose_alone, choose_both, statistical_links, weights_in_use
    from regard.tokens.segmentation import pieces_of as words_of

    if asked:
        raise UsageError("--choose finds layer, head and row by itself and prints no links; leave other options out")
    forward, folder = _translator(*one), one[0]
    every_pair = (pair for piece in pieces_of(files) for pair in piece if pair.source.strip() and pair.target.strip())
    pairs = list(islice(every_pair, CHOSEN_ON + COUNTED))
    some = pairs[:CHOSEN_ON]
    if not some:
        raise UsageError(f"{', '.join(files)}: there is no pair to choose by; name some hundred pairs of text")
    sources, targets = [pair.source for pair in some], [pair.target for pair in some]
    watched = forward.watched(sources, targets, units)
    found: list[tuple[Path, AttentionChoice]]
    if other[0] is not None and other[1] is not None:
        back = _translator(other[0], other[1]).watched(targets, sources, units, turned=True)
        compared, *chosen = choose_both(watched, back)
        found, by = list(zip((folder, other[0]), chosen, strict=True)), "both directions"
    else:
        every = [*some, *islice([*pairs[CHOSEN_ON:], *_own_text(folder, forward)], COUNTED)]
        read, written = [
            [words_of(text.lower(), units) for text in side] for side in zip(*map(_texts, every), strict=True)
        ]
        compared, choice = choose_alone(watched, statistical_links(read, written, len(some)))
        found, by = [(folder, choice)], f"an aligner of {counted(len(every), 'pair')}"
    typer.echo(f"agreement on {counted(len(some), 'pair')} with {by}:")
    for each in sorted(compared, key=lambda each: -(each.agreement or 0)):
        typer.echo(f"  {each.agreement:.3f}  {each.told}")
    for path, choice in found:
        replace(choice, weights_file=weights_in_use(path)).save(path)
        typer.echo(f"{path}: links come from {choice.told} (agreement {choice.agreement:.3f})")


def _translator(folder: Path, aligner: "Aligner") -> "Translator":
    from regard.tasks.translator import Translator

    if not isinstance(aligner, Translator):
        raise UsageError(f"--choose is for the attention of translators, and {folder} is not one; leave it out")
    return aligner


def _texts(pair: "Pair") -> tuple[str, str]:
    return pair.source, pair.target


def _own_text(folder: Path, translator: "Translator") -> "list[Pair]":
    """The model's training text; says so on standard error if it cannot be read."""
    from regard.data import load_corpus

    try:
        return list(islice(load_corpus(translator.recipe.data, translator.recipe.seed).train, COUNTED))
    except (RegardError, OSError) as error:
        typer.echo(
            f"{folder}: the text that it was trained on cannot be read ({error}), so its attention is compared with an "
            "aligner of the given pairs alone; name some thousand pairs, or a model of the other direction by "
            "--reverse",
            err=True,
        )
        return []
