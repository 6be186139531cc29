"""`[model]`: one table for each kind of model."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from regard.recipe.names import POSITIONS, SCORES, CellName, ConnectionName, NormalizerName, PositionName, ScoreName
from regard.recipe.pretrained import PairVectors
from regard.recipe.section import ChosenBy, Count, Named, Not, Only, Positive, Section, Share
from regard.registry import Entry, Registry

LOOKING = Only(score=Not("none"))
"""For decoders that attend to the source."""


class Attention(Section):
    """How a recurrent decoder looks at the source."""

    score: Annotated[str, Named(SCORES, ("none",))] = "additive"
    """How a query and a key are compared; `none` is the bottleneck, where the decoder gets the last state only."""
    normalizer: Annotated[NormalizerName, LOOKING] = "softmax"
    """How scores become weights."""
    placement: Annotated[Literal["before", "after", "feed"], LOOKING] = "before"
    """Read before the cell (Bahdanau et al. 2015), after it (Luong et al. 2015), or after and fed to the next input."""
    hidden: Annotated[Positive, Only(score=SCORES)] = 256
    """Hidden width of the additive score."""
    coverage: bool = False
    """Whether scores know how much attention each source token got so far (coverage, See et al. 2017)."""


class RecurrentDropout(Section):
    """Dropout kinds of recurrent models, each off by default."""

    embedding: Share = 0.0
    """Share of words whose whole embedding is dropped (Gal and Ghahramani 2016)."""
    input: Share = 0.0
    """Share of embedding features dropped."""
    between: Share = 0.0
    """Share of features dropped between layers."""
    output: Share = 0.0
    """Share of features dropped before the readout."""
    recurrent: Share = 0.0
    """Share of hidden-to-hidden weights dropped (weight drop, Merity et al. 2018)."""
    variational: bool = True
    """Whether one mask serves all time steps of a sequence (variational dropout) instead of a new one each step."""


class RecurrentModel(Section):
    """A recurrent encoder–decoder."""

    kind: Literal["recurrent"]
    """Which model."""
    cell: CellName = "lstm"
    """Tanh RNN, GRU or LSTM."""
    embedding: Positive = 256
    """Width of the word embeddings."""
    hidden: Positive = 256
    """Width of a state; a bidirectional encoder has this width in each direction."""
    encoder_layers: Positive = 1
    """Encoder layers."""
    decoder_layers: Positive = 1
    """Decoder layers."""
    bidirectional: bool = True
    """Whether the encoder reads in both directions."""
    connection: ConnectionName = "none"
    """What goes around a layer from the second on: nothing, residual, highway or dense connections."""
    attention: Attention = Attention()
    """How the decoder looks at the source."""
    dropout: RecurrentDropout = RecurrentDropout()
    """Dropout of each kind."""
    tie: Literal["none", "target", "all"] = "none"
    """Embeddings that share weights: none, the target's input and output, or the source's too (needs tokens.shared)."""
    copying: bool = False
    """Whether words of the source can be copied (pointer–generator, See et al. 2017), also unknown ones."""
    vectors: PairVectors = PairVectors()
    """Word vectors that embeddings start from."""

    @model_validator(mode="after")
    def _attention_is_there(self) -> Self:
        for setting, wished in {"copying": self.copying, "attention.coverage": self.attention.coverage}.items():
            if wished and self.attention.score == "none":
                raise ValueError(f"{setting} needs attention to the source; set attention.score, or {setting} = false")
        return self

    @property
    def drops(self) -> bool:
        """Whether anything is dropped in training, so that two passes differ."""
        kinds = self.dropout
        return any((kinds.embedding, kinds.input, kinds.between, kinds.output, kinds.recurrent))

    @property
    def covers(self) -> bool:
        """Whether it remembers where it has looked."""
        return self.attention.coverage

    @property
    def learned_positions(self) -> None:
        """There is no table of positions that could end."""


class TransformerBlocks(Section):
    """What every Transformer has."""

    kind: str
    """Which model."""
    width: Positive = 256
    """Width of the model."""
    heads: Positive = 4
    """Attention heads of each block."""
    groups: Count = 0
    """Heads of keys and values, each shared by heads/groups query heads; 0 means as many as `heads`."""
    feedforward: Positive = 1024
    """Width of the feed-forward layers."""
    norm: Literal["pre", "post"] = "pre"
    """Layer normalization before each part (with a final one), or after each residual sum as in the original."""
    position: PositionName = "sinusoidal"
    """How self-attention knows order."""
    longest: Annotated[Positive, Only(position=POSITIONS)] = 1024
    """Most positions a learned position table holds; relative positions are clipped at `clip`."""
    clip: Annotated[Positive, Only(position=POSITIONS)] = 16
    """Distance at which relative positions are clipped (Shaw et al. 2018)."""
    score: ScoreName = "scaled_dot"
    """How queries and keys are compared in every head."""
    normalizer: NormalizerName = "softmax"
    """How scores become weights."""
    window: Count = 0
    """Self-attention sees this many positions to either side (decoder: back); 0 means all."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Activation of the feed-forward layers."""
    initial_scale: Annotated[float, Field(gt=0)] = 1.0
    """How many times as large as usual fresh weights of linear maps (Glorot and Bengio 2010) and vectors of tokens
    (width ** −0.5) are. Adam's steps are as large for small weights as for large ones: small ones learn sooner."""
    dropout: Share = 0.1
    """Share of features dropped after embeddings, attention and feed-forward layers."""
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


class TransformerModel(TransformerBlocks):
    """A Transformer encoder–decoder (Vaswani et al. 2017)."""

    kind: Literal["transformer"]
    """Which model."""
    encoder_layers: Positive = 3
    """Encoder blocks."""
    decoder_layers: Positive = 3
    """Decoder blocks."""
    tie: Literal["none", "target", "all"] = "target"
    """Embeddings that share weights: none, the target's input and output, or the source's too (needs tokens.shared)."""
    copying: bool = False
    """Whether words of the source can be copied (pointer–generator, See et al. 2017), also unknown ones."""
    vectors: PairVectors = PairVectors()
    """Word vectors that embeddings start from."""

    @property
    def covers(self) -> bool:
        """Whether it remembers where it has looked."""
        return False


MODELS: Registry[Any] = Registry(
    "model",
    {
        "recurrent": Entry("regard.models.recurrent:build", table=RecurrentModel),
        "transformer": Entry("regard.models.transformer:build", table=TransformerModel),
    },
)
"""Builds the translator of a recipe's `[model]` table, by its `kind`, for vocabularies of given sizes."""

Model = Annotated[RecurrentModel | TransformerModel, ChosenBy(MODELS)]
