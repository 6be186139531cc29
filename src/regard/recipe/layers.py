"""Settings of recurrent layers and of Transformer blocks, for all models that have them."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from regard.recipe.names import POSITIONS, NormalizerName, PositionName, ScoreName
from regard.recipe.section import Count, Only, Positive, Section, Share, Width


class LayerDropout(Section):
    """Dropout kinds of recurrent layers and their inputs, each off by default."""

    embedding: Share = 0.0
    """Share of words whose whole embedding is dropped (Gal and Ghahramani 2016)."""
    input: Share = 0.0
    """Share of embedding features dropped."""
    between: Share = 0.0
    """Share of features dropped between layers."""
    recurrent: Share = 0.0
    """Share of hidden-to-hidden weights dropped (weight drop, Merity et al. 2018)."""
    variational: bool = True
    """Whether one mask is used for all time steps of a sequence (variational dropout) instead of a new one at each
    step."""

    @property
    def drops(self) -> bool:
        """Whether anything is dropped in training, so that two passes differ."""
        return any((self.embedding, self.input, self.between, self.recurrent))


class RecurrentDropout(LayerDropout):
    """Dropout kinds of recurrent models, each off by default."""

    output: Share = 0.0
    """Share of features dropped before the readout."""

    @property
    def drops(self) -> bool:
        return super().drops or self.output > 0


class TransformerBlocks(Section):
    """Settings of every Transformer."""

    kind: str
    """Which model."""
    width: Width = 256
    """Width of the model."""
    heads: Width = 4
    """Attention heads of each block."""
    groups: Count = 0
    """Heads of keys and values, each shared by heads/groups query heads; 0 means as many as `heads`."""
    feedforward: Width = 1024
    """Width of the feed-forward layers."""
    norm: Literal["pre", "post"] = "pre"
    """Layer normalization before each sublayer (with a final one), or after each residual sum, as in the original."""
    position: PositionName = "sinusoidal"
    """How self-attention encodes positions."""
    longest: Annotated[Positive, Only(position=POSITIONS)] = 1024
    """Maximum number of positions in a learned position table; relative positions are clipped at `clip`."""
    clip: Annotated[Positive, Only(position=POSITIONS)] = 16
    """Distance at which relative positions are clipped (Shaw et al. 2018)."""
    score: ScoreName = "scaled_dot"
    """How queries and keys are compared in every head."""
    normalizer: NormalizerName = "softmax"
    """How scores become weights."""
    window: Count = 0
    """Self-attention sees this many positions on either side (decoder: back); 0 means all."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Activation of the feed-forward layers."""
    initial_scale: Annotated[float, Field(gt=0)] = 1.0
    """Factor on the usual initial weights of linear maps (Glorot and Bengio 2010) and token vectors (width ** −0.5).
    Adam's steps are as large for small weights as for large ones, so small weights learn sooner."""
    dropout: Share = 0.1
    """Share of features dropped after embeddings, attention, and feed-forward layers."""
    attention_dropout: Share = 0.0
    """Share of attention weights dropped."""
    word_dropout: Share = 0.0
    """Share of words whose whole embedding is dropped (Gal and Ghahramani 2016)."""
    layer_drop: Share = 0.0
    """Share of blocks that a sequence skips in training (Fan et al. 2020)."""

    @property
    def drops(self) -> bool:
        """Whether anything is dropped in training, so that two passes differ."""
        return any((self.dropout, self.attention_dropout, self.word_dropout, self.layer_drop))

    @property
    def learned_positions(self) -> int | None:
        """Most positions a sequence may have, if a table of them is learned."""
        return self.longest if self.position == "learned" else None

    @model_validator(mode="after")
    def _widths_divide(self) -> Self:
        if self.width % self.heads:
            raise ValueError(
                f"width = {self.width} cannot be divided among heads = {self.heads}; choose a multiple of {self.heads}"
            )
        if self.groups and self.heads % self.groups:
            raise ValueError(
                f"heads = {self.heads} cannot be divided among groups = {self.groups}; choose a divisor of {self.heads}"
            )
        if self.position == "rotary" and self.width // self.heads % 2:
            raise ValueError(f"rotary positions turn pairs of features, but width / heads = {self.width // self.heads}")
        return self
