"""A classifier: words, an encoder, pooling, optional context, and a score for each label."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.data.conversations import TextsInContext
from regard.data.sentences import Sentences
from regard.models.context import ConversationContext
from regard.models.encoders import build_encoder
from regard.models.pooling import POOLINGS
from regard.models.words import WordInput
from regard.nn.dropout import Dropout
from regard.recipe import ClassifierModel, WordTable
from regard.tap import Tap, name_axes
from regard.tokens.word_vocabulary import WordVocabulary


class TextClassifier(nn.Module):
    """Gives each text a score for each label, which the tap `scores` shows. With `multiple`, each label is
    independent (sigmoid); without, they share one distribution (softmax)."""

    def __init__(
        self,
        settings: ClassifierModel,
        words: WordTable,
        vocabulary: WordVocabulary,
        labels: int,
        *,
        multiple: bool = False,
    ) -> None:
        super().__init__()
        self.multiple = multiple
        self.encoder = build_encoder(settings.encoder)
        name_axes(self.encoder, step="source", query="source", key="source")
        self.words = WordInput(words, vocabulary, self.encoder.input_width)
        self.pooling = POOLINGS[settings.pooling.kind](settings.pooling, self.encoder)
        self.context: ConversationContext | None = None
        if settings.context.kind != "none":
            self.context = ConversationContext(settings.context, self.pooling.width)
        self.dropout = Dropout(settings.dropout)
        self.project = nn.Linear((self.context or self.pooling).width, labels)
        self.scores = Tap("row", "label")

    def forward(self, texts: Sentences | TextsInContext) -> Float[Tensor, "B L"]:
        if isinstance(texts, TextsInContext):
            return self.choose(torch.cat([self.vectors(band) for band in texts.bands]), texts)
        return self.choose(self.vectors(texts))

    def vectors(self, texts: Sentences) -> Float[Tensor, "B F"]:
        """A vector for each text by itself."""
        pooled: Tensor = self.pooling(self.encoder.encode(self.words(texts), texts.lengths))
        return pooled

    def choose(self, vectors: Float[Tensor, "N F"], texts: TextsInContext | None = None) -> Float[Tensor, "B L"]:
        """The scores of labels, given the vectors of texts, or of `texts` and their context."""
        if texts is not None:
            assert self.context is not None
            vectors = self.context(vectors, texts)
        scores: Tensor = self.scores(self.project(self.dropout(vectors)))
        return scores

    def loss(
        self, scores: Float[Tensor, "B L"], labels: Float[Tensor, "B L"], known: Bool[Tensor, " B"]
    ) -> Float[Tensor, ""]:
        """Minus the log-likelihood of labels (1 for those that a text has, else 0), summed over the known rows."""
        scores = scores.float()
        if self.multiple:
            losses = nn.functional.binary_cross_entropy_with_logits(scores, labels, reduction="none").sum(1)
        else:
            losses = -(scores.log_softmax(1) * labels).sum(1)
        return torch.where(known, losses, 0.0).sum()

    def probabilities(self, scores: Float[Tensor, "B L"]) -> Float[Tensor, "B L"]:
        return scores.float().sigmoid() if self.multiple else scores.float().softmax(1)

    def chosen(self, scores: Float[Tensor, "B L"]) -> Bool[Tensor, "B L"]:
        """The likeliest label of each text; with `multiple`, those that are likelier than not."""
        if self.multiple:
            return scores > 0
        best = nn.functional.one_hot(scores.argmax(1), scores.shape[1])
        return best.bool()
