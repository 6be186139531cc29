"""A recurrent language model that copies: the next word is from the vocabulary or one of the last words.

With h the output at the current word, h_k those at the last words, the current one included, and q = tanh(W h + b):

    fixed     c = (1 − s) · softmax(score(q, h_k)),   s a setting
    gate      the same,   s = σ(u · h + v)
    sentinel  [c; s] = softmax([score(q, h_k); score(q, sentinel)])                Merity et al. 2017

and p(w) = s · p_vocabulary(w) + Σ over last words k = w of c(k). Words outside the vocabulary have the `slots` indices
after it: they are read as UNKNOWN and can be copied. One that is not in the context is unknown.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import SCORES, Score, softmax
from regard.models.copying import CopyReadout
from regard.models.generator import Readout, State
from regard.models.language import Reading
from regard.models.language_recurrent import LookingBack, RecurrentLanguageState
from regard.models.recent_states import Recent
from regard.recipe import CopyingModel
from regard.tap import Tap, name_axes
from regard.tokens.vocabulary import UNKNOWN


class PointerAttention(nn.Module):
    """Attention weights without values, with taps on `scores` and `weights`."""

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score
        self.scores, self.weights = (Tap("row", "head", "query", "key") for _ in range(2))

    def forward(
        self, query: Float[Tensor, "N 1 n H"], keys: Float[Tensor, "N 1 K H"], mask: Bool[Tensor, "N 1 n K"]
    ) -> Float[Tensor, "N 1 n K"]:
        weights: Tensor = self.weights(softmax(self.scores(self.score(query, keys)), mask))
        return weights


class OpenReadout(CopyReadout):
    """A readout for text with words outside the vocabulary: a target that is not in the context has the probability of
    UNKNOWN, unless the readout is `strict`, as when nested in another one."""

    def __init__(
        self,
        vocabulary: Readout,
        words: Int[Tensor, "N K"],
        slots: int,
        *,
        strict: bool = False,
        part: str = "copied",
    ) -> None:
        inner = vocabulary.strictly() if isinstance(vocabulary, OpenReadout) else vocabulary
        super().__init__(inner, words, slots, part=part)
        self.strict = strict

    def strictly(self) -> "OpenReadout":
        return OpenReadout(self.vocabulary, self.words, self.slots, strict=True, part=self.part)

    def select(self, rows: Int[Tensor, " M"]) -> "OpenReadout":
        chosen = self.vocabulary.select(rows), self.words[rows]
        return OpenReadout(*chosen, self.slots, strict=self.strict, part=self.part)

    def log_probs(
        self, features: Float[Tensor, "*rows F"], targets: Int[Tensor, "*rows"]
    ) -> tuple[Float[Tensor, "*rows"], Float[Tensor, "*rows"]]:
        return super().log_probs(features, self._possible(features, targets))

    def parts(self, features: Float[Tensor, "*rows F"], targets: Int[Tensor, "*rows"]) -> dict[str, Tensor]:
        return super().parts(features, self._possible(features, targets))

    def _possible(self, features: Float[Tensor, "*rows F"], targets: Int[Tensor, "*rows"]) -> Int[Tensor, "*rows"]:
        """The targets, with UNKNOWN for words that can be neither written nor copied, unless it is strict."""
        return targets if self.strict else targets.where(self.has(features, targets), UNKNOWN)

    def has(self, features: Float[Tensor, "*rows F"], targets: Int[Tensor, "*rows"]) -> Bool[Tensor, "*rows"]:
        """Whether each target is in the vocabulary or in the context."""
        hidden, _, copies = self._parts(features)
        inside = targets < self.vocabulary.size
        if isinstance(self.vocabulary, OpenReadout):
            inside = self.vocabulary.has(hidden, targets)
        return inside | ((self._context_words(features) == targets[..., None]) & (copies > 0)).any(-1)


class CopyingLanguageModel(LookingBack):
    """Copies from its last `reach` words; taps `attention.weights` "N 1 n K" (the sentinel, if any, last) and `share`,
    the share of the vocabulary, "N n 1"."""

    def __init__(self, settings: CopyingModel, size: int) -> None:
        super().__init__(settings, size)
        self.reach, self.slots, width = settings.reach, settings.slots, self.stack.width
        self.query = nn.Linear(width, width)
        self.attention = PointerAttention(SCORES[settings.score](width, width, hidden=settings.score_hidden))
        self.mixture, self.fixed = settings.mixture, settings.share
        self.gate = nn.Linear(width, 1) if settings.mixture == "gate" else None
        self.sentinel = nn.Parameter(torch.randn(width) * width**-0.5) if settings.mixture == "sentinel" else None
        self.share = Tap("row", "target", "feature")
        name_axes(self.attention, query="target", key="past" if self.sentinel is None else "past+sentinel")

    def readout_of(self, state: State) -> Readout:
        assert isinstance(state, RecurrentLanguageState)
        assert state.recent is not None
        return OpenReadout(self.readout, state.recent.words, self.slots)

    def read(self, tokens: Int[Tensor, "N n"], state: State) -> Reading:
        assert isinstance(state, RecurrentLanguageState)
        raw, recurrent = self.run(tokens, state)
        recent = self.remember(raw, tokens, state)
        dropped = self.dropout(raw)
        share, copies = self.mix(raw, recent)
        features = CopyReadout.join(self.output(self.toward(dropped)), share, copies)
        return Reading(features, RecurrentLanguageState(recurrent, recent), raw, dropped)

    def mix(
        self, outputs: Float[Tensor, "N n H"], recent: Recent
    ) -> tuple[Float[Tensor, "N n 1"], Float[Tensor, "N n K"]]:
        """The shares of the vocabulary and of each recent position, at each of the last n positions."""
        mask = recent.visible(outputs.shape[1], self.reach, itself=True)
        keys = recent.vectors.unsqueeze(1)
        query = torch.tanh(self.query(outputs)).unsqueeze(1)
        if self.sentinel is not None:
            last = self.sentinel.to(keys.dtype).expand(len(keys), 1, 1, -1)
            keys = torch.cat([keys, last], 2)
            mask = torch.cat([mask, mask.new_ones(*mask.shape[:-1], 1)], -1)
        weights = self.attention(query, keys, mask).squeeze(1)
        if self.sentinel is not None:
            copies, share = weights[..., :-1], weights[..., -1:]
        else:
            of_vocabulary = self.fixed if self.gate is None else torch.sigmoid(self.gate(outputs))
            copies = (1 - of_vocabulary) * weights
            # Where there is nothing to copy, the vocabulary gets everything.
            share = 1 - copies.sum(-1, keepdim=True)
        return self.share(share), copies
