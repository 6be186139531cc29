"""Time of `regard translate` of one sentence beyond importing torch, on a CPU.

    python benchmarks/startup.py runs/mine "Das ist ein Haus ." --out benchmarks/results/startup.json

Both are separate processes that take turns: `python -c 'import torch'`, and the whole command from its start to its
end, which loads the model, translates and exits. A first turn, which compiles and fills caches, is not counted. The
difference is taken within each turn. Stated are the time by the clock and the processor's time, user and system: on a
machine that others use too, the first is the time of waiting for them, and the second is what is compared.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from conditions import conditions

THREADS = "2"


@dataclass(frozen=True)
class Cost:
    """The time of a process, in seconds."""

    clock: float
    processor: float


def cost_of(command: list[str], stdin: str = "") -> Cost:
    """Runs a command to its end, with precompiled bytecode."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        command,
        input=stdin.encode(),
        stdout=subprocess.DEVNULL,
        env=environment | {"OMP_NUM_THREADS": THREADS},
        check=True,
    )
    clock, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure(model: Path, sentence: str, rounds: int) -> dict[str, Any]:
    """Medians over rounds, and the differences of each."""
    plain = [sys.executable, "-c", "import torch"]
    whole = [sys.executable, "-m", "regard", "translate", str(model), "--device", "cpu"]
    turns = [(cost_of(plain), cost_of(whole, sentence + "\n")) for _ in range(1 + rounds)][1:]
    found: dict[str, Any] = {"rounds": rounds, "threads": int(THREADS)}
    for name in ("processor", "clock"):
        pairs = [(getattr(torch, name), getattr(translate, name)) for torch, translate in turns]
        beyond = [translate - torch for torch, translate in pairs]
        found[f"{name}_seconds"] = {
            "import torch": round(median(torch for torch, _ in pairs), 3),
            "translate": round(median(translate for _, translate in pairs), 3),
            "beyond": round(median(beyond), 3),
            "beyond, each round": [round(each, 3) for each in beyond],
        }
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("sentence")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--out", type=Path)
    given = arguments.parse_args()
    told = conditions(["torch", "numba", "pydantic", "typer"])
    told |= measure(given.model, given.sentence, given.rounds)
    text = json.dumps(told, ensure_ascii=False, indent=2) + "\n"
    print(text, end="")
    if given.out is not None:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
