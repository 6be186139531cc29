"""Settings of aligners, tried one at a time and judged on development text alone.

    python benchmarks/alignment_choice.py --work work --system regard --out alignment_choice.json
    python benchmarks/alignment_choice.py --work work --system eflomal --out alignment_choice_eflomal.json

It takes the texts of `alignment.py prepare`: those of nine languages, and 10,000 pairs of English–Spanish, without the
sentences of the test part, whose links are not opened and whose text is not trained on. Error rates are means over the
ten languages. Each setting is run once, though eflomal is random: a few thousandths of its rates mean nothing. Both
have their default settings except for the one named; eflomal's links are symmetrized by the method that is best for it.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any, get_args

from aligners import METHODS, Eflomal, Links, lines, read_links
from alignment import LANGUAGES, PARTS, counts, error_rate
from conditions import conditions

from regard.inspect import Joining
from regard.inspect.symmetrization import Symmetrization
from regard.models.alignment.learning import learn
from regard.models.alignment.word_pairs import ParallelText
from regard.recipe import parse_recipe
from regard.recipe.alignment import AlignmentRecipe
from regard.tasks.aligned_words import words_of
from regard.tasks.word_aligner import BY_PROBABILITY, WordAligner

TEXTS = (*LANGUAGES, "es-10000")
OURS: Mapping[str, Sequence[float]] = {
    "stem": (0, 3, 5),
    "stem_share": (0.6, 0.9),
    "spelling": (0.0, 0.15, 0.45),
    "sharpness": (1.0, 1.25, 2.0),
    "strength": (1.5, 6.0),
    "alone": (0.02, 0.1),
    "word_rounds": (2, 6),
    "order_rounds": (3, 8),
}
THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
THEIRS: Mapping[str, tuple[str, ...]] = {
    "as it is": (),
    "--model 2": ("--model", "2"),
    "--length 2": ("--length", "2"),
    "--n-samplers 6": ("--n-samplers", "6"),
    "--null-prior 0.1": ("--null-prior", "0.1"),
    "--source-prefix 4 --target-prefix 4": ("--source-prefix", "4", "--target-prefix", "4"),
}


@dataclass(frozen=True)
class DevText:
    """A text whose first pairs have true links, without the test part."""

    name: str
    source: list[str]
    target: list[str]
    gold: list[Links]

    @classmethod
    def of(cls, work: Path, name: str) -> "DevText":
        language = name.split("-")[0]
        # Of the links of the test part, only the number of lines is read.
        dev, test = (len(lines(work / f"{language}.{part}.links")) for part in PARTS)
        sides = [lines(work / f"{name}.{side}") for side in ("source", "target")]
        kept = [side[:dev] + side[dev + test :] for side in sides]
        return cls(name, *kept, read_links(work / f"{language}.dev.links", dev))

    def rate(self, found: Sequence[Links]) -> float:
        return error_rate(counts(list(found[: len(self.gold)]), self.gold))


def by_regard(changes: Mapping[str, Any], text: DevText) -> dict[str, float]:
    """The error rate of each symmetrization; by probability, with each threshold."""
    plain = {"task": "alignment", "data": {"train": ["not", "read"]}, "model": {"kind": "hmm", **changes}}
    recipe = parse_recipe(plain, kind=AlignmentRecipe)
    words = [[words_of(line, recipe.data) for line in side] for side in (text.source, text.target)]
    aligner = WordAligner(recipe, learn(ParallelText.of(*words), recipe.model))
    count = len(text.gold)
    alignments = list(aligner.alignments(text.source[:count], text.target[:count]))
    joinings = [Joining(BY_PROBABILITY.method, least) for least in THRESHOLDS]
    if not changes:
        joinings += [Joining(method) for method in get_args(Symmetrization) if method != BY_PROBABILITY.method]
    return {_told(joining): text.rate([each.links(joining) for each in alignments]) for joining in joinings}


def _told(joining: Joining) -> str:
    return f"{joining.method} {joining.least}" if joining.method == BY_PROBABILITY.method else joining.method


def by_eflomal(options: Sequence[str], text: DevText) -> dict[str, float]:
    """The error rate of each symmetrization."""
    with TemporaryDirectory() as folder:
        work = Path(folder)
        for side, told in (("source", text.source), ("target", text.target)):
            (work / f"{text.name}.{side}").write_text("".join(f"{line}\n" for line in told), "utf-8")
        Eflomal(tuple(options)).run(work, text.name, "found")
        return {method: text.rate(links) for method, links in Eflomal().links(work, "found", len(text.gold)).items()}


Rates = list[dict[str, float]]
"""Error rates of each text, by symmetrization."""


def rows_of_regard(begin: Callable[..., Callable[[], Rates]]) -> Iterator[tuple[str, Any, list[float]]]:
    """First the default settings, with every symmetrization."""
    usual = _told(BY_PROBABILITY)
    begun = {("as it is", usual): begin(by_regard, {})}
    begun |= {(name, value): begin(by_regard, {name: value}) for name, values in OURS.items() for value in values}
    for (name, value), found in begun.items():
        yield name, value, [each[usual] for each in found()]
        if name == "as it is":
            every = found()
            yield from (("joined", way, [each[way] for each in every]) for way in every[0] if way != usual)


def rows_of_eflomal(begin: Callable[..., Callable[[], Rates]]) -> Iterator[tuple[str, Any, list[float]]]:
    """With the default options and every symmetrization, and with others; the same symmetrization for all texts."""
    begun = {name: begin(by_eflomal, options) for name, options in THEIRS.items()}
    for name, found in begun.items():
        ways = {method: [each[method] for each in found()] for method in METHODS}
        best, *others = sorted(ways, key=lambda method: mean(ways[method]))
        yield name, best, ways[best]
        if name == "as it is":
            yield from (("joined", method, ways[method]) for method in others)


def row(setting: str, value: Any, rates: Sequence[float], texts: Sequence[DevText]) -> dict[str, Any]:
    each = {text.name: round(rate, 4) for text, rate in zip(texts, rates, strict=True)}
    return {"setting": setting, "value": value, "dev": round(mean(rates), 4), "each": each}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of `alignment.py prepare`")
    parser.add_argument("--system", choices=("regard", "eflomal"), default="regard")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    texts = [DevText.of(given.work, name) for name in TEXTS]
    record = conditions(("regard", "numpy", "numba", "eflomal"))
    with ProcessPoolExecutor(given.processes) as pool:

        def begin(system: Callable[..., Any], settings: Any) -> Callable[[], Rates]:
            futures = [pool.submit(system, settings, text) for text in texts]
            return lambda: [future.result() for future in futures]

        figures = []
        for setting, value, rates in (rows_of_regard if given.system == "regard" else rows_of_eflomal)(begin):
            figures.append(row(setting, value, rates, texts))
            print(setting, value, figures[-1]["dev"], flush=True)
            # After each, so that one that is stopped has told what it found.
            given.out.write_text(json.dumps(record | {"figures": figures}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
