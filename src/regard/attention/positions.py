"""How attention knows order. Without positions, a set of vectors is all it sees.

A position acts in one of three places, and leaves the others as they are:
`embed` adds to the embeddings (sinusoidal, learned), `rotate` turns queries and keys (rotary), `bias` adds to the
scores (ALiBi, relative, tree distances). `offset` is the position of the first vector given: however a sequence is cut
into pieces, each vector is treated as what it is in the whole.
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
"""Positions whose angles a model has from the beginning."""


class Position(nn.Module):
    """No position at all; the other kinds replace what they need."""

    embeds = False
    """Whether it acts on embeddings, so that a model has one of it, rather than in the heads of each layer."""

    def embed(
        self, x: Float[Tensor, "B T E"], offset: int = 0, places: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T E"]:
        """Embeddings that know their positions; `places` says them where they do not just count from `offset` on."""
        return x

    def rotate(self, x: Float[Tensor, "B H T D"], offset: int = 0) -> Float[Tensor, "B H T D"]:
        """Queries or keys that know their positions."""
        return x

    def bias(
        self, query: Float[Tensor, "B H Q D"], keys: int, offset: int = 0, distances: Int[Tensor, "B Q K"] | None = None
    ) -> Float[Tensor, "..."] | None:
        """What is added to the scores of queries at `offset …` with keys at 0 … keys − 1; broadcast to "B H Q K"."""
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
        # As large as the embeddings they are added to; smaller ones take several times longer to be noticed.
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
    """Queries and keys turned by angles that grow with their position, so that their product knows the distance
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
    """A penalty on the score that grows linearly with distance, with another slope in each head (Press et al. 2022).

    Where later positions are visible too (encoders), distance counts in both directions alike.
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
        # In the slopes' own precision: half-precision formats cannot even count the farther distances.
        return (apart * -self.slopes[:, None, None]).to(query.dtype)


class Relative(Position):
    """A learned vector for each distance from −clip to clip, which queries are compared with (Shaw et al. 2018).

    Keys only: Shaw et al. find that vectors added to the values do not help beside these, and without them fast
    kernels serve. A layer's heads share the vectors. With scaled dot products the sum is theirs; other scores get the
    same term added.
    """

    def __init__(self, head_width: int, clip: int) -> None:
        super().__init__()
        self.clip = clip
        self.weight = nn.Parameter(torch.empty(2 * clip + 1, head_width).normal_(std=head_width**-0.5))

    def bias(
        self, query: Float[Tensor, "B H Q D"], keys: int, offset: int = 0, distances: Int[Tensor, "B Q K"] | None = None
    ) -> Float[Tensor, "..."] | None:
        queries = query.shape[-2]
        # One column for each distance that occurs, from that of the last query to the first key on upwards.
        columns = self._spread(1 - offset - queries, keys - 1 - offset)
        products: Tensor = (query * query.shape[-1] ** -0.5) @ columns.mT
        if queries == 1:
            return products
        # Row i needs the columns from queries − 1 − i on. With one element less per row, rows shift by themselves;
        # indexing would do the same, but its gradient sums in no fixed order on GPUs.
        shifted = products.flatten(-2)[..., queries - 1 : -1].view(*query.shape[:-1], len(columns) - 1)
        return shifted[..., :keys]

    def _spread(self, least: int, most: int) -> Tensor:
        """The vectors of the distances least … most; those beyond the clip repeat the outermost."""
        inside = self.weight[max(least, -self.clip) + self.clip : max(most + self.clip + 1, 0)]
        before = self.weight[:1].expand(max(min(-self.clip, most + 1) - least, 0), -1)
        after = self.weight[-1:].expand(max(most - max(self.clip, least - 1), 0), -1)
        return torch.cat([before, inside, after])


class TreeDistance(Position):
    """A learned vector for each distance in a dependency tree, which queries are compared with: the relative structural
    positions of Wang et al. 2019, as steps along the tree's edges, without a direction.

    The distances come with each batch, from `tree_distances`; those above `clip` count as `clip`.
    """

    def __init__(self, head_width: int, clip: int) -> None:
        super().__init__()
        self.clip = clip
        self.weight = nn.Parameter(torch.empty(clip + 1, head_width).normal_(std=head_width**-0.5))

    def bias(
        self, query: Float[Tensor, "B H Q D"], keys: int, offset: int = 0, distances: Int[Tensor, "B Q K"] | None = None
    ) -> Float[Tensor, "..."] | None:
        if distances is None:
            raise UsageError("positions in a tree need its distances; give distances=tree_distances(parents)")
        products: Tensor = (query * query.shape[-1] ** -0.5) @ self.weight.mT
        # A product picks each distance's column; indexing would do the same, but its gradient sums in no fixed order
        # on GPUs.
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
    """Sines and cosines of position / 10000^(2i/width) for the first positions, and for more at need.

    They are kept as whole numbers of the same bits: so they go with a model to any device, and none of them is rounded
    when the model changes its precision.
    """

    bits: Int32[Tensor, "length width"]

    def __init__(self, width: int, *, interleaved: bool) -> None:
        super().__init__()
        self.width, self.interleaved = width, interleaved
        self.register_buffer("bits", self._bits(FIRST), persistent=False)
        self.outgrown: list[Tensor] = []
        """Kept, because a captured step may still read them; all together they are no larger than the present ones."""

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
        # In float64 on the CPU: float32 angles of far positions would have lost their fraction of a turn.
        pairs = -(-self.width // 2)
        wavelengths = 10000 ** (torch.arange(pairs, dtype=torch.float64) * 2 / self.width)
        angles = torch.arange(length, dtype=torch.float64)[:, None] / wavelengths
        joined = torch.stack if self.interleaved else torch.cat
        return joined([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, : self.width]


def _slopes(heads: int) -> list[float]:
    """Slopes 2^(−8/n), 2^(−16/n), …; if n is no power of two, those of the next smaller one, then every other of the
    next larger (Press et al. 2022)."""
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    return slopes + [2 ** (-4 * (2 * i + 1) / power) for i in range(heads - power)]
