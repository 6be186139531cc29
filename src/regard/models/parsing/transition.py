"""The transition-based parser: moves of the arc-hybrid system, scored by what stands on top of the stack and first in
the buffer (Kiperwasser and Goldberg 2016), for all sentences of a batch at once.

In training, right moves are those that lose no arc of the gold tree (`Configurations.costs`), from whatever
configuration the parser itself has come to (Goldberg and Nivre 2013).
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.sentences import Sentences
from regard.data.trees import TreeBatch
from regard.models.parsing.arc_hybrid import MOVES, Configurations
from regard.models.parsing.parser import DependencyParser, ParserParts, Trees, watched
from regard.nn.dropout import FeatureDropout
from regard.recipe.parsing import TransitionParserModel
from regard.tap import Tap

DEPTH = 3
"""Words of the stack that moves are scored by; the first of the buffer comes after them."""


class TransitionParser(DependencyParser):
    """The tap `moves` shows the probabilities of the moves, "B 1 moves", once for each move."""

    def __init__(self, settings: TransitionParserModel, parts: ParserParts) -> None:
        super().__init__(settings, parts)
        self.explore = settings.explore
        self.dropout = FeatureDropout(settings.dropout)
        self.inward = nn.Linear(self.encoder.width, (DEPTH + 1) * settings.hidden)
        self.nothing = nn.Parameter(torch.zeros(DEPTH, settings.hidden))
        """Stands for words that a stack does not have."""
        self.outward = nn.Linear(settings.hidden, MOVES)
        self.moves = Tap("row", "target", "move")
        for linear in (self.inward, self.outward):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def loss(self, batch: TreeBatch) -> Float[Tensor, ""]:
        features = self.read(batch.sentences)
        hidden = self._hidden(features)
        lengths, longest = batch.sentences.lengths, batch.heads.shape[1]
        now, total = Configurations.start(lengths, longest), features.new_zeros((), dtype=torch.float32)
        for _ in range(2 * longest):
            is_done = ~now.allowed.any(1)
            log_probs = self._log_probs(hidden, now)
            right = (now.allowed & (now.costs(batch.heads) == 0)) | is_done[:, None]
            chosen = log_probs.masked_fill(~right, -torch.inf)
            total = total - chosen.logsumexp(1).masked_fill(is_done, 0.0).sum()
            explores = torch.rand(len(lengths), device=lengths.device) < (self.explore if self.training else 0.0)
            now = now.make(torch.where(explores, log_probs.argmax(1), chosen.argmax(1)))
        return total + self.relation_loss(features, batch)

    @torch.no_grad()
    def trees(self, sentences: Sentences, *, projective: bool = False) -> Trees:
        features = self.read(sentences)
        hidden = self._hidden(features)
        now = Configurations.start(sentences.lengths, sentences.tokens.shape[1])
        for _ in range(2 * sentences.tokens.shape[1]):
            log_probs = watched(self.moves, self._log_probs(hidden, now).unsqueeze(1)).squeeze(1)
            # An intervention may prefer what cannot be done.
            now = now.make(log_probs.masked_fill(~now.allowed, -torch.inf).argmax(1))
        return Trees(now.heads, self.relation_log_probs(features, now.heads))

    def _hidden(self, features: Float[Tensor, "B P E"]) -> Float[Tensor, "B P roles F"]:
        """What the root and each word add to the hidden layer in each role."""
        hidden: Tensor = self.inward(self.dropout(features)).unflatten(2, (DEPTH + 1, -1))
        return hidden

    def _log_probs(self, hidden: Float[Tensor, "B P roles F"], now: Configurations) -> Float[Tensor, "B moves"]:
        """Of the allowed moves; all count as allowed where a sentence is parsed."""
        places = torch.stack([*(now.below_top(step) for step in range(DEPTH)), now.front * now.has_words], 1)
        index = places[:, None, :, None].expand(-1, -1, -1, hidden.shape[3])
        found = hidden.gather(1, index).squeeze(1)
        is_missing = (places[:, :DEPTH] == 0).unsqueeze(2)
        stack = torch.where(is_missing, self.nothing.to(found.dtype), found[:, :DEPTH])
        scores = self.outward(F.relu(stack.sum(1) + found[:, DEPTH])).float()
        allowed = now.allowed | ~now.allowed.any(1, keepdim=True)
        return F.log_softmax(scores.masked_fill(~allowed, -torch.inf), -1)
