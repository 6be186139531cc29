"""A language model of an encoder: each word is guessed from its neighbors, masked, or from the words before it."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.masking import MaskedBatch
from regard.data.sentences import Sentences
from regard.models.encoders import build_encoder
from regard.models.readout import LinearReadout
from regard.models.words import WordInput
from regard.nn.dropout import Dropout
from regard.recipe import PretrainingModel, WordTable
from regard.tap import name_axes
from regard.tokens.word_vocabulary import WordVocabulary

ROWS_AT_ONCE = 256
"""Words whose logits are held in memory together when they are judged."""


class WordReadout(LinearReadout):
    """Predicts the words whose vectors are learned."""

    @property
    def weight(self) -> Float[Tensor, "V E"]:
        return self._owner[0].vectors if self._owner else self.vectors


class WordPredictor(nn.Module):
    """Gives features for each word; `readout` makes probabilities of words of them.

    An encoder that reads in both directions is to be given sentences with masked words (`regard.data.masking`). Of one
    that reads in one direction, the features of a word are those of the words before it, zeros for the first.
    """

    def __init__(self, settings: PretrainingModel, words: WordTable, vocabulary: WordVocabulary) -> None:
        super().__init__()
        self.is_causal = settings.encoder.is_causal
        self.encoder = build_encoder(settings.encoder)
        name_axes(self.encoder, step="source", query="source", key="source")
        self.words = WordInput(words, vocabulary, self.encoder.input_width)
        self.dropout = Dropout(settings.dropout)
        self.project = nn.Linear(self.encoder.width, words.width)
        shared = self.words.embedding if settings.tie else None
        self.readout = WordReadout(words.width, self.words.embedding.size, shared=shared)

    def forward(self, sentences: Sentences) -> Float[Tensor, "B S E"]:
        encoded = self.encoder.encode(self.words(sentences), sentences.lengths)
        features: Tensor = self.project(self.dropout(encoded.features))
        return F.pad(features, (0, 0, 1, 0))[:, :-1] if self.is_causal else features

    def loss(self, batch: MaskedBatch) -> Float[Tensor, ""]:
        """Minus the log-likelihood of the wanted words, summed."""
        words = batch.words.masked_fill(~batch.wanted, 0)
        return self.readout.cost(self(batch.sentences), words, batch.wanted, 0.0)

    def judge(self, batch: MaskedBatch) -> tuple[float, int]:
        """The same loss, and how many of the words are the likeliest at their place."""
        features, words = self(batch.sentences)[batch.wanted], batch.words[batch.wanted]
        loss, right = torch.zeros((), dtype=torch.float64), 0
        for some, wanted in zip(torch.split(features, ROWS_AT_ONCE), torch.split(words, ROWS_AT_ONCE), strict=True):
            log_probs = self.log_probs(some)
            loss -= log_probs.gather(1, wanted[:, None]).sum(dtype=torch.float64).cpu()
            right += int((log_probs.argmax(1) == wanted).sum())
        return loss.item(), right

    def log_probs(self, features: Float[Tensor, "N E"]) -> Float[Tensor, "N V"]:
        """The log-probability of every word, in float32."""
        return self.readout.logits(features).float().log_softmax(-1)
