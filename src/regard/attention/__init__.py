"""Attention: score, normalize, mix; in one head or many, with masks, positions and memory."""

from regard.attention.attend import Attention, attend
from regard.attention.cache import KeyValueCache, Memory
from regard.attention.heads import Heads
from regard.attention.masks import causal, combine, padding, window
from regard.attention.normalizers import (
    NORMALIZERS,
    Normalizer,
    as_normalizer,
    entmax15,
    proportional,
    softmax,
    sparsemax,
)
from regard.attention.positions import (
    POSITIONS,
    Alibi,
    Learned,
    Position,
    Relative,
    Rotary,
    Sinusoidal,
    TreeDistance,
)
from regard.attention.scores import (
    SCORES,
    Additive,
    Concatenation,
    Cosine,
    Dot,
    DotScore,
    Function,
    Gaussian,
    InverseDistance,
    Multiplicative,
    ScaledDot,
    Score,
    as_score,
)
from regard.attention.trees import tree_depths, tree_distances

__all__ = [
    "NORMALIZERS",
    "POSITIONS",
    "SCORES",
    "Additive",
    "Alibi",
    "Attention",
    "Concatenation",
    "Cosine",
    "Dot",
    "DotScore",
    "Function",
    "Gaussian",
    "Heads",
    "InverseDistance",
    "KeyValueCache",
    "Learned",
    "Memory",
    "Multiplicative",
    "Normalizer",
    "Position",
    "Relative",
    "Rotary",
    "ScaledDot",
    "Score",
    "Sinusoidal",
    "TreeDistance",
    "as_normalizer",
    "as_score",
    "attend",
    "causal",
    "combine",
    "entmax15",
    "padding",
    "proportional",
    "softmax",
    "sparsemax",
    "tree_depths",
    "tree_distances",
    "window",
]
