"""Copying: the next word is from the vocabulary or from the context (See et al. 2017, Merity et al. 2017).

The probability of a word w is

    p(w) = s · p_vocabulary(w) + Σ over positions k of the context with word w of c(k),    s + Σ c(k) = 1

where s is fixed, a gate, or the attention weight of a sentinel. Words of the context that are not in the vocabulary of
V words get the indices from V on, its slots; the caller knows which word a slot stands for.
"""

from typing import Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.normalizers import softmax
from regard.data.batch import Padded, Worded
from regard.errors import UsageError
from regard.models.generator import Readout
from regard.tap import Tap
from regard.tokens.vocabulary import UNKNOWN

LEAST = 1e-30
"""Lower bound of probabilities where a logarithm must be finite."""


class CopyReadout(Readout):
    """A readout of the vocabulary, bound to the words of each row's context.

    The first axis of features is that of the rows. Features are [hidden | s | c(1) … c(K)], as made by `join`, in
    float32 at least, because in bfloat16 the shares would not sum to one. `part` is the name of the copied share in
    an inspection.
    """

    def __init__(self, vocabulary: Readout, words: Int[Tensor, "N K"], slots: int, *, part: str = "copied") -> None:
        super().__init__()
        self.vocabulary, self.words, self.slots, self.part = vocabulary, words, slots, part
        self.width, self.size = vocabulary.width + 1 + words.shape[1], vocabulary.size + slots

    @classmethod
    def of(cls, vocabulary: Readout, words: Int[Tensor, "B K"], places: int) -> Self:
        """For contexts that each serve `places` adjacent rows. There are as many slots as words, an upper bound that
        needs no synchronization with the device."""
        return cls(vocabulary, words.repeat_interleave(places, 0) if places > 1 else words, words.shape[1])

    @staticmethod
    def join(
        hidden: Float[Tensor, "N n E"], share: Float[Tensor, "N n 1"], copies: Float[Tensor, "N n K"]
    ) -> Float[Tensor, "N n F"]:
        """The features that this readout reads; `copies` sum to 1 − `share`."""
        wide = torch.promote_types(hidden.dtype, torch.float32)
        return torch.cat([hidden.to(wide), share.to(wide), copies.to(wide)], -1)

    def select(self, rows: Int[Tensor, " M"]) -> "CopyReadout":
        return CopyReadout(self.vocabulary, self.words[rows], self.slots, part=self.part)

    def logits(self, features: Float[Tensor, "*rows F"]) -> Float[Tensor, "*rows V"]:
        """Log-probabilities of the vocabulary and the slots."""
        hidden, share, copies = self._parts(features)
        known = self.vocabulary.logits(hidden)
        known = known.to(share.dtype).log_softmax(-1) + _log(share)
        words = self._context_words(features).expand(copies.shape)
        copied = copies.new_zeros(*copies.shape[:-1], self.size).scatter_add(-1, words, copies)
        slots = known.new_full((*known.shape[:-1], self.slots), -torch.inf)
        return _logaddexp(torch.cat([known, slots], -1), _log(copied))

    def log_probs(
        self, features: Float[Tensor, "*rows F"], targets: Int[Tensor, "*rows"]
    ) -> tuple[Float[Tensor, "*rows"], Float[Tensor, "*rows"]]:
        """As for every readout, except that the mean is that of log (s · p_vocabulary) over the vocabulary, a lower
        bound of that of log p: words that are not copied have exactly that, and unused slots have probability zero."""
        hidden, share, copies = self._parts(features)
        inside = targets < self.vocabulary.size
        chosen, mean = self.vocabulary.log_probs(hidden, targets.where(inside, UNKNOWN))
        known = (chosen + _log(share.squeeze(-1))).masked_fill(~inside, -torch.inf)
        copied = (copies * (self._context_words(features) == targets[..., None])).sum(-1)
        return _logaddexp(known, _log(copied)), mean + share.squeeze(-1).clamp(min=LEAST).log()

    def parts(self, features: Float[Tensor, "*rows F"], targets: Int[Tensor, "*rows"]) -> dict[str, Tensor]:
        """The summands of each target's probability: generating it from the vocabulary, and copying it."""
        hidden, share, copies = self._parts(features)
        inside = targets < self.vocabulary.size
        known = targets.where(inside, UNKNOWN)
        if isinstance(self.vocabulary, CopyReadout):
            found = self.vocabulary.parts(hidden, known)
        else:
            found = {"vocabulary": self.vocabulary.log_probs(hidden, known)[0].exp()}
        found = {name: (share.squeeze(-1) * part).masked_fill(~inside, 0.0) for name, part in found.items()}
        return found | {self.part: (copies * (self._context_words(features) == targets[..., None])).sum(-1)}

    def copied(self, features: Float[Tensor, "*rows F"]) -> dict[str, Tensor]:
        """The probability of copying from each position of the context, whatever the word there."""
        hidden, share, copies = self._parts(features)
        inner = self.vocabulary.copied(hidden) if isinstance(self.vocabulary, CopyReadout) else {}
        return {name: share * part for name, part in inner.items()} | {self.part: copies}

    def divergence(self, first: Float[Tensor, "*rows F"], second: Float[Tensor, "*rows F"]) -> Float[Tensor, "*rows"]:
        p, q = (self.logits(features).exp() for features in (first, second))
        difference = p.clamp(min=LEAST).log() - q.clamp(min=LEAST).log()
        return ((p - q) * difference).sum(-1)

    def _parts(self, features: Float[Tensor, "*rows F"]) -> tuple[Tensor, Tensor, Tensor]:
        hidden, share, copies = torch.split(features, [self.vocabulary.width, 1, self.words.shape[1]], -1)
        wide = torch.promote_types(features.dtype, torch.float32)
        return hidden, share.to(wide), copies.to(wide)

    def _context_words(self, features: Float[Tensor, "*rows F"]) -> Int[Tensor, "N ... K"]:
        """The words of each row's context, with the axes of the features."""
        return self.words.view(len(self.words), *[1] * (features.ndim - 2), -1)


class CopyGate(nn.Module):
    """The share of the vocabulary, s = σ(w · hidden + b). The paper's gate reads context, state and input, of which the
    hidden features are made. The tap `share` shows s, "N n 1"."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 1)
        self.share = Tap("row", "target", "feature")

    def forward(self, hidden: Float[Tensor, "N n E"], weights: Float[Tensor, "N n K"]) -> Float[Tensor, "N n F"]:
        """Features for a `CopyReadout`, given the attention to the context."""
        logit = self.linear(hidden)
        share = self.share(torch.sigmoid(logit.to(torch.promote_types(logit.dtype, torch.float32))))
        return CopyReadout.join(hidden, share, (1 - share) * weights)


class Pointer(nn.Module):
    """An attention head without values that tells where to copy from. The tap `weights` shows it, "N 1 n S"."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.queries, self.keys = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.weights = Tap("row", "head", "target", "source")

    def forward(
        self, hidden: Float[Tensor, "N n E"], keys: Float[Tensor, "B S E"], mask: Bool[Tensor, "B 1 1 S"]
    ) -> Float[Tensor, "N n S"]:
        """Each source serves N / B adjacent rows; `keys` are the sources mapped by `self.keys`."""
        rows, count, width = hidden.shape
        # Rows with the same source become queries of one row.
        queries = self.queries(hidden).reshape(len(keys), rows // max(len(keys), 1) * count, width)
        scores = queries @ keys.mT * width**-0.5
        # In float32 at least, as these probabilities must sum to one.
        weights = softmax(scores.to(torch.promote_types(scores.dtype, torch.float32)), mask.squeeze(1))
        shown: Tensor = self.weights(weights.reshape(rows, 1, count, keys.shape[1]))
        return shown.squeeze(1)


def words_of(source: Padded) -> Int[Tensor, "B S"]:
    """The words that can be copied from a source."""
    if not isinstance(source, Worded):
        raise UsageError(
            "this model copies words of its source (model.copying), so its source must contain them: give a "
            "regard.data.batch.Worded"
        )
    return source.words


def known_tokens(tokens: Int[Tensor, "*rows"], size: int) -> Int[Tensor, "*rows"]:
    """The tokens with UNKNOWN for those outside a vocabulary of `size`."""
    return tokens.where(tokens < size, UNKNOWN)


def _log(share: Float[Tensor, "*rows"]) -> Float[Tensor, "*rows"]:
    """The logarithm; for zero it is -inf with gradient zero."""
    nonzero = share != 0  # True for NaN, which must propagate
    return share.where(nonzero, 1.0).log().where(nonzero, -torch.inf)


def _logaddexp(first: Float[Tensor, "*rows"], second: Float[Tensor, "*rows"]) -> Float[Tensor, "*rows"]:
    """log (exp first + exp second); with gradient zero where both are -inf."""
    impossible = (first == -torch.inf) & (second == -torch.inf)
    return torch.logaddexp(first.masked_fill(impossible, 0.0), second).masked_fill(impossible, -torch.inf)
