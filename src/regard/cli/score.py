"""`regard score`: how likely a model finds given translations."""

import math
from typing import Annotated

import typer

from regard.cli.arguments import Device, ModelFolder, Source, Target


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
    from regard.cli.corpus import pairs_of
    from regard.tasks import load

    translator = load(model, device=device)
    pairs = pairs_of([source, target])
    scored = translator.score([pair.source for pair in pairs], [pair.target for pair in pairs])
    for row in scored:
        columns = [f"{row.log_prob:.4f}"]
        if tokens:
            pairs_of_token = zip(row.tokens, row.log_probs, strict=True)
            columns.append(" ".join(f"{token}={value:.4f}" for token, value in pairs_of_token))
        typer.echo("\t".join(columns))
    count = sum(len(row.tokens) for row in scored)
    total = sum(row.log_prob for row in scored)
    if count:
        perplexity = math.exp(-total / count)
        typer.echo(f"perplexity {perplexity:.4f} per target token, end of sentence included ({count} tokens)", err=True)
