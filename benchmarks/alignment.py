"""Aligners side by side: Regard's, eflomal and fast_align on the same text, by error rates and seconds.

    pip install eflomal sacremoses systran-align
    python benchmarks/alignment.py prepare --gold XL-WA --english europarl.en.gz --spanish europarl.es.gz --work work
    python benchmarks/alignment.py run --work work --text es-10000 --system regard eflomal --runs 1 2 3
    python benchmarks/alignment.py judge --work work --out benchmarks/results/alignment.json
    python benchmarks/alignment.py speed --work work --out benchmarks/results/alignment_new_text.json

`prepare` writes texts: `es-N` are N pairs of Europarl, tokenized to fit the gold, with the text of XL-WA's development
and test part; another language is the text of all its parts of XL-WA (dev, test, train). All is lower-cased; no links
are read. `run` trains and aligns that text, and notes the seconds of the processes; run it with OMP_NUM_THREADS=1.
`judge` chooses eflomal's symmetrization on the development part of each text, by the mean of its runs, and writes error
rates on both parts with intervals (1,000 bootstrap samples of sentences, of the mean over runs; paired for the
difference). Regard's runs have different seeds; nothing of it is random, and `judge` says whether they were equal. With
`run --system fast_align "words alone" …` and `judge --out benchmarks/results/alignment_methods.json`, other aligners
and Regard's with parts left out are compared too. `speed` takes the aligner that `run` trained on 30,000 pairs and
aligns the 30,000 that follow in the larger text, which are new to it, in one process; and it trains on 10,000 pairs:
both with nothing compiled before, and then again. `alignment_choice.py` chooses settings.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from aligners import SYSTEMS, Links, lines, read_links
from conditions import conditions

from regard import load
from regard.inspect import pharaoh
from regard.metrics.resampling import interval
from regard.tasks.word_aligner import WordAligner

LANGUAGES = ("bg", "da", "et", "hu", "it", "nl", "pt", "ru", "sl")
SIZES = (10_000, 30_000, 60_000)
PARTS = ("dev", "test")
QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "„": '"', "\u00a0": " ", "\u202f": " "})
APART = re.compile(r"(?<=\w) '(s|t|re|ve|ll|m|d)(?= |$)", re.IGNORECASE)


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


def speed(work: Path) -> list[dict[str, Any]]:
    """New text, and training, in separate processes: first with an empty compilation cache, and then again."""
    rows = []
    with TemporaryDirectory() as cache, TemporaryDirectory() as other:
        for when in ("cold", "warm"):
            os.environ["NUMBA_CACHE_DIR"] = cache
            worker = [sys.executable, __file__, "new-text", "--work", str(work)]
            found = json.loads(subprocess.run(worker, check=True, stdout=subprocess.PIPE, text=True).stdout)
            os.environ["NUMBA_CACHE_DIR"] = other
            training = SYSTEMS["regard"].run(work, "es-10000", f"es-10000.{when}")
            trained = {name: value for name, value in training.items() if name.startswith("training_")}
            rows.append({"when": when} | found | trained | {"training_pairs": len(lines(work / "es-10000.source"))})
    return rows


def new_text(work: Path) -> dict[str, Any]:
    """Pairs per second of text that an aligner was not trained on; loading and compilation are timed separately."""
    texts = [lines(work / f"es-60000.{side}")[-30_000:] for side in ("source", "target")]
    begun, begun_cpu = time.perf_counter(), time.process_time()
    aligner = load(work / "es-30000.regard.1.model")
    assert isinstance(aligner, WordAligner)
    list(aligner.alignments(*(text[:1] for text in texts)))
    ready, ready_cpu = time.perf_counter(), time.process_time()
    for start in range(0, len(texts[0]), 1000):
        some = (text[start : start + 1000] for text in texts)
        for found in aligner.alignments(*some):
            pharaoh(found.links(aligner.joining))
    seconds, cpu = time.perf_counter() - ready, time.process_time() - ready_cpu
    return {
        "pairs": len(texts[0]),
        "loading_and_compiling_seconds": round(ready - begun, 1),
        "loading_and_compiling_cpu_seconds": round(ready_cpu - begun_cpu, 1),
        "pairs_per_second": round(len(texts[0]) / seconds),
        "pairs_per_cpu_second": round(len(texts[0]) / cpu),
    }


def counts(found: list[Links], gold: list[Links]) -> np.ndarray:
    """For each sentence: links of both, and correct links, counted twice; all gold links are sure."""
    return np.array([(len(a) + len(s), 2 * len(a & s)) for a, s in zip(found, gold, strict=True)], dtype=float)


def error_rate(of_sentences: np.ndarray) -> float:
    total, right = of_sentences.sum(axis=0)
    return float(1 - right / total)


def judge(work: Path, notes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each text and system; the difference between Regard and each other system."""
    rows = []
    for text in dict.fromkeys(note["text"] for note in notes):
        language = text.split("-")[0]
        gold = {part: read_links(work / f"{language}.{part}.links", sys.maxsize) for part in PARTS}
        split = len(gold["dev"])
        of_test: dict[str, np.ndarray] = {}
        for name, system in SYSTEMS.items():
            runs = [note for note in notes if (note["text"], note["system"]) == (text, name)]
            if not runs:
                continue
            found = [system.links(work, f"{text}.{name}.{note['run']}", split + len(gold["test"])) for note in runs]
            joined = {method: [each[method] for each in found] for method in found[0]}
            of_dev = {method: mean_rate(each, gold["dev"], slice(0, split)) for method, each in joined.items()}
            method = min(of_dev, key=lambda name: of_dev[name])
            each = [counts(links[split:], gold["test"]) for links in joined[method]]
            of_test[name] = np.stack(each)
            rows.append(
                {
                    "text": text,
                    "pairs": len(lines(work / f"{text}.source")),
                    "system": name,
                    "runs": len(runs),
                    "equal": all(links == joined[method][0] for links in joined[method]),
                    "symmetrization": method,
                    "dev": round(of_dev[method], 4),
                    "test": round(mean(map(error_rate, each)), 4),
                    "test_runs": [round(error_rate(run), 4) for run in each],
                    "interval": bounds(lambda drawn, of=of_test[name]: rate(of, drawn), len(gold["test"])),
                }
                | {
                    cost: round(mean(note[cost] for note in runs), 1)
                    for cost in runs[-1]
                    if cost.endswith(("seconds", "memory_mib"))
                }
            )
        rows += [
            {"text": text, "less": name} | difference(of_test["regard"], theirs)
            for name, theirs in of_test.items()
            if name != "regard" and "regard" in of_test
        ]
    return rows


def difference(ours: np.ndarray, theirs: np.ndarray) -> dict[str, Any]:
    found = bounds(lambda drawn: rate(ours, drawn) - rate(theirs, drawn), ours.shape[1])
    return {"difference": round(rate(ours) - rate(theirs), 4), "interval": found}


def mean_rate(runs: list[list[Links]], gold: list[Links], part: slice) -> float:
    return mean(error_rate(counts(links[part], gold)) for links in runs)


def rate(runs: np.ndarray, drawn: np.ndarray | slice = slice(None)) -> float:
    """The mean over runs of the error rate on these sentences."""
    return mean(error_rate(run[drawn]) for run in runs)


def bounds(statistic: Callable[[np.ndarray], float], count: int) -> list[float]:
    return [round(bound, 4) for bound in interval(statistic, count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("prepare", "run", "judge", "speed", "new-text"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--gold", type=Path, help="folder of XL-WA: en-es.dev.tsv and so on")
    parser.add_argument("--english", type=Path, help="Europarl, .gz")
    parser.add_argument("--spanish", type=Path, help="its other side, .gz")
    parser.add_argument("--text", nargs="+", default=[f"es-{size}" for size in SIZES] + list(LANGUAGES))
    parser.add_argument("--system", nargs="+", default=["regard", "eflomal"], choices=SYSTEMS)
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
                    chosen = replace(SYSTEMS[system], seed=run) if system == "regard" else SYSTEMS[system]
                    spent = chosen.run(given.work, text, f"{text}.{system}.{run}")
                    note = {"text": text, "system": system, "run": run} | spent
                    with notes.open("a") as file:
                        print(json.dumps(note), file=file, flush=True)
                    print(note, flush=True)
    elif given.command == "new-text":
        print(json.dumps(new_text(given.work)))
    elif given.command == "speed":
        record = conditions(("regard", "numpy", "numba")) | {"figures": speed(given.work)}
        given.out.write_text(json.dumps(record, indent=1) + "\n")
    else:
        latest = {(note["text"], note["system"], note["run"]): note for note in map(json.loads, lines(notes))}
        figures = judge(given.work, list(latest.values()))
        record = conditions(("regard", "numpy", "numba", "eflomal", "sacremoses", "systran-align")) | {
            "figures": figures
        }
        given.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
