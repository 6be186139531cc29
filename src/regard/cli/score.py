"""`regard score`: how likely a model finds given translations."""

import math
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import Device, ModelFolder, Source, Target

if TYPE_CHECKING:
    from regard.tasks import Scored


def score(
    model: ModelFolder,
    source: Source,
    target: Target,
    tokens: Annotated[bool, typer.Option("--tokens", help="Add a column with token=log-probability pairs.")] = False,
    device: Device = "auto",
) -> None:
    """Print the log-probability of each given translation; the perplexity of all goes to standard error.

    [bold]Examples[/bold]

      regard score runs/mine test.de test.en

      regard score runs/mine test.de test.en --tokens
    """
    from regard.cli.corpus import pieces_of
    from regard.tasks import load

    translator = load(model, device=device)
    count, total = 0, 0.0
    for pairs in pieces_of([source, target]):
        for row in translator.score([pair.source for pair in pairs], [pair.target for pair in pairs]):
            typer.echo("\t".join(columns_of(row, tokens)))
            count += len(row.tokens)
            total += row.log_prob
    if count:
        perplexity = math.exp(-total / count)
        typer.echo(f"perplexity {perplexity:.4f} per target token, end of sentence included ({count} tokens)", err=True)


def columns_of(row: "Scored", tokens: bool) -> list[str]:
    whole = f"{row.log_prob:.4f}"
    each = (f"{token}={value:.4f}" for token, value in zip(row.tokens, row.log_probs, strict=True))
    return [whole, " ".join(each)] if tokens else [whole]
