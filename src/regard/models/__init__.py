"""Models: everything that has `start`, `advance` and a `readout`."""

from collections.abc import Callable
from typing import Any

from regard.models import recurrent, transformer
from regard.models.copying import CopyReadout
from regard.models.ensemble import Ensemble
from regard.models.generator import Generator, Readout, State
from regard.models.readout import LinearReadout
from regard.models.recurrent import RecurrentTranslator
from regard.models.transformer import TransformerTranslator
from regard.recipe import RecurrentModel, TransformerModel

MODELS: dict[str, Callable[[Any, int, int], Generator]] = {
    "recurrent": recurrent.build,
    "transformer": transformer.build,
}
"""Builds the model of a recipe's `[model]` table, by its `kind`, for source and target vocabularies of given sizes."""


def build_model(settings: RecurrentModel | TransformerModel, source_size: int, target_size: int) -> Generator:
    """A new model with initial weights drawn from torch's global generator, on the CPU, in float32."""
    return MODELS[settings.kind](settings, source_size, target_size)


__all__ = [
    "MODELS",
    "CopyReadout",
    "Ensemble",
    "Generator",
    "LinearReadout",
    "Readout",
    "RecurrentTranslator",
    "State",
    "TransformerTranslator",
    "build_model",
]
