"""n-gram models on a CPU, side by side: building and querying by Regard, and by KenLM's `lmplz` and Python package.

    python benchmarks/ngram.py --train ptb.train.txt --test ptb.test.txt --lmplz kenlm/build/bin/lmplz \
        --out benchmarks/results/ngram.json

Building is from a file of text, a sentence a line, to an ARPA file, with modified Kneser–Ney. Ours is measured inside
this process, warm, from reading the file on: a vocabulary of its words, counting, smoothing, writing. Its time as a
separate process, including the start of Python, is stated too. `lmplz` is measured as a process, as it is used.

Querying is scoring the lines of another file, from text to a logarithm for each line (`kenlm.Model.score`, on a binary
model of `build_binary`) or for each token (`full_scores`; ours always gives that). Ours is what `regard score` calls,
`Writer.score`. Systems take turns; the median of the rounds counts. `<unk>`, which KenLM refuses, is renamed in both.

KenLM's Python package and `build_binary` beside `lmplz` take part if they are there. Each model's file is also read and
scored by the other.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from conditions import conditions, installed

from regard.disk import read_lines
from regard.models.ngram.arpa_reading import read_arpa
from regard.models.ngram.arpa_writing import arpa_words, write_arpa
from regard.models.ngram.counting import count_ngrams
from regard.models.ngram.generator import NgramLanguageModel
from regard.models.ngram.smoothing import kneser_ney
from regard.models.ngram.table import NgramTable
from regard.recipe import LanguageRecipe, NgramModel, Tokenizer, parse_recipe
from regard.tasks import Writer
from regard.tokens import train_tokenizer
from regard.tokens.vocabulary import SPECIAL_NAMES
from regard.tokens.words import Words

RENAMED = "<unknown>"


def build(text: Path, arpa: Path, order: int, parts: dict[str, float] | None = None) -> tuple[NgramTable, Any]:
    """From text to an ARPA file; `parts` gets the seconds of each part."""
    settings = NgramModel(kind="ngram", order=order)
    marks = [time.perf_counter()]
    lines = read_lines(text)
    tokenizer = train_tokenizer(Tokenizer(kind="words", size=10_000_000), lines)
    tokens = tokenizer.encode_all(lines)
    marks.append(time.perf_counter())
    counts = count_ngrams(tokens, order, tokenizer.size, settings.memory)
    marks.append(time.perf_counter())
    table = kneser_ney(counts, settings)
    marks.append(time.perf_counter())
    write_arpa(table, arpa_words(list(tokenizer.vocabulary)), arpa)
    marks.append(time.perf_counter())
    if parts is not None:
        names = ("reading and tokens", "counting", "smoothing", "writing")
        parts.update(zip(names, np.diff(marks).round(3).tolist(), strict=True))
    return table, tokenizer


def writer_of(table: NgramTable, tokenizer: Any) -> Writer:
    """A table as a `Writer`, as in `regard score`."""
    settings = {"data": {"train": ["text"], "context": "lines"}, "tokens": {"kind": "words", "size": tokenizer.size}}
    model = {"kind": "ngram", "order": table.order}
    recipe = parse_recipe({"task": "language", **settings, "model": model, "train": {"steps": 1}}, kind=LanguageRecipe)
    return Writer(recipe, NgramLanguageModel(table), tokenizer)


def rename(path: Path, folder: Path, name: str) -> Path:
    """A copy without `<unk>`."""
    copy = folder / f"{name}.txt"
    copy.write_text(path.read_text(encoding="utf-8").replace("<unk>", RENAMED), encoding="utf-8")
    return copy


def run(command: list[str | Path]) -> tuple[float, str]:
    """Seconds and output of a process."""
    begin = time.perf_counter()
    # A shell starts it, or its peak of memory would be no less than that of this process.
    shell = ["sh", "-c", '"$@"; exit $?', "sh"]
    done = subprocess.run([*shell, *map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: ended with {done.returncode}\n{done.stderr}")
    return time.perf_counter() - begin, done.stdout + done.stderr


def memory(peak: bool) -> float:
    """Current or peak memory of this process in mebibytes."""
    name = "VmHWM:" if peak else "VmRSS:"
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def measure_building(text: Path, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Both take turns; ours is also run once as a process, for its memory."""
    ours, parts, theirs, said = [], [], [], ""
    busy: dict[str, list[float]] = {"ours": [], "theirs": []}
    for number in range(arguments.rounds):
        parts.append({})
        begin, processor = time.perf_counter(), time.process_time()
        build(text, folder / "ours.arpa", arguments.order, parts[-1])
        ours.append(time.perf_counter() - begin)
        busy["ours"].append(time.process_time() - processor)
        lmplz = [arguments.lmplz, "-o", arguments.order, "-S", "1G", "-T", f"{folder}/"]
        seconds, said = run([*lmplz, "--text", text, "--arpa", folder / "theirs.arpa"])
        theirs.append(seconds)
        busy["theirs"].append(float(re.search(r"CPU:([\d.]+)", said)[1]))
        print(f"building, round {number + 1}: ours {ours[-1]:.2f} s, lmplz {seconds:.2f} s", file=sys.stderr)
    alone = [sys.executable, __file__, "--alone", text, "--order", arguments.order, "--out", folder / "alone.arpa"]
    whole, output = run(alone)
    before, peak = map(float, output.split())
    return {
        "regard": spread(ours)
        | {
            "processor_seconds": round(median(busy["ours"]), 3),
            "parts_of_the_median": parts[ours.index(sorted(ours)[len(ours) // 2])],
            "as_a_process": round(whole, 3),
            "peak_mebibytes": round(peak),
            "of_which_before_building": round(before),
        },
        "lmplz": spread(theirs)
        | {
            "processor_seconds": round(median(busy["theirs"]), 3),
            "peak_mebibytes": round(int(re.search(r"RSSMax:(\d+) kB", said)[1]) / 1024),
            "memory_setting": "-S 1G",
        },
        "times_lmplz": round(median(ours) / median(theirs), 2),
        "times_lmplz_by_processor_seconds": round(median(busy["ours"]) / median(busy["theirs"]), 2),
    }


def spread(seconds: list[float]) -> dict[str, Any]:
    return {"seconds": round(median(seconds), 4), "fastest": round(min(seconds), 4), "slowest": round(max(seconds), 4)}


def measure_querying(systems: dict[str, Callable[[], object]], tokens: int, rounds: int) -> dict[str, Any]:
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(rounds):
        for name, system in systems.items():
            begin = time.perf_counter()
            system()
            seconds[name].append(time.perf_counter() - begin)
    found = {
        name: spread(times) | {"million_tokens_per_second": round(tokens / median(times) / 1e6, 2)}
        for name, times in seconds.items()
    }
    peer = found.get("kenlm, a number a line")
    for figures in found.values():
        figures["times_kenlm"] = round(figures["seconds"] / peer["seconds"], 2) if peer else None
    return found


def both_ways(folder: Path, lines: list[str]) -> dict[str, float]:
    """Each ARPA file, scored by each system."""
    found = {}
    for name in ("ours", "theirs"):
        arpa = read_arpa(folder / f"{name}.arpa")
        settings = Tokenizer(kind="words", size=len(arpa.words))
        tokenizer = Words.from_state(settings, {"tokens": arpa.words[len(SPECIAL_NAMES) :]})
        found[f"{name}.arpa by regard"] = writer_of(arpa.table, tokenizer).score(lines).scores[0].value
        if installed("kenlm"):
            import kenlm

            model, count = kenlm.Model(str(folder / f"{name}.arpa")), sum(len(line.split()) + 1 for line in lines)
            found[f"{name}.arpa by kenlm"] = 10 ** (-sum(map(model.score, lines)) / count)
    return {name: round(value, 4) for name, value in found.items()}


def compare(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    train, test = rename(arguments.train, folder, "train"), rename(arguments.test, folder, "test")
    begin = time.perf_counter()
    table, tokenizer = build(train, folder / "ours.arpa", arguments.order)
    first = time.perf_counter() - begin
    building = measure_building(train, folder, arguments)
    lines = read_lines(test)
    writer = writer_of(table, tokenizer)
    systems: dict[str, Callable[[], object]] = {"regard": lambda: writer.score(lines)}
    if installed("kenlm"):
        import kenlm

        run([arguments.lmplz.with_name("build_binary"), "probing", folder / "theirs.arpa", folder / "theirs.binary"])
        model = kenlm.Model(str(folder / "theirs.binary"))
        systems["kenlm, a number a line"] = lambda: sum(map(model.score, lines))
        systems["kenlm, a number a token"] = lambda: [score[0] for line in lines for score in model.full_scores(line)]
    for system in systems.values():
        system()
    count = writer.score(lines).likelihood.tokens
    return {
        "ngrams": np.diff(table.bounds).tolist(),
        "table_mebibytes": round(table.bytes / 2**20, 1),
        "arpa_mebibytes": round((folder / "ours.arpa").stat().st_size / 2**20, 1),
        "first_build_seconds": round(first, 3),
        "building": building,
        "queried_tokens": count,
        "querying": measure_querying(systems, count, 4 * arguments.rounds),
        "perplexity": both_ways(folder, lines),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON file for the figures")
    parser.add_argument("--train", type=Path, help="text to build from")
    parser.add_argument("--test", type=Path, help="text to score")
    parser.add_argument("--lmplz", type=Path, help="KenLM's builder")
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5, help="of building; there are four times as many of querying")
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    parser.add_argument("--alone", type=Path, help="only build, from this text to the ARPA file --out")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.alone:
        before = memory(peak=False)
        build(arguments.alone, arguments.out, arguments.order)
        print(before, memory(peak=True))
        return
    if not (arguments.train and arguments.test and arguments.lmplz):
        parser.error("--train, --test and --lmplz are needed")
    record = conditions(("regard", "numpy", "numba", "torch", "kenlm"), arguments.commit)
    with tempfile.TemporaryDirectory() as folder:
        record |= compare(arguments, Path(folder))
    record["load_average_after"] = round(os.getloadavg()[0], 2)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
