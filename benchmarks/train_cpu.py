"""Training on a CPU, side by side: ours, MarianMT of Hugging Face, and plain loops over torch's own layers.

    python benchmarks/train_cpu.py --threads 2 --out benchmarks/results/train_cpu.json

Transformer: 3 + 3 layers, width 256, feed-forward 1024, 4 heads, 10,000 tokens. Recurrent: LSTM 512 with additive
attention before the cell. All get the same pairs of random tokens, as frequent as words are, with lengths as captions
have them, in batches of at most 4,096 tokens on the longer side. Each system has a separate process, as in use: memory
left by one in a process slows the next. They take turns, so that other load slows all of them; a rate is real target
tokens a second, the median over rounds, and the speedup over the best peer is the median of those of each round. Some
processors multiply bfloat16 much faster than float32, others slower: --bfloat16 adds ours in that format, the peers
stay at their default.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from conditions import conditions
from plain_marian import Marian, plain_step
from plain_recurrent import PlainRecurrent
from torch import nn
from torch.nn import functional as F
from train_gpu import VOCABULARY, RandomPairs, Synthetic

from regard.data import PairBatch
from regard.recipe import TransformerModel
from regard.tokens import PAD
from regard.train.learner import Learner
from regard.train.ranks import Ranks
from regard.train.runtime import Plan

WIDTH, HEADS, LAYERS, FEEDFORWARD, HIDDEN, DROPOUT = 256, 4, 3, 1024, 512, 0.1
TRANSFORMER = {"kind": "transformer", "width": WIDTH, "feedforward": FEEDFORWARD, "heads": HEADS, "dropout": DROPOUT}
TRANSFORMER |= {"encoder_layers": LAYERS, "decoder_layers": LAYERS, "tie": "all"}
RECURRENT = {"kind": "recurrent", "embedding": WIDTH, "hidden": HIDDEN, "dropout": {"output": DROPOUT}}
RECURRENT |= {"attention": {"score": "additive", "placement": "before", "hidden": HIDDEN}}
CPU = torch.device("cpu")

Step = Callable[[PairBatch], None]


def captions(pairs: int = 20_000, seed: int = 0) -> np.ndarray:
    """Lengths of sources and targets: log-normal, with a median of 14 tokens."""
    rng = np.random.default_rng(seed)
    sources = np.exp(rng.normal(np.log(14), 0.35, pairs)).clip(4, 45)
    targets = (sources * np.exp(rng.normal(0, 0.15, pairs))).clip(3, 45)
    return np.stack([sources, targets], axis=1).round().astype(np.int32)


def task_of(model: Mapping[str, Any], precision: str = "float32") -> Synthetic:
    return Synthetic(RandomPairs(captions()), model, batch_tokens=4096, precision=precision, device="cpu")


def ours(model: Mapping[str, Any], precision: str) -> Step:
    learner, step = Learner(task_of(model, precision), CPU, Ranks()), 0

    def run(batch: PairBatch) -> None:
        nonlocal step
        step += 1
        learner.runner.run([batch], Plan(step, batch.count, 1e-4, interrupted=False, seconds=0.0), None)

    return run


class PlainTransformer(nn.Module):
    """`nn.Transformer` between an embedding and itself."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH, padding_idx=PAD)
        self.places = nn.Embedding(64, WIDTH)
        self.blocks = nn.Transformer(WIDTH, HEADS, LAYERS, LAYERS, FEEDFORWARD, DROPOUT, batch_first=True)

    def forward(self, source: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
        later = nn.Transformer.generate_square_subsequent_mask(given.shape[1], dtype=torch.bool)
        vectors = [self.embedding(side) + self.places.weight[: side.shape[1]] for side in (source, given)]
        hidden = source.eq(PAD)
        padded = {"src_key_padding_mask": hidden, "memory_key_padding_mask": hidden}
        features = self.blocks(*vectors, tgt_mask=later, tgt_key_padding_mask=given.eq(PAD), **padded)
        return F.linear(features, self.embedding.weight)


def peer(model: nn.Module) -> Step:
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    return lambda batch: plain_step(model, optimizer, batch, bfloat16=False)


def marian() -> nn.Module:
    return Marian(TransformerModel.model_validate(TRANSFORMER), VOCABULARY, positions=64)


MODELS: dict[str, Mapping[str, Any]] = {"transformer": TRANSFORMER, "recurrent": RECURRENT}
SYSTEMS: dict[str, dict[str, Callable[[], Step]]] = {
    "transformer": {
        "regard, float32": lambda: ours(TRANSFORMER, "float32"),
        "regard, bfloat16": lambda: ours(TRANSFORMER, "bfloat16"),
        "nn.Transformer": lambda: peer(PlainTransformer()),
        "MarianMT": lambda: peer(marian()),
    },
    "recurrent": {
        "regard, float32": lambda: ours(RECURRENT, "float32"),
        "regard, bfloat16": lambda: ours(RECURRENT, "bfloat16"),
        "plain loop": lambda: peer(PlainRecurrent(VOCABULARY, WIDTH, HIDDEN, DROPOUT, PAD)),
    },
}


class Contestant:
    """A system in a separate process, which does steps on request, one for each batch."""

    def __init__(self, kind: str, name: str, threads: int, count: int) -> None:
        context = get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=compete, args=(theirs, kind, name, threads, count), daemon=True)
        self._process.start()
        self.targets: int = self._ours.recv()

    def seconds(self, steps: int) -> float:
        """Seconds of `steps` steps."""
        self._ours.send(steps)
        return float(self._ours.recv())

    def peak_mebibytes(self) -> float:
        """Peak memory of the process, which then ends."""
        self._ours.send(0)
        peak = float(self._ours.recv())
        self._process.join()
        return peak


def compete(pipe: Connection, kind: str, name: str, threads: int, count: int) -> None:
    """The process of a system: it reports the number of targets in its batches, and then the time of steps."""
    torch.set_num_threads(threads)
    batches = task_of(MODELS[kind]).first(count)
    step = SYSTEMS[kind][name]()
    pipe.send(sum(batch.count for batch in batches))
    while steps := pipe.recv():
        begun = time.perf_counter()
        for batch in batches[:steps]:
            step(batch)
        pipe.send(time.perf_counter() - begun)
    pipe.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measured(kind: str, names: Sequence[str], arguments: argparse.Namespace) -> list[dict[str, Any]]:
    contestants = {name: Contestant(kind, name, arguments.threads, arguments.batches) for name in names}
    for contestant in contestants.values():
        contestant.seconds(1)  # only warms up
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(arguments.rounds):
        for name, contestant in contestants.items():
            seconds[name].append(contestant.seconds(arguments.batches))
    best = min((times for name, times in seconds.items() if not name.startswith("regard")), key=median)
    return [
        {
            "model": kind,
            "system": name,
            "tokens_per_second": contestants[name].targets / median(times),
            "slowest": contestants[name].targets / max(times),
            "fastest": contestants[name].targets / min(times),
            "times_best_peer": median(peer / mine for peer, mine in zip(best, times, strict=True)),
            "peak_mebibytes": contestants[name].peak_mebibytes(),
        }
        for name, times in seconds.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON file for the figures")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bfloat16", action="store_true", help="ours in bfloat16 too")
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    arguments = parser.parse_args()
    record = conditions(["torch", "transformers", "numpy"], arguments.commit)
    record |= {"threads": arguments.threads, "batches": arguments.batches, "rounds": arguments.rounds, "figures": []}
    for kind, named in SYSTEMS.items():
        names = [name for name in named if arguments.bfloat16 or not name.endswith("bfloat16")]
        for figure in measured(kind, names, arguments):
            record["figures"].append(figure)
            print(
                f"{kind:12} {figure['system']:18} {figure['tokens_per_second']:8,.0f} target tokens/s, "
                f"{figure['times_best_peer']:.2f} of the best peer",
                flush=True,
            )
    record["load_average_after"] = conditions(()).get("load_average_before", 0.0)
    arguments.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
