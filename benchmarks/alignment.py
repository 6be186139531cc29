"""Aligners side by side: Regard's and eflomal on the same text, by error rates and CPU seconds.

    pip install eflomal sacremoses
    python benchmarks/alignment.py prepare --gold XL-WA --english europarl.en.gz --spanish europarl.es.gz --work work
    python benchmarks/alignment.py run --work work --text es-10000 --system regard eflomal --runs 1 2 3
    python benchmarks/alignment.py judge --work work --out benchmarks/results/alignment.json
    python benchmarks/alignment.py speed --work work --out benchmarks/results/alignment_new_text.json

`prepare` writes texts: `es-N` are N pairs of Europarl, tokenized to fit the gold, with the text of XL-WA's development
and test part; another language is the text of all its parts of XL-WA (train, dev, test). All is lower-cased; no links
are read. `run` trains and aligns that text with one thread, and notes the CPU seconds of the process. `judge` chooses
eflomal's symmetrization on the development part of each text, by the mean of its runs, and writes error rates on both
parts with intervals (1,000 bootstrap samples of sentences, of the mean over runs; paired for the difference). Regard's
runs have different seeds; nothing of it is random, so they are equal. `speed` takes the aligner that `run` trained on
30,000 pairs and aligns the 30,000 that follow in the larger text, which are new to it, in one process.
"""

import argparse
import gzip
import json
import re
import resource
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from conditions import conditions

from regard import load
from regard.inspect import pharaoh, symmetrize
from regard.inspect.pharaoh import parse_pharaoh
from regard.metrics.resampling import interval
from regard.tasks.word_aligner import WordAligner

LANGUAGES = ("bg", "da", "et", "hu", "it", "nl", "pt", "ru", "sl")
SIZES = (10_000, 30_000, 60_000)
PARTS = ("dev", "test")
METHODS = ("intersection", "union", "grow-diag", "grow-diag-final-and")
QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "„": '"', "\u00a0": " ", "\u202f": " "})
APART = re.compile(r"(?<=\w) '(s|t|re|ve|ll|m|d)(?= |$)", re.IGNORECASE)

Links = frozenset[tuple[int, int]]


def folded(token: str) -> str:
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", token).lower()).replace("|||", "|") or "_"


def prepare(gold: Path, english: Path, spanish: Path, work: Path) -> None:
    """Writes TEXT.source, TEXT.target, and the links of LANGUAGE.PART."""
    work.mkdir(parents=True, exist_ok=True)
    for language in ("es", *LANGUAGES):
        rows = {
            part: [line.split("\t") for line in (gold / f"en-{language}.{part}.tsv").read_text("utf-8").splitlines()]
            for part in ("dev", "test", "train")
        }
        for part in PARTS:
            write(work / f"{language}.{part}.links", (row[2].strip() for row in rows[part]))
        own = [row[:2] for part in rows for row in rows[part] if language != "es" or part != "train"]
        pairs = [tuple(" ".join(map(folded, text.split(" "))) for text in row) for row in own]
        if language != "es":
            write_pairs(work, language, pairs)
            continue
        more = list(tokenized(english, spanish))
        for size in SIZES:
            write_pairs(work, f"es-{size}", [*pairs, *more[:size]])


def tokenized(english: Path, spanish: Path) -> Iterator[tuple[str, str]]:
    """Pairs of Europarl, split as the gold is."""
    from sacremoses import MosesTokenizer

    moses = MosesTokenizer("en"), MosesTokenizer("es")
    with gzip.open(english, "rt", encoding="utf-8") as left, gzip.open(spanish, "rt", encoding="utf-8") as right:
        for lines in islice(zip(left, right, strict=True), 2 * max(SIZES)):
            source, target = (
                " ".join(tokenizer.tokenize(line.rstrip("\n").translate(QUOTES), escape=False))
                for tokenizer, line in zip(moses, lines, strict=True)
            )
            source = re.sub(r"(?<=\d) %", "%", APART.sub(r"'\1", source))
            both = tuple(" ".join(map(folded, text.split())) for text in (source, target))
            if both[0] and both[1]:
                yield both[0], both[1]


def write(path: Path, lines: Iterator[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def write_pairs(work: Path, name: str, pairs: list[tuple[str, ...]]) -> None:
    for column, side in enumerate(("source", "target")):
        write(work / f"{name}.{side}", (pair[column] for pair in pairs))


def measured(commands: list[list[str]], output: Path | None = None) -> dict[str, float]:
    """CPU and wall-clock seconds of commands, one after the other."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for command in commands:
        written = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        if output is not None:
            output.write_text(written, "utf-8")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_seconds": round(cpu, 1), "seconds": round(time.perf_counter() - begun, 1)}


def by_regard(work: Path, text: str, run: int) -> dict[str, float]:
    """Trains on the text and aligns all of it, by the commands of the product."""
    recipe, folder = work / f"{text}.{run}.toml", work / f"{text}.regard.{run}"
    recipe.write_text(
        f'task = "alignment"\nseed = {run}\n[data]\ntrain = ["{text}.source", "{text}.target"]\n', "utf-8"
    )
    if folder.exists():
        subprocess.run(["rm", "-r", str(folder)], check=True)
    regard = [sys.executable, "-m", "regard"]
    training = measured([[*regard, "train", str(recipe), "--out", str(folder)]])
    files = [str(work / f"{text}.source"), str(work / f"{text}.target")]
    aligning = measured([[*regard, "align", str(folder), *files]], work / f"{text}.regard.{run}.links")
    return {name: round(training[name] + aligning[name], 1) for name in training} | {
        "training_cpu_seconds": training["cpu_seconds"],
        "pairs_per_cpu_second": round(len(lines(files[0])) / aligning["cpu_seconds"]),
    }


def by_eflomal(work: Path, text: str, run: int) -> dict[str, float]:
    files = [f"{work / text}.{side}" for side in ("source", "target")]
    found = [f"{work / text}.eflomal.{run}.{direction}" for direction in ("forward", "backward")]
    aligner = str(Path(sys.executable).parent / "eflomal-align")
    options = ["-s", files[0], "-t", files[1], "-f", found[0], "-r", found[1], "--model", "3", "--overwrite"]
    return measured([[aligner, *options]])


SYSTEMS: dict[str, Callable[[Path, str, int], dict[str, float]]] = {"regard": by_regard, "eflomal": by_eflomal}


def speed(work: Path) -> dict[str, Any]:
    """Pairs per second of text that an aligner was not trained on; loading it and compiling its loops apart."""
    texts = [lines(work / f"es-60000.{side}")[-30_000:] for side in ("source", "target")]
    begun = time.perf_counter()
    aligner = load(work / "es-30000.regard.1")
    assert isinstance(aligner, WordAligner)
    list(aligner.alignments(*(text[:1] for text in texts)))
    ready, cpu = time.perf_counter(), time.process_time()
    for start in range(0, len(texts[0]), 1000):
        some = (text[start : start + 1000] for text in texts)
        for found in aligner.alignments(*some):
            pharaoh(found.links(aligner.joining))
    seconds, cpu = time.perf_counter() - ready, time.process_time() - cpu
    return {
        "pairs": len(texts[0]),
        "loading_and_compiling_seconds": round(ready - begun, 1),
        "pairs_per_second": round(len(texts[0]) / seconds),
        "pairs_per_cpu_second": round(len(texts[0]) / cpu),
    }


def lines(path: str | Path) -> list[str]:
    return Path(path).read_text("utf-8").splitlines()


def read_links(path: Path, count: int) -> list[Links]:
    return [parse_pharaoh(line, str(path)) for line in lines(path)[:count]]


def counts(found: list[Links], gold: list[Links]) -> np.ndarray:
    """Of each sentence: links of both, and those that are right, twice; all links of the gold are sure."""
    return np.array([(len(a) + len(s), 2 * len(a & s)) for a, s in zip(found, gold, strict=True)], dtype=float)


def error_rate(of_sentences: np.ndarray) -> float:
    total, right = of_sentences.sum(axis=0)
    return float(1 - right / total)


def judge(work: Path, notes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each text and system."""
    rows = []
    for text in dict.fromkeys(note["text"] for note in notes):
        language = text.split("-")[0]
        gold = {part: read_links(work / f"{language}.{part}.links", sys.maxsize) for part in PARTS}
        split = len(gold["dev"])
        whole = split + len(gold["test"])
        of_test: dict[str, np.ndarray] = {}
        for system in SYSTEMS:
            runs = [note for note in notes if (note["text"], note["system"]) == (text, system)]
            if not runs:
                continue
            joined: dict[str, list[list[Links]]] = {}
            for note in runs:
                name = work / f"{text}.{system}.{note['run']}"
                if system == "regard":
                    joined.setdefault("by-probability", []).append(read_links(Path(f"{name}.links"), whole))
                    continue
                forward, backward = (read_links(Path(f"{name}.{each}"), whole) for each in ("forward", "backward"))
                for method in METHODS:
                    links = [symmetrize(a, b, method) for a, b in zip(forward, backward, strict=True)]  # type: ignore[arg-type]
                    joined.setdefault(method, []).append(links)
            of_dev = {method: mean_rate(each, gold["dev"], slice(0, split)) for method, each in joined.items()}
            method = min(of_dev, key=lambda name: of_dev[name])
            each = [counts(links[split:], gold["test"]) for links in joined[method]]
            of_test[system] = np.stack(each)
            rows.append(
                {
                    "text": text,
                    "pairs": len(lines(work / f"{text}.source")),
                    "system": system,
                    "runs": len(runs),
                    "symmetrization": method,
                    "dev": round(of_dev[method], 4),
                    "test": round(mean(map(error_rate, each)), 4),
                    "test_runs": [round(error_rate(run), 4) for run in each],
                    "interval": bounds(lambda drawn, of=of_test[system]: rate(of, drawn), len(gold["test"])),
                    "cpu_seconds": round(mean(note["cpu_seconds"] for note in runs), 1),
                }
                | {name: runs[-1][name] for name in ("pairs_per_cpu_second",) if name in runs[-1]}
            )
        if len(of_test) == len(SYSTEMS):
            ours, theirs = of_test["regard"], of_test["eflomal"]
            difference = bounds(lambda drawn, a=ours, b=theirs: rate(a, drawn) - rate(b, drawn), ours.shape[1])
            rows.append({"text": text, "difference": round(rate(ours) - rate(theirs), 4), "interval": difference})
    return rows


def mean_rate(runs: list[list[Links]], gold: list[Links], part: slice) -> float:
    return mean(error_rate(counts(links[part], gold)) for links in runs)


def rate(runs: np.ndarray, drawn: np.ndarray | slice = slice(None)) -> float:
    """The mean over runs of the error rate of these sentences."""
    return mean(error_rate(run[drawn]) for run in runs)


def bounds(statistic: Callable[[np.ndarray], float], count: int) -> list[float]:
    return [round(bound, 4) for bound in interval(statistic, count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("prepare", "run", "judge", "speed"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--gold", type=Path, help="folder of XL-WA: en-es.dev.tsv and so on")
    parser.add_argument("--english", type=Path, help="Europarl, .gz")
    parser.add_argument("--spanish", type=Path, help="its other side, .gz")
    parser.add_argument("--text", nargs="+", default=[f"es-{size}" for size in SIZES] + list(LANGUAGES))
    parser.add_argument("--system", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    notes = given.work / "runs.jsonl"
    if given.command == "prepare":
        prepare(given.gold, given.english, given.spanish, given.work)
    elif given.command == "run":
        for run in given.runs:
            for text in given.text:
                for system in given.system:
                    note = {"text": text, "system": system, "run": run} | SYSTEMS[system](given.work, text, run)
                    with notes.open("a") as file:
                        print(json.dumps(note), file=file, flush=True)
                    print(note, flush=True)
    elif given.command == "speed":
        record = conditions(("regard", "numpy", "numba")) | {"figures": speed(given.work)}
        given.out.write_text(json.dumps(record, indent=1) + "\n")
    else:
        latest = {(note["text"], note["system"], note["run"]): note for note in map(json.loads, lines(notes))}
        figures = judge(given.work, list(latest.values()))
        record = conditions(("regard", "numpy", "numba", "eflomal", "sacremoses")) | {"figures": figures}
        given.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
