"""Encoders: models that map a sequence to one vector per position and one for the whole."""

from collections.abc import Callable, Mapping
from typing import Any

from regard.models.encoders.averaging import AveragingEncoder
from regard.models.encoders.encoder import Encoded, Encoder
from regard.models.encoders.recurrent import RecurrentEncoder
from regard.models.encoders.transformer import TransformerEncoder
from regard.models.encoders.window import WindowEncoder
from regard.nn.embedding import TokenEmbedding
from regard.recipe import EncoderTable
from regard.recipe import encoders as names

ENCODERS: Mapping[str, Callable[[Any, int | None, TokenEmbedding | None], Encoder]] = names.ENCODERS


def build_encoder(settings: EncoderTable, size: int | None = None, shared: TokenEmbedding | None = None) -> Encoder:
    """A new encoder on the CPU, in float32, with weights initialized from torch's global generator."""
    return ENCODERS[settings.kind](settings, size, shared)


__all__ = [
    "ENCODERS",
    "AveragingEncoder",
    "Encoded",
    "Encoder",
    "RecurrentEncoder",
    "TransformerEncoder",
    "WindowEncoder",
    "build_encoder",
]
