"""The labels of one text by their probabilities, for people and for inspections."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from regard.inspect import Array
from regard.inspect.watch import CANDIDATES
from regard.tokens.tag_set import TagSet


def likeliest_first(probabilities: Sequence[float], labels: TagSet) -> dict[str, float]:
    """Every label with its probability."""
    return dict(sorted(zip(labels.tags, probabilities, strict=True), key=lambda pair: -pair[1]))


def label_arrays(probabilities: Float[Tensor, " L"], labels: TagSet) -> dict[str, Array]:
    """Their arrays in an inspection: the likeliest `labels` by rank, and the `probabilities` of all."""
    likeliest = probabilities.topk(min(CANDIDATES, len(probabilities)))
    names = np.array([labels.tags[number] for number in likeliest.indices.tolist()], dtype=object)
    return {
        "labels": Array(("rank",), likeliest.values.numpy(), names),
        "probabilities": Array(("label",), probabilities.numpy()),
    }
