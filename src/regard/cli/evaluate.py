"""`regard evaluate`: how good a model is, every number with its signature."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import (
    Against,
    Beam,
    DecodingChanges,
    Device,
    Ensemble,
    JsonFile,
    ModelFolder,
    PairsOrSplit,
    Split,
    To,
    refuse_less_than_one,
)
from regard.cli.corpus import part_of, warn_if_swapped
from regard.cli.eager_notice import told_if_eager
from regard.cli.json_files import write_json
from regard.cli.translate import one_line
from regard.errors import DataError, UsageError, counted

if TYPE_CHECKING:
    from regard.cli.scores import Told
    from regard.data import Pair
    from regard.recipe import HeldOut
    from regard.tasks.evaluation import Evaluation
    from regard.tasks.translator import Translator


Intervals = Annotated[bool, typer.Option("--intervals", help="Add 95 % bootstrap confidence intervals over lines.")]
ByLength = Annotated[
    Path | None, typer.Option(help="Plot quality against the length of the source: a .png, .svg, or .pdf file.")
]
BleuTokenizer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="sacreBLEU's tokenizer for BLEU: 13a, intl, char, zh, ja-mecab, ko-mecab, or none. (default: the "
        "recipe's, or else by the script of the references)",
        show_default=False,
    ),
]
Out = Annotated[Path | None, typer.Option("-o", "--out", help="File for the outputs, line for line.")]


def evaluate(
    model: ModelFolder,
    data: PairsOrSplit = None,
    split: Split = None,
    beam: Beam = None,
    intervals: Intervals = False,
    against: Against = None,
    by_length: ByLength = None,
    bleu_tokenizer: BleuTokenizer = None,
    json: JsonFile = None,
    out: Out = None,
    settings: DecodingChanges = None,
    ensemble: Ensemble = None,
    to: To = None,
    device: Device = "auto",
) -> None:
    """Translate held-out text and score the outputs: exact match, BLEU, chrF, and TER, each with its signature; in
    total and, if the lengths differ enough, by the number of source words. A model to compare with (--against) decodes
    with --beam if it is given, and otherwise by its own recipe.

    [bold]Examples[/bold]

      regard evaluate runs/mine

      regard evaluate runs/mine test.de test.en --intervals -o test.out

      regard evaluate runs/mine --against runs/other

      regard evaluate runs/mine --against other.out --by-length lengths.png --json scores.json

      regard evaluate runs/a --ensemble runs/b --against runs/a
    """
    from regard.cli.progress import progress_of
    from regard.tasks import load_translator
    from regard.tasks.evaluation import evaluate as evaluate_on

    check_files(out, json, by_length)
    check_pairs(data or [])
    part = part_of(split, data or [])
    refuse_less_than_one({"--beam": beam})
    changes = [] if beam is None else ["decode.method=beam", f"decode.beam={beam}"]
    folders = [model, *(ensemble or [])]
    judged_by = [] if bleu_tokenizer is None else [f"evaluation.bleu_tokenizer={bleu_tokenizer}"]
    translator = load_translator(*folders, device=device, changes=[*changes, *judged_by, *(settings or [])])
    translator.into(to)  # refuses an unknown tag
    pairs = tagged(held_out(translator, part, data or []), to, bool(data))
    if data:
        warn_if_swapped(translator, pairs)
    if not any(pair.links for pair in pairs):  # with which the attention is compared
        translator.only_writing()
    others = None if against is None else outputs_of(against, pairs, device, changes)
    with told_if_eager(translator.why_eager), progress_of("translating") as on_progress:
        result = evaluate_on(translator, pairs, intervals=intervals, on_progress=on_progress)
    name = " + ".join(map(str, folders))
    tokenizer = translator.recipe.evaluation.bleu_tokenizer
    told = judged(name, result, pairs, against, others, tokenizer, margins=intervals or by_length is not None)
    for line in told.lines():
        typer.echo(line)
    if out is not None:
        write_text(out, "".join(one_line(output) + "\n" for output in result.outputs))
    if json is not None:
        write_json(json, told.as_json(translator, data or [], part))
    if by_length is not None:
        told.draw_lengths(by_length)


def check_files(out: Path | None, json: Path | None, picture: Path | None) -> None:
    """Refuses names of files that cannot be written, before minutes are spent on their content."""
    from regard.inspect import check_picture_name

    named: dict[Path, str] = {}
    for option, path in {"--out": out, "--json": json, "--by-length": picture}.items():
        if path is None:
            continue
        if other := named.get(path.absolute()):
            raise UsageError(f"{path}: {other} and {option} name the same file; give each a file of its own")
        named[path.absolute()] = option
        if path.is_dir():
            raise UsageError(f"{path}: this is a folder; name a file in it")
        if not path.parent.is_dir():
            raise UsageError(f"{path}: there is no folder {path.parent}; make it first, or choose one that exists")
        if option == "--json" and path.suffix.lower() != ".json":
            raise UsageError(f"--json {path}: give the name of a file to write that ends in .json")
        _try_to_write(path)
    if picture is not None:
        check_picture_name(picture)


def _try_to_write(path: Path) -> None:
    """Refuses a file that cannot be written; an existing one keeps its content."""
    is_new = not path.exists()
    try:
        with open(path, "ab"):
            pass
    except OSError as error:
        raise _cannot_write(path, error) from None
    if is_new:
        path.unlink()


def _cannot_write(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path}: cannot be written ({error.strerror}); choose another file")


def check_pairs(files: Sequence[str]) -> None:
    """Refuses files that cannot hold sentence pairs; its messages speak of arguments, not of a recipe."""
    from regard.cli.lines import STANDARD_INPUT
    from regard.recipe import built_in_recipes

    if len(files) > 2:
        raise UsageError(
            f"{', '.join(files)}: are {len(files)} files; give two (source, target), or one .tsv or .jsonl"
        )
    if STANDARD_INPUT in files:
        if len(files) > 1:
            raise UsageError("-: standard input has both sides of a pair, with a tab between them; name it alone")
        return
    both_sides = (".tsv", ".jsonl", ".toml")
    if len(files) == 1 and not files[0].removesuffix(".gz").endswith(both_sides) and files[0] not in built_in_recipes():
        raise UsageError(
            f"{files[0]}: is one side of pairs, by its name; name the file of the target after it, or give one file of "
            "both sides that ends in .tsv or .jsonl"
        )


def write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _cannot_write(path, error) from None


def held_out(translator: "Translator", split: "HeldOut", files: list[str]) -> "list[Pair]":
    """The pairs of the named files, or else of a split of the corpus that the model was trained on."""
    from regard.cli.corpus import pairs_of, read_as_it_is
    from regard.tasks.evaluation import split_of

    with read_as_it_is():
        return pairs_of(files) if files else split_of(translator.recipe, split)


def tagged(pairs: "list[Pair]", to: str | None, from_files: bool) -> "list[Pair]":
    """The pairs to translate into a language: all that files have, or those with its tag in the model's own corpus."""
    if to is None:
        return pairs
    return [replace(pair, tag=to) for pair in pairs if from_files or pair.tag == to]


def outputs_of(system: str, pairs: "list[Pair]", device: str, changes: list[str]) -> list[str]:
    """Another system's outputs for the sources: the lines of a file, or the translations of a model."""
    from regard.cli.progress import progress_of
    from regard.disk import read_lines
    from regard.tasks import load_translator
    from regard.tasks.evaluation import translated

    if Path(system).is_dir():
        other = load_translator(system, device=device, changes=changes).only_writing()
        with progress_of(f"translating with {system}") as on_progress:
            return translated(other, pairs, on_progress)
    lines = read_lines(Path(system))
    if len(lines) != len(pairs):
        raise DataError(
            f"{system}: {counted(len(lines), 'line')} for {counted(len(pairs), 'sentence pair')}; give what the other "
            "system made of the same sources, line for line, or the folder of its model"
        )
    return lines


def judged(
    model: str,
    result: "Evaluation",
    pairs: "list[Pair]",
    against: str | None,
    others: list[str] | None,
    tokenizer: str,
    *,
    margins: bool,
) -> "Told":
    """An evaluation with the quality by length and, if there is another system, the comparison."""
    from regard.cli.scores import Rival, Told
    from regard.metrics import compare, quality_by_length
    from regard.metrics.resampling import RESAMPLES

    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    resamples = RESAMPLES if margins else 0
    by_length = quality_by_length(sources, result.outputs, references, resamples, tokenizer)
    if against is None or others is None:
        return Told(model, result, by_length)
    its_lengths = quality_by_length(sources, others, references, resamples, tokenizer)
    comparisons = compare(result.outputs, others, references, tokenizer)
    return Told(model, result, by_length, Rival(against, comparisons, its_lengths))
