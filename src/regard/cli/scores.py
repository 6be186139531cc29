"""How an evaluation is reported: lines of text, or JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.table import table

if TYPE_CHECKING:
    from regard.metrics import Comparison, LengthQuality, MetricScore
    from regard.tasks.evaluation import Evaluation
    from regard.tasks.translator import Translator


@dataclass(frozen=True)
class Rival:
    """Another system on the same text."""

    name: str
    """The file of its outputs, or the folder of its model."""
    comparisons: "tuple[Comparison, ...]"
    by_length: "tuple[LengthQuality, ...]"


@dataclass(frozen=True)
class Told:
    """The report on one model on one text."""

    model: str
    result: "Evaluation"
    by_length: "tuple[LengthQuality, ...]"
    rival: Rival | None = None

    def lines(self) -> Iterator[str]:
        """The report as lines of text."""
        result = self.result
        yield from map(str, (*result.scores, *([result.alignment] if result.alignment else [])))
        if result.by_language:
            yield f"accuracy by language: {', '.join(result.languages())}"
        if self.rival is not None:
            yield from ["", f"against {self.rival.name}, on the same {len(result.outputs):,} lines:"]
            for found in self.rival.comparisons:
                yield from [f"  {found.numbers()}", f"    {found.verdict()}", f"    ({found.signature})"]
        # One bucket would only repeat the scores above.
        if len(self.by_length) > 1:
            yield from ["", *length_table(self.by_length, self.rival.by_length if self.rival else None)]

    def draw_lengths(self, path: Path) -> None:
        """Quality by length as a picture."""
        from regard.inspect import save_lengths

        systems = {self.model: self.by_length}
        if self.rival is not None:
            systems[self.rival.name if self.rival.name != self.model else f"{self.model} again"] = self.rival.by_length
        save_lengths(systems, path)

    def as_json(self, translator: "Translator", data: Sequence[str], split: str) -> dict[str, Any]:
        """For programs: every number, and everything needed to reproduce it."""
        from regard.tasks.evaluation import versions

        result, rival = self.result, self.rival
        recipe = translator.recipe
        content: dict[str, Any] = {
            "versions": versions(),
            "model": self.model,
            "recipe_seed": recipe.seed,
            "decode": recipe.decode.model_dump(),
            "data": {
                "corpus": "files" if data else recipe.data.corpus,
                "files": list(data) or getattr(recipe.data, split),
                "split": None if data else split,
                "lines": len(result.outputs),
            },
            "scores": [*map(asdict, result.scores)],
            "alignment": asdict(result.alignment) if result.alignment else None,
            "accuracy_by_language": {language: asdict(score) for language, score in result.by_language.items()},
            "by_length": [*map(asdict, self.by_length)],
            "against": None,
        }
        if rival is not None:
            content["against"] = {
                "system": rival.name,
                "comparisons": [asdict(found) | {"difference": found.difference} for found in rival.comparisons],
                "by_length": [*map(asdict, rival.by_length)],
            }
        return content


def length_table(ours: "Sequence[LengthQuality]", theirs: "Sequence[LengthQuality] | None" = None) -> list[str]:
    """Quality by length, next to that of another system on the same text, if there is one."""
    names = [ours[0].bleu.name, ours[0].chrf.name]
    rows = [[f"{ours[0].unit} of the source", "lines", *names, *(f"other's {name}" for name in names if theirs)]]
    for place, quality in enumerate(ours):
        scores = [quality.bleu, quality.chrf, *([theirs[place].bleu, theirs[place].chrf] if theirs else [])]
        rows.append([quality.label, f"{quality.lines:,}", *map(_short, scores)])
    return table(rows)


def _short(score: "MetricScore") -> str:
    return f"{score.value:.1f}" + ("" if score.margin is None else f" ± {score.margin:.1f}")
