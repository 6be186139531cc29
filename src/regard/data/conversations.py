"""Texts of conversations with the preceding ones as context. A text that is the context of several is read once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.data import batches
from regard.data.batches import Batches
from regard.data.fill_rows import Indices
from regard.data.labelled import LabelledText
from regard.data.sentence_batches import Lengths
from regard.data.sentences import Sentences

B = TypeVar("B")
NOWHERE = -1
"""The place of a missing text."""
STRETCH = 32
"""Texts that follow each other in a conversation and go into a batch together: many, so that few are read as context
alone, and few enough that a batch has texts of several conversations."""
BANDS = 6
"""Parts of a batch by the length of texts, each padded by itself: texts that follow each other differ in length."""


@dataclass(frozen=True)
class TextsInContext:
    """Some texts, and all texts that are read for them."""

    bands: tuple[Sentences, ...]
    """All that are read, those of similar length together."""
    asked: Int[Tensor, " B"]
    """The place of each text among all of `bands`."""
    earlier: Int[Tensor, "B K"]
    """The places of the K texts before it, the nearest first; NOWHERE before the beginning of the conversation."""
    same: Bool[Tensor, "B K"]
    """Whether they have the same speaker."""

    def select(self, rows: Int[Tensor, " N"]) -> Self:
        """Some of the texts, with their context."""
        asked, earlier = self.asked[rows], self.earlier[rows]
        used: Int[Tensor, " M"] = torch.unique(torch.cat([asked, earlier[earlier != NOWHERE]]))
        ends = np.cumsum([0, *(len(band.tokens) for band in self.bands)]).tolist()
        parts = [used[(used >= start) & (used < end)] - start for start, end in pairwise(ends)]
        bands = (band.select(part) for band, part in zip(self.bands, parts, strict=True))
        moved = torch.searchsorted(used, earlier.clamp_min(0))
        return replace(
            self,
            bands=tuple(bands),
            asked=torch.searchsorted(used, asked),
            earlier=torch.where(earlier == NOWHERE, NOWHERE, moved),
            same=self.same[rows],
        )

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        bands = tuple(band.map(function) for band in self.bands)
        return replace(
            self, bands=bands, asked=function(self.asked), earlier=function(self.earlier), same=function(self.same)
        )

    def to(self, device: torch.device) -> Self:
        return self.map(lambda tensor: tensor.to(device))


class Conversations:
    """The beginnings and speakers of conversations."""

    def __init__(self, texts: Sequence[LabelledText], reach: int) -> None:
        self.reach = reach
        numbers = np.array([text.conversation for text in texts], dtype=np.int64)
        starts = np.flatnonzero(np.diff(numbers, prepend=NOWHERE))
        self.first = np.repeat(starts, np.diff(starts, append=len(texts)))
        """The first text of the conversation that a text belongs to."""
        names = {name: number for number, name in enumerate(dict.fromkeys(text.speaker for text in texts))}
        self.speakers = np.array([names[text.speaker] for text in texts], dtype=np.int64)
        self.stretches = [
            np.arange(first, min(first + STRETCH, end))
            for start, end in pairwise([*starts.tolist(), len(texts)])
            for first in range(start, end, STRETCH)
        ]
        """The indices of texts that follow each other."""

    def earlier(self, chosen: Indices) -> Indices:
        """The indices of the texts before each, the nearest first; NOWHERE where there are none."""
        places = chosen[:, None] - np.arange(1, self.reach + 1)
        return np.where(places >= self.first[chosen][:, None], places, NOWHERE)

    def in_context(self, chosen: Indices, lengths: Lengths, pick: Callable[[Indices], Sentences]) -> TextsInContext:
        """Some texts with their context; `pick` makes sentences from indices."""
        earlier = self.earlier(chosen)
        read = np.union1d(chosen, earlier[earlier != NOWHERE])
        read = read[np.argsort(lengths[read], kind="stable")]
        order = np.argsort(read)

        def places(numbers: Indices) -> Int[Tensor, "..."]:
            return torch.from_numpy(order[np.searchsorted(read, numbers, sorter=order)])

        there = np.where(earlier == NOWHERE, chosen[:, None], earlier)
        same = self.speakers[there] == self.speakers[chosen][:, None]
        return TextsInContext(
            tuple(pick(part) for part in np.array_split(read, min(BANDS, len(read)))),
            places(chosen),
            torch.where(torch.from_numpy(earlier == NOWHERE), NOWHERE, places(there)),
            torch.from_numpy(same),
        )


class ConversationBatches(Batches[Indices, B], Generic[B]):
    """An endless stream of training batches of stretches of conversations, as planned by `plan_stretches`."""

    def __init__(
        self,
        conversations: Conversations,
        lengths: Lengths,
        pick: Callable[[Indices], B],
        *,
        seed: int,
        batch_tokens: int,
    ) -> None:
        self._stretches, self._pick, self._batch_tokens = conversations.stretches, pick, batch_tokens
        self._words = words_in(self._stretches, lengths)
        super().__init__(
            len(self._stretches), seed, int(batches.BATCHES_IN_SHARD * batch_tokens / max(float(self._words.mean()), 1))
        )
        self.tokens = int(lengths.sum())
        """Words of all texts."""

    def _shard(self, epoch: int, chosen: npt.NDArray[np.uint32]) -> Indices:
        return chosen.astype(np.int64)

    def _plan(self, examples: Indices) -> list[Indices]:
        return plan_stretches(self._words[examples], self._batch_tokens)

    def _batch(self, examples: Indices, rows: Indices) -> B:
        return self._pick(np.concatenate([self._stretches[number] for number in examples[rows]]))


def words_in(stretches: Sequence[Indices], lengths: Lengths) -> Lengths:
    """The words of each stretch, given those of each text."""
    return np.array([lengths[stretch].sum() for stretch in stretches], dtype=np.int64)


def plan_stretches(words: Lengths, batch_tokens: int) -> list[Indices]:
    """Groups stretches into batches by their number of words: neighbors, as many as the budget allows. Words read only
    as context do not count, and a stretch that exceeds the budget is a batch by itself."""
    plan, first, total = [], 0, 0
    for place, size in enumerate(words.tolist()):
        if place > first and total + size > batch_tokens:
            plan.append(np.arange(first, place))
            first, total = place, 0
        total += size
    return [*plan, np.arange(first, len(words))] if len(words) else plan
