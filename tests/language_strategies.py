"""A tiny language model of every kind, and strategies for the text they are given."""

from collections.abc import Iterable
from functools import cache
from itertools import cycle, product

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from model_strategies import used
from torch import Tensor

from regard.data.batch import Padded
from regard.models import ContinuousCache, LanguageModel, build_language_model
from regard.models.ngram.building import count
from regard.recipe import (
    AttentiveModel,
    CopyingModel,
    NeuralModel,
    NgramModel,
    RecurrentLanguageModel,
    TransformerLanguageModel,
    WindowModel,
)
from regard.recipe.language_models import DISTANCES
from regard.recipe.names import CELLS, CONNECTIONS, NORMALIZERS, POSITIONS, SCORES

few = settings(max_examples=max(3, settings().max_examples // 10))
"""There are many models, so that each sees few examples of every day."""

SIZE, SLOTS = 11, 2
MEMORY = 16
"""More than any text here has words, so that segments with carried state are one long text."""


def _windows() -> dict[str, WindowModel]:
    return {
        f"window-{'direct' if direct else 'plain'}-{'tied' if tie else 'own'}": WindowModel(
            kind="window", window=3 - direct, embedding=4, hidden=5, direct=direct, tie=tie
        )
        for direct, tie in product((False, True), (False, True))
    } | {"window-one": WindowModel(kind="window", window=1, embedding=4, hidden=5, cutoffs=[4, 7], shrink=2)}


def _recurrent() -> dict[str, RecurrentLanguageModel]:
    """Every cell with every connection; the other choices take turns."""
    ties = cycle([True, False, True])
    return {
        f"recurrent-{cell}-{connection}": RecurrentLanguageModel(
            kind="recurrent",
            cell=cell,
            connection=connection,
            embedding=4,
            hidden=4 if connection in ("residual", "highway") else 5,
            layers=1 + place % 3,
            tie=next(ties),
        )
        for place, (cell, connection) in enumerate(product(CELLS, CONNECTIONS), start=1)
    }


def _looking_back() -> dict[str, AttentiveModel | CopyingModel]:
    """Every score in both; the other choices take turns."""
    cells, normalizers = cycle(CELLS), cycle(NORMALIZERS)
    mixtures = cycle(["sentinel", "gate", "fixed"])
    found: dict[str, AttentiveModel | CopyingModel] = {}
    for place, score in enumerate(SCORES):
        shared = {"embedding": 4, "hidden": 5, "layers": 1 + place % 2, "tie": place % 3 == 0}
        shared |= used(SCORES, score, score_hidden=3)
        found[f"attentive-{score}"] = AttentiveModel(
            kind="attentive",
            cell=next(cells),
            score=score,
            normalizer=next(normalizers),
            reach=2 + place % 3,
            join=("add", "concatenate")[place % 2],
            parts=(1, 2, 3)[place % 3],
            values=("states", "words")[place // 2 % 2],
            **shared,
        )
        mixture = next(mixtures)
        share = {"share": 0.7} if mixture == "fixed" else {}
        found[f"copying-{mixture}-{score}"] = CopyingModel(
            kind="copying", score=score, mixture=mixture, reach=1 + place % 3, slots=SLOTS, **shared | share
        )
    return found


def _transformers() -> dict[str, TransformerLanguageModel]:
    return {
        f"transformer-{position}{'-window' if window else ''}": TransformerLanguageModel(
            kind="transformer",
            width=8,
            heads=4,
            groups=(0, 2, 1)[place % 3],
            feedforward=6,
            layers=1 + place % 2,
            norm=("pre", "post")[place // 2 % 2],
            position=position,
            memory=MEMORY if position in DISTANCES else 0,
            **used(POSITIONS, position, clip=2, longest=MEMORY),
            window=window,
            tie=place % 3 != 1,
        )
        for place, (position, window) in enumerate(product(POSITIONS, (0, 2)))
    }


TINY: dict[str, NeuralModel] = {**_windows(), **_recurrent(), **_looking_back(), **_transformers()}
"""Settings of a tiny language model of every kind that is trained, by name."""
COUNTED = {
    f"ngram-{smoothing}": NgramModel(kind="ngram", order=order, smoothing=smoothing)
    for order, smoothing in ((4, "kneser_ney"), (2, "add_k"), (3, "stupid_backoff"))
}
"""The same for those that are counted."""
LINES = ((5, 6, 5, 9), (6, 5, 9), (10, 5, 6, 7, 5, 6, 8), (), (1, 4, 5, 6), (5, 6, 5, 9, 10, 4))
"""What they have counted."""
CACHED = (
    "window-plain-own",
    "recurrent-lstm-none",
    "attentive-dot",
    "copying-sentinel-dot",
    "transformer-rotary",
)
FORGETS = tuple(name for name, model in TINY.items() if model.kind == "transformer" and not model.memory)
"""Those that know nothing of earlier segments."""

EVERY_DAY = {
    *COUNTED,
    *("window-direct-tied", "window-plain-own", "window-one"),
    *("recurrent-rnn-dense", "recurrent-gru-highway", "recurrent-lstm-none"),
    *("attentive-dot", "attentive-additive", "attentive-gaussian"),
    *("copying-sentinel-dot", "copying-gate-scaled_dot", "copying-fixed-multiplicative"),
    *("transformer-sinusoidal", "transformer-relative", "transformer-rotary", "transformer-alibi-window"),
    *("cache recurrent-lstm-none", "cache copying-sentinel-dot", "cache transformer-rotary"),
}


def _named(names: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrizes a test by the names of models, most of which are not for every day."""
    marked = [name if name in EVERY_DAY else pytest.param(name, marks=pytest.mark.long) for name in names]
    return pytest.mark.parametrize("name", marked)


_EVERY = [*TINY, *COUNTED, *(f"cache {name}" for name in CACHED)]
every_language_model = _named(TINY)
every_language_generator = _named(_EVERY)
"""The same, those that are counted, and continuous caches on top of one model of each kind."""
every_that_carries = _named(name for name in _EVERY if name not in FORGETS)


@cache
def tiny_language_model(name: str) -> LanguageModel:
    """The model of these settings, in float64 and eval mode, with the same weights each time."""
    if name.startswith("cache "):
        return ContinuousCache(tiny_language_model(name.removeprefix("cache ")), size=3, theta=0.5, share=0.3).eval()
    if name in COUNTED:
        return count(LINES, COUNTED[name], SIZE).double().eval()
    with torch.random.fork_rng():
        torch.manual_seed(len(name))
        model = build_language_model(TINY[name], SIZE).double().eval()
        for parameter in model.parameters():
            if not parameter.any():  # biases that start at zero could hide a mistake
                torch.nn.init.normal_(parameter, std=0.3)
        return model


def words_of(model: LanguageModel) -> int:
    """Tokens that a model may be given: those of the vocabulary, and words beyond it if there are slots."""
    inner = model.model if isinstance(model, ContinuousCache) else model
    return SIZE + getattr(inner, "slots", 0)


def rows(count: int) -> Padded:
    """The source of a language model: nothing but a number of rows."""
    return Padded(torch.zeros(count, 0, dtype=torch.long), torch.zeros(count, dtype=torch.long))


@st.composite
def texts(draw: st.DrawFn, size: int) -> Tensor:
    """Rows of text of one length; few different words, so that some come again."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    most = draw(st.integers(2, size))
    shape = draw(st.integers(1, 3)), draw(st.integers(1, 8))
    return size - most + torch.randint(most, shape, generator=generator)
