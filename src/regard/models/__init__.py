"""Models: everything that has `start`, `advance` and a `readout`."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from regard.models.adaptive import AdaptiveReadout
from regard.models.continuous_cache import ContinuousCache
from regard.models.copying import CopyReadout
from regard.models.encoders import ENCODERS, Encoded, Encoder, build_encoder
from regard.models.ensemble import Ensemble
from regard.models.generator import Generator, Readout, State
from regard.models.language import LanguageModel
from regard.models.ngram.generator import NgramLanguageModel
from regard.models.readout import LinearReadout
from regard.models.recurrent import RecurrentTranslator
from regard.models.transformer import TransformerTranslator
from regard.recipe import NeuralModel, NgramModel, PretrainedVectors, TranslatorTable
from regard.recipe import language_models as language_names
from regard.recipe import model as names

MODELS: Mapping[str, Callable[[Any, int, int], Generator]] = names.MODELS
LANGUAGE_MODELS: Mapping[str, Callable[[Any, int], LanguageModel]] = language_names.LANGUAGE_MODELS


def build_model(settings: TranslatorTable, source_size: int, target_size: int) -> Generator:
    """A new model on the CPU, in float32, with weights initialized from torch's global generator."""
    model = MODELS[settings.kind](settings, source_size, target_size)
    _freeze(model, settings.pretrained)
    return model


def build_language_model(settings: NeuralModel | NgramModel, size: int) -> LanguageModel:
    """The same for a language model; an n-gram model has counted nothing yet."""
    model = LANGUAGE_MODELS[settings.kind](settings, size)
    if not isinstance(settings, NgramModel):
        _freeze(model, settings.vectors)
    return model


def _freeze(model: nn.Module, vectors: PretrainedVectors) -> None:
    if vectors.freeze:  # few models are, and word vectors take long to import
        from regard.models.pretrained import freeze_embeddings

        freeze_embeddings(model, vectors)


__all__ = [
    "ENCODERS",
    "LANGUAGE_MODELS",
    "MODELS",
    "AdaptiveReadout",
    "ContinuousCache",
    "CopyReadout",
    "Encoded",
    "Encoder",
    "Ensemble",
    "Generator",
    "LanguageModel",
    "LinearReadout",
    "NgramLanguageModel",
    "Readout",
    "RecurrentTranslator",
    "State",
    "TransformerTranslator",
    "build_encoder",
    "build_language_model",
    "build_model",
]
