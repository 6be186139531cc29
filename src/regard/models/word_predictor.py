"""Pretraining of an encoder: it predicts masked words from their neighbors, or each word from those before it."""

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
"""Maximum number of words whose logits are in memory at once in evaluation."""


class WordReadout(LinearReadout):
    """Predicts only words with learned vectors."""

    @property
    def weight(self) -> Float[Tensor, "V E"]:
        return self._owner[0].vectors if self._owner else self.vectors


class WordPredictor(nn.Module):
    """Features for each word, from which `readout` predicts it.

    A bidirectional encoder needs sentences with masked words (`regard.data.masking`). With a unidirectional one, the
    features of a word are those at the word before it, zeros for the first.
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
        """Negative log-likelihood of the words to predict, summed."""
        words = batch.words.masked_fill(~batch.wanted, 0)
        return self.readout.cost(self(batch.sentences), words, batch.wanted, 0.0)

    def judge(self, batch: MaskedBatch) -> tuple[float, int]:
        """The same loss, and the number of words that are the likeliest at their position."""
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
