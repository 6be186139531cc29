"""How fast each rung of language models writes, and whether that depends on how much it has written.

    python benchmarks/generating.py                    # on this machine's CPU
    python benchmarks/generating.py --device cuda --out benchmarks/results/generating_gpu.json

Models have the sizes of the PTB recipes, with initial weights and a vocabulary of 10,002 words; the n-gram model is
counted from the built-in text, the only one whose speed depends on its training. Each writes one text, token by token,
as `regard generate` does, sampling from all words. Tokens per second are those of the first and of the last quarter.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from conditions import conditions

from regard.data.text import Text
from regard.decode import Session
from regard.decode.generate import go_on
from regard.models import LanguageModel, build_language_model
from regard.models.ngram.building import count
from regard.recipe import LanguageData, LanguageDecoding, LanguageRecipe, NgramModel, read_recipe
from regard.tokens import END, train_tokenizer

SIZE = 10_002
RUNGS = ("ngram", "window", "rnn", "lstm", "attentive", "copying", "awd-lstm", "transformer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--commit", default="", help="what is measured, where git cannot say it")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "generating.json")
    arguments = parser.parse_args()
    if arguments.tokens < 8:
        parser.error(f"--tokens {arguments.tokens}: a quarter of them must be two at least; give 8 or more")
    torch.set_num_threads(arguments.threads)
    record = conditions(("regard", "torch"), arguments.commit)
    record |= {"device": arguments.device, "threads": arguments.threads, "tokens": arguments.tokens}
    if arguments.device == "cuda":
        record["gpu"] = torch.cuda.get_device_name()
    record["figures"] = [measure(rung, arguments) for rung in RUNGS]
    record["load_average_after"] = conditions(()).get("load_average_before", 0.0)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def measure(rung: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Tokens per second of the first and of the last quarter, the best of three texts."""
    torch.manual_seed(1)
    session = Session(build(rung).to(arguments.device).eval())
    quarter = arguments.tokens // 4
    best = [0.0, 0.0]
    for sample in range(3):
        written = go_on(session, [END], LanguageDecoding(), tokens=arguments.tokens, sample=sample)
        times = [time.perf_counter() for _ in written]
        best[0] = max(best[0], (quarter - 1) / (times[quarter - 1] - times[0]))
        best[1] = max(best[1], (quarter - 1) / (times[-1] - times[-quarter]))
    figure = {"rung": rung, "first": best[0], "last": best[1]}
    print(json.dumps(figure))
    return figure


def build(rung: str) -> LanguageModel:
    settings = read_recipe(f"ptb-{rung}", kind=LanguageRecipe).model
    if not isinstance(settings, NgramModel):
        return build_language_model(settings, SIZE)
    lines = list(Text("train", LanguageData(corpus="topics")))
    tokenizer = train_tokenizer(read_recipe("ptb-ngram", kind=LanguageRecipe).tokens, lines)
    return count(tokenizer.encode_all(lines), settings, tokenizer.size)


if __name__ == "__main__":
    main()
