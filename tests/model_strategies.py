"""A tiny model of every kind, and strategies for what models are given."""

from dataclasses import dataclass
from functools import cache
from itertools import cycle, product
from typing import Any

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor

from regard.data.batch import Padded, Worded
from regard.models import Ensemble, Generator, build_model
from regard.recipe import RecurrentModel, TransformerModel
from regard.recipe.names import CELLS, CONNECTIONS, NORMALIZERS, POSITIONS, SCORES
from regard.registry import Registry

SOURCE_SIZE, TARGET_SIZE = 7, 9
PLACEMENTS = ("before", "after", "feed")


def used(registry: Registry[Any], name: str, **settings: Any) -> dict[str, Any]:
    """Those of the settings that the entry of that name uses."""
    return {setting: value for setting, value in settings.items() if setting in registry.entry(name).uses}


def _recurrent() -> dict[str, RecurrentModel]:
    """Every score at every placement, and no attention; the other choices take turns."""
    cells = cycle(CELLS)
    connections = cycle(CONNECTIONS)
    normalizers = cycle(NORMALIZERS)
    ties = cycle(["none", "target"])
    attentions = [("none", "before"), *product(SCORES, PLACEMENTS)]
    return {
        f"recurrent-{score}-{placement}": RecurrentModel(
            kind="recurrent",
            cell=next(cells),
            embedding=4,
            hidden=5,
            encoder_layers=1 + place % 2,
            decoder_layers=1 + place % 3,
            bidirectional=place % 4 != 3,
            connection=next(connections),
            attention={"score": score}
            if score == "none"
            else {
                "score": score,
                "normalizer": next(normalizers),
                "placement": placement,
                **used(SCORES, score, hidden=3),
            },
            tie=next(ties),
        )
        for place, (score, placement) in enumerate(attentions)
    }


def _transformers() -> dict[str, TransformerModel]:
    """Every score and every kind of position; the other choices take turns."""
    normalizers = cycle(NORMALIZERS)
    scores = [(score, "sinusoidal") for score in SCORES]
    positions = [("scaled_dot", position) for position in POSITIONS if position != "sinusoidal"]
    return {
        f"transformer-{score}-{position}": TransformerModel(
            kind="transformer",
            width=8,
            heads=4,
            groups=(0, 2, 1)[place % 3],
            feedforward=6,
            encoder_layers=1 + place % 2,
            decoder_layers=2 - place % 2,
            norm=("pre", "post")[place // 2 % 2],
            position=position,
            **used(POSITIONS, position, longest=16, clip=2),
            score=score,
            normalizer="softmax" if position != "sinusoidal" else next(normalizers),
            window=(0, 0, 0, 2)[place % 4],
            activation=("relu", "gelu", "swiglu")[place % 3],
            tie=("none", "target")[place % 2],
        )
        for place, (score, position) in enumerate(scores + positions)
    }


def _copying() -> dict[str, RecurrentModel | TransformerModel]:
    """What copies words of the source, at every placement, with and without coverage."""
    small = {"kind": "recurrent", "embedding": 4, "hidden": 5}
    looks = {
        "before": {"placement": "before", "score": "additive", "hidden": 3, "coverage": True},
        "after": {"placement": "after", "score": "scaled_dot"},
        "after-coverage": {"placement": "after", "score": "dot", "coverage": True, "normalizer": "entmax15"},
        "feed": {"placement": "feed", "score": "multiplicative", "coverage": True},
    }
    found: dict[str, RecurrentModel | TransformerModel] = {
        f"copying-{name}": RecurrentModel(**small, copying=True, attention=attention)
        for name, attention in looks.items()
    }
    found["coverage-before"] = RecurrentModel(**small, attention=looks["before"])
    block = {"width": 8, "heads": 2, "feedforward": 6, "encoder_layers": 1, "decoder_layers": 1}
    found["copying-transformer"] = TransformerModel(kind="transformer", copying=True, **block)
    return found


ENCODERS: dict[str, dict[str, object]] = {
    "averaging": {"kind": "averaging", "embedding": 3},
    "window": {"kind": "window", "embedding": 3, "hidden": 8, "layers": 2, "reach": 1},
    "recurrent": {"kind": "recurrent", "cell": "gru", "embedding": 3, "hidden": 5, "layers": 2, "bidirectional": False},
    "transformer": {"kind": "transformer", "width": 6, "heads": 2, "feedforward": 5, "layers": 1},
}
"""A table for each kind of encoder."""


def _encoded() -> dict[str, RecurrentModel | TransformerModel]:
    """Translators with encoders that are not their own."""
    block = {"kind": "transformer", "width": 8, "heads": 2, "feedforward": 6, "decoder_layers": 1}
    small = {"kind": "recurrent", "embedding": 4, "hidden": 5, "decoder_layers": 2}
    bottleneck = {"score": "none"}
    return {
        "transformer-averaging": TransformerModel(**block, encoder=ENCODERS["averaging"]),
        "transformer-window": TransformerModel(**block, copying=True, encoder=ENCODERS["window"]),
        "transformer-recurrent": TransformerModel(**block, encoder=ENCODERS["recurrent"]),
        "recurrent-averaging": RecurrentModel(**small, attention=bottleneck, encoder=ENCODERS["averaging"]),
        "recurrent-window": RecurrentModel(**small, encoder=ENCODERS["window"]),
        "recurrent-transformer": RecurrentModel(**small, attention=bottleneck, encoder=ENCODERS["transformer"]),
    }


TINY: dict[str, RecurrentModel | TransformerModel] = {**_recurrent(), **_transformers(), **_copying(), **_encoded()}
"""Settings of a tiny model of every kind, by name."""

_SEEN_AGAIN = {
    f"recurrent-{score}-{placement}"
    for (place, score), (turn, placement) in product(enumerate(SCORES), enumerate(PLACEMENTS))
    if place % 3 != turn
}
_NAMES = [pytest.param(name, marks=pytest.mark.long) if name in _SEEN_AGAIN else name for name in TINY]
every_model = pytest.mark.parametrize("name", _NAMES)
"""Parametrizes a test by the names of all models; of each score's placements, every day sees one."""
ENSEMBLE = ("recurrent-additive-feed", "transformer-scaled_dot-rotary")
COPYING_ENSEMBLE = ("copying-feed", "copying-transformer")
every_generator = pytest.mark.parametrize("name", [*_NAMES, "ensemble", "copying-ensemble"])
"""The same and ensembles of two kinds of models."""


@cache
def tiny_model(name: str) -> Generator:
    """The model of these settings, in float64 and eval mode, with the same weights each time."""
    ensembles = {"ensemble": ENSEMBLE, "copying-ensemble": COPYING_ENSEMBLE}
    if name in ensembles:
        return Ensemble([tiny_model(member) for member in ensembles[name]])
    with torch.random.fork_rng():
        torch.manual_seed(len(name))
        return build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE).double().eval()


@dataclass(frozen=True)
class Case:
    """A source and a target for each row."""

    source: Worded
    target: Tensor


def worded(source: Padded) -> Worded:
    """A source every other word of which is unknown to the target."""
    places = torch.arange(source.tokens.shape[1], device=source.tokens.device)
    words = torch.where((source.tokens + places) % 2 == 0, TARGET_SIZE + places // 2, source.tokens % TARGET_SIZE)
    return Worded(source.tokens, source.lengths, words)


@st.composite
def cases(draw: st.DrawFn, rows: st.SearchStrategy[int] = st.integers(1, 3)) -> Case:
    """Rows of different source lengths (at least one token each), padded with anything, and targets of one length."""
    lengths = torch.tensor(draw(st.lists(st.integers(1, 5), min_size=(count := draw(rows)), max_size=count)))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    width = int(lengths.max()) + draw(st.integers(0, 2))
    tokens = torch.randint(SOURCE_SIZE, (count, width), generator=generator)
    target = torch.randint(TARGET_SIZE, (count, draw(st.integers(1, 6))), generator=generator)
    return Case(worded(Padded(tokens, lengths)), target)
