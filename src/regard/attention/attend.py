"""Attention: score, normalize, mix.

    context, weights = attend(query, keys, values, score=Additive(256, 512, hidden=256))
    context, weights = attend(x, x, x)          # self-attention without any parameter

`attend` is the definition. `Attention` is the same as a module, which uses a fast kernel where one applies and has taps
on all inputs and outputs, whichever kernel runs.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import masks
from regard.attention.cache import Memory
from regard.attention.grouping import grouped_matmul
from regard.attention.normalizers import Normalizer, as_normalizer, softmax
from regard.attention.scores import DotScore, ScaledDot, Score, ScoreFunction, as_score
from regard.errors import UsageError
from regard.kernels import pick
from regard.misuse import explained
from regard.tap import Tap

SCALED_DOT = ScaledDot()


@explained
def attend(
    query: Float[Tensor, "... Q Dq"],
    key: Float[Tensor, "... K Dk"],
    value: Float[Tensor, "... K Dv"],
    *,
    score: Score | ScoreFunction = SCALED_DOT,
    normalizer: str | Normalizer = softmax,
    mask: Bool[Tensor, "..."] | None = None,
    bias: Float[Tensor, "..."] | None = None,
    prepared: bool = False,
) -> tuple[Float[Tensor, "... Q Dv"], Float[Tensor, "... Q K"]]:
    """Context vectors, and the attention weights.

    `mask` is True where a query may attend to a key, the opposite of the masks of `nn.MultiheadAttention` (give `~mask`
    of those); `bias` is added to the scores. Both are broadcast to the scores "... Q K". `prepared` means that `key`
    comes from `score.prepare`.
    """
    if mask is not None and getattr(mask, "dtype", torch.bool) != torch.bool:
        raise UsageError(
            f"mask is a tensor of {mask.dtype}, but True where a query may attend to a key is needed; what is added to "
            "the scores, such as −inf where it may not, is given as bias"
        )
    used, normalize = as_score(score), as_normalizer(normalizer)
    weights = normalize(_scores(used, query, key, bias, prepared), _visible(mask, bias))
    return grouped_matmul(weights, value), weights


@explained
class Attention(nn.Module):
    """`attend` as a module, with taps on `query`, `key` (prepared), `value`, `scores` (bias added, before the mask),
    `weights` and `context`.

    Dot-product scores with softmax use torch's fused kernels. Recording scores or weights computes them in addition to
    the kernel; only intervening on them disables it. Recorded weights are without dropout.
    """

    def __init__(
        self,
        score: Score | ScoreFunction,
        normalizer: str | Normalizer = "softmax",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.score = as_score(score)
        self.normalizer = as_normalizer(normalizer)
        self.dropout = dropout
        self.query = Tap("row", "head", "query", "feature")
        self.key = Tap("row", "head", "key", "feature")
        self.value = Tap("row", "head", "key", "feature")
        self.scores = Tap("row", "head", "query", "key")
        self.weights = Tap("row", "head", "query", "key")
        self.context = Tap("row", "head", "query", "feature")

    @property
    def taps(self) -> tuple[Tap, ...]:
        return self.query, self.key, self.value, self.scores, self.weights, self.context

    @property
    def watched(self) -> bool:
        """Whether anything of it is recorded or replaced."""
        return any(tap.watched for tap in self.taps)

    def prepare(self, key: Float[Tensor, "... K Dk"]) -> Float[Tensor, "... K D"]:
        """The part of the score that depends on keys alone, for `forward(…, prepared=True)`."""
        return self.score.prepare(key)

    def forward(
        self,
        query: Float[Tensor, "B H Q Dq"],
        key: Float[Tensor, "B Gk K Dk"],
        value: Float[Tensor, "B G K Dv"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        causal: bool = False,
        prepared: bool = False,
    ) -> Float[Tensor, "B H Q Dv"]:
        """Context of every query.

        Each head of keys and values serves H / G heads of queries. `causal` hides later positions, queries being the
        last Q of K positions; unlike a mask, it lets kernels skip them.
        """
        if key.shape[-2] != value.shape[-2]:  # which some kernels do not notice
            raise UsageError(
                f"Attention: {key.shape[-2]} keys and {value.shape[-2]} values; each key needs a value, and no more"
            )
        key = key if prepared else self.score.prepare(key)
        query, key, value = self.through_taps(query, key, value)
        if causal and query.shape[-2] == 1:
            causal = False  # the last position sees all
        fast = isinstance(self.score, DotScore) and self.normalizer is softmax
        if fast and not (self.scores.intervened or self.weights.intervened):
            if self.scores.recorded or self.weights.recorded:
                with torch.no_grad():
                    self._weigh(query, key, mask, bias, causal)
            context = self._fused(query, key, value, mask, bias, causal)
        else:
            weights = self._weigh(query, key, mask, bias, causal)
            if self.dropout and self.training:
                weights = F.dropout(weights, self.dropout)
            context = grouped_matmul(weights, value)
        shown: Tensor = self.context(context)
        return shown

    def look(
        self,
        query: Float[Tensor, "N n H Dq"],
        memory: Memory,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "N n H Dv"]:
        """Context of queries over a source's memory.

        A memory with fewer rows M, and its mask and bias "M 1 1 S", serves N / M consecutive rows of queries with each
        of its rows. It is not repeated: these queries are folded into one row.
        """
        rows, count, heads, width = query.shape
        places = 1 if rows == len(memory.keys) else max(memory.places(query), 1)
        if places > 1 and self.watched:
            # Recordings have one row of weights per row of queries.
            mask, bias = (None if each is None else each.repeat_interleave(places, 0) for each in (mask, bias))
            memory, places = memory.repeat(places), 1
        folded = query.reshape(rows // places, places * count, heads, width).transpose(1, 2)
        context: Tensor = self(folded, memory.keys, memory.values, mask=mask, bias=bias, prepared=True)
        return context.transpose(1, 2).reshape(rows, count, heads, context.shape[-1])

    def through_taps(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The inputs, passed through their taps."""
        if self.query.watched or self.key.watched or self.value.watched:
            return self.query(query), self.key(key), self.value(value)
        return query, key, value

    def _weigh(self, query: Tensor, key: Tensor, mask: Tensor | None, bias: Tensor | None, causal: bool) -> Tensor:
        """The weights by definition, through the taps."""
        if causal:
            mask = masks.combine(mask, masks.causal(query.shape[-2], key.shape[-2], device=query.device))
        scores = self.scores(_scores(self.score, query, key, bias, prepared=True))
        weights: Tensor = self.weights(self.normalizer(scores, _visible(mask, bias)))
        return weights

    def _fused(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None, causal: bool
    ) -> Tensor:
        assert isinstance(self.score, DotScore)
        query, scale = self.score.transform(query), self.score.scale
        queries, keys = query.shape[-2], key.shape[-2]
        # The kernels' causal mask is aligned to the first key, so it is right only if all positions are queries.
        triangle = False
        if causal and mask is None and bias is None and queries == keys:
            triangle = True
        elif causal:
            mask = masks.combine(mask, masks.causal(queries, keys, device=query.device))
        # Masks as 0 and −inf: with booleans, cuDNN's kernel lets a fully masked query see everything.
        if bias is None:
            bias = None if mask is None else masks.additive(mask, query.dtype)
        elif mask is not None:
            bias = bias.masked_fill(~mask, -torch.inf)
        drops = self.training and self.dropout > 0
        few = None if triangle or drops else pick("few_queries", query, key, value)
        if few is not None:
            context: Tensor = few(query, key, value, bias, query.shape[-1] ** -0.5 if scale is None else scale)
            return context
        return F.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=None if bias is None else (bias.expand(queries, keys) if bias.ndim < 2 else bias).to(query.dtype),
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=triangle,
            scale=scale,
            enable_gqa=query.shape[-3] != key.shape[-3],
        )


def _scores(score: Score, query: Tensor, key: Tensor, bias: Tensor | None, prepared: bool) -> Tensor:
    scores = score.compare(query, key if prepared else score.prepare(key))
    return scores if bias is None else scores + bias


def _visible(mask: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """The mask without entries of bias −inf, so that a row of −inf gives zeros, as in the fused kernels."""
    return mask if bias is None else masks.combine(mask, ~bias.isneginf())
