"""torch's own Transformer layers with the weights of ours: an independent implementation to compare with."""

import torch
from torch import nn

from regard.attention import Heads
from regard.nn import DecoderBlock, EncoderBlock, FeedForward, Residual


def encoder_layer(block: EncoderBlock) -> nn.TransformerEncoderLayer:
    layer = nn.TransformerEncoderLayer(**_shape(block))
    _copy_attention(block.attention, layer.self_attn)
    _copy_feedforward(block.feedforward, layer)
    _copy_norms([block.around_attention, block.around_feedforward], [layer.norm1, layer.norm2])
    return layer.to(block.attention.outward.weight.dtype).eval()


def decoder_layer(block: DecoderBlock) -> nn.TransformerDecoderLayer:
    layer = nn.TransformerDecoderLayer(**_shape(block))
    _copy_attention(block.attention, layer.self_attn)
    _copy_attention(block.cross, layer.multihead_attn)
    _copy_feedforward(block.feedforward, layer)
    _copy_norms(
        [block.around_attention, block.around_cross, block.around_feedforward], [layer.norm1, layer.norm2, layer.norm3]
    )
    return layer.to(block.attention.outward.weight.dtype).eval()


def randomize(module: nn.Module) -> None:
    """Biases and gains too, which start at zero and one, where mistakes would not show."""
    with torch.no_grad():
        for weight in module.parameters():
            weight.normal_(std=0.5)


def _shape(block: EncoderBlock | DecoderBlock) -> dict[str, object]:
    hidden, width = block.feedforward.inward.weight.shape
    return {
        "d_model": width,
        "nhead": block.attention.heads,
        "dim_feedforward": hidden,
        "norm_first": block.around_attention.before,
        "activation": block.feedforward.kind,
        "batch_first": True,
        "dropout": 0.0,
    }


def _copy_attention(heads: Heads, attention: nn.MultiheadAttention) -> None:
    attention.load_state_dict(
        {
            "in_proj_weight": heads.inward.weight,
            "in_proj_bias": heads.inward.bias,
            "out_proj.weight": heads.outward.weight,
            "out_proj.bias": heads.outward.bias,
        },
        assign=True,
    )


def _copy_feedforward(feedforward: FeedForward, layer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> None:
    layer.linear1, layer.linear2 = feedforward.inward, feedforward.outward


def _copy_norms(ours: list[Residual], theirs: list[nn.LayerNorm]) -> None:
    for residual, norm in zip(ours, theirs, strict=True):
        norm.load_state_dict(residual.norm.state_dict(), assign=True)
