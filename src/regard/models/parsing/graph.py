"""The graph-based parser (Dozat and Manning 2017): a score for every arc, and the maximum spanning tree."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regard.data.sentences import Sentences
from regard.data.trees import TreeBatch
from regard.models.parsing.parser import DependencyParser, ParserParts, Trees, watched
from regard.models.parsing.trees import best_tree
from regard.nn.biaffine import ArcScores
from regard.recipe.parsing import GraphParserModel
from regard.tap import Tap


class GraphParser(DependencyParser):
    """The tap `arcs` shows the probability of each head for each word, "B S P", the root first."""

    def __init__(self, settings: GraphParserModel, parts: ParserParts) -> None:
        super().__init__(settings, parts)
        self.scores = ArcScores(self.encoder.width, settings.arc_width, settings.dropout)
        self.arcs = Tap("row", "word", "source")

    def arc_log_probs(self, features: Float[Tensor, "B P E"], sentences: Sentences) -> Float[Tensor, "B S P"]:
        """Log-probability of each head for each word: the root, or another word of the sentence."""
        scores = self.scores(features[:, 1:], features).float()
        words = scores.shape[1]
        is_head = F.pad(sentences.keep, (1, 0), value=True)
        is_own = torch.eye(words, words + 1, dtype=torch.bool, device=scores.device).roll(1, 1)
        return watched(self.arcs, F.log_softmax(scores.masked_fill(~is_head.unsqueeze(1) | is_own, -torch.inf), -1))

    def loss(self, batch: TreeBatch) -> Float[Tensor, ""]:
        features = self.read(batch.sentences)
        heads = self.arc_log_probs(features, batch.sentences).gather(2, batch.heads.unsqueeze(2)).squeeze(2)
        return -heads.where(batch.keep, 0.0).sum() + self.relation_loss(features, batch)

    @torch.no_grad()
    def trees(self, sentences: Sentences, *, projective: bool = False) -> Trees:
        features = self.read(sentences)
        arcs = self.arc_log_probs(features, sentences).cpu().numpy()
        heads = torch.zeros(arcs.shape[:2], dtype=torch.int64)
        for row, length in enumerate(sentences.lengths.tolist()):
            scores = arcs[row, :length, : length + 1]
            heads[row, :length] = torch.from_numpy(best_tree(scores, projective=projective))
        heads = heads.to(features.device)
        return Trees(heads, self.relation_log_probs(features, heads))
