"""Generators without weights, and searches written out in plain Python, to test decoding against in milliseconds."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import Padded
from regard.decode.captured import FAILURES, CapturedStepping
from regard.graphs import Work
from regard.models.generator import Generator, Readout, State
from regard.recipe import Decoding
from regard.tap import Tap
from regard.tokens.vocabulary import BEGIN, END, PAD


@dataclass
class OnceState(State):
    """Checks what decoders promise: each state is consumed at most once, and its capacity is never exceeded."""

    keys: Tensor
    """Which table each row looks up."""
    recent: Tensor
    """The last two tokens of each row."""
    source: Padded
    room: int
    consumed: bool = field(default=False, compare=False)

    def consume(self) -> None:
        assert not self.consumed, "a state was consumed twice"
        self.consumed = True

    def select(self, rows: Tensor) -> "OnceState":
        self.consume()
        return OnceState(self.keys[rows], self.recent[rows], self.source.select(rows), self.room)

    def copy(self) -> "OnceState":
        assert not self.consumed, "a consumed state was copied"
        return OnceState(self.keys.clone(), self.recent.clone(), self.source, self.room)


class IdentityReadout(Readout):
    """For models whose features are logits."""

    def logits(self, features: Tensor) -> Tensor:
        return features

    def log_probs(self, features: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        every = features.float().log_softmax(-1)
        return every.gather(-1, targets[..., None]).squeeze(-1), every.mean(-1)


class TableGenerator(Generator):
    """The logits of the next token stand in a table: [source's key, last but one token, last token, next token].

    A source's key is the sum of its tokens. Attention is a made-up function of the last token and the source.
    """

    table: Tensor

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.register_buffer("table", table)
        self.size = table.shape[-1]
        self.readout = IdentityReadout()
        self.weights = Tap()
        self.cross_taps = ("weights",)
        self.rows_advanced: list[int] = []

    def start(self, source: Padded, capacity: int) -> OnceState:
        keys = (source.tokens * source.keep).sum(1) % len(self.table)
        return OnceState(keys, torch.full((len(keys), 2), BEGIN, device=keys.device), source, capacity)

    def advance(self, tokens: Tensor, state: OnceState) -> tuple[Tensor, OnceState]:
        state.consume()
        assert tokens.shape[1] <= state.room, "more tokens than the capacity that was asked for"
        self.rows_advanced.append(len(tokens))
        history = torch.cat([state.recent, tokens], 1)
        before, last = history[:, 1:-1], history[:, 2:]
        if self.weights.watched:
            self.weights(toy_attention(last, state.source)[:, None])
        features = self.table[state.keys[:, None], before, last]
        return features, OnceState(state.keys, history[:, -2:], state.source, state.room - tokens.shape[1])


def toy_attention(last: Tensor, source: Padded) -> Tensor:
    """Weights "N n S" of a made-up attention: half of it at the place that the last token's number names."""
    places = torch.arange(source.tokens.shape[1], device=last.device)
    scores = torch.where(places == last[..., None] % source.lengths[:, None, None], 1.0, 0.25) * source.keep[:, None]
    return scores / scores.sum(-1, keepdim=True)


class UniformGenerator(TableGenerator):
    """Knows nothing: every token is equally likely after every other."""

    def __init__(self, size: int) -> None:
        super().__init__(torch.zeros(1, size, size, size))


class BlindGenerator(TableGenerator):
    """Has no attention."""

    def __init__(self, table: Tensor) -> None:
        super().__init__(table)
        self.cross_taps = ()


@dataclass
class HiddenState(State):
    hidden: Tensor

    def select(self, rows: Tensor) -> "HiddenState":
        return HiddenState(self.hidden[rows])

    def copy(self) -> "HiddenState":
        return HiddenState(self.hidden.clone())


class SmallGenerator(Generator):
    """A real, tiny recurrent network with random weights, for what rounding and dropout do."""

    def __init__(self, size: int, width: int = 16, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(size, width)
        self.cell = nn.GRUCell(width, width)
        self.output = nn.Linear(width, size)
        self.dropout = nn.Dropout(dropout)
        self.readout = IdentityReadout()
        with torch.no_grad():
            self.output.weight.mul_(8)

    def start(self, source: Padded, capacity: int) -> HiddenState:
        embedded = self.embedding(source.tokens) * source.keep[..., None]
        return HiddenState(embedded.sum(1) / source.lengths[:, None])

    def advance(self, tokens: Tensor, state: HiddenState) -> tuple[Tensor, HiddenState]:
        hidden, features = state.hidden, []
        for column in self.embedding(tokens).unbind(1):
            hidden = self.cell(column, hidden)
            features.append(self.output(self.dropout(hidden)))
        return torch.stack(features, 1), HiddenState(hidden)


def random_table(seed: int, size: int, keys: int = 3, spread: float = 2.0) -> Tensor:
    return torch.randn(keys, size, size, size, generator=torch.Generator().manual_seed(seed)) * spread


def alternating_table() -> Tensor:
    """4 5 4 5 … is all but certain and has no end, but at each of its tokens END is the second choice."""
    table = torch.zeros(1, 6, 6, 6)
    table[..., END] = 1.0
    table[0, :, [BEGIN, 5], 4] = table[0, :, 4, 5] = 12.0
    return table


def plain_log_probs(model: TableGenerator, source: list[int], written: tuple[int, ...]) -> list[float]:
    """Log-probabilities of the token after what is written, in float64."""
    before, last = (BEGIN, BEGIN, *written)[-2:]
    return model.table[sum(source) % len(model.table), before, last].double().log_softmax(-1).tolist()


def plain_log_prob(model: TableGenerator, source: list[int], tokens: tuple[int, ...], finished: bool) -> float:
    whole = (*tokens, END) if finished else tokens
    return sum(plain_log_probs(model, source, whole[:place])[token] for place, token in enumerate(whole))


def plain_coverage(source: list[int], tokens: tuple[int, ...]) -> float:
    """Σ log(min(attention, 1)) over the source, the attention summed over all that was predicted, END included."""
    total = [0.0] * len(source)
    for last in (BEGIN, *tokens):
        scores = [1.0 if place == last % len(source) else 0.25 for place in range(len(source))]
        total = [sum_ + score / sum(scores) for sum_, score in zip(total, scores, strict=True)]
    return sum(math.log(min(attention, 1.0)) for attention in total)


def plain_score(
    model: TableGenerator,
    source: list[int],
    tokens: tuple[int, ...],
    finished: bool = True,
    length_penalty: float = 0.0,
    coverage_penalty: float = 0.0,
) -> float:
    length = max(len(tokens) + finished, 1)
    score = plain_log_prob(model, source, tokens, finished) / length**length_penalty
    return score + (coverage_penalty * plain_coverage(source, tokens) if coverage_penalty else 0.0)


def every_output(size: int, longest: int) -> Iterator[tuple[int, ...]]:
    """All sequences of tokens that may be written, of at most this length."""
    allowed = [token for token in range(size) if token not in (PAD, BEGIN, END)]
    for length in range(longest + 1):
        yield from product(allowed, repeat=length)


def plain_beam(
    next_log_probs: Callable[[tuple[int, ...]], list[float]],
    size: int,
    beam: int,
    longest: int,
    score: Callable[[tuple[int, ...], bool], float],
    *,
    n_best: int = 1,
) -> tuple[list[tuple[int, ...]], bool]:
    """Beam search with lists, which stops when `beam` hypotheses are finished.

    `next_log_probs` says how likely each of `size` tokens is after what is written.
    """
    allowed = [token for token in range(size) if token not in (PAD, BEGIN)]
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    finished: list[tuple[int, ...]] = []
    for length in range(longest + 1):
        candidates: list[Any] = []
        for total, written in live:
            log_probs = next_log_probs(written)
            candidates += [(total + log_probs[token], (*written, token)) for token in allowed]
            if length == longest:
                likelier = sum(log_probs[token] > log_probs[END] for token in allowed)
                finished += [written] if likelier < beam else []
        if length == longest:
            break
        # Of a beam of 1 the likeliest continuation alone is looked at.
        ranked = sorted(candidates, reverse=True)[: 1 if beam == 1 else None]
        finished += [tokens[:-1] for _, tokens in ranked[:beam] if tokens[-1] == END]
        live = [candidate for candidate in ranked if candidate[1][-1] != END][:beam]
        if len(finished) >= beam:
            break
    if finished:
        return sorted(finished, key=lambda tokens: -score(tokens, True))[:n_best], True
    return sorted((tokens for _, tokens in live), key=lambda tokens: -score(tokens, False))[:n_best], False


def apart(tokens: Sequence[Any], wanted: list[tuple[Any, ...]], continuing: Collection[Any] = ()) -> bool:
    """Whether a sequence contains all of these, none of them within another, or continued by one of some tokens; by
    trying everything."""
    if not wanted:
        return True
    for number, term in enumerate(wanted):
        rest = wanted[:number] + wanted[number + 1 :]
        for place in range(len(tokens) - len(term) + 1):
            after = tokens[place + len(term) :]
            ended = not after or after[0] not in continuing
            if tuple(tokens[place : place + len(term)]) == term and ended and apart(after, rest, continuing):
                return True
    return False


def decoding_by(method: str, beam: int = 3, **settings: Any) -> Decoding:
    """Settings of a method; only those of a beam search have a beam."""
    return Decoding.model_validate({"method": method, **({"beam": beam} if method == "beam" else {}), **settings})


def repeating(
    every: int = 3,
    refused: str = "",
    warm_up: Callable[[Work], object] = lambda work: work(),
    refusals: int = FAILURES,
    early: bool = False,
    patient: bool = False,
) -> CapturedStepping:
    """Captures without graphs: work is done and undone, and done again by what replays it; or refused, after that or
    before, so many times."""

    def capture(work: Work) -> Work:
        if refused and early and stepping.failures < refusals:
            raise RuntimeError(refused)
        before = {place: tensor.clone() for place, tensor in stepping.memory.items()}
        work()
        for place, tensor in before.items():
            stepping.memory[place].copy_(tensor)
        if refused and stepping.failures < refusals:
            raise RuntimeError(refused)
        return work

    stepping = CapturedStepping(torch.device("cpu"), capture, every, warm_up, patient)
    return stepping
