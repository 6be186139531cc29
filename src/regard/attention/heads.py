"""Multi-head attention (Vaswani et al. 2017), with any score, grouped keys and a cache.

heads = Heads(512, 8, causal=True)
y = heads(x)                                       # self-attention
y = heads(piece, cache=cache)                      # the same, piece by piece

cross = Heads(512, 8, source_width=256)
memory = cross.remember(source)                    # keys and values, once for each source
y = cross.look(x, memory, mask=padding(keep))
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.attend import Attention
from regard.attention.cache import KeyValueCache, Memory, SharedCache
from regard.attention.normalizers import Normalizer
from regard.attention.positions import Position
from regard.attention.scores import SCORES, Score, ScoreFunction, as_score
from regard.errors import UsageError, one_of
from regard.misuse import explained


@explained
class Heads(nn.Module):
    """Multi-head attention, with taps `query`, `key`, `value`, `scores`, `weights` ("B H Q K"), `context` ("B H Q D").

    width         width of inputs and outputs
    heads         number of heads; each has width / heads features
    groups        heads of keys and values, each shared by heads / groups heads of queries; 0 means as many as `heads`
    source_width  width of the source in cross-attention, if it differs
    score         a name from `SCORES`, or a score or function for queries and keys "B H Q D" of one head's width
    normalizer    a name from `NORMALIZERS`, or a function
    position      rotates queries and keys, or adds a bias to the scores, of self-attention
    causal        whether positions of self-attention see only themselves and earlier ones
    dropout       share of weights dropped in training
    hidden        hidden width of additive scores; 0 means that of a head
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        groups: int = 0,
        source_width: int | None = None,
        score: str | Score | ScoreFunction = "scaled_dot",
        normalizer: str | Normalizer = "softmax",
        position: Position | None = None,
        causal: bool = False,
        dropout: float = 0.0,
        hidden: int = 0,
    ) -> None:
        super().__init__()
        _check_divides("width", width, "heads", heads)
        _check_divides("heads", heads, "groups", groups or heads)
        self.heads = heads
        self.groups = groups or heads
        self.width = width // heads
        self.source_width = source_width or width
        self.causal = causal
        self.position = position or Position()
        # One matrix for queries, keys and values, unless queries and source differ in width.
        fused = self.source_width == width
        self.inward = nn.Linear(width, (heads + 2 * self.groups) * self.width if fused else width)
        self.source = None if fused else nn.Linear(self.source_width, 2 * self.groups * self.width)
        self.outward = nn.Linear(width, width)
        attention = Attention(_score(score, self.width, hidden or self.width, heads), normalizer, dropout)
        # Registered before `attention`, so that their names are `….weights`, not `….attention.weights`.
        self.query, self.key, self.value = attention.query, attention.key, attention.value
        self.scores, self.weights, self.context = attention.scores, attention.weights, attention.context
        self.attention = attention
        self.reset()

    @property
    def watched(self) -> bool:
        """Whether anything of it is recorded or replaced."""
        return self.attention.watched

    def reset(self) -> None:
        """Initializes the projections: Glorot and Bengio (2010) with each head's width, biases zero."""
        for linear in filter(None, (self.inward, self.source, self.outward)):
            bound = (6 / (linear.in_features + self.heads * self.width)) ** 0.5
            nn.init.uniform_(linear.weight, -bound, bound)
            nn.init.zeros_(linear.bias)

    def forward(
        self,
        x: Float[Tensor, "B Q E"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        cache: KeyValueCache | SharedCache | None = None,
        distances: Int[Tensor, "B Q K"] | None = None,
    ) -> Float[Tensor, "B Q E"]:
        """Self-attention; with a cache, x continues the positions in it, which are visible too.

        `mask` and `bias` are broadcast to "B H Q K", where K includes the cache; `distances` are those of a tree. A
        shared cache takes one position of each hypothesis at a time, and needs the bias of its lineage.
        """
        if self.source is not None:
            raise UsageError(
                f"heads with queries of width {self.inward.in_features} and a source of width {self.source_width} "
                "cannot do self-attention; use remember and look, or equal widths"
            )
        offset = 0 if cache is None else cache.length
        # Split rather than sliced: the gradient is then one concatenation, not a sum of zero-padded tensors.
        vectors = self.inward(x).unflatten(2, (-1, self.width))
        parts = torch.split(vectors, [self.heads + self.groups, self.groups], 2)
        query_key, value = (part.transpose(1, 2) for part in parts)
        query, key = torch.split(self.position.rotate(query_key, offset), [self.heads, self.groups], 1)
        key = self.attention.prepare(key)
        if cache is not None:
            key, value = cache.append(key, value)
        if isinstance(cache, SharedCache):
            by_position = self.position.bias(query, cache.length, offset, distances)
            bias = _sum(bias, None if by_position is None else cache.spread(by_position))
            folded = self.attention(cache.fold(query), key, value, mask=mask, bias=bias, prepared=True)
            return self._join(cache.unfold(folded))
        bias = _sum(bias, self.position.bias(query, key.shape[-2], offset, distances))
        return self._join(self.attention(query, key, value, mask=mask, bias=bias, causal=self.causal, prepared=True))

    def note(self, x: Float[Tensor, "B T E"], cache: KeyValueCache) -> None:
        """Appends positions to a cache without computing their attention."""
        rows = self.heads * self.width
        vectors = self._split(F.linear(x, self.inward.weight[rows:], self.inward.bias[rows:]))
        key = self.attention.prepare(self.position.rotate(vectors[:, : self.groups], cache.length))
        cache.append(key, vectors[:, self.groups :])

    def remember(self, source: Float[Tensor, "B S Es"]) -> Memory:
        """Keys and values of a source, computed once for all queries."""
        if self.source is not None:
            vectors = self._split(self.source(source))
        else:
            rows = self.heads * self.width
            vectors = self._split(F.linear(source, self.inward.weight[rows:], self.inward.bias[rows:]))
        return Memory(self.attention.prepare(vectors[:, : self.groups]), vectors[:, self.groups :])

    def look(
        self,
        x: Float[Tensor, "B Q E"],
        memory: Memory,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B Q E"]:
        """Cross-attention to a source's memory, without positions.

        A memory, and its mask and bias "M 1 1 S", may have fewer rows: each serves B / M consecutive rows of x.
        """
        rows = self.heads * self.width
        query = F.linear(x, self.inward.weight[:rows], self.inward.bias[:rows])
        queries = query.view(*query.shape[:2], self.heads, self.width)
        context = self.attention.look(queries, memory, mask=mask, bias=bias)
        joined: Tensor = self.outward(context.flatten(2))
        return joined

    def _split(self, vectors: Float[Tensor, "B T X"]) -> Float[Tensor, "B Hs T D"]:
        batch, length, features = vectors.shape
        return vectors.view(batch, length, features // self.width, self.width).transpose(1, 2)

    def _join(self, context: Float[Tensor, "B H Q D"]) -> Float[Tensor, "B Q E"]:
        joined: Tensor = self.outward(context.transpose(1, 2).flatten(2))
        return joined


def _score(score: str | Score | ScoreFunction, width: int, hidden: int, heads: int) -> Score:
    if not isinstance(score, str):
        return as_score(score)
    if score not in SCORES:
        raise UsageError(f"score {score!r} is not known; known are {one_of(SCORES, score)}, or a score or function")
    return SCORES[score](width, width, hidden=hidden, heads=heads)


def _sum(bias: Tensor | None, other: Tensor | None) -> Tensor | None:
    if bias is None or other is None:
        return other if bias is None else bias
    return bias + other


def _check_divides(whole: str, number: int, part: str, by: int) -> None:
    if by < 1 or number % by:
        raise UsageError(f"{whole} = {number} cannot be divided among {part} = {by}; choose a divisor of {number}")
