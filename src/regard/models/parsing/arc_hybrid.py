"""The arc-hybrid transition system (Kuhlmann et al. 2011) and its dynamic oracle (Goldberg and Nivre 2013), batched, on
any device.

A configuration has a stack of words, a buffer (the words from `front` on, and after them the root), and the arcs found:

    SHIFT   the first item of the buffer is pushed onto the stack
    LEFT    the top of the stack is popped; its head is the first item of the buffer
    RIGHT   the top of the stack is popped; its head is the word below it

A sentence of n words is parsed after 2n moves, as a projective tree. Only the last word of the stack can
attach to the root, so that a tree has one root.
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Bool, Int
from torch import Tensor

SHIFT, LEFT, RIGHT = 0, 1, 2
MOVE_NAMES = ("shift", "left", "right")
MOVES = len(MOVE_NAMES)


@dataclass(frozen=True)
class Configurations:
    """Parser configurations of B sentences. Words are numbered from 1, as in CoNLL-U."""

    lengths: Int[Tensor, " B"]
    front: Int[Tensor, " B"]
    """The first word of the buffer; one more than the last word if only the root is left."""
    stack: Int[Tensor, "B W"]
    """The words on the stack, the lowest first; arbitrary beyond `size`."""
    size: Int[Tensor, " B"]
    """Words on the stack."""
    heads: Int[Tensor, "B W"]
    """The heads found; 0 for the root and for words without a head yet."""

    @classmethod
    def start(cls, lengths: Int[Tensor, " B"], longest: int) -> Self:
        """All words in the buffer."""
        empty = lengths.new_zeros(len(lengths), longest)
        return cls(lengths, torch.ones_like(lengths), empty, torch.zeros_like(lengths), empty)

    @property
    def has_words(self) -> Bool[Tensor, " B"]:
        """Whether the first item of the buffer is a word, not the root."""
        return self.front <= self.lengths

    @property
    def allowed(self) -> Bool[Tensor, "B moves"]:
        """The legal moves; none for finished sentences."""
        left = (self.size > 0) & (self.has_words | (self.size == 1))
        return torch.stack([self.has_words, left, self.size > 1], 1)

    def below_top(self, steps: int) -> Int[Tensor, " B"]:
        """The word `steps` places below the top of the stack, 0 if the stack is too short."""
        place = self.size - 1 - steps
        return self.stack.gather(1, place.clamp_min(0).unsqueeze(1)).squeeze(1).masked_fill(place < 0, 0)

    def costs(self, gold: Int[Tensor, "B W"]) -> Int[Tensor, "B moves"]:
        """The number of arcs of the projective trees `gold` (heads) that each move makes unreachable; arbitrary for
        illegal moves."""
        top, below, front = self.below_top(0), self.below_top(1), self.front
        words = torch.arange(1, self.stack.shape[1] + 1, device=front.device)
        places = words - 1
        # Arcs of the top: to its head, and to its dependents in the buffer.
        head = _heads_of(gold, top)
        dependents = ((gold == top[:, None]) & (words >= front[:, None]) & (words <= self.lengths[:, None])).sum(1)
        # The root can only be the head of the lowest word on the stack.
        by_root = (head == 0) & (self.size == 1) & self.has_words
        left = dependents + ((head == below) & (below > 0)) + (head > front) + by_root
        right = dependents + (head >= front)
        # Arcs of the first item of the buffer: to its head deep in the stack, to its dependents there, and to the root.
        on_stack = places < self.size[:, None]
        deep = places < self.size[:, None] - 1
        head = _heads_of(gold, front * self.has_words)
        of_front = (_heads_of(gold, self.stack * on_stack) == front[:, None]) & on_stack
        is_deep = ((self.stack == head[:, None]) & deep).any(1)
        shift = of_front.sum(1) + is_deep + ((head == 0) & (self.size > 0))
        return torch.stack([shift, left, right], 1)

    def make(self, moves: Int[Tensor, " B"]) -> Self:
        """The configurations after a legal move in each sentence; finished ones do not change."""
        shift, left, right = ((moves == move) & self.allowed[:, move] for move in (SHIFT, LEFT, RIGHT))
        top = self.below_top(0)
        head = torch.where(left, self.front * self.has_words, self.below_top(1))
        popped = left | right
        words = torch.arange(1, self.stack.shape[1] + 1, device=top.device)
        is_top = (words == top[:, None]) & popped[:, None]
        is_next = (words - 1 == self.size[:, None]) & shift[:, None]
        return replace(
            self,
            front=self.front + shift,
            stack=torch.where(is_next, self.front[:, None], self.stack),
            size=self.size + shift.long() - popped.long(),
            heads=torch.where(is_top, head[:, None], self.heads),
        )


def _heads_of(gold: Int[Tensor, "B W"], words: Int[Tensor, "B ..."]) -> Int[Tensor, "B ..."]:
    """The heads of words by their numbers; −1 for 0, which is no word."""
    rows = words if words.dim() > 1 else words[:, None]
    found = gold.gather(1, (rows - 1).clamp_min(0)).masked_fill(rows == 0, -1)
    return found if words.dim() > 1 else found.squeeze(1)
