"""Learning the merges of BPE from how often each unit of a text occurs: ours (`regard.tokens.merging`), and the trainer
of `tokenizers`, which cannot be given counts and reads every unit as often as it occurs.

    python benchmarks/bpe.py --text train.de.gz train.en.gz --lines 150000 --out benchmarks/results/bpe.json

Both must learn the same merges. They take turns; the median of the rounds counts, by the clock and by processor
seconds.
"""

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from itertools import chain, islice
from pathlib import Path
from statistics import median
from typing import Any

import tokenizers
from conditions import conditions
from tokenizers import models, trainers

from regard.disk import Lines
from regard.recipe import TokenizerSettings
from regard.tokens.merging import learn_merges
from regard.tokens.tokenizer import normal
from regard.tokens.units import count_units

LEAST = 2
"""Occurrences of a pair that is merged, at least."""


def library(units: Counter[str], size: int, least: int) -> list[tuple[str, str]]:
    """The library's merges of the same units."""
    learner = tokenizers.Tokenizer(models.BPE())  # one without splitting
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=least, show_progress=False, special_tokens=[])
    learner.train_from_iterator(units.elements(), trainer)
    return [(left, right) for left, right in json.loads(learner.to_str())["model"]["merges"]]


def figures(units: Counter[str], size: int, rounds: int) -> list[dict[str, Any]]:
    systems: dict[str, Callable[..., list[tuple[str, str]]]] = {"regard": learn_merges, "tokenizers": library}
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
    learn_merges({"abab": 3}, 10, LEAST)  # compiles
    for _ in range(rounds):
        found = {}
        for name, system in systems.items():
            begin, processor = time.perf_counter(), time.process_time()
            found[name] = system(units, size, LEAST)
            seconds[name].append((time.perf_counter() - begin, time.process_time() - processor))
    assert found["regard"] == found["tokenizers"]
    clock, busy = ({name: median(one[at] for one in each) for name, each in seconds.items()} for at in (0, 1))
    return [
        {
            "system": name,
            "seconds": round(clock[name], 2),
            "processor_seconds": round(busy[name], 2),
            "times_tokenizers": round(clock["tokenizers"] / clock[name], 2),
            "times_tokenizers_by_processor": round(busy["tokenizers"] / busy[name], 2),
        }
        for name in systems
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON file for the figures")
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="files of text, which may end in .gz")
    parser.add_argument("--lines", type=int, default=150_000, help="of each file, at most")
    parser.add_argument("--size", type=int, default=10_000, help="tokens to learn")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    arguments = parser.parse_args()
    record = conditions(("regard", "tokenizers", "numba", "numpy"), arguments.commit)
    read = chain.from_iterable(islice(Lines(path), arguments.lines) for path in arguments.text)
    lines = [line.decode() for line in read]
    begin = time.process_time()
    units = count_units(normal(line, TokenizerSettings(kind="bpe")) for line in lines)
    record |= {"lines": len(lines), "units": units.total(), "different_units": len(units), "size": arguments.size}
    record["processor_seconds_of_counting"] = round(time.process_time() - begin, 2)
    record["figures"] = figures(units, arguments.size, arguments.rounds)
    record["load_average_after"] = round(os.getloadavg()[0], 2)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record["figures"], indent=1))


if __name__ == "__main__":
    main()
