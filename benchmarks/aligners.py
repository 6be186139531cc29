"""The measured aligners: the commands that run each in a separate process, and the links they found.

`systran-align` is fast_align's model with its own way of making links; `python benchmarks/aligners.py SOURCE TARGET
LINKS` runs it, as it has no command.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, Protocol

from regard.inspect import symmetrize
from regard.inspect.pharaoh import parse_pharaoh, pharaoh

Links = frozenset[tuple[int, int]]
METHODS = ("intersection", "union", "grow-diag", "grow-diag-final-and")
OWN = "own"
"""The symmetrization of an aligner that does it internally."""


class System(Protocol):
    def run(self, work: Path, text: str, name: str) -> dict[str, float]:
        """Trains on a text and aligns it; returns the cost. The links are saved under the name."""

    def links(self, work: Path, name: str, first: int) -> dict[str, list[Links]]:
        """The links of the first pairs, by symmetrization."""


@dataclass(frozen=True)
class Regard:
    """Regard's aligner, with changed settings."""

    changes: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 1

    def run(self, work: Path, text: str, name: str) -> dict[str, float]:
        recipe, folder = work / f"{name}.toml", work / f"{name}.model"
        settings = "".join(f"{setting} = {json.dumps(value)}\n" for setting, value in self.changes.items())
        data = f'task = "alignment"\nseed = {self.seed}\n[data]\ntrain = ["{text}.source", "{text}.target"]\n'
        recipe.write_text(f'{data}[model]\nkind = "hmm"\n{settings}', "utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        regard = [sys.executable, "-m", "regard"]
        training = measured([*regard, "train", str(recipe), "--out", str(folder)])
        files = [str(work / f"{text}.{side}") for side in ("source", "target")]
        aligning = measured([*regard, "align", str(folder), *files], work / f"{name}.links")
        both = {cost: round(training[cost] + aligning[cost], 1) for cost in ("cpu_seconds", "seconds")}
        both["memory_mib"] = max(training["memory_mib"], aligning["memory_mib"])
        return both | {f"training_{cost}": training[cost] for cost in training}

    def links(self, work: Path, name: str, first: int) -> dict[str, list[Links]]:
        return {"by-probability": read_links(work / f"{name}.links", first)}


@dataclass(frozen=True)
class Eflomal:
    """Eflomal's own command, with these options."""

    options: tuple[str, ...] = ()

    def run(self, work: Path, text: str, name: str) -> dict[str, float]:
        found = [str(work / f"{name}.{direction}") for direction in ("forward", "backward")]
        command = shutil.which("eflomal-align") or str(Path(sys.executable).parent / "eflomal-align")
        files = ["-s", str(work / f"{text}.source"), "-t", str(work / f"{text}.target"), "-f", found[0], "-r", found[1]]
        return measured([sys.executable, command, *files, "--overwrite", *self.options])

    def links(self, work: Path, name: str, first: int) -> dict[str, list[Links]]:
        forward, backward = (read_links(work / f"{name}.{each}", first) for each in ("forward", "backward"))
        return {
            method: [symmetrize(a, b, method) for a, b in zip(forward, backward, strict=True)]  # type: ignore[arg-type]
            for method in METHODS
        }


@dataclass(frozen=True)
class FastAlign:
    """systran-align, with the settings that fast_align's authors advise (-d -o -v); it symmetrizes internally."""

    def run(self, work: Path, text: str, name: str) -> dict[str, float]:
        files = [str(work / f"{text}.{side}") for side in ("source", "target")]
        return measured([sys.executable, __file__, *files, str(work / f"{name}.links")])

    def links(self, work: Path, name: str, first: int) -> dict[str, list[Links]]:
        return {OWN: read_links(work / f"{name}.links", first)}


NO_ORDER = {"word_rounds": 9, "order_rounds": 0}
NO_PRIORS = {"stem": 0, "spelling": 0.0}
SYSTEMS: dict[str, System] = {
    "regard": Regard(),
    "eflomal": Eflomal(),
    "fast_align": FastAlign(),
    "words alone": Regard(NO_ORDER | NO_PRIORS),
    "without word order": Regard(NO_ORDER),
    "without stems": Regard({"stem": 0}),
    "without spelling": Regard({"spelling": 0.0}),
}
"""Those after fast_align are Regard's with parts left out."""


def measured(command: list[str], output: Path | None = None) -> dict[str, float]:
    """CPU and wall-clock seconds of a command, and the peak memory of it or a child process."""
    begun = time.perf_counter()
    with (output or Path(os.devnull)).open("w") as written, TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=written, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        seconds, process.returncode = time.perf_counter() - begun, os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise SystemExit(f"{command}: {errors.read()}")
    cpu = used.ru_utime + used.ru_stime
    return {"cpu_seconds": round(cpu, 1), "seconds": round(seconds, 1), "memory_mib": round(used.ru_maxrss / 1024)}


def lines(path: str | Path) -> list[str]:
    return Path(path).read_text("utf-8").splitlines()


def read_links(path: Path, first: int) -> list[Links]:
    return [parse_pharaoh(line, str(path)) for line in lines(path)[:first]]


def fast_align(source: str, target: str, links: str) -> None:
    from systran_align import Aligner, generate_alignment_probabilities

    texts = lines(source), lines(target)
    with TemporaryDirectory() as folder:
        pairs, *tables = (str(Path(folder) / name) for name in ("pairs", "forward", "backward"))
        Path(pairs).write_text("".join(f"{a} ||| {b}\n" for a, b in zip(*texts, strict=True)), "utf-8")
        advised = {"favor_diagonal": True, "optimize_tension": True, "variational_bayes": True}
        generate_alignment_probabilities(pairs, *tables, **advised)
        aligner = Aligner(*tables)
        with Path(links).open("w") as file:
            for a, b in zip(*texts, strict=True):
                print(pharaoh(aligner.align(a.split(), b.split())["alignments"]), file=file)


if __name__ == "__main__":
    fast_align(*sys.argv[1:])
