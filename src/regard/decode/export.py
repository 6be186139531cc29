"""Exports a Transformer to CTranslate2, a fast runtime for CPUs, through its public model specification.

Tokens are exported by number ("0", "1", …), so that the runtimes need not agree on how tokens are written.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.attention import Heads
from regard.attention.positions import Learned, Position
from regard.data.cache import new_folder
from regard.disk import reason
from regard.errors import UsageError
from regard.models import Generator, LinearReadout, TransformerTranslator
from regard.models.encoders import TransformerEncoder
from regard.nn.blocks import DecoderBlock, EncoderBlock
from regard.nn.feedforward import FeedForward
from regard.recipe import TransformerModel, TranslatorTable
from regard.tokens.vocabulary import BEGIN, END, UNKNOWN

POSITIONS = 4096
"""Length of a computed table of positions; a learned one keeps its own."""

OLDEST = (4, 7)
"""The first version that supports everything in `ALLOWED`."""

ALLOWED: dict[str, tuple[object, ...]] = {
    "kind": ("transformer",),
    "score": ("scaled_dot",),
    "normalizer": ("softmax",),
    "position": ("sinusoidal", "learned", "rotary", "none"),
    "window": (0,),
    "copying": (False,),
}
"""Values of `[model]` settings that the runtime supports."""


def ctranslate2(part: str = "") -> Any:
    """The package or one of its modules; untyped, so that type checking does not need it installed."""
    try:
        version: str = import_module("ctranslate2").__version__
    except ImportError:
        raise UsageError("exporting needs CTranslate2, which is not installed: pip install 'regard[export]'") from None
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        raise UsageError(
            f"CTranslate2 {version} is too old, it must be {'.'.join(map(str, OLDEST))} or newer: "
            "pip install --upgrade 'regard[export]'"
        )
    return import_module(f"ctranslate2{part}")


def check_can_export(settings: TranslatorTable) -> TransformerModel:
    """The settings of a model that CTranslate2 can run; refuses others. `kind` is checked first: models of other kinds
    may lack the other settings."""
    for name, allowed in ALLOWED.items():
        value = getattr(settings, name)
        if value not in allowed:
            raise UsageError(
                f"model.{name} = {value!r}: CTranslate2 cannot run such a model, only those with "
                f"{' or '.join(map(repr, allowed))}; use it with `regard translate`"
            )
    assert isinstance(settings, TransformerModel)
    if settings.encoder is not None:
        raise UsageError(
            "[model.encoder]: CTranslate2 cannot run such a model, only those without this table; use it with "
            "`regard translate`"
        )
    return settings


def export(model: Generator, settings: TranslatorTable, folder: Path) -> None:
    """Writes a model into a new folder, which appears once it is complete."""
    transformer = check_can_export(settings)
    assert isinstance(model, TransformerTranslator)
    if folder.exists():
        raise UsageError(f"{folder}: exists already; name a new folder, or delete this one")
    spec = specification(model, transformer)
    spec.validate()
    spec.optimize(quantization=None)
    try:
        with new_folder(folder) as unfinished:
            spec.save(str(unfinished))
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {reason(error)}; name a folder where you may write") from None


def specification(model: TransformerTranslator, settings: TransformerModel) -> Any:
    """The model's layers under CTranslate2's names."""
    specs = ctranslate2(".specs")
    kinds = specs.Activation
    activation = {"relu": kinds.RELU, "gelu": kinds.GELU, "swiglu": kinds.SWISH}[settings.activation]
    common: dict[str, Any] = {
        "num_heads": settings.heads,
        "num_heads_kv": settings.groups or settings.heads,
        "pre_norm": settings.norm == "pre",
        "activation": activation,
        "ffn_glu": settings.activation == "swiglu",
    }
    rotary = settings.position == "rotary"
    if rotary:
        # All features of a head, its first half paired with its second.
        common |= {"rotary_dim": 0, "rotary_interleave": False}
    spec = specs.TransformerSpec(
        specs.TransformerEncoderSpec(settings.encoder_layers, **common),
        specs.TransformerDecoderSpec(settings.decoder_layers, **common),
    )
    if rotary:
        del spec.encoder.position_encodings  # required by `validate`, but never read
    assert isinstance(model.encoder, TransformerEncoder)
    for side, part in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        embeddings = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        embeddings.weight = _array(part.input.embedding.weight)
        side.scale_embeddings = True
        if not rotary:
            side.position_encodings.encodings = _positions(part.input.position, settings.width)
        if settings.norm == "pre":
            _norm(side.layer_norm, part.norm)
        for layer, block in zip(side.layer, part.layers, strict=True):
            assert isinstance(block, EncoderBlock | DecoderBlock)
            _block(layer, block)
    assert isinstance(model.readout, LinearReadout)
    spec.decoder.projection.weight = _array(model.readout.weight)
    spec.register_source_vocabulary([str(token) for token in range(model.encoder.input.embedding.size)])
    spec.register_target_vocabulary([str(token) for token in range(model.decoder.input.embedding.size)])
    spec.config.unk_token, spec.config.eos_token = str(UNKNOWN), str(END)
    spec.config.bos_token = spec.config.decoder_start_token = str(BEGIN)
    spec.config.layer_norm_epsilon = nn.LayerNorm(1).eps
    return spec


def _block(layer: Any, block: EncoderBlock | DecoderBlock) -> None:
    _self_attention(layer.self_attention, block.attention)
    _norm(layer.self_attention.layer_norm, block.around_attention.norm)
    if isinstance(block, DecoderBlock):
        _cross_attention(layer.attention, block.cross)
        _norm(layer.attention.layer_norm, block.around_cross.norm)
    _feedforward(layer.ffn, block.feedforward)
    _norm(layer.ffn.layer_norm, block.around_feedforward.norm)


def _self_attention(spec: Any, heads: Heads) -> None:
    _linear(spec.linear[0], heads.inward.weight, heads.inward.bias)
    _linear(spec.linear[1], heads.outward.weight, heads.outward.bias)


def _cross_attention(spec: Any, heads: Heads) -> None:
    rows, (weight, bias) = heads.heads * heads.width, (heads.inward.weight, heads.inward.bias)
    _linear(spec.linear[0], weight[:rows], bias[:rows])
    _linear(spec.linear[1], weight[rows:], bias[rows:])
    _linear(spec.linear[2], heads.outward.weight, heads.outward.bias)


def _feedforward(spec: Any, feedforward: FeedForward) -> None:
    weight, bias = feedforward.inward.weight, feedforward.inward.bias
    if feedforward.kind == "swiglu":
        # The activated gate, then the values it multiplies.
        for part, linear in enumerate((spec.linear_0, spec.linear_0_noact)):
            _linear(linear, weight.chunk(2)[part], bias.chunk(2)[part])
    else:
        _linear(spec.linear_0, weight, bias)
    _linear(spec.linear_1, feedforward.outward.weight, feedforward.outward.bias)


def _linear(spec: Any, weight: Tensor, bias: Tensor) -> None:
    spec.weight, spec.bias = _array(weight), _array(bias)


def _norm(spec: Any, norm: nn.Module) -> None:
    assert isinstance(norm, nn.LayerNorm)
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _positions(position: Position, width: int) -> np.ndarray:
    """The position embeddings as a table."""
    count = position.weight.shape[0] if isinstance(position, Learned) else POSITIONS
    with torch.no_grad():
        return _array(position.embed(next(position.parameters(), torch.empty(0)).new_zeros(1, count, width))[0])


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().float().cpu().contiguous().numpy().copy()
