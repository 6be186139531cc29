"""Positions, without which attention sees an unordered set of vectors.

Each kind acts in one of three places: `embed` adds to the embeddings (sinusoidal, learned), `rotate` rotates queries
and keys (rotary), `bias` adds to the scores (ALiBi, relative, tree distances). `offset` is the position of the first
vector, for sequences that are given in pieces.
"""

import math
from collections.abc import Mapping
from typing import Protocol

import torch
import torch.nn.functional as F
from jaxtyping import Float, Float64, Int, Int32
from torch import Tensor, nn

from regard.errors import UsageError
from regard.recipe import names

FIRST = 1024
"""Initial length of the table of angles."""


class Position(nn.Module):
    """No positions; other kinds override one method."""

    embeds = False
    """Whether it acts on embeddings, once per model, rather than in the heads of each layer."""

    def embed(
        self, x: Float[Tensor, "B T E"], offset: int = 0, places: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T E"]:
        """Adds positions to embeddings; `places` are the positions if they are not consecutive from `offset`."""
        return x

    def rotate(self, x: Float[Tensor, "B H T D"], offset: int = 0) -> Float[Tensor, "B H T D"]:
        """Rotates queries or keys according to their positions."""
        return x

    def bias(
        self, query: Float[Tensor, "B H Q D"], keys: int, offset: int = 0, distances: Int[Tensor, "B Q K"] | None = None
    ) -> Float[Tensor, "..."] | None:
        """A bias of the scores of queries at `offset …` with keys at 0 … keys − 1; broadcast to "B H Q K"."""
        return None


class Sinusoidal(Position):
    """Sines and cosines of geometrically growing wavelengths (Vaswani et al. 2017), added to the embeddings."""

    embeds = True

    def __init__(self, width: int) -> None:
        super().__init__()
        self.table = _Angles(width, interleaved=True)

    def embed(
        self, x: Float[Tensor, "B T E"], offset: int = 0, places: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T E"]:
        angles = self.table(x, offset, x.shape[-2])
        return (x + (angles if places is None else F.embedding(places, angles))).to(x.dtype)


class Learned(Position):
    """A vector for each of the first `longest` positions, added to the embeddings (Gehring et al. 2017)."""

    embeds = True

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        # With the variance of the embeddings they are added to; smaller ones are learned several times slower.
        self.weight = nn.Parameter(torch.randn(longest, width))

    def embed(
        self, x: Float[Tensor, "B T E"], offset: int = 0, places: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T E"]:
        if places is not None:
            return x + F.embedding(places, self.weight)
        end, longest = offset + x.shape[-2], self.weight.shape[0]
        if end > longest:
            raise UsageError(
                f"a sequence of {end} positions does not fit the {longest} learned ones; "
                "shorten it, or train with a larger model.longest or another model.position"
            )
        return x + self.weight[offset:end]


class Rotary(Position):
    """Rotates queries and keys by angles proportional to their positions, so that their product depends on the distance
    (Su et al. 2021). Feature i is paired with feature i + D/2."""

    def __init__(self, head_width: int) -> None:
        super().__init__()
        if head_width % 2:
            raise UsageError(
                f"rotary positions turn pairs of features, but a head has {head_width}; choose an even width per head"
            )
        self.table = _Angles(head_width, interleaved=False)

    def rotate(self, x: Float[Tensor, "B H T D"], offset: int = 0) -> Float[Tensor, "B H T D"]:
        sine, cosine = self.table(x, offset, x.shape[-2]).chunk(2, dim=-1)
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1).to(x.dtype)


class Alibi(Position):
    """A penalty on the score linear in the distance, with a different slope for each head (Press et al. 2022).

    Where later positions are visible (encoders), distances are absolute.
    """

    slopes: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", torch.tensor(_slopes(heads)), persistent=False)

    def bias(
        self, query: Float[Tensor, "B H Q D"], keys: int, offset: int = 0, distances: Int[Tensor, "B Q K"] | None = None
    ) -> Float[Tensor, "..."] | None:
        places = torch.arange(keys, device=query.device)
        apart = (places - places[offset : offset + query.shape[-2], None]).abs()
        # In the slopes' precision: half precision cannot represent large distances.
        return (apart * -self.slopes[:, None, None]).to(query.dtype)


class Relative(Position):
    """A learned vector for each distance from −clip to clip, whose product with the query is added to the score (Shaw
    et al. 2018). A layer's heads share the vectors.

    Keys only: Shaw et al. find no gain from vectors added to the values as well, and without them fused kernels apply.
    """

    def __init__(self, head_width: int, clip: int) -> None:
        super().__init__()
        self.clip = clip
        self.weight = nn.Parameter(torch.empty(2 * clip + 1, head_width).normal_(std=head_width**-0.5))

    def bias(
        self, query: Float[Tensor, "B H Q D"], keys: int, offset: int = 0, distances: Int[Tensor, "B Q K"] | None = None
    ) -> Float[Tensor, "..."] | None:
        queries = query.shape[-2]
        # One column for each distance that occurs, beginning with that from the last query to the first key.
        columns = self._spread(1 - offset - queries, keys - 1 - offset)
        products: Tensor = (query * query.shape[-1] ** -0.5) @ columns.mT
        if queries == 1:
            return products
        # Row i needs the columns from queries − 1 − i on: a view with rows shorter by one shifts them. Indexing would
        # do the same, but its gradient is not deterministic on GPUs.
        shifted = products.flatten(-2)[..., queries - 1 : -1].view(*query.shape[:-1], len(columns) - 1)
        return shifted[..., :keys]

    def _spread(self, least: int, most: int) -> Tensor:
        """The vectors of the distances least … most, clipped."""
        inside = self.weight[max(least, -self.clip) + self.clip : max(most + self.clip + 1, 0)]
        before = self.weight[:1].expand(max(min(-self.clip, most + 1) - least, 0), -1)
        after = self.weight[-1:].expand(max(most - max(self.clip, least - 1), 0), -1)
        return torch.cat([before, inside, after])


class TreeDistance(Position):
    """A learned vector for each distance in a dependency tree, whose product with the query is added to the score: the
    relative structural positions of Wang et al. 2019, without a direction.

    The distances come with each batch, from `tree_distances`, and are clipped at `clip`.
    """

    def __init__(self, head_width: int, clip: int) -> None:
        super().__init__()
        self.clip = clip
        self.weight = nn.Parameter(torch.empty(clip + 1, head_width).normal_(std=head_width**-0.5))

    def bias(
        self, query: Float[Tensor, "B H Q D"], keys: int, offset: int = 0, distances: Int[Tensor, "B Q K"] | None = None
    ) -> Float[Tensor, "..."] | None:
        if distances is None:
            raise UsageError("tree positions need the tree's distances; give distances=tree_distances(parents)")
        products: Tensor = (query * query.shape[-1] ** -0.5) @ self.weight.mT
        # A one-hot product, because the gradient of indexing is not deterministic on GPUs.
        chosen = F.one_hot(distances.clamp(max=self.clip), self.clip + 1).to(products.dtype)
        return torch.einsum("bhqc,bqkc->bhqk", products, chosen)


class PositionFactory(Protocol):
    """Makes a position for a model of that width and number of heads."""

    def __call__(self, width: int, heads: int, *, longest: int, clip: int) -> Position: ...


POSITIONS: Mapping[str, PositionFactory] = names.POSITIONS


def none(width: int, heads: int, *, longest: int, clip: int) -> Position:
    return Position()


def sinusoidal(width: int, heads: int, *, longest: int, clip: int) -> Position:
    return Sinusoidal(width)


def learned(width: int, heads: int, *, longest: int, clip: int) -> Position:
    return Learned(width, longest)


def relative(width: int, heads: int, *, longest: int, clip: int) -> Position:
    return Relative(width // heads, clip)


def rotary(width: int, heads: int, *, longest: int, clip: int) -> Position:
    return Rotary(width // heads)


def alibi(width: int, heads: int, *, longest: int, clip: int) -> Position:
    return Alibi(heads)


class _Angles(nn.Module):
    """A growing table of sines and cosines of position / 10000^(2i/width).

    It is stored as an int32 view of the float32 values, so that it follows the model to any device but is not rounded
    when the model changes its dtype.
    """

    bits: Int32[Tensor, "length width"]

    def __init__(self, width: int, *, interleaved: bool) -> None:
        super().__init__()
        self.width, self.interleaved = width, interleaved
        self.register_buffer("bits", self._bits(FIRST), persistent=False)
        self.outgrown: list[Tensor] = []
        """Old tables, which captured steps may still read; together they are no larger than the current one."""

    def forward(self, like: Tensor, offset: int, count: int) -> Float[Tensor, "count width"]:
        """Rows offset … offset + count − 1, in float32 or better."""
        end = offset + count
        if like.dtype == torch.float64:
            return self._compute(end)[offset:].to(like.device)
        if len(self.bits) < end:
            self.outgrown.append(self.bits)
            self.bits = self._bits(2 * end, like.device)
        return self.bits[offset:end].view(torch.float32)

    @torch.inference_mode(False)
    def _bits(self, length: int, device: torch.device | None = None) -> Int32[Tensor, "length width"]:
        return self._compute(length).to(device, torch.float32).view(torch.int32)

    def _compute(self, length: int) -> Float64[Tensor, "length width"]:
        # In float64 on the CPU: float32 angles of large positions would have lost their fraction.
        pairs = -(-self.width // 2)
        wavelengths = 10000 ** (torch.arange(pairs, dtype=torch.float64) * 2 / self.width)
        angles = torch.arange(length, dtype=torch.float64)[:, None] / wavelengths
        joined = torch.stack if self.interleaved else torch.cat
        return joined([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, : self.width]


def _slopes(heads: int) -> list[float]:
    """Slopes 2^(−8/n), 2^(−16/n), …; if n is not a power of two, those of the next smaller power, then every other
    slope of the next larger one (Press et al. 2022)."""
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    return slopes + [2 ** (-4 * (2 * i + 1) / power) for i in range(heads - power)]
