"""`[model]`: one table for each kind of model."""

from typing import Annotated, Any, Literal, Self

from pydantic import model_validator

from regard.recipe.encoders import (
    ENCODERS,
    Encoding,
    RecurrentEncoding,
    TransformerEncoding,
    refuse_tied_widths,
    refuse_two_encoders,
)
from regard.recipe.layers import RecurrentDropout, TransformerBlocks
from regard.recipe.names import SCORES, CellName, ConnectionName, NormalizerName
from regard.recipe.pretrained import PairVectors
from regard.recipe.section import ChosenBy, Layers, Named, Not, Only, Section, Width
from regard.registry import Entry, Registry

LOOKING = Only(score=Not("none"))
"""For decoders that attend to the source."""


class AttentionSettings(Section):
    """How a recurrent decoder looks at the source."""

    score: Annotated[str, Named(SCORES, ("none",))] = "additive"
    """How a query and a key are compared; `none` is the bottleneck, where the decoder gets only the last state."""
    normalizer: Annotated[NormalizerName, LOOKING] = "softmax"
    """How scores become weights."""
    placement: Annotated[Literal["before", "after", "feed"], LOOKING] = "before"
    """Whether attention comes before the cell (Bahdanau et al. 2015), after it (Luong et al. 2015), or after it and is
    fed to the next input."""
    hidden: Annotated[Width, Only(score=SCORES)] = 256
    """Hidden width of the additive score."""
    coverage: bool = False
    """Whether scores depend on how much attention each source token got so far (coverage, See et al. 2017)."""


class TranslatorTable(Section):
    """The base class of a translator's `[model]` table. The rest of the recipe reads these properties; the defaults
    suit a model with none of these parts."""

    kind: str
    """Which model."""

    @property
    def shares_embedding(self) -> bool:
        """Whether both sides have one embedding, and therefore need one vocabulary."""
        return False

    @property
    def pretrained(self) -> PairVectors:
        """Word vectors that embeddings start from."""
        return PairVectors()

    @property
    def copies(self) -> bool:
        """Whether words of the source can be copied."""
        return False

    @property
    def drops(self) -> bool:
        """Whether it has dropout, so that two training passes differ."""
        return False

    @property
    def packs(self) -> bool:
        """Whether it can read several pairs in a row without mixing them."""
        return False

    @property
    def covers(self) -> bool:
        """Whether it keeps track of the attention each source token got so far."""
        return False

    @property
    def learned_positions(self) -> int | None:
        """Most positions a sequence may have, if a table of them is learned."""
        return None

    @property
    def longest_setting(self) -> str:
        """The setting that limits `learned_positions`."""
        return "model.longest"


class OwnTranslator(TranslatorTable):
    """Settings that both built-in translators share."""

    tie: Literal["none", "target", "all"] = "none"
    """Embeddings that share weights: none, the target's input and output, or the source's too (needs tokens.shared)."""
    copying: bool = False
    """Whether words of the source can be copied (pointer–generator, See et al. 2017), including unknown ones."""
    vectors: PairVectors = PairVectors()
    """Word vectors that embeddings start from."""
    encoder: Annotated[Encoding, ChosenBy(ENCODERS)] | None = None
    """What reads the source; without this table, layers like the decoder's, with the settings of this one."""

    @property
    def shares_embedding(self) -> bool:
        return self.tie == "all"

    @property
    def pretrained(self) -> PairVectors:
        return self.vectors

    @property
    def copies(self) -> bool:
        return self.copying


class RecurrentModel(OwnTranslator):
    """A recurrent encoder–decoder."""

    kind: Literal["recurrent"]
    """Which model."""
    cell: CellName = "lstm"
    """Tanh RNN, GRU, or LSTM."""
    embedding: Width = 256
    """Width of the word embeddings."""
    hidden: Width = 256
    """Width of a state; a bidirectional encoder has this width in each direction."""
    encoder_layers: Layers = 1
    """Encoder layers."""
    decoder_layers: Layers = 1
    """Decoder layers."""
    bidirectional: bool = True
    """Whether the encoder reads in both directions."""
    connection: ConnectionName = "none"
    """Connections around each layer from the second on: none, residual, highway, or dense."""
    attention: AttentionSettings = AttentionSettings()
    """How the decoder looks at the source."""
    dropout: RecurrentDropout = RecurrentDropout()
    """Dropout of each kind."""

    @model_validator(mode="after")
    def _attention_is_there(self) -> Self:
        for setting, wished in {"copying": self.copying, "attention.coverage": self.attention.coverage}.items():
            if wished and self.attention.score == "none":
                raise ValueError(f"{setting} needs attention to the source; set attention.score, or {setting} = false")
        return self

    @model_validator(mode="after")
    def _has_one_encoder(self) -> Self:
        refuse_two_encoders(self, self.encoder, "encoder_layers", "bidirectional")
        refuse_tied_widths(self.encoder, self.tie, "embedding", self.embedding)
        return self

    @property
    def source_encoder(self) -> Encoding:
        """The settings of the source encoder."""
        return self.encoder or RecurrentEncoding(
            kind="recurrent",
            cell=self.cell,
            embedding=self.embedding,
            hidden=self.hidden,
            layers=self.encoder_layers,
            bidirectional=self.bidirectional,
            connection=self.connection,
            dropout=self.dropout,
        )

    @property
    def drops(self) -> bool:
        return self.dropout.drops or self.source_encoder.drops

    @property
    def covers(self) -> bool:
        return self.attention.coverage

    @property
    def learned_positions(self) -> int | None:
        return self.source_encoder.learned_positions

    @property
    def longest_setting(self) -> str:
        return "model.encoder.longest"


class TransformerModel(TransformerBlocks, OwnTranslator):
    """A Transformer encoder–decoder (Vaswani et al. 2017)."""

    kind: Literal["transformer"]
    """Which model."""
    encoder_layers: Layers = 3
    """Encoder blocks."""
    decoder_layers: Layers = 3
    """Decoder blocks."""
    tie: Literal["none", "target", "all"] = "target"
    """Embeddings that share weights: none, the target's input and output, or the source's too (needs tokens.shared)."""

    @model_validator(mode="after")
    def _has_one_encoder(self) -> Self:
        refuse_two_encoders(self, self.encoder, "encoder_layers")
        refuse_tied_widths(self.encoder, self.tie, "width", self.width)
        return self

    @property
    def source_encoder(self) -> Encoding:
        """The settings of the source encoder."""
        shared = {name: getattr(self, name) for name in TransformerBlocks.model_fields}
        return self.encoder or TransformerEncoding(**shared, layers=self.encoder_layers)

    @property
    def drops(self) -> bool:
        return super().drops or self.source_encoder.drops

    @property
    def learned_positions(self) -> int | None:
        limits = super().learned_positions, self.source_encoder.learned_positions
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def longest_setting(self) -> str:
        own = super().learned_positions == self.learned_positions
        return "model.longest" if own else "model.encoder.longest"

    @property
    def packs(self) -> bool:
        return self.source_encoder.packs and not self.copying


MODELS: Registry[Any] = Registry(
    "model",
    {
        "recurrent": Entry("regard.models.recurrent:RecurrentTranslator", table=RecurrentModel),
        "transformer": Entry("regard.models.transformer:TransformerTranslator", table=TransformerModel),
    },
)
"""Builds the translator of a recipe's `[model]` table, by its `kind`, for vocabularies of given sizes."""

Model = Annotated[TranslatorTable, ChosenBy(MODELS)]
