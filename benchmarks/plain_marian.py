"""MarianMT of Hugging Face in the shape that a recipe's `[model]` says, with random weights or those of such a model,
its `generate`, and a plain step of it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Heads
from regard.data import PairBatch
from regard.data.batch import Padded
from regard.decode.constraints import NEVER
from regard.decode.corpus import batches_by_length
from regard.models import LinearReadout, TransformerTranslator
from regard.recipe import Decoding, TransformerModel
from regard.tokens import BEGIN, END, PAD

Sources = list[list[int]]
Outputs = list[tuple[int, ...]]
System = Callable[[Sources, int], Outputs]
"""Translates sources in batches of a number of tokens; returns the best output of each."""


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


COMPUTES = {"norm": "post", "position": "sinusoidal", "activation": "relu", "score": "scaled_dot"}
COMPUTES |= {"normalizer": "softmax", "groups": 0, "window": 0, "copying": False, "encoder": None}
"""The settings of `[model]` with which a model of ours computes what MarianMT does."""


def computes_alike(shape: TransformerModel) -> bool:
    return all(getattr(shape, name) == value for name, value in COMPUTES.items())


@torch.no_grad()
def marian_of(model: TransformerTranslator, shape: TransformerModel, positions: int = 256) -> Any:
    """MarianMT with the weights of a model that `computes_alike`."""
    sides = {"encoder": model.encoder, "decoder": model.decoder}
    embeddings = [side.input.embedding for side in sides.values()]
    sizes = [embedding.size for embedding in embeddings]
    is_shared = embeddings[0].weight.data_ptr() == embeddings[1].weight.data_ptr()
    peer = marian(shape, *(sizes[:1] if is_shared else sizes), positions=positions)
    for name, side in sides.items():
        into = getattr(peer.model, name)
        into.embed_tokens.weight.copy_(side.input.embedding.weight)
        into.embed_positions.weight.copy_(side.input.position.embed(torch.zeros(1, positions, shape.width))[0])
        for layer, block in zip(into.layers, side.layers, strict=True):
            for linear, weight, bias in _linear_maps(layer, block):
                linear.weight.copy_(weight)
                linear.bias.copy_(bias)
            for own, norm in _norms(layer, block):
                norm.load_state_dict(own.state_dict())
    assert isinstance(model.readout, LinearReadout)
    vectors = peer.model.decoder.embed_tokens.weight
    is_tied = model.readout.weight.data_ptr() == embeddings[1].weight.data_ptr()
    peer.lm_head.weight = vectors if is_tied else nn.Parameter(model.readout.weight.detach().clone())
    return peer


def _linear_maps(layer: Any, block: Any) -> Iterator[tuple[nn.Linear, Tensor, Tensor]]:
    """Each linear map of MarianMT, with the weight and bias it gets."""
    yield from _attention(layer.self_attn, block.attention)
    if hasattr(block, "cross"):
        yield from _attention(layer.encoder_attn, block.cross)
    for linear, own in ((layer.fc1, block.feedforward.inward), (layer.fc2, block.feedforward.outward)):
        yield linear, own.weight, own.bias


def _attention(layer: Any, heads: Heads) -> Iterator[tuple[nn.Linear, Tensor, Tensor]]:
    parts = zip(heads.inward.weight.chunk(3), heads.inward.bias.chunk(3), strict=True)
    for linear, (weight, bias) in zip((layer.q_proj, layer.k_proj, layer.v_proj), parts, strict=True):
        yield linear, weight, bias
    yield layer.out_proj, heads.outward.weight, heads.outward.bias


def _norms(layer: Any, block: Any) -> Iterator[tuple[nn.Module, nn.Module]]:
    """Each layer norm of ours, and the corresponding one of MarianMT."""
    yield block.around_attention.norm, layer.self_attn_layer_norm
    if hasattr(block, "cross"):
        yield block.around_cross.norm, layer.encoder_attn_layer_norm
    yield block.around_feedforward.norm, layer.final_layer_norm


def generating(model: Any, how: Decoding, lengths: Sequence[int] | None = None) -> System:
    """MarianMT as its users call it; or forced to write the longest of the given lengths in each batch."""
    model.eval()

    def translate(sources: Sources, batch_tokens: int) -> Outputs:
        found: dict[int, tuple[int, ...]] = {}
        for chosen in batches_by_length([len(source) + 1 for source in sources], batch_tokens):
            batch = Padded.of([[*sources[example], END] for example in chosen]).to(model.device)
            most = max(how.longest_output(len(sources[example])) for example in chosen)
            count = 1 + (most if lengths is None else max(lengths[example] for example in chosen))
            written = model.generate(
                input_ids=batch.tokens,
                attention_mask=batch.keep.long(),
                num_beams=how.beam,
                do_sample=False,
                length_penalty=how.length_penalty,
                early_stopping=how.beam > 1,
                min_new_tokens=0 if lengths is None else count,
                max_new_tokens=count,
                logits_processor=[forbid],
            )
            found.update(zip(chosen, map(until_end, written[:, 1:].tolist()), strict=True))
        return [found[example] for example in range(len(sources))]

    return torch.inference_mode()(translate)


def forbid(_: Tensor, log_probs: Tensor) -> Tensor:
    """Masks tokens that are never written; in place, which costs MarianMT little time."""
    return log_probs.index_fill_(1, torch.tensor(NEVER, device=log_probs.device), -torch.inf)


def until_end(tokens: list[int]) -> tuple[int, ...]:
    """The tokens without padding."""
    return tuple(tokens[: tokens.index(END)] if END in tokens else tokens)


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
    """A plain training step of a model that gives logits of all places."""
    source, given, wanted = batch.source.tokens, batch.given.tokens, batch.wanted.tokens
    with torch.autocast(source.device.type, torch.bfloat16, enabled=bfloat16):
        logits = model(source, given)
        loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD, label_smoothing=smoothing)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
