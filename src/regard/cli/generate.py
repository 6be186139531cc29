"""`regard generate`: a language model continues a prompt; the text is streamed."""

import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from regard.cli.arguments import DecodingChanges, Device, ModelFolder, Seed, refuse_less_than_one
from regard.cli.eager_notice import told_if_eager
from regard.cli.lines import read_lines
from regard.cli.loading import loading
from regard.errors import RecipeError, UsageError

PROMPT = "the text to go on from; Ctrl-D ends it"

ALLOWED = {
    "temperature": "give 0, which takes the likeliest token, or a finite number above it",
    "top_k": "give 0, which means all tokens, or a number of tokens",
    "top_p": "give a number above 0, and at most 1",
}
"""Allowed values of options that differ from the settings of the same names, or need more explanation."""


def generate(
    model: ModelFolder,
    prompt: Annotated[str, typer.Option(help="Text to continue; a dash (-) means standard input.")] = "",
    tokens: Annotated[int, typer.Option(help="Number of tokens to generate.")] = 100,
    temperature: Annotated[
        float | None,
        typer.Option(help="Below 1 sharpens, above 1 flattens; 0 takes the most likely token. (default: the recipe's)"),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(help="Only the k most likely tokens; 0 means all. (default: the recipe's)")
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(help="The smallest set of tokens with this much probability. (default: the recipe's)"),
    ] = None,
    seed: Seed = None,
    samples: Annotated[int, typer.Option(help="Number of texts, with an empty line between them.")] = 1,
    settings: DecodingChanges = None,
    device: Device = "auto",
) -> None:
    """Generate text with a language model, optionally from a prompt; the text is streamed.

    [bold]Examples[/bold]

      regard generate runs/lstm --prompt "the company said" --tokens 50

      regard generate runs/lstm --temperature 0.8 --top-k 40 --seed 7 --samples 3

      regard generate runs/lstm --top-p 0.9 --prompt - < beginning.txt
    """
    from regard.recipe import change_section

    refuse_less_than_one({"--samples": samples, "--tokens": tokens})
    changes: dict[str, float | str | None] = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    if temperature == 0:
        changes |= {"temperature": None, "method": "greedy"}
    given = {name: value for name, value in changes.items() if value is not None}
    _refuse_impossible(given)
    with loading():
        from regard.tasks import load_writer

        writer = load_writer(model, device=device, changes=settings or [])
    decoding = change_section(writer.recipe.decode, given)
    text = "\n".join(read_lines(PROMPT)) if prompt == "-" else prompt
    if unknown := writer.prompt(text).unknown:
        named = ", ".join(map(repr, dict.fromkeys(unknown)))
        typer.echo(f"the model does not know {named}, and reads an unknown word there", err=True)
    with told_if_eager(writer.why_eager):
        for sample in range(samples):
            if sample:
                typer.echo("\n")
            typer.echo(text, nl=False)
            for piece in writer.generate(text, tokens=tokens, sample=sample, decoding=decoding):
                sys.stdout.write(piece)
                sys.stdout.flush()
        typer.echo("")


def _refuse_impossible(given: Mapping[str, float | str]) -> None:
    """Refuses invalid values, by the names of the options, before the model is loaded."""
    from regard.recipe import LanguageDecoding, change_section

    for name, value in given.items():
        try:
            change_section(LanguageDecoding(), {name: value})
        except RecipeError as error:
            said = f"{value:g}" if isinstance(value, float) else value
            reason = ALLOWED.get(name) or str(error).rpartition(": ")[2]
            raise UsageError(f"--{name.replace('_', '-')} {said}: {reason}") from None
