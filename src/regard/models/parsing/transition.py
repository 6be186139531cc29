"""The transition-based parser: moves of the arc-hybrid system, scored by the top of the stack and the front of the
buffer (Kiperwasser and Goldberg 2016), for all sentences of a batch at once.

In training, correct moves are those with zero cost (`Configurations.costs`) in any configuration that the parser itself
reaches (Goldberg and Nivre 2013).
"""

import torch
from jaxtyping import Bool, Float, Int
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
"""Number of stack words that are features of a move; the front of the buffer comes after them."""


class TransitionParser(DependencyParser):
    """The tap `moves` shows the probabilities of the moves, "B 1 moves", once per move."""

    def __init__(self, settings: TransitionParserModel, parts: ParserParts) -> None:
        super().__init__(settings, parts)
        self.explore = settings.explore
        self.dropout = FeatureDropout(settings.dropout)
        self.inward = nn.Linear(self.encoder.width, (DEPTH + 1) * settings.hidden)
        self.nothing = nn.Parameter(torch.zeros(DEPTH, settings.hidden))
        """Replaces missing words of the stack."""
        self.outward = nn.Linear(settings.hidden, MOVES)
        self.moves = Tap("row", "target", "move")
        for linear in (self.inward, self.outward):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def loss(self, batch: TreeBatch) -> Float[Tensor, ""]:
        features = self.read(batch.sentences)
        hidden = self._hidden(features)
        # Configurations are found without gradients, and then all their moves are scored at once: the gradient is the
        # same, but goes back through one step instead of hundreds.
        places, allowed, right = self._way(hidden.detach(), batch)
        chosen = self._log_probs(hidden, places, allowed).masked_fill(~right, -torch.inf)
        return self.relation_loss(features, batch) - chosen.logsumexp(2).masked_fill(~allowed.any(2), 0.0).sum()

    @torch.no_grad()
    def _way(
        self, hidden: Float[Tensor, "B P roles F"], batch: TreeBatch
    ) -> tuple[Int[Tensor, "B M roles"], Bool[Tensor, "B M moves"], Bool[Tensor, "B M moves"]]:
        """For M training steps: the feature words, the legal moves, and the correct moves among these (all where a
        sentence is finished)."""
        lengths, longest = batch.sentences.lengths, batch.heads.shape[1]
        now, steps = Configurations.start(lengths, longest), []
        for _ in range(2 * longest):
            places, allowed = _places(now), now.allowed
            right = (allowed & (now.costs(batch.heads) == 0)) | ~allowed.any(1, keepdim=True)
            steps.append((places, allowed, right))
            log_probs = self._log_probs(hidden, places[:, None], allowed[:, None]).squeeze(1)
            explores = torch.rand(len(lengths), device=lengths.device) < (self.explore if self.training else 0.0)
            best = log_probs.masked_fill(~right, -torch.inf).argmax(1)
            now = now.make(torch.where(explores, log_probs.argmax(1), best))
        places, allowed, right = (torch.stack(each, 1) for each in zip(*steps, strict=True))
        return places, allowed, right

    @torch.no_grad()
    def trees(self, sentences: Sentences, *, projective: bool = False) -> Trees:
        features = self.read(sentences)
        hidden = self._hidden(features)
        now, moves = Configurations.start(sentences.lengths, sentences.tokens.shape[1]), list[Tensor]()
        for _ in range(2 * sentences.tokens.shape[1]):
            log_probs = watched(
                self.moves, self._log_probs(hidden, _places(now)[:, None], now.allowed[:, None])
            ).squeeze(1)
            # An intervention may prefer an illegal move.
            moves.append(log_probs.masked_fill(~now.allowed, -torch.inf).argmax(1))
            now = now.make(moves[-1])
        return Trees(now.heads, self.relation_log_probs(features, now.heads), torch.stack(moves, 1))

    def _hidden(self, features: Float[Tensor, "B P E"]) -> Float[Tensor, "B P roles F"]:
        """The contribution of the root and of each word to the hidden layer, in each role."""
        hidden: Tensor = self.inward(self.dropout(features)).unflatten(2, (DEPTH + 1, -1))
        return hidden

    def _log_probs(
        self, hidden: Float[Tensor, "B P roles F"], places: Int[Tensor, "B M roles"], allowed: Bool[Tensor, "B M moves"]
    ) -> Float[Tensor, "B M moves"]:
        """Log-probabilities of the legal moves; all count as legal where a sentence is finished."""
        found = hidden.gather(1, places.unsqueeze(3).expand(-1, -1, -1, hidden.shape[3]))
        is_missing = (places[..., :DEPTH] == 0).unsqueeze(3)
        stack = torch.where(is_missing, self.nothing.to(found.dtype), found[:, :, :DEPTH])
        scores = self.outward(F.relu(stack.sum(2) + found[:, :, DEPTH])).float()
        possible = allowed | ~allowed.any(2, keepdim=True)
        return F.log_softmax(scores.masked_fill(~possible, -torch.inf), -1)


def _places(now: Configurations) -> Int[Tensor, "B roles"]:
    """The feature words of a move, 0 where there is none."""
    return torch.stack([*(now.below_top(step) for step in range(DEPTH)), now.front * now.has_words], 1)
