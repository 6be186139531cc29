"""Several generators as one: the mean of their probabilities, token by token (Hansen and Salamon 1990).

Its features are the members' features, concatenated, its state their states, so it is used like any other generator.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.data.batch import Padded
from regard.errors import UsageError
from regard.models.generator import Generator, Readout, State

LARGEST = 2**25
"""Most log-probabilities in memory at a time when targets are scored: 128 MiB for each member."""


@dataclass
class EnsembleState(State):
    """The members' states, which have the same rows."""

    states: list[State]

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return type(self)([state.select(rows) for state in self.states])

    def branch(self, rows: Int[Tensor, "M places"], sources: Int[Tensor, " M"] | None = None) -> Self:
        return type(self)([state.branch(rows, sources) for state in self.states])

    def copy(self) -> Self:
        return type(self)([state.copy() for state in self.states])


class EnsembleReadout(Readout):
    """log (1/M Σ p), in float32 at least; the logits are these log-probabilities."""

    def __init__(self, members: Sequence[Readout], *, largest: int = LARGEST) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.widths = [member.width for member in members]
        self.width, self.size = sum(self.widths), members[0].size
        self.largest = largest

    def logits(self, features: Float[Tensor, "*rows E"]) -> Float[Tensor, "*rows V"]:
        total: Tensor | None = None
        # One by one, to hold no more than two in memory.
        for member, part in zip(self.members, torch.split(features, self.widths, -1), strict=True):
            logits = cast(Readout, member).logits(part)
            each = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
            total = each if total is None else torch.logaddexp(total, each)
        assert total is not None
        return total - math.log(len(self.widths))

    def log_probs(
        self, features: Float[Tensor, "*rows E"], targets: Int[Tensor, "*rows"]
    ) -> tuple[Float[Tensor, "*rows"], Float[Tensor, "*rows"]]:
        """As for every readout, but not memory-bounded with gradients: ensembles are made of trained models."""
        chosen, mean = [], []
        chunk = max(1, self.largest // (self.size * max(1, math.prod(targets.shape[1:]))))
        for rows in torch.split(torch.arange(len(targets), device=targets.device), chunk):
            each = self.select(rows).logits(features[rows])
            chosen.append(each.gather(-1, targets[rows].unsqueeze(-1)).squeeze(-1))
            mean.append(each.mean(-1))
        return torch.cat(chosen), torch.cat(mean)

    def select(self, rows: Int[Tensor, " M"]) -> "EnsembleReadout":
        bound = [cast(Readout, member).select(rows) for member in self.members]
        if all(one is member for one, member in zip(bound, self.members, strict=True)):
            return self
        return EnsembleReadout(bound, largest=self.largest)


class Ensemble(Generator):
    """Generators with the same target vocabulary and source tokenizer as one generator; its taps are its members'."""

    def __init__(self, members: Sequence[Generator]) -> None:
        super().__init__()
        if not members:
            raise UsageError("an ensemble needs at least one model")
        sizes = [member.readout.size for member in members]
        if len(set(sizes)) > 1:
            raise UsageError(
                f"the models of an ensemble must write the same vocabulary, but theirs have {_listed(sizes)} tokens; "
                "leave out those that differ"
            )
        self.copies = members[0].copies
        if any(member.copies != self.copies for member in members):
            raise UsageError(
                "models that copy words of their source cannot be combined with models that do not, because they have "
                "words outside the vocabulary; leave out those that differ in model.copying"
            )
        self.members = nn.ModuleList(members)
        self.readout: EnsembleReadout = EnsembleReadout([member.readout for member in members])
        self.cross_taps = tuple(
            f"members.{place}.{tap}" for place, member in enumerate(members) for tap in member.cross_taps
        )

    def start(self, source: Padded, capacity: int) -> EnsembleState:
        return EnsembleState([cast(Generator, member).start(source, capacity) for member in self.members])

    def advance(self, tokens: Int[Tensor, "N n"], state: State) -> tuple[Float[Tensor, "N n E"], State]:
        assert isinstance(state, EnsembleState)
        advanced = [
            cast(Generator, member).advance(tokens, each)
            for member, each in zip(self.members, state.states, strict=True)
        ]
        features, states = zip(*advanced, strict=True)
        return torch.cat(features, -1), EnsembleState(list(states))

    def readout_of(self, state: State) -> Readout:
        assert isinstance(state, EnsembleState)
        members = (cast(Generator, member) for member in self.members)
        bound = [member.readout_of(each) for member, each in zip(members, state.states, strict=True)]
        unbound = (one is member for one, member in zip(bound, self.readout.members, strict=True))
        return self.readout if all(unbound) else EnsembleReadout(bound)


def _listed(sizes: Sequence[int]) -> str:
    return " and ".join(filter(None, [", ".join(map(str, sizes[:-1])), str(sizes[-1])]))
