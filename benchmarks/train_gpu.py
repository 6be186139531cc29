"""Training on a GPU, side by side: ours (eagerly and captured) and MarianMT of Hugging Face in a plain loop.

    python benchmarks/train_gpu.py --out benchmarks/results/train_gpu.json

A Transformer of the usual IWSLT shape (6 + 6 layers, width 512, feed-forward 1024, 4 heads, 10,000 tokens, all
embeddings tied) in bfloat16, on random tokens in pairs whose lengths are distributed as those of a corpus are. Both get
the same pairs within the same budgets of tokens: the peer in batches of exactly the length they need, on the device
already; ours in batches of few shapes, copied there at each step. Every shape is met twice before anything is timed. A
rate is real target tokens a second, the median over passes.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data import PairBatch, PairBatches, Position
from regard.models import build_model
from regard.objectives import cross_entropy
from regard.recipe import Recipe, parse_recipe
from regard.tasks.task import Task
from regard.tokens import PAD
from regard.train.learner import Learner
from regard.train.ranks import Ranks
from regard.train.runtime import Plan

VOCABULARY, PAIRS, SHAPES, DROPOUT = 10_000, 20_000, 16, 0.3
BUDGETS = {4096: 30, 16384: 20, 65536: 10}
"""Tokens of a batch, and how many of them are gone through in a pass."""
PASSES = 3
DEVICE = torch.device("cuda")


@dataclass(frozen=True)
class Figure:
    """One system at one budget."""

    system: str
    batch_tokens: int
    tokens_per_second: float
    slowest: float
    fastest: float
    milliseconds_per_step: float
    real_share: float
    """Real targets among those computed, padding included."""
    shapes: int
    start_seconds: float
    """Both passes before the timed ones, captures included."""
    peak_gibibytes: float


class RandomPairs:
    """Pairs of random tokens with lengths from a log-normal distribution, targets about as long as their sources."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        sources = np.exp(rng.normal(np.log(25) - 0.15, 0.55, PAIRS)).clip(4, 100)
        targets = (sources * np.exp(rng.normal(0, 0.12, PAIRS))).clip(3, 100)
        self.lengths = np.stack([sources, targets], axis=1).round().astype(np.int32)
        self._tokens = rng.integers(4, VOCABULARY, 200)

    def __len__(self) -> int:
        return PAIRS

    def tokens(self, index: int) -> tuple[list[int], list[int]]:
        source, target = self.lengths[index]
        first = index % 100
        return self._tokens[first : first + source].tolist(), self._tokens[first : first + target].tolist()

    def text(self, index: int) -> tuple[str, str]:
        raise AssertionError("nothing is sampled")


class Synthetic(Task):
    """As much of translation as a benchmark of steps needs."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def build_model(self) -> nn.Module:
        return build_model(self.recipe.model, VOCABULARY, VOCABULARY)

    def batches(self, position: Position) -> Iterator[tuple[PairBatch, Position]]:
        settings = self.recipe.train
        batches = PairBatches(RandomPairs(), seed=1, batch_tokens=settings.batch_tokens, shapes=settings.shapes)
        return batches.from_position(position)

    def objective(self, model: Any, batch: PairBatch, carry: None) -> tuple[Tensor, None]:
        return cross_entropy(model, batch, self.recipe.train.label_smoothing), None

    def save(self, folder: Path) -> None: ...

    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        return {}

    def describe_batch(self, batch: PairBatch) -> None: ...


def task_of(batch_tokens: int, *, shapes: int, capture: bool) -> Synthetic:
    layers = {"encoder_layers": 6, "decoder_layers": 6}
    model = {"kind": "transformer", "width": 512, "feedforward": 1024, "heads": 4, "dropout": DROPOUT, "tie": "all"}
    train = {"steps": 1, "batch_tokens": batch_tokens, "precision": "bfloat16", "shapes": shapes, "capture": capture}
    tables = {"data": {"corpus": "copy"}, "tokens": {"shared": True}, "model": model | layers, "train": train}
    return Synthetic(parse_recipe(tables))


def chosen(task: Synthetic, count: int) -> list[PairBatch]:
    """The first batches of a pass, as many as are wanted or as there are."""
    found = []
    for batch, after in task.batches(Position()):
        found.append(batch)
        if len(found) == count or after.epoch:
            return found
    raise AssertionError("batches have no end")


def ours(batch_tokens: int, count: int, *, capture: bool) -> Figure:
    task = task_of(batch_tokens, shapes=SHAPES, capture=capture)
    batches, learner, step = chosen(task, count), Learner(task, DEVICE, Ranks()), 0

    def run(batch: PairBatch) -> None:
        nonlocal step
        step += 1
        learner.runner.run([batch], Plan(step, batch.count, 1e-4, interrupted=False, seconds=0.0), None)

    name = "regard, captured" if capture else "regard, eager"
    figure = measured(name, batch_tokens, batches, run)
    assert bool(learner.runner.sum_up()) == capture, learner.runner.news
    return figure


def marian(batch_tokens: int, count: int) -> Figure:
    from transformers import MarianConfig, MarianMTModel

    sides = {"layers": 6, "ffn_dim": 1024, "attention_heads": 4}
    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=512,
        **{f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in sides.items()},
        max_position_embeddings=256,
        pad_token_id=PAD,
        eos_token_id=3,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
        dropout=DROPOUT,
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation_function="relu",
        share_encoder_decoder_embeddings=True,
        static_position_embeddings=True,
        scale_embedding=True,
    )
    model = MarianMTModel(config).to(DEVICE).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    batches = [batch.to(DEVICE) for batch in chosen(task_of(batch_tokens, shapes=0, capture=False), count)]

    def run(batch: PairBatch) -> None:
        source, wanted = batch.source, batch.wanted
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(
                input_ids=source.tokens, attention_mask=source.tokens.ne(PAD), decoder_input_ids=batch.given.tokens
            ).logits
            loss = F.cross_entropy(logits.flatten(0, 1), wanted.tokens.flatten(), ignore_index=PAD, label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return measured("MarianMT, eager", batch_tokens, batches, run)


def measured(system: str, batch_tokens: int, batches: Sequence[PairBatch], run: Callable[[PairBatch], None]) -> Figure:
    """Goes through the batches, twice to warm up and a few times against the clock."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()

    def one_pass() -> float:
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for batch in batches:
            run(batch)
        torch.cuda.synchronize()
        return time.perf_counter() - begun

    start = one_pass() + one_pass()
    seconds = [one_pass() for _ in range(PASSES)]
    real = sum(batch.count for batch in batches)
    figure = Figure(
        system,
        batch_tokens,
        tokens_per_second=real / median(seconds),
        slowest=real / max(seconds),
        fastest=real / min(seconds),
        milliseconds_per_step=median(seconds) / len(batches) * 1000,
        real_share=real / sum(batch.wanted.tokens.numel() for batch in batches),
        shapes=len({(batch.source.tokens.shape, batch.wanted.tokens.shape) for batch in batches}),
        start_seconds=start,
        peak_gibibytes=torch.cuda.max_memory_reserved() / 2**30,
    )
    print(
        f"{system:18} {batch_tokens:6} {figure.tokens_per_second:10,.0f} tokens/s  {figure.milliseconds_per_step:7.1f} "
        f"ms/step  real {figure.real_share:.3f}  {figure.shapes:3} shapes  start {start:5.1f} s  "
        f"peak {figure.peak_gibibytes:.1f} GiB",
        flush=True,
    )
    return figure


def conditions(commit: str) -> dict[str, Any]:
    known = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    return {
        "command": " ".join(["python", *sys.argv]),
        "commit": commit or known,
        "device": torch.cuda.get_device_name(),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "transformers": version("transformers"),
        },
        "pairs": PAIRS,
        "passes": PASSES,
        "dropout": DROPOUT,
        "batches_in_pass": BUDGETS,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Training on a GPU, side by side.")
    parser.add_argument("--out", type=Path, required=True, help="JSON file for the figures")
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    arguments = parser.parse_args()
    figures = []
    for batch_tokens, count in BUDGETS.items():
        figures.append(ours(batch_tokens, count, capture=True))
        figures.append(ours(batch_tokens, count, capture=False))
        figures.append(marian(batch_tokens, count))
        record = conditions(arguments.commit) | {"figures": [asdict(figure) for figure in figures]}
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
