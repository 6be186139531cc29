"""A tagger: words, an encoder, an output that chooses a tag for each word, and optionally pooling and a score for each
label of the sentence."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.sentences import Sentences
from regard.models.crf import CRF
from regard.models.encoders import build_encoder
from regard.models.pooling import POOLINGS, Pooling
from regard.models.words import WordInput
from regard.nn.dropout import Dropout
from regard.recipe import TaggerModel, WordTable
from regard.tap import Tap, name_axes
from regard.tokens.tag_schemes import OUTSIDE, Scheme, may_follow
from regard.tokens.tag_set import MISSING
from regard.tokens.word_vocabulary import WordVocabulary


class TagOutput(nn.Module, ABC):
    """Chooses tags by their scores at each word; arbitrary at padding."""

    @abstractmethod
    def loss(
        self, scores: Float[Tensor, "B S C"], tags: Int[Tensor, "B S"], lengths: Int[Tensor, " B"]
    ) -> Float[Tensor, ""]:
        """Minus the log-likelihood of the given tags, summed."""

    @abstractmethod
    def best(self, scores: Float[Tensor, "B S C"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B S"]:
        """The likeliest tags of each sentence."""

    @abstractmethod
    def marginals(self, scores: Float[Tensor, "B S C"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B S C"]:
        """The probability of each tag at each word."""


class SoftmaxOutput(TagOutput):
    """Chooses the tag of each word by itself."""

    def loss(
        self, scores: Float[Tensor, "B S C"], tags: Int[Tensor, "B S"], lengths: Int[Tensor, " B"]
    ) -> Float[Tensor, ""]:
        keep = torch.arange(tags.shape[1], device=tags.device) < lengths[:, None]
        wanted = scores.float().log_softmax(-1).gather(2, tags.masked_fill(~keep, 0).unsqueeze(2)).squeeze(2)
        return -wanted.masked_fill(~keep, 0.0).sum()

    def best(self, scores: Float[Tensor, "B S C"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B S"]:
        return scores.argmax(-1)

    def marginals(self, scores: Float[Tensor, "B S C"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B S C"]:
        return scores.float().softmax(-1)


class CrfOutput(TagOutput):
    """Chooses the tags of a sentence together."""

    def __init__(self, tags: int, allowed: Bool[Tensor, "D D"] | None = None) -> None:
        super().__init__()
        self.crf = CRF(tags, allowed)

    def loss(
        self, scores: Float[Tensor, "B S C"], tags: Int[Tensor, "B S"], lengths: Int[Tensor, " B"]
    ) -> Float[Tensor, ""]:
        return -self.crf.log_likelihood(scores, tags, lengths).sum()

    def best(self, scores: Float[Tensor, "B S C"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B S"]:
        return self.crf.best(scores, lengths)

    def marginals(self, scores: Float[Tensor, "B S C"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B S C"]:
        return self.crf.marginals(scores, lengths)


def allowed_transitions(tags: Sequence[str], scheme: Scheme) -> Bool[Tensor, "D D"]:
    """Which tag may follow which in a scheme; the last row is the beginning of a sentence, the last column its end."""
    ends = [*tags, OUTSIDE]
    return torch.tensor([[may_follow(scheme, before, after) for after in ends] for before in ends])


class WordTagger(nn.Module):
    """Gives each word a score for each tag, which the tap `scores` shows; `output` chooses tags. With labels, the whole
    sentence has a score for each of them (tap `label_scores`), from the same features (Liu and Lane 2016)."""

    def __init__(
        self,
        settings: TaggerModel,
        words: WordTable,
        vocabulary: WordVocabulary,
        tags: Sequence[str],
        scheme: Scheme = "none",
        labels: int = 0,
    ) -> None:
        super().__init__()
        self.encoder = build_encoder(settings.encoder)
        name_axes(self.encoder, step="source", query="source", key="source")
        self.words = WordInput(words, vocabulary, self.encoder.input_width)
        self.dropout = Dropout(settings.dropout)
        self.project = nn.Linear(self.encoder.width, len(tags))
        self.scores = Tap("row", "source", "tag")
        if settings.output == "softmax":
            self.output: TagOutput = SoftmaxOutput()
        else:
            self.output = CrfOutput(len(tags), allowed_transitions(tags, scheme) if settings.forbid else None)
        self.pooling: Pooling | None = None
        if labels:
            self.pooling = POOLINGS[settings.pooling.kind](settings.pooling, self.encoder)
            self.label = nn.Linear(self.pooling.width, labels)
            self.label_scores = Tap("row", "label")

    def forward(self, sentences: Sentences) -> tuple[Float[Tensor, "B S C"], Float[Tensor, "B L"] | None]:
        encoded = self.encoder.encode(self.words(sentences), sentences.lengths)
        scores: Tensor = self.scores(self.project(self.dropout(encoded.features)))
        if self.pooling is None:
            return scores, None
        return scores, self.label_scores(self.label(self.dropout(self.pooling(encoded))))

    def loss(
        self,
        scores: tuple[Float[Tensor, "B S C"], Float[Tensor, "B L"] | None],
        tags: Int[Tensor, "B S"],
        lengths: Int[Tensor, " B"],
        labels: Int[Tensor, " B"],
    ) -> Float[Tensor, ""]:
        """Minus the log-likelihood of tags and of labels, given the results of `forward`, summed. Labels that are
        MISSING are ignored."""
        of_tags, of_labels = scores
        loss = self.output.loss(of_tags, tags, lengths)
        if of_labels is None:
            return loss
        return loss + F.cross_entropy(of_labels.float(), labels, ignore_index=MISSING, reduction="sum")
