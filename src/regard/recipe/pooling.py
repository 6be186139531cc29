"""`[model.pooling]`: how the features of a text are pooled into one vector, for every task that labels texts."""

from typing import Annotated, Any

from regard.recipe.names import SCORES, NormalizerName, ScoreName
from regard.recipe.section import Named, Only, Section, Width
from regard.registry import Entry, Registry

POOLINGS: Registry[Any] = Registry(
    "pooling",
    {
        "last": "regard.models.pooling:LastPooling",
        "mean": "regard.models.pooling:MeanPooling",
        "max": "regard.models.pooling:MaxPooling",
        "attention": Entry("regard.models.pooling:AttentionPooling", uses=("score", "hidden", "normalizer")),
    },
)
"""Builds the pooling of a text's features, from the table and the encoder."""


class PoolingTable(Section):
    """How the features of the words become one vector."""

    kind: Annotated[str, Named(POOLINGS)] = "last"
    """The encoder's last state (or the summary of an encoder without states), the mean or the maximum of each feature,
    or a mean weighted by attention with a learned query."""
    score: Annotated[ScoreName, Only(kind=POOLINGS)] = "additive"
    """Attention: how the learned query is compared with a word."""
    hidden: Annotated[Width, Only(kind=POOLINGS), Only(score=SCORES)] = 64
    """Attention: hidden width of the scores that have one."""
    normalizer: Annotated[NormalizerName, Only(kind=POOLINGS)] = "softmax"
    """Attention: how scores become weights."""
