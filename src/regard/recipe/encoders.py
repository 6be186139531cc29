"""`[model.encoder]`: a table for each kind of encoder."""

from typing import Any, Literal

from regard.recipe.layers import LayerDropout, TransformerBlocks
from regard.recipe.names import CellName, ConnectionName
from regard.recipe.section import Count, Layers, Positive, Section, Share, Width
from regard.registry import Entry, Registry


class EncoderTable(Section):
    """The interface of the tables of encoders."""

    kind: str
    """Which encoder."""

    @property
    def input_width(self) -> int:
        """Width of the vectors it reads."""
        raise NotImplementedError

    @property
    def drops(self) -> bool:
        """Whether anything is dropped in training, so that two passes differ."""
        return False

    @property
    def learned_positions(self) -> int | None:
        """Most positions a sequence may have, if a table of them is learned."""
        return None

    @property
    def packs(self) -> bool:
        """Whether it can read several sequences in a row without mixing them."""
        return False

    @property
    def is_causal(self) -> bool:
        """Whether the features of a position depend on no later one."""
        return False


class AveragingEncoding(EncoderTable):
    """Means of word vectors: around each position, and of the whole (Ranzato et al. 2016, Iyyer et al. 2015)."""

    kind: Literal["averaging"]
    """Which encoder."""
    embedding: Width = 256
    """Width of the word embeddings."""
    reach: Count = 2
    """Positions on either side that are averaged with a position; 0 means the position alone."""
    dropout: Share = 0.0
    """Share of embedding features dropped."""

    @property
    def input_width(self) -> int:
        return self.embedding

    @property
    def drops(self) -> bool:
        return self.dropout > 0


class WindowEncoding(EncoderTable):
    """Layers that each see the positions around a position (Collobert et al. 2011)."""

    kind: Literal["window"]
    """Which encoder."""
    embedding: Width = 256
    """Width of the word embeddings."""
    hidden: Width = 256
    """Width of the layers."""
    layers: Layers = 1
    """Layers; each sees `reach` positions farther than the one below."""
    reach: Positive = 2
    """Positions on either side that a layer sees."""
    dropout: Share = 0.0
    """Share of features dropped after embeddings and layers."""

    @property
    def input_width(self) -> int:
        return self.embedding

    @property
    def drops(self) -> bool:
        return self.dropout > 0


class RecurrentEncoding(EncoderTable):
    """Recurrent layers, in one direction or both."""

    kind: Literal["recurrent"]
    """Which encoder."""
    cell: CellName = "lstm"
    """Tanh RNN, GRU, or LSTM."""
    embedding: Width = 256
    """Width of the word embeddings."""
    hidden: Width = 256
    """Width of a state; a bidirectional encoder has this width in each direction."""
    layers: Layers = 1
    """Layers."""
    bidirectional: bool = True
    """Whether it reads in both directions."""
    connection: ConnectionName = "none"
    """Connections around each layer from the second on: none, residual, highway, or dense."""
    dropout: LayerDropout = LayerDropout()
    """Dropout of each kind."""

    @property
    def input_width(self) -> int:
        return self.embedding

    @property
    def drops(self) -> bool:
        return self.dropout.drops

    @property
    def is_causal(self) -> bool:
        return not self.bidirectional


class TransformerEncoding(TransformerBlocks, EncoderTable):
    """Transformer blocks (Vaswani et al. 2017)."""

    kind: Literal["transformer"]
    """Which encoder."""
    layers: Layers = 3
    """Blocks."""

    @property
    def input_width(self) -> int:
        return self.width

    @property
    def packs(self) -> bool:
        return True


Encoding = AveragingEncoding | WindowEncoding | RecurrentEncoding | TransformerEncoding

ENCODERS: Registry[Any] = Registry(
    "encoder",
    {
        "averaging": Entry("regard.models.encoders.averaging:AveragingEncoder", table=AveragingEncoding),
        "window": Entry("regard.models.encoders.window:WindowEncoder", table=WindowEncoding),
        "recurrent": Entry("regard.models.encoders.recurrent:RecurrentEncoder", table=RecurrentEncoding),
        "transformer": Entry("regard.models.encoders.transformer:TransformerEncoder", table=TransformerEncoding),
    },
)
"""Builds the encoder of a recipe's table, by its `kind`, for a vocabulary of a given size (None: it reads vectors) and
perhaps with the embedding of another module."""


def refuse_two_encoders(model: Section, encoder: EncoderTable | None, *own: str) -> None:
    """Refuses settings of a model's built-in encoder (`own`) next to a table for another one."""
    for name in own:
        value = getattr(model, name)
        # A recipe that spells out every setting has the defaults too.
        if encoder is not None and value != type(model).model_fields[name].default:
            raise ValueError(
                f"{name} = {str(value).lower()} is for models without a table [model.encoder], which this recipe has; "
                f"leave {name} out, or the table"
            )


def refuse_tied_widths(encoder: EncoderTable | None, tie: str, name: str, width: int) -> None:
    """Refuses to share one embedding between an encoder and a decoder (whose width is the setting `name`) of different
    widths."""
    if encoder is not None and tie == "all" and encoder.input_width != width:
        raise ValueError(
            f"tie = 'all' shares one embedding between both sides, but {name} = {width} and the encoder reads vectors "
            f"of width {encoder.input_width}; make the widths equal, or set tie = 'target'"
        )
