"""Training on a GPU, side by side: ours (packed or padded, compiled or not), and peers in a plain loop.

    python benchmarks/train_gpu.py --out benchmarks/results/train_gpu.json

Transformer: the usual IWSLT shape (6 + 6 layers, width 512, feed-forward 1024, 4 heads, 10,000 tokens, all embeddings
tied) against MarianMT of Hugging Face, eager and compiled as it comes. Recurrent: LSTM 512 with additive attention
before the cell against the loop of `plain_recurrent.py`. All in bfloat16, on random tokens, as frequent as words are,
in pairs whose lengths are those of a corpus (`--data`, two files of text, in words) or log-normal as they are in one.
All get the same pairs within the same budgets of tokens: peers in batches of exactly the length they need, on the
device already; ours as in training, copied there at each step. Every batch is run twice before anything is timed.
A rate is real target tokens a second, the median over passes.
"""

import argparse
import gc
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from conditions import conditions
from plain_marian import Marian, plain_step
from plain_recurrent import PlainRecurrent
from torch import Tensor, nn

from regard.data import CorpusPosition, PairBatch, PairBatches
from regard.models import build_model
from regard.objectives import cross_entropy
from regard.recipe import TransformerModel, parse_recipe
from regard.tasks.task import Task
from regard.tokens import PAD
from regard.tokens.rows import Rows
from regard.train.learner import Learner
from regard.train.ranks import Ranks
from regard.train.runtime import Plan

VOCABULARY, PAIRS, LONGEST, SHAPES, DROPOUT = 10_000, 20_000, 100, 16, 0.3
FIRST, DRAWN = 4, 1_000_003
"""The first token of a word, and the number of tokens drawn, which pairs are cut from."""
BATCHES = {4096: 20, 16384: 16, 65536: 10}
"""Number of batches in a pass, by their tokens; at most those of a whole pass over the pairs."""
PASSES = 3
DEVICE = torch.device("cuda")
TRANSFORMER = {"kind": "transformer", "width": 512, "feedforward": 1024, "heads": 4, "dropout": DROPOUT, "tie": "all"}
TRANSFORMER |= {"encoder_layers": 6, "decoder_layers": 6}
RECURRENT = {"kind": "recurrent", "embedding": 256, "hidden": 512, "dropout": {"output": DROPOUT}}
RECURRENT |= {"attention": {"score": "additive", "placement": "before", "hidden": 512}}


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
    """Both passes before the timed ones, compilation and captures included."""
    peak_reserved_gibibytes: float
    peak_allocated_gibibytes: float


class RandomPairs:
    """Pairs of random tokens of given lengths, the n-th token of the vocabulary one n-th as frequent as the first
    (Zipf), so that about as many of a batch are distinct as are of real text."""

    def __init__(self, lengths: np.ndarray, seed: int = 0) -> None:
        self.lengths = lengths
        shares = 1 / np.arange(1, VOCABULARY - FIRST + 1)
        tokens = np.random.default_rng(seed).choice(VOCABULARY - FIRST, DRAWN, p=shares / shares.sum()) + FIRST
        self._sides = tokens, tokens[::-1]

    def __len__(self) -> int:
        return len(self.lengths)

    def sides(self, examples: np.ndarray) -> tuple[Rows, Rows]:
        firsts = examples * LONGEST % (DRAWN - LONGEST)
        source, target = (
            Rows.of([tokens[first : first + length] for first, length in zip(firsts, lengths, strict=True)])
            for tokens, lengths in zip(self._sides, self.lengths[examples].T, strict=True)
        )
        return source, target

    def text(self, index: int) -> tuple[str, str]:
        raise AssertionError("nothing is sampled")


def drawn_lengths(seed: int = 0) -> np.ndarray:
    """Log-normal, with a median of 21.5 tokens, and targets about as long as their sources."""
    rng = np.random.default_rng(seed)
    sources = np.exp(rng.normal(np.log(25) - 0.15, 0.55, PAIRS)).clip(4, LONGEST)
    targets = (sources * np.exp(rng.normal(0, 0.12, PAIRS))).clip(3, LONGEST)
    return np.stack([sources, targets], axis=1).round().astype(np.int32)


def lengths_in(files: Sequence[Path]) -> np.ndarray:
    """Words of the lines of two files."""
    sides = [[len(line.split()) for line in file.read_text(encoding="utf-8").splitlines()] for file in files]
    return np.array(sides, dtype=np.int32).T.clip(1, LONGEST)


class Synthetic(Task):
    """The part of a translation task that a benchmark of steps needs."""

    def __init__(self, pairs: RandomPairs, model: Mapping[str, Any], **train: Any) -> None:
        table = {"steps": 1, "precision": "bfloat16"} | train
        tables = {"data": {"corpus": "copy"}, "tokens": {"shared": True}, "model": dict(model), "train": table}
        self.recipe, self.pairs = parse_recipe(tables), pairs

    def build_model(self) -> nn.Module:
        return build_model(self.recipe.model, VOCABULARY, VOCABULARY)

    def batches(self, position: CorpusPosition) -> Iterator[tuple[PairBatch, CorpusPosition]]:
        settings = self.recipe.train
        how = {"batch_tokens": settings.batch_tokens, "shapes": settings.shapes, "packed": settings.pack}
        return PairBatches(self.pairs, seed=1, **how).from_position(position)

    def objective(self, model: Any, batch: PairBatch, carry: None) -> tuple[Tensor, None]:
        return cross_entropy(model, batch, self.recipe.train.label_smoothing), None

    def save(self, folder: Path) -> None: ...

    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        return {}

    def describe_batch(self, batch: PairBatch) -> None: ...

    def first(self, count: int) -> list[PairBatch]:
        """The first `count` batches of a pass, or all if there are fewer."""
        found = []
        for batch, after in self.batches(CorpusPosition()):
            found.append(batch)
            if len(found) == count or after.epoch:
                return found
        raise AssertionError("batches have no end")


Step = Callable[[PairBatch], None]


def ours(pairs: RandomPairs, batch_tokens: int, model: Mapping[str, Any], **how: Any) -> tuple[list[PairBatch], Step]:
    task = Synthetic(pairs, model, batch_tokens=batch_tokens, shapes=SHAPES, **how)
    learner, step = Learner(task, DEVICE, Ranks()), 0

    def run(batch: PairBatch) -> None:
        nonlocal step
        step += 1
        learner.runner.run([batch], Plan(step, batch.count, 1e-4, interrupted=False, seconds=0.0), None)
        for line in learner.runner.news:
            print(f"  {line}", flush=True)
        learner.runner.news.clear()

    return task.first(BATCHES[batch_tokens]), run


def peer(pairs: RandomPairs, batch_tokens: int, model: nn.Module, *, compiled: bool) -> tuple[list[PairBatch], Step]:
    """A plain loop over batches of exactly the length they need."""
    task = Synthetic(pairs, TRANSFORMER, batch_tokens=batch_tokens)
    batches = [batch.to(DEVICE) for batch in task.first(BATCHES[batch_tokens])]
    model = model.to(DEVICE).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    called = torch.compile(model, dynamic=True) if compiled else model
    return batches, lambda batch: plain_step(called, optimizer, batch, bfloat16=True)


def marian() -> nn.Module:
    return Marian(TransformerModel.model_validate(TRANSFORMER), VOCABULARY)


def plain() -> nn.Module:
    return PlainRecurrent(VOCABULARY, 256, 512, DROPOUT, PAD)


SYSTEMS: dict[str, Callable[[RandomPairs, int], tuple[list[PairBatch], Step]]] = {
    "regard": lambda pairs, tokens: ours(pairs, tokens, TRANSFORMER, compile=True, pack=True),
    "regard, padded": lambda pairs, tokens: ours(pairs, tokens, TRANSFORMER, compile=True),
    "regard, not compiled": lambda pairs, tokens: ours(pairs, tokens, TRANSFORMER, compile=False, pack=True),
    "regard, padded, not compiled": lambda pairs, tokens: ours(pairs, tokens, TRANSFORMER, compile=False),
    "regard, padded, eager": lambda pairs, tokens: ours(pairs, tokens, TRANSFORMER, compile=False, capture=False),
    "MarianMT, eager": lambda pairs, tokens: peer(pairs, tokens, marian(), compiled=False),
    "MarianMT, compiled": lambda pairs, tokens: peer(pairs, tokens, marian(), compiled=True),
    "regard, recurrent": lambda pairs, tokens: ours(pairs, tokens, RECURRENT, compile=True),
    "regard, recurrent, not compiled": lambda pairs, tokens: ours(pairs, tokens, RECURRENT, compile=False),
    "plain recurrent loop": lambda pairs, tokens: peer(pairs, tokens, plain(), compiled=False),
}
RATIOS = {name: "plain recurrent loop" if "recurrent" in name else "MarianMT, eager" for name in SYSTEMS}
"""Systems, with the peers they are compared with."""


def measured(system: str, batch_tokens: int, batches: Sequence[PairBatch], run: Step, begun: float) -> Figure:
    """Runs through the batches, twice to warm up and a few times against the clock."""

    def one_pass() -> float:
        torch.cuda.synchronize()
        since = time.perf_counter()
        for batch in batches:
            run(batch)
        torch.cuda.synchronize()
        return time.perf_counter() - since

    one_pass(), one_pass()
    start = time.perf_counter() - begun
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
        peak_reserved_gibibytes=torch.cuda.max_memory_reserved() / 2**30,
        peak_allocated_gibibytes=torch.cuda.max_memory_allocated() / 2**30,
    )
    print(
        f"{system:31} {batch_tokens:6} {figure.tokens_per_second:10,.0f} tokens/s  {figure.milliseconds_per_step:7.1f} "
        f"ms/step  real {figure.real_share:.3f}  {figure.shapes:3} shapes  start {start:5.1f} s  "
        f"peak {figure.peak_reserved_gibibytes:.1f} GiB ({figure.peak_allocated_gibibytes:.1f} allocated)",
        flush=True,
    )
    return figure


def profile(batches: Sequence[PairBatch], run: Step, steps: int = 5) -> None:
    """Prints where the device's time goes."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiled

    with profiled(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as found:
        for batch in batches[:steps]:
            run(batch)
        torch.cuda.synchronize()
    events = [event for event in found.key_averages() if event.device_type.name == "CUDA"]
    events.sort(key=lambda event: -event.self_device_time_total)
    total, calls = sum(event.self_device_time_total for event in events), sum(event.count for event in events)
    print(f"  {total / steps / 1000:.2f} ms of kernels in a step, {calls // steps} kernels")
    for event in events[:30]:
        of_step = event.self_device_time_total / steps / 1000
        print(f"  {of_step:8.3f} ms {event.count // steps:5} × {event.key[:150]}")


def run_system(system: str, pairs: RandomPairs, batch_tokens: int, *, profiled: bool) -> Figure:
    if system.startswith("regard"):
        # A training run has batches of one budget, for which it is compiled; peers keep their earlier compilations.
        torch.compiler.reset()
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    begun = time.perf_counter()
    batches, run = SYSTEMS[system](pairs, batch_tokens)
    figure = measured(system, batch_tokens, batches, run, begun)
    if profiled:
        profile(batches, run)
    return figure


def ratios(figures: Sequence[Figure]) -> dict[str, dict[str, float]]:
    """Speedup of each system over its peer, by tokens of a batch."""
    rates = {(figure.system, figure.batch_tokens): figure.tokens_per_second for figure in figures}
    found: dict[str, dict[str, float]] = {}
    for (system, tokens), rate in rates.items():
        other = rates.get((RATIOS[system], tokens))
        if other and system != RATIOS[system]:
            found.setdefault(f"{system} / {RATIOS[system]}", {})[str(tokens)] = round(rate / other, 2)
    return found


def described(arguments: argparse.Namespace, pairs: int) -> dict[str, Any]:
    return conditions(["torch", "transformers"], arguments.commit) | {
        "device": torch.cuda.get_device_name(),
        "cuda": torch.version.cuda,
        "lengths": [str(file) for file in arguments.data] or drawn_lengths.__doc__,
        "pairs": pairs,
        "passes": PASSES,
        "dropout": DROPOUT,
        "batches_in_pass": BATCHES,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Training on a GPU, side by side.")
    parser.add_argument("--out", type=Path, required=True, help="JSON file for the figures")
    parser.add_argument("--tokens", type=int, nargs="+", default=list(BATCHES), choices=list(BATCHES))
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--data", type=Path, nargs=2, default=[], help="texts whose lengths are taken, in words")
    parser.add_argument("--profile", action="store_true", help="print which kernels take the time")
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    arguments = parser.parse_args()
    pairs = RandomPairs(lengths_in(arguments.data) if arguments.data else drawn_lengths())
    figures: list[Figure] = []
    # A peer that compiles comes last: it takes minutes.
    wished = product(arguments.systems, arguments.tokens)
    for system, tokens in sorted(wished, key=lambda one: (one[0] == "MarianMT, compiled", one[1])):
        if "recurrent" in system and tokens > 16384:
            continue  # a loop over time is not what one would choose for these
        figures.append(run_system(system, pairs, tokens, profiled=arguments.profile))
        record = described(arguments, len(pairs)) | {"figures": [asdict(figure) for figure in figures]}
        arguments.out.write_text(json.dumps(record | {"ratios": ratios(figures)}, indent=1) + "\n")
    for pair, found in ratios(figures).items():
        print(pair, found)


if __name__ == "__main__":
    main()
