"""Attention scores: how well a query and a key match.

    score(query "... Q Dq", key "... K Dk") -> "... Q K"

A score has two halves: `prepare` is computed once for all queries from the keys alone, `compare` is the rest. There may
be any leading axes. With `heads` > 1, axis -3 is that of heads, each with its own parameters.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Protocol

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.additive import tanh_energy
from regard.attention.grouping import grouped_matmul, repeat_groups, repeat_heads
from regard.errors import UsageError
from regard.misuse import explained
from regard.recipe import names

ScoreFunction = Callable[[Tensor, Tensor], Tensor]


class Score(nn.Module, ABC):
    """Compares queries with keys."""

    equal_widths = True
    """Whether queries and keys must have the same width."""

    def prepare(self, key: Float[Tensor, "... K Dk"]) -> Float[Tensor, "... K D"]:
        """The part of the score that depends on keys alone."""
        return key

    @abstractmethod
    def compare(self, query: Float[Tensor, "... Q Dq"], prepared: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
        """The scores, given prepared keys, which may have fewer heads (axis -3) than the queries."""

    def query_map(self) -> Float[Tensor, "Dq D"] | None:
        """The matrix that queries are multiplied with first; None if there is none or one for each head."""
        return None

    def compare_mapped(
        self, mapped: Float[Tensor, "... Q D"], prepared: Float[Tensor, "... K D"]
    ) -> Float[Tensor, "... Q K"]:
        """The same scores, given queries already multiplied with `query_map()`."""
        return self.compare(mapped, prepared)

    def forward(self, query: Float[Tensor, "... Q Dq"], key: Float[Tensor, "... K Dk"]) -> Float[Tensor, "... Q K"]:
        return self.compare(query, self.prepare(key))


class DotScore(Score):
    """A dot product of transformed queries and keys, which fused kernels can compute."""

    scale: float | None = 1.0
    """Factor of the product; `None` is 1/√width of the transformed query."""

    def transform(self, query: Float[Tensor, "... Q Dq"]) -> Float[Tensor, "... Q D"]:
        """The query's side of the product."""
        return query

    def compare(self, query: Float[Tensor, "... Q Dq"], prepared: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
        query = self.transform(query)
        scale = query.shape[-1] ** -0.5 if self.scale is None else self.scale
        return grouped_matmul(query if scale == 1.0 else query * scale, prepared.mT)


class Dot(DotScore):
    """q · k (Luong et al. 2015)."""


class ScaledDot(DotScore):
    """q · k / √D (Vaswani et al. 2017)."""

    scale = None


@explained
class Multiplicative(DotScore):
    """qᵀ W k (Luong et al. 2015, "general")."""

    equal_widths = False

    def __init__(self, query_width: int, key_width: int, heads: int = 1) -> None:
        super().__init__()
        self.weight = _matrix(query_width, key_width, heads)

    def transform(self, query: Float[Tensor, "... Q Dq"]) -> Float[Tensor, "... Q D"]:
        return _map(query, self.weight)

    def query_map(self) -> Float[Tensor, "Dq D"] | None:
        return _of_one_head(self.weight)

    def compare_mapped(
        self, mapped: Float[Tensor, "... Q D"], prepared: Float[Tensor, "... K D"]
    ) -> Float[Tensor, "... Q K"]:
        return grouped_matmul(mapped, prepared.mT)


@explained
class Cosine(DotScore):
    """strength · cos(q, k) (Graves et al. 2014); a learned strength is initialized to it, with one for each head."""

    def __init__(self, strength: float = 1.0, *, learned: bool = False, heads: int = 1) -> None:
        super().__init__()
        self.scale = 1.0 if learned else strength
        self.strength = nn.Parameter(torch.full((heads, 1, 1)[0 if heads > 1 else 1 :], strength)) if learned else None

    def transform(self, query: Float[Tensor, "... Q Dq"]) -> Float[Tensor, "... Q D"]:
        direction = F.normalize(query, dim=-1)
        return direction if self.strength is None else direction * self.strength.to(direction.dtype)

    def prepare(self, key: Float[Tensor, "... K Dk"]) -> Float[Tensor, "... K D"]:
        return F.normalize(key, dim=-1)


class _Tanh(Score):
    """v · tanh(query's part + key's part), which Additive and Concatenation share."""

    equal_widths = False

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        if hidden < 1:
            raise UsageError(f"hidden = {hidden}: the width inside the score is 1 or more")
        self.heads = heads
        bound = hidden**-0.5
        self.energy = nn.Parameter(torch.empty((heads, hidden) if heads > 1 else (hidden,)).uniform_(-bound, bound))

    @abstractmethod
    def halves(self) -> tuple[Tensor, Tensor]:
        """The matrices of queries and keys, "Dq hidden" and "Dk hidden", with a leading axis of heads if several."""

    def prepare(self, key: Float[Tensor, "... K Dk"]) -> Float[Tensor, "... K D"]:
        return _map(repeat_heads(key, self.heads) if self.heads > 1 else key, self.halves()[1])

    def compare(self, query: Float[Tensor, "... Q Dq"], prepared: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
        return self.compare_mapped(_map(query, self.halves()[0]), prepared)

    def query_map(self) -> Float[Tensor, "Dq D"] | None:
        return _of_one_head(self.halves()[0])

    def compare_mapped(
        self, mapped: Float[Tensor, "... Q D"], prepared: Float[Tensor, "... K D"]
    ) -> Float[Tensor, "... Q K"]:
        return tanh_energy(mapped, repeat_groups(mapped, prepared), self.energy)


@explained
class Additive(_Tanh):
    """v · tanh(W q + U k) (Bahdanau et al. 2015)."""

    def __init__(self, query_width: int, key_width: int, hidden: int, heads: int = 1) -> None:
        super().__init__(hidden, heads)
        self.query_weight = _matrix(query_width, hidden, heads)
        self.key_weight = _matrix(key_width, hidden, heads)

    def halves(self) -> tuple[Tensor, Tensor]:
        return self.query_weight, self.key_weight


@explained
class Concatenation(_Tanh):
    """v · tanh(W [q; k]) (Luong et al. 2015, "concat").

    W [q; k] = W₁ q + W₂ k, so this is the additive score with the halves of one matrix, and is computed as such.
    """

    def __init__(self, query_width: int, key_width: int, hidden: int, heads: int = 1) -> None:
        super().__init__(hidden, heads)
        self.query_width = query_width
        self.weight = _matrix(query_width + key_width, hidden, heads)

    def halves(self) -> tuple[Tensor, Tensor]:
        return self.weight[..., : self.query_width, :], self.weight[..., self.query_width :, :]


@explained
class InverseDistance(Score):
    """1 / (‖q − k‖ + floor); the floor bounds the score of equal vectors.

    With `normalizers.proportional` this is inverse distance weighting (Shepard 1968): keys are the coordinates of
    stations, values their weather, and a query is the place whose weather to interpolate.

    >>> stations = torch.tensor([[0.0, 0.0], [3.0, 0.0]])
    >>> temperatures = torch.tensor([[10.0], [16.0]])
    >>> here = torch.tensor([[1.0, 0.0]])       # half as far from the first station as from the second
    >>> weather, weights = attend(here, stations, temperatures, score=InverseDistance(), normalizer=proportional)
    >>> weights
    tensor([[0.6667, 0.3333]])
    >>> round(weather.item(), 3)
    12.0
    """

    def __init__(self, floor: float = 1e-6) -> None:
        super().__init__()
        self.floor = floor

    def compare(self, query: Float[Tensor, "... Q Dq"], prepared: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
        return (_distance(query, prepared) + self.floor).reciprocal()


@explained
class Gaussian(Score):
    """−‖q − k‖² / 2σ²: under softmax, weights by a Gaussian around the query (Nadaraya 1964, Watson 1964)."""

    def __init__(self, sigma: float = 1.0) -> None:
        super().__init__()
        if not sigma > 0:
            raise UsageError(f"sigma = {sigma}: a Gaussian's width is above 0")
        self.sigma = sigma

    def compare(self, query: Float[Tensor, "... Q Dq"], prepared: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
        return _distance(query, prepared).square() * (-0.5 / self.sigma**2)


class Function(Score):
    """A user's function as a score: function(query "... Q Dq", key "... K Dk") -> "... Q K"."""

    def __init__(self, function: ScoreFunction) -> None:
        super().__init__()
        self.function = function

    def compare(self, query: Float[Tensor, "... Q Dq"], prepared: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
        scores = self.function(query, repeat_groups(query, prepared))
        queries, keys = query.shape[-2], prepared.shape[-2]
        if scores.shape[-2:] != (queries, keys):
            raise UsageError(
                f"a score function must return a score for each of {queries} queries and {keys} keys, "
                f"but this one returned the shape {tuple(scores.shape)}"
            )
        return scores


class ScoreFactory(Protocol):
    """Makes a score for queries and keys of given widths; `hidden` is the hidden width of additive scores."""

    def __call__(self, query_width: int, key_width: int, *, hidden: int, heads: int = 1) -> Score: ...


def dot(query_width: int, key_width: int, *, hidden: int, heads: int = 1) -> Score:
    _same_width("dot", query_width, key_width)
    return Dot()


def scaled_dot(query_width: int, key_width: int, *, hidden: int, heads: int = 1) -> Score:
    _same_width("scaled_dot", query_width, key_width)
    return ScaledDot()


def multiplicative(query_width: int, key_width: int, *, hidden: int, heads: int = 1) -> Score:
    return Multiplicative(query_width, key_width, heads)


def additive(query_width: int, key_width: int, *, hidden: int, heads: int = 1) -> Score:
    return Additive(query_width, key_width, hidden, heads)


def concatenation(query_width: int, key_width: int, *, hidden: int, heads: int = 1) -> Score:
    return Concatenation(query_width, key_width, hidden, heads)


def cosine(query_width: int, key_width: int, *, hidden: int, heads: int = 1) -> Score:
    # Cosines lie in [-1, 1], too close together for softmax to single out a key among many.
    _same_width("cosine", query_width, key_width)
    return Cosine(10.0, learned=True, heads=heads)


def inverse_distance(query_width: int, key_width: int, *, hidden: int, heads: int = 1) -> Score:
    # A floor of 0.1 limits scores to 10, and so the gradients of queries and keys that are almost equal.
    _same_width("inverse_distance", query_width, key_width)
    return InverseDistance(floor=0.1)


def gaussian(query_width: int, key_width: int, *, hidden: int, heads: int = 1) -> Score:
    # σ² = √D for the reason of 1/√D in the scaled dot product: scores do not grow with the width.
    _same_width("gaussian", query_width, key_width)
    return Gaussian(query_width**0.25)


SCORES: Mapping[str, ScoreFactory] = names.SCORES


def as_score(score: Score | ScoreFunction) -> Score:
    """The score itself, or a plain function as one."""
    if isinstance(score, str):
        made = "".join(part.title() for part in str(score).split("_")) if score in SCORES else "Dot"
        raise UsageError(f"score = {score!r} is a name, but a score is needed, such as {made}(…), or a function")
    return score if isinstance(score, Score) else Function(score)


def _same_width(name: str, query_width: int, key_width: int) -> None:
    if query_width != key_width:
        raise UsageError(
            f"the score {name!r} compares vectors of one width, but queries have {query_width} and keys {key_width}; "
            "project one of them, or use 'multiplicative' or 'additive'"
        )


def _matrix(rows: int, columns: int, heads: int) -> nn.Parameter:
    """A matrix, or one for each head, initialized as by Glorot and Bengio (2010)."""
    if min(rows, columns, heads) < 1:
        raise UsageError(f"a matrix of {rows} × {columns} for {heads} heads; widths and heads are 1 or more")
    bound = (6 / (rows + columns)) ** 0.5
    return nn.Parameter(torch.empty((heads, rows, columns) if heads > 1 else (rows, columns)).uniform_(-bound, bound))


def _map(vectors: Tensor, matrix: Tensor) -> Tensor:
    """Vectors times the matrix of their head, as one product per head over all rows of the batch."""
    return vectors @ matrix if matrix.ndim == 2 else torch.einsum("...hxd,hde->...hxe", vectors, matrix)


def _of_one_head(matrix: Tensor) -> Tensor | None:
    return matrix if matrix.ndim == 2 else None


def _distance(query: Tensor, key: Tensor) -> Tensor:
    """Euclidean distances from differences: |q|² + |k|² − 2 q·k would cancel where a query is near a key."""
    return torch.cdist(query, repeat_groups(query, key), compute_mode="donot_use_mm_for_euclid_dist")
