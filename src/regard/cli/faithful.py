"""`regard faithful`: whether attention explains what a model says of the texts of a file."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.arguments import Device, JsonFile, ModelFolder, To, refuse_less_than_one
from regard.cli.lines import pieces_of_lines
from regard.cli.repeat import INTERRUPTED
from regard.errors import DataError, RegardError, UsageError, counted

if TYPE_CHECKING:
    from regard.inspect import Outputs
    from regard.inspect.faithful import Faithfulness
    from regard.tasks.trained import Explainable

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Texts, one per line; for a translator, a second file may have their translations. (default: its own)",
        show_default=False,
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(
        help="Name of the layer's tap. (default: the attention on which outputs are based)", show_default=False
    ),
]
OneHead = Annotated[
    int | None, typer.Option(help="One head of attention, from 0. (default: all of the layer)", show_default=False)
]
Position = Annotated[
    str,
    typer.Option(help="Which output of each text: random, last, every, or a number from 0 (-1 is the last)."),
]
Examples = Annotated[int, typer.Option(help="Number of texts to draw from the files; 0 for all.")]
Limit = Annotated[float, typer.Option(help="Total variation up to which an output counts as unchanged.")]
Out = Annotated[
    Path | None,
    typer.Option("-o", "--out", help="Draw a picture: a .png, .svg, or .pdf file.", show_default=False),
]


def faithful(
    model: ModelFolder,
    files: Files,
    layer: Layer = None,
    head: OneHead = None,
    position: Position = "random",
    examples: Examples = 20,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 1,
    limit: Limit = 0.01,
    json: JsonFile = None,
    out: Out = None,
    to: To = None,
    device: Device = "auto",
) -> None:
    """Test whether attention explains the outputs of a model: how different weights can be that leave an output
    unchanged (Jain and Wallace 2019), how uniform and permuted weights affect it, how much it loses without the words
    with the most attention and without random words, and how the weights agree with gradients and leave-one-out.

    [bold]Examples[/bold]

      regard faithful runs/dates-language test.txt

      regard faithful runs/mine test.de test.en --examples 100 -o faithful.png --json faithful.json

      regard faithful runs/mine test.de --layer decoder.layers.0.cross.weights --head 3 --position last
    """
    from regard.cli.evaluate import check_files
    from regard.cli.json_files import write_json
    from regard.cli.table import table
    from regard.inspect import check_picture_name
    from regard.inspect.faithful_summary import FaithfulnessSummary
    from regard.tasks import load

    check_files(None, json, out)
    if out is not None:
        check_picture_name(out)
    _check(position, limit)
    refuse_less_than_one({"--examples": examples or None})
    texts = list(_texts(files))
    trained = load(model, device=device)
    if not hasattr(trained, "outputs"):
        raise UsageError(f"{model}: models of task {trained.recipe.task!r} do not give their outputs to explain them")
    if to is not None:
        if not hasattr(trained, "into"):
            raise UsageError(f"--to {to}: this model does not write several languages; leave --to out")
        trained = trained.into(to)
    run = _Run(trained, position, seed, {"layer": layer, "head": head, "limit": limit})
    chosen = run.drawn(texts, examples)
    stopped = run.over(chosen)
    for place, reason in run.skipped:
        typer.echo(f"{place}: {reason}; left out", err=True)
    if not run.found:
        raise DataError(f"{files[0]}: none of {counted(len(chosen), 'text')} can be explained; see above")
    summary = FaithfulnessSummary([found for _, found in run.found])
    for line in table(summary.rows()):
        typer.echo(line)
    typer.echo(f"\n{summary.sentence}")
    drawn = f"{len(chosen):,} of {counted(len(texts), 'text')}, drawn with seed {seed}"
    typer.echo(drawn if len(chosen) < len(texts) else f"all {counted(len(texts), 'text')}; seed {seed}", err=True)
    if out is not None:
        summary.save(out)
        typer.echo(out, err=True)
    if json is not None:
        conditions = {"model": str(model), "files": [str(file) for file in files], "texts": len(texts), "seed": seed}
        conditions |= {"position": position, "layer": layer, "head": head, "limit": limit, "stopped": stopped}
        write_json(json, conditions | summary.plain() | {"examples": run.plain(), "skipped": run.skipped})
    if stopped:
        typer.echo(f"stopped after {len(run.found)} outputs; the numbers are those of these", err=True)
        raise typer.Exit(INTERRUPTED)


@dataclass(frozen=True)
class _Text:
    """A text, or one with its translation, and its place for messages."""

    parts: tuple[str, ...]
    place: str


class _Run:
    """The explanations of texts, one after another."""

    def __init__(self, trained: "Explainable", position: str, seed: int, options: dict[str, Any]) -> None:
        self._trained, self._position, self._seed, self._options = trained, position, seed, options
        self.found: list[tuple[str, Faithfulness]] = []
        self.skipped: list[tuple[str, str]] = []

    def drawn(self, texts: Sequence[_Text], examples: int) -> list[_Text]:
        """A random sample of the texts, in their order."""
        import numpy as np

        if not examples or examples >= len(texts):
            return list(texts)
        places = np.random.default_rng(self._seed).choice(len(texts), examples, replace=False)
        return [texts[place] for place in sorted(places.tolist())]

    def over(self, texts: Sequence[_Text]) -> bool:
        """Explains outputs of each text; returns whether it was stopped by Ctrl-C."""
        from regard.cli.progress import progress_of

        with progress_of("explaining") as on_progress:
            try:
                for done, text in enumerate(texts):
                    on_progress(done, len(texts))
                    self._explain(text, done)
            except KeyboardInterrupt:
                return True
        return False

    def _explain(self, text: _Text, number: int) -> None:
        from regard.inspect.faithful import faithfulness

        try:
            outputs = self._trained.outputs(*text.parts)
            places = self._places(outputs, number)
        except RegardError as error:
            self.skipped.append((text.place, str(error)))
            return
        for place in places:
            try:
                self.found.append((text.place, faithfulness(outputs, place, seed=self._seed, **self._options)))
            except DataError as error:
                self.skipped.append((f"{text.place}, output {place}", str(error)))

    def _places(self, outputs: "Outputs", number: int) -> list[int]:
        import numpy as np

        if self._position == "random":
            return [int(np.random.default_rng((self._seed, number)).integers(len(outputs)))]
        if self._position == "every":
            return list(range(len(outputs)))
        return [outputs.place(-1 if self._position == "last" else int(self._position))]

    def plain(self) -> list[dict[str, Any]]:
        """Every example as plain data for JSON."""
        return [
            {"place": place, "output": found.title, "sentence": found.sentence}
            | _numbers({"divergence": found.divergence})
            | {name: _numbers(getattr(found, name)) for name in ("variations", "drops", "correlations")}
            for place, found in self.found
        ]


def _numbers(values: dict[str, float]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in values.items()}


def _check(position: str, limit: float) -> None:
    if position not in ("random", "last", "every") and not re.fullmatch(r"-?\d+", position):
        raise UsageError(f"--position {position!r}: give random, last, every, or a number from 0")
    if not 0 < limit < 1:
        raise UsageError(f"--limit {limit}: total variation is between 0 and 1; give a number between them")


def _texts(files: Sequence[Path]) -> Iterator[_Text]:
    """The texts of a file, or its lines with those of a second file."""
    if len(files) > 2:
        raise UsageError(f"{len(files)} files: give one of texts, or for a translator a second of their translations")
    first, *others = ([line for piece in pieces_of_lines([file], "") for line in piece] for file in files)
    for second in others:
        if len(second) != len(first):
            raise DataError(
                f"{files[0]} has {counted(len(first), 'line')} and {files[1]} has {counted(len(second), 'line')}; "
                "line i of one must be the translation of line i of the other"
            )
    found = [_Text(tuple(line.text for line in lines), lines[0].place) for lines in zip(first, *others, strict=True)]
    some = [text for text in found if text.parts[0].strip()]
    if not some:
        raise DataError(f"{files[0]}: there is no text in it; give one a line")
    yield from some
