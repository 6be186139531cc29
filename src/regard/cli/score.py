"""`regard score`: how likely a model finds given text."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import DecodingChanges, Device, JsonFile, ModelFolder, PairsOrSplit, PerToken, Split, To
from regard.cli.caching import Cache, Share, Theta, cache_of
from regard.cli.corpus import part_of, warn_if_swapped
from regard.cli.json_files import write_json
from regard.cli.progress import progress_of
from regard.errors import UsageError, one_of

if TYPE_CHECKING:
    from regard.recipe import HeldOut
    from regard.tasks import Scored, ScoredText, Writer

CONTEXTS = ("stream", "documents", "lines")
MANY = 0.2
"""Share of unknown tokens above which a text seems to be of another kind than the training text."""


TextFiles = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FILES", help="Text. (default: the model's own test text)", show_default=False),
]
Context = Annotated[
    str | None,
    typer.Option(help="What a word may depend on: stream, documents, or lines. (default: the recipe's)"),
]
Rows = Annotated[
    int, typer.Option(help="Number of stretches read in parallel; more are faster, but each lacks its past.")
]


def score_pairs(
    model: ModelFolder,
    files: PairsOrSplit = None,
    per_token: PerToken = False,
    split: Split = None,
    json: JsonFile = None,
    settings: DecodingChanges = None,
    to: To = None,
    device: Device = "auto",
) -> None:
    """Score given translations with a translator: the log-probability of each (the sum over its tokens), and the
    perplexity of all on standard error. With --per-token, a second column has the log-probability of every token.

    [bold]Examples[/bold]

      regard score runs/mine test.de test.en --per-token

      regard score runs/mine test.tsv --json scores.json

      regard score runs/mine --split dev
    """
    from regard.cli.corpus import pieces_of
    from regard.cli.evaluate import check_files, check_pairs, held_out, tagged
    from regard.tasks import load_translator
    from regard.tasks.evaluation import scored

    check_files(None, json, None)
    check_pairs(files or [])
    part = part_of(split, files or [])
    translator = load_translator(model, device=device, changes=settings or [])
    translator.into(to)  # refuses an unknown tag
    count, total, rows = 0, 0.0, list[dict[str, object]]()
    for number, pairs in enumerate(pieces_of(files) if files else [held_out(translator, part, [])]):
        if files and not number:
            warn_if_swapped(translator, pairs)
        for row in scored(translator, tagged(pairs, to, bool(files))):
            typer.echo("\t".join(columns_of(row, per_token)))
            count += len(row.tokens)
            total += row.log_prob
            if json is not None:
                each = {"tokens": row.tokens, "log_probs": row.log_probs} if per_token else {}
                rows.append({"log_prob": row.log_prob, **each})
    perplexity = math.exp(-total / count) if count else None
    if perplexity is not None:
        typer.echo(f"perplexity {perplexity:.4f} per target token, end of sentence included ({count} tokens)", err=True)
    if json is not None:
        write_json(json, {"model": str(model), "perplexity": perplexity, "tokens": count, "pairs": rows})


def score_text(
    model: ModelFolder,
    files: TextFiles = None,
    per_token: PerToken = False,
    split: Split = None,
    context: Context = None,
    rows: Rows = 1,
    cache: Cache = 0,
    cache_theta: Theta = None,
    cache_share: Share = None,
    json: JsonFile = None,
    settings: DecodingChanges = None,
    device: Device = "auto",
) -> None:
    """Score a text with a language model: perplexity per token and per word, and bits per character, each with its
    signature.

    With --per-token, print one line per token (its line, the token, its surprisal in bits), and the scores on standard
    error.

    [bold]Examples[/bold]

      regard score runs/lstm ptb.test.txt

      regard score runs/lstm ptb.test.txt --cache 500

      regard score runs/lstm new.txt --context lines --per-token > surprisal.tsv
    """
    from regard.cli.evaluate import check_files
    from regard.tasks import load_writer

    check_files(None, json, None)
    part = part_of(split, files or [])
    if context is not None and context not in CONTEXTS:
        raise UsageError(f"--context {context!r} is not known; known are {one_of(CONTEXTS, context)}")
    if rows < 1:
        raise UsageError(f"--rows {rows}: a text is read in at least one")
    how = cache_of(cache, cache_theta, cache_share)
    writer = load_writer(model, device=device, changes=settings or [])
    if cache:
        writer = writer.with_cache(cache, **how)
    found = _scored(writer, files or [], part, context, rows)
    _tell(found, per_token)
    if json is not None:
        write_json(json, {"model": str(model), **_as_json(found, per_token)})


def _tell(scored: "ScoredText", tokens: bool) -> None:
    """Prints the scores of a text, with a warning if much of it is unknown."""
    found = scored.likelihood
    if found.unknown > MANY * found.tokens:
        share = f"{100 * found.unknown / found.tokens:.0f} % of the tokens"
        typer.echo(f"{share} are unknown to this model: is this text written as its training text was?", err=True)
    if tokens:
        for line, token, bits in scored.surprisals():
            typer.echo(f"{line}\t{token}\t{bits:.4f}")
    for each in scored.scores:
        typer.echo(str(each), err=tokens)


def _scored(writer: "Writer", files: list[Path], split: "HeldOut", context: str | None, rows: int) -> "ScoredText":
    from regard.cli.corpus import read_as_it_is
    from regard.data.text import Text
    from regard.recipe import LanguageData, change_section

    data: LanguageData = writer.recipe.data
    if files:
        named = [str(path) for path in files]
        data = change_section(data, {"corpus": "files", "train": named, "dev": [], "test": named})
    text = Text(split, data)
    if not text.is_there:
        raise UsageError(f"the model's recipe names no {split} text (data.{split}); name the files to score")
    with read_as_it_is(), progress_of("tokens") as show:
        return writer.score_text(text, context=context, rows=rows, on_progress=show)


def _as_json(scored: "ScoredText", tokens: bool) -> dict[str, object]:
    content: dict[str, object] = {
        "scores": [asdict(found) for found in scored.scores],
        "likelihood": asdict(scored.likelihood),
    }
    if tokens:
        rows = scored.surprisals()
        content["tokens"] = [{"line": line, "token": token, "bits": bits} for line, token, bits in rows]
    return content


def columns_of(row: "Scored", tokens: bool) -> list[str]:
    whole = f"{row.log_prob:.4f}"
    each = (f"{token}={value:.4f}" for token, value in zip(row.tokens, row.log_probs, strict=True))
    return [whole, " ".join(each)] if tokens else [whole]
