"""Surprisal of words that are rare in training but seen before in the same article, with and without copying.

    python benchmarks/rare_words.py runs/wikitext2-lstm-1 runs/wikitext2-copying-1

Reads models that were trained on the same text (`benchmarks/language.py` trains them), and compares them on its test
text: bits of each class of words, and how they change against the first of the models.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from conditions import conditions

from regard.data.text import Text
from regard.study.rare_words import compare
from regard.tasks import load_writer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--rare", type=int, default=20, help="most occurrences in training of a word that is rare")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--commit", default="", help="what is measured, where git cannot say it")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "rare_words.json")
    arguments = parser.parse_args()
    record = conditions(("regard", "torch"), arguments.commit)
    writers = {folder.name: load_writer(folder, device=arguments.device) for folder in arguments.models}
    data = next(iter(writers.values())).recipe.data
    found = compare(writers, Text("test", data), Text("train", data), rare=arguments.rare)
    record |= {"rare": arguments.rare, "figures": [asdict(row) for row in found]}
    for row in found:
        change = "" if row.change is None else f"   {row.change:+.3f} ± {row.change_margin:.3f}"
        print(f"{row.model:30} {row.words:24} {row.count:8,} {row.bits:8.3f} ± {row.margin:.3f}{change}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
