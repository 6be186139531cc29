"""Skip-gram and cbow with negative sampling on a GPU, as one Triton kernel.

Hundreds of programs process different parts of the text in parallel and add their gradients to the same two matrices
without locks, as the threads of a CPU do (Recht et al. 2011). A program holds the vectors around a word in registers,
predicts the word and its negatives, which they share, and adds all changes.
"""

from collections.abc import Mapping

import numpy as np
import torch
import triton
import triton.language as tl
from jaxtyping import Float32

from regard.device import synchronize
from regard.recipe import PredictingVectors
from regard.vectors.corpus import Corpus
from regard.vectors.sampling import keeping, negatives, start

SPAN = 1 << 22
"""Words of the text on the GPU at a time."""

PROGRAMS = 1024
"""Parallel programs; more are not better, because each works with outdated vectors of the others."""

TURNS = 4
"""Groups in which the words around a word predict it, in skip-gram: each group sees the updates of the one before. All
at once they overshoot, which harms analogies."""

LEAST_SHARE = 64
"""Minimum number of words for each program, so that a short text is not learned all in parallel."""


@triton.jit(do_not_specialize=["count", "share", "seed"])
def _learn(
    tokens, lines, inputs, outputs, odds, alias, count, share, words, first_rate, last_rate, seed,
    window: tl.constexpr, dynamic: tl.constexpr, targets: tl.constexpr, width: tl.constexpr,
    slot_count: tl.constexpr, column_count: tl.constexpr, turns: tl.constexpr, cbow: tl.constexpr,
):  # fmt: skip
    begin = tl.program_id(0) * share
    slots, columns = tl.arange(0, slot_count), tl.arange(0, column_count)
    inside = columns < width
    for step in range(share):
        place = begin + step
        word = tl.load(tokens + place, mask=place < count, other=-1)
        if word >= 0:
            rate = first_rate + (last_rate - first_rate) * (place / count)
            draw, _, _, _ = tl.randint4x(seed, place * targets)
            reach = window
            if dynamic:
                reach = window - _below(draw, window)
            others = place - window + slots
            near = (others >= 0) & (others < count) & (slots != window) & (tl.abs(slots - window) <= reach)
            near = near & (tl.load(lines + others, mask=near, other=-1) == tl.load(lines + place))
            rows = tl.load(tokens + others, mask=near, other=-1)
            near = near & (rows >= 0)
            where = rows[:, None].to(tl.int64) * width + columns[None, :]
            known = near[:, None] & inside[None, :]
            vectors = tl.load(inputs + where, mask=known, other=0.0)
            company = tl.sum(near.to(tl.float32), axis=0)
            hidden = tl.sum(vectors, axis=0) / tl.maximum(company, 1.0)
            change, hidden_change = tl.zeros_like(vectors), tl.zeros_like(hidden)
            for target in tl.static_range(targets):
                chosen = word
                if target > 0:
                    first, second, _, _ = tl.randint4x(seed, place * targets + target)
                    chosen = _below(first, words).to(tl.int32)
                    if second.to(tl.uint32, bitcast=True).to(tl.int64) > tl.load(odds + chosen):
                        chosen = tl.load(alias + chosen)
                label = 1.0 if target == 0 else 0.0
                # Ignore a negative that is the word itself.
                weight = tl.where((chosen == word) & (target > 0), 0.0, rate)
                at = outputs + chosen.to(tl.int64) * width + columns
                output = tl.load(at, mask=inside, other=0.0)
                if cbow:
                    gradient = (label - tl.sigmoid(tl.sum(hidden * output, axis=0))) * weight
                    gradient = tl.where(company > 0, gradient, 0.0)
                    hidden_change += gradient * output
                    tl.atomic_add(at, gradient * hidden, mask=inside, sem="relaxed")
                else:
                    learned = tl.zeros_like(output)
                    for turn in tl.static_range(turns):
                        gradients = (label - tl.sigmoid(tl.sum(vectors * output[None, :], axis=1))) * weight
                        gradients = tl.where(near & (slots % turns == turn), gradients, 0.0)
                        change += gradients[:, None] * output[None, :]
                        new = tl.sum(gradients[:, None] * vectors, axis=0)
                        output += new
                        learned += new
                    tl.atomic_add(at, learned, mask=inside, sem="relaxed")
            if cbow:
                change += hidden_change[None, :]
            tl.atomic_add(inputs + where, change, mask=known, sem="relaxed")


@triton.jit
def _below(draw, bound):
    """A random number from 0 to bound − 1, from 32 random bits."""
    return (draw.to(tl.uint32, bitcast=True).to(tl.int64) * bound) >> 32


class CudaEngine:
    """Learns on a GPU. The text is copied in spans; subsampling happens on the GPU."""

    span = SPAN
    workers = 1

    def __init__(self, settings: PredictingVectors, corpus: Corpus, seed: int, device: torch.device) -> None:
        self.settings, self.corpus, self.seed, self.device = settings, corpus, seed, device
        counts = corpus.vocabulary.counts
        table = negatives(counts)
        self._keep = torch.from_numpy(keeping(counts, settings.sample).astype(np.int64)).to(device)
        self._odds = torch.from_numpy(table.odds.astype(np.int64)).to(device)
        self._alias = torch.from_numpy(table.alias).to(device)

    def load(self, arrays: Mapping[str, Float32[np.ndarray, "V D"]]) -> None:
        """Copies the matrices to the GPU."""
        self.inputs = torch.from_numpy(np.ascontiguousarray(arrays["inputs"])).to(self.device)
        self.outputs = torch.from_numpy(np.ascontiguousarray(arrays["outputs"])).to(self.device)

    def arrays(self) -> dict[str, Float32[np.ndarray, "V D"]]:
        """The current matrices."""
        return {"inputs": self.inputs.cpu().numpy(), "outputs": self.outputs.cpu().numpy()}

    def learn(self, begin: int, end: int, epoch: int, rates: tuple[float, float]) -> None:
        """Learns from a span of the text."""
        settings, seed = self.settings, int(start(self.seed, epoch, begin)) >> 1
        tokens = torch.from_numpy(np.array(self.corpus.tokens[begin:end])).to(self.device)
        tokens, lines = self._kept(tokens, seed)
        if not len(tokens):
            return
        slots, columns = triton.next_power_of_2(2 * settings.window + 1), triton.next_power_of_2(settings.dimension)
        share = max(LEAST_SHARE, triton.cdiv(len(tokens), PROGRAMS))
        _learn[(triton.cdiv(len(tokens), share),)](
            tokens, lines, self.inputs, self.outputs, self._odds, self._alias, len(tokens), share, len(self._odds),
            *rates, seed % 2**31,
            window=settings.window,
            dynamic=settings.dynamic,
            targets=settings.negatives + 1,
            width=settings.dimension,
            slot_count=slots,
            column_count=columns,
            turns=TURNS,
            cbow=settings.kind == "cbow",
            # The vectors of a window and their changes take 64 registers of each thread.
            num_warps=min(16, max(1, slots * columns // 1024)),
        )  # fmt: skip
        synchronize(self.device)

    def _kept(self, tokens: torch.Tensor, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        """A span without subsampled words, and the line of each word."""
        generator = torch.Generator(self.device).manual_seed(seed)
        drawn = torch.randint(2**32, tokens.shape, generator=generator, device=self.device)
        tokens = tokens[(tokens < 0) | (drawn <= self._keep[tokens.clamp(min=0)])]
        return tokens, (tokens < 0).cumsum(0, dtype=torch.int32)
