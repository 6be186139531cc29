"""`regard ladder` on its built-in text, with several seeds.

    python benchmarks/ladder.py --seeds 1,2,3 --out benchmarks/results/ladder.json

Each rung has the time that the command gives it, so nothing else may run meanwhile. With several sets of processors
(`--cores 0,1 2,3 4,5`), that many seeds are trained at once, each on its own set. Finished seeds are not repeated, so
that each may be run in a separate session (`--seeds 1`, then `--seeds 1,2`).
The JSON has the perplexities of all seeds, and for each of CLAIMS the difference of means with its 95 % interval
(Welch's t; an n-gram model is the same for all seeds).
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from statistics import mean
from typing import Any

from conditions import conditions
from scipy.stats import ttest_1samp, ttest_ind

from regard.disk import replace_file

HERE = Path(__file__).parent
CLAIMS = (("lstm", "ngram"), ("lstm", "window"), ("copying", "lstm"))
"""Pairs of rungs, the first of which should have the lower perplexity."""


def difference(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float]:
    """The difference of means, and its 95 % interval."""
    if len(set(theirs)) == 1:
        low, high = ttest_1samp(ours, theirs[0]).confidence_interval()
        return mean(ours) - theirs[0], low - theirs[0], high - theirs[0]
    low, high = ttest_ind(ours, theirs, equal_var=False).confidence_interval()
    return mean(ours) - mean(theirs), low, high


def claims(perplexities: dict[str, list[float]]) -> list[dict[str, Any]]:
    """How much lower the perplexity of one rung is than that of another."""
    found = []
    for rung, other in CLAIMS:
        ours, theirs = perplexities.get(rung, []), perplexities.get(other, [])
        if len(ours) > 1 and theirs:
            change, low, high = difference(ours, theirs)
            found.append({"rung": rung, "against": other, "change": change, "low": float(low), "high": float(high)})
    return found


def climb(out: Path, seed: int, rungs: str, options: Sequence[str], cores: Queue[str]) -> dict[str, Any]:
    """Runs the command, if it was not run before; returns what its ladder.json says, and the minutes that it took."""
    known = out.with_suffix(".json")
    if known.exists():
        before: dict[str, Any] = json.loads(known.read_text(encoding="utf-8"))
        return before
    command = [sys.executable, "-m", "regard", "ladder", "--out", str(out), "--set", f"seed={seed}", *options]
    own = cores.get()
    command = ["taskset", "-c", own, *command] if own else command
    begun = time.monotonic()
    command += ["--rungs", rungs] if rungs else []
    try:
        subprocess.run([*command, *(["--resume"] if out.exists() else [])], check=True)
    finally:
        cores.put(own)
    found: dict[str, Any] = json.loads((out / "ladder.json").read_text(encoding="utf-8"))
    found |= {"minutes": (time.monotonic() - begun) / 60}
    replace_file(known, json.dumps(found).encode())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--repeated", default="", help="rungs that seeds after the first have; all if it is left out")
    parser.add_argument("--cores", nargs="+", default=[""], help="sets of processors, one for each seed at a time")
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="more options of `regard ladder`, last")
    parser.add_argument("--work", type=Path, default=Path("runs/ladder-seeds"), help="folder for the models")
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "ladder.json")
    given = parser.parse_args()
    told = conditions(["regard", "torch", "numpy"], given.commit)
    seeds = [int(seed) for seed in given.seeds.split(",")]
    cores: Queue[str] = Queue()
    for own in given.cores:
        cores.put(own)

    def climbed(seed: int) -> dict[str, Any]:
        rungs = "" if seed == seeds[0] else given.repeated
        return climb(given.work / f"seed-{seed}", seed, rungs, given.options, cores)

    with ThreadPoolExecutor(len(given.cores)) as pool:
        first, *others = pool.map(climbed, seeds)
    processors = f", each seed on {len(given.cores[0].split(','))} processors of its own" if given.cores[0] else ""
    longest = max(each["minutes"] for each in (first, *others))
    told["note"] = f"All rungs together took {longest:.1f} minutes at most with one seed{processors}."
    perplexities = {row["rung"]: [row["perplexity"]] for row in first["rungs"]}
    for row in (row for other in others for row in other["rungs"]):
        perplexities[row["rung"]].append(row["perplexity"])
    rungs = [row | {"perplexities": perplexities[row["rung"]]} for row in first["rungs"]]
    content = {**told, "seeds": seeds, "rungs": rungs, "claims": claims(perplexities), "recipes": first["recipes"]}
    replace_file(given.out, json.dumps(content, ensure_ascii=False, indent=1).encode() + b"\n")


if __name__ == "__main__":
    main()
