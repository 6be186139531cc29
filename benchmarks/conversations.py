"""Dialogue acts with and without what was said before: the accuracy of each seed on the test text, and the difference
with its 95 % interval, by the paired bootstrap over conversations.

    python benchmarks/experiments.py swda --data swda --seeds 1,2,3 --test
    python benchmarks/conversations.py --models runs/experiments/swda

The acts are those of `Classifier.classify_conversation`, which is never given a true act or what is said later.
"""

import argparse
import json
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from conditions import conditions

import regard
from regard.data.labelled import load_labelled
from regard.disk import replace_file
from regard.metrics.resampling import RESAMPLES, interval_of_mean

HERE = Path(__file__).parent
ROWS = ("with-context", "without-context")


def right_in_each(folder: Path) -> np.ndarray:
    """For each conversation of the test text, the number of acts that a model gets right, and of all acts."""
    classifier = regard.load(folder)
    texts = load_labelled(classifier.recipe.data, classifier.recipe.seed, ["test"]).texts("test")
    counts = []
    for _, group in groupby(texts, key=lambda text: text.conversation):
        said = list(group)
        found = classifier.classify_conversation([(text.speaker, " ".join(text.words)) for text in said])
        right = sum(each.labels == text.labels for each, text in zip(found, said, strict=True))
        counts.append((right, len(said)))
    return np.array(counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, default=Path("runs/experiments/swda"), help="folder of the experiment")
    parser.add_argument("--out", default=HERE / "results" / "conversations.json", type=Path)
    arguments = parser.parse_args()
    record: dict[str, Any] = conditions(("regard", "torch", "numpy"))
    seeds = [
        {each.name for each in (arguments.models / row).iterdir() if (each / "recipe.toml").exists()} for row in ROWS
    ]
    common = sorted(seeds[0] & seeds[1])
    if not common:
        raise SystemExit(f"--models {arguments.models}: no seed was trained both ways; run experiments.py swda first")
    counts = {row: np.stack([right_in_each(arguments.models / row / seed) for seed in common]) for row in ROWS}
    sizes = counts[ROWS[0]][0, :, 1]
    means = {row: each[:, :, 0].mean(0) for row, each in counts.items()}
    change = means[ROWS[0]] - means[ROWS[1]]
    low, high = interval_of_mean(change, sizes)
    record |= {
        "texts": int(sizes.sum()),
        "conversations": len(sizes),
        "seeds": len(common),
        "resamples": RESAMPLES,
        "accuracy": {row: (100 * each[:, :, 0].sum(1) / sizes.sum()).tolist() for row, each in counts.items()},
        "difference": 100 * change.sum() / sizes.sum(),
        "low": 100 * low,
        "high": 100 * high,
    }
    replace_file(arguments.out, (json.dumps(record, indent=2) + "\n").encode())
    print(f"difference {record['difference']:+.2f} [{100 * low:+.2f}, {100 * high:+.2f}]", record["accuracy"])


if __name__ == "__main__":
    main()
