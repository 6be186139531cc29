"""Arguments that several commands take, described once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from regard.errors import UsageError, nearest, one_of


def existing(model: Path) -> Path:
    """Refuses a missing folder before other errors in the arguments, of which it is often the cause."""
    if not model.exists():
        from regard.checkpoint import ModelFolder as Folder

        Folder(model).check_is_model()
    return model


PAIRS = "Two files (source, target), or one .tsv or .jsonl."
Pairs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILES",
        help=f"{PAIRS} (default: standard input, with a tab between source and target)",
        show_default=False,
    ),
]
PairsOrSplit = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILES", help=f"{PAIRS} (default: the model's own test text)", show_default=False),
]
Split = Annotated[str | None, typer.Option(help="Without FILES: the recipe's test or dev text. (default: test)")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write every number to this .json file, for programs.")]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Also write the probability of each label or link.")
]
Scores = Annotated[bool, typer.Option("--scores", help="Add a column with the score.")]
LeastScore = Annotated[
    float | None,
    typer.Option(
        help="Minimum score of good pairs: `align` prints these instead of links, `check` counts the others.",
        show_default=False,
    ),
]
PerToken = Annotated[bool, typer.Option("--per-token", help="Also write the probability of every token.")]
Head = Annotated[
    int | None, typer.Option(help="One head of attention, from 0. (default: their mean)", show_default=False)
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Continue a run that was stopped or killed, with the same other arguments."),
]
Seed = Annotated[int | None, typer.Option(help="Random seed. (default: the recipe's, or 1)")]
Dev = Annotated[list[str] | None, typer.Option(help="Development text; repeatable.")]
Test = Annotated[list[str] | None, typer.Option(help="Test text; repeatable.")]
ModelFolder = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="Folder of a trained model.", show_default=False, callback=existing),
]
SentenceFiles = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        help="Sentences, one per line, with spaces between words; may end in .gz. (default: standard input)",
        show_default=False,
    ),
]
RecipeName = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE", help="A recipe file, or a built-in recipe (see `regard recipes`).", show_default=False
    ),
]
Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the recipe; repeatable.")
]
Ensemble = Annotated[
    list[Path] | None,
    typer.Option(
        "--ensemble",
        metavar="MODEL",
        help="Another model for an ensemble, with the same tokenizers; repeatable.",
        show_default=False,
    ),
]
DecodingChanges = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting of the recipe, here only of [decode], such as decode.batch_tokens=1024; repeatable.",
    ),
]
Beam = Annotated[int | None, typer.Option(help="Hypotheses kept at each step. (default: the recipe's)")]
Against = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|MODEL",
        help="Another system: its outputs, line for line, or its model. Shows which is better, and how significantly.",
        show_default=False,
    ),
]
To = Annotated[
    str | None,
    typer.Option(help="Target language: a tag of a model with several (data.tags).", show_default=False),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, or mps.")]


def check_resumes(out: Path, resume: bool) -> None:
    """Refuses to resume a run that does not exist: its name is mistyped."""
    if resume and not out.exists():
        near = [f"{out.parent / name}" for name in nearest(out.name, _folders_in(out.parent))[:3]]
        there = f"; folders there are {one_of(near, str(out))}" if near else ""
        raise UsageError(f"{out}: nothing was begun here{there}; name the folder to go on with, or leave --resume out")


def _folders_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def refuse_less_than_one(given: Mapping[str, int | None]) -> None:
    """Refuses numbers below 1, by the names of their options, before a model is loaded."""
    for option, number in given.items():
        if number is not None and number < 1:
            raise UsageError(f"{option} {number}: give 1 or more")
