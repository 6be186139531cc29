"""MarianMT of Hugging Face with random weights, in the shape that a recipe's `[model]` says, and a plain step of it."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data import PairBatch
from regard.recipe import TransformerModel
from regard.tokens import BEGIN, END, PAD


def marian(shape: TransformerModel, *vocabulary: int, positions: int = 256) -> Any:
    """The package's own model; two vocabularies, of source and target, share no embeddings."""
    from transformers import MarianConfig, MarianMTModel

    sides = {
        side: {"layers": layers, "ffn_dim": shape.feedforward, "attention_heads": shape.heads}
        for side, layers in (("encoder", shape.encoder_layers), ("decoder", shape.decoder_layers))
    }
    config = MarianConfig(
        vocab_size=vocabulary[0],
        decoder_vocab_size=vocabulary[-1],
        share_encoder_decoder_embeddings=len(vocabulary) == 1,
        d_model=shape.width,
        **{f"{side}_{name}": value for side, settings in sides.items() for name, value in settings.items()},
        max_position_embeddings=positions,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=BEGIN,
        forced_eos_token_id=None,
        dropout=shape.dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation_function="relu",
        static_position_embeddings=True,
        scale_embedding=True,
    )
    return MarianMTModel(config)


class Marian(nn.Module):
    """Logits of all places of a target, given source and target."""

    def __init__(self, shape: TransformerModel, vocabulary: int, positions: int = 256) -> None:
        super().__init__()
        self.model = marian(shape, vocabulary, positions=positions)

    def forward(self, source: Tensor, given: Tensor) -> Tensor:
        logits: Tensor = self.model(input_ids=source, attention_mask=source.ne(PAD), decoder_input_ids=given).logits
        return logits


def plain_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: PairBatch,
    *,
    bfloat16: bool,
    smoothing: float = 0.1,
    clip: float = 1.0,
) -> None:
    """A step as anybody would write it down, of a model that gives logits of all places."""
    source, given, wanted = batch.source.tokens, batch.given.tokens, batch.wanted.tokens
    with torch.autocast(source.device.type, torch.bfloat16, enabled=bfloat16):
        logits = model(source, given)
        loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD, label_smoothing=smoothing)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
