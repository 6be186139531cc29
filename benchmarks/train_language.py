"""How fast language models train: LSTMs beside a plain loop over torch's own layers of the same shape; and a
Transformer beside the peak rate of the device's matrix products.

    python benchmarks/train_language.py                                   # on this machine's CPU, smaller models
    python benchmarks/train_language.py --device cuda --out benchmarks/results/train_language_gpu.json
    python benchmarks/train_language.py --device cuda --transformer --out benchmarks/results/train_transformer_gpu.json

Regard trains by its recipes `ptb-lstm` (2 × 650) and `ptb-awd-lstm`, both with weight drop, as `regard train` does:
batches from a stream of tokens, state carried on, steps captured where there is CUDA. The plain loop
(`plain_language.py`) has the same weight drop, its one batch on the device already, and torch's own dropout instead of
variational dropout. The two take turns; a figure is that of the best turn. The text is random, of 10,002 words.

The Transformer has 100 million parameters and reads 128 rows of 512 words. Its work is counted as 6 operations for each
parameter and word, those of the input embedding left out, and 6 × words seen × width for each layer: what causal
attention needs, half of a whole square.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from conditions import conditions
from plain_language import PlainLanguageModel, plain_step

from regard.data.batches import CorpusPosition
from regard.data.stream import TokenText
from regard.recipe import LanguageRecipe, RecurrentLanguageModel, read_recipe
from regard.tasks.language import LanguageTask
from regard.tokens import train_tokenizer
from regard.train.learner import Learner
from regard.train.ranks import Ranks
from regard.train.runtime import Plan

SIZE, TOKENS = 10_002, 900_000


@dataclass(frozen=True)
class Shape:
    """A model and a batch."""

    name: str
    recipe: str
    widths: Sequence[int]
    rows: int
    length: int
    changes: tuple[str, ...] = ()


SHAPES = {
    "cuda": (
        Shape("2 × 650, 20 × 35", "ptb-lstm", (650, 650, 650), 20, 35),
        Shape("2 × 650, 80 × 70, weight drop", "ptb-lstm", (650, 650, 650), 80, 70, ("model.dropout.recurrent=0.5",)),
        Shape("AWD-LSTM, 80 × 70, weight drop", "ptb-awd-lstm", (400, 1150, 1150, 400), 80, 70),
    ),
    "cpu": (
        Shape("2 × 200, 20 × 35", "ptb-lstm", (200, 200, 200), 20, 35, ("model.embedding=200", "model.hidden=200")),
        Shape("2 × 650, 20 × 35", "ptb-lstm", (650, 650, 650), 20, 35),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=list(SHAPES))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, default=0, help="steps of a turn; 0 is 40 on CUDA and 3 on the CPU")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--transformer", action="store_true", help="the Transformer instead of LSTMs; needs CUDA")
    parser.add_argument("--compile", action="store_true", help="with parts of the model compiled, as is the default")
    parser.add_argument("--commit", default="", help="what is measured, where git cannot say it")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "train_language.json")
    arguments = parser.parse_args()
    arguments.steps = arguments.steps or (40 if arguments.device == "cuda" else 3)
    torch.set_num_threads(arguments.threads)
    record = conditions(("regard", "torch"), arguments.commit)
    record |= {"device": arguments.device, "threads": arguments.threads}
    if arguments.device == "cuda":
        record["gpu"] = torch.cuda.get_device_name()
    precisions = ("float32", "bfloat16") if arguments.device == "cuda" else ("float32",)
    record["figures"] = []
    measured = (measure(shape, each, arguments) for shape in SHAPES[arguments.device] for each in precisions)
    for figure in [utilization(arguments)] if arguments.transformer else measured:
        record["figures"].append(figure)
        print(json.dumps(figure, ensure_ascii=False), flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def measure(shape: Shape, precision: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds of a step, by both."""
    device, drop = torch.device(arguments.device), weight_drop(shape)
    plain = PlainLanguageModel(SIZE, shape.widths, 0.4, drop).to(device)
    steps: dict[str, Callable[[], object]] = {
        "plain": plain_step(plain, shape.rows, shape.length, mixed=precision == "bfloat16"),
        "regard": own_step(shape, precision, device, arguments.compile),
    }
    best = dict.fromkeys(steps, float("inf"))
    for step in steps.values():
        clock(step, 12 if arguments.device == "cuda" else 1, device)  # initializes what is created on first use
    for _ in range(arguments.turns):
        for name, step in steps.items():
            best[name] = min(best[name], clock(step, arguments.steps, device))
    return {
        "shape": shape.name,
        "weight_drop": drop,
        "precision": precision,
        "compiled": arguments.compile,
        "plain_ms": best["plain"],
        "regard_ms": best["regard"],
        "times_as_fast": best["plain"] / best["regard"],
    }


def weight_drop(shape: Shape) -> float:
    """The share of recurrent weights that the recipe drops."""
    model = read_recipe(shape.recipe, shape.changes, kind=LanguageRecipe).model
    assert isinstance(model, RecurrentLanguageModel)
    return model.dropout.recurrent


LARGE = Shape(
    "Transformer, 128 × 512",
    "ptb-transformer",
    (768,) * 14,
    128,
    512,
    (
        *("model.width=768", "model.heads=12", "model.feedforward=3072", "model.layers=13", "model.memory=0"),
        *("model.dropout=0.0", "model.attention_dropout=0.0", "model.word_dropout=0.0", "model.output_dropout=0.0"),
    ),
)


def utilization(arguments: argparse.Namespace) -> dict[str, Any]:
    """Operations a second of a Transformer in training, and of the largest matrix product, in bfloat16."""
    device = torch.device(arguments.device)
    peak = best_product(device)
    step = own_step(LARGE, "bfloat16", device, arguments.compile)
    clock(step, 4, device)
    milliseconds = min(clock(step, arguments.steps // 4, device) for _ in range(arguments.turns))
    width, layers = LARGE.widths[0], len(LARGE.widths) - 1
    parameters = layers * 12 * width**2 + SIZE * width
    words = LARGE.rows * LARGE.length
    work = 6 * words * (parameters + layers * LARGE.length * width)
    found = work / milliseconds * 1e3
    return {
        "shape": LARGE.name,
        "compiled": arguments.compile,
        "parameters": parameters,
        "regard_ms": milliseconds,
        "words_per_second": words / milliseconds * 1e3,
        "operations_per_second": found,
        "peak_operations_per_second": peak,
        "share_of_peak": found / peak,
    }


def best_product(device: torch.device) -> float:
    """Operations a second of products of large square matrices in bfloat16."""
    size, best = 8192, 0.0
    one, other = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(5):
        milliseconds = clock(lambda: torch.mm(one, other), 10, device)
        best = max(best, 2 * size**3 / milliseconds * 1e3)
    return best


def own_step(shape: Shape, precision: str, device: torch.device, compiled: bool) -> Callable[[], None]:
    """A function that does the next step of training as the loop does."""
    tokenizer = train_tokenizer(read_recipe(shape.recipe, kind=LanguageRecipe).tokens, [words()])
    assert tokenizer.size == SIZE
    changes = [f"data.segment={shape.length}", f"train.batch_tokens={shape.rows * shape.length}"]
    changes += [f"train.precision={precision}", f"train.compile={str(compiled).lower()}", *shape.changes]
    stream = np.random.default_rng(1).integers(4, SIZE, TOKENS)
    text = TokenText(stream, np.array([TOKENS]), np.zeros(1, dtype=np.uint32))
    task = LanguageTask(read_recipe(shape.recipe, changes, kind=LanguageRecipe), tokenizer, text)
    learner, batches, done = Learner(task, device, Ranks()), task.batches(CorpusPosition()), 0

    def step() -> None:
        nonlocal done
        batch, _ = next(batches)
        done += 1
        _, learner.carry = learner.runner.run([batch], Plan(done, batch.count, 1e-3, False, 0.0), learner.carry)

    return step


def words() -> str:
    return " ".join(f"w{number}" for number in range(SIZE - 4))


def clock(step: Callable[[], object], count: int, device: torch.device) -> float:
    """Mean milliseconds of a step."""
    begun = time.perf_counter()
    for _ in range(count):
        step()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - begun) / count * 1e3


if __name__ == "__main__":
    main()
