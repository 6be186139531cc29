"""`[model]` of a language model: one table for each rung from n-grams to Transformers."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from regard.recipe.layers import RecurrentDropout, TransformerBlocks
from regard.recipe.names import SCORES, CellName, ConnectionName, NormalizerName, ScoreName
from regard.recipe.pretrained import TextVectors
from regard.recipe.section import ChosenBy, Count, Layers, Not, Only, Positive, Section, Share, Width
from regard.registry import Entry, Registry

DISTANCES = ("none", "relative", "rotary", "alibi")
"""Relative positions, which depend only on the distance between two words; and none."""


class NgramModel(Section):
    """Counts of n-grams, smoothed; it is counted, not trained."""

    kind: Literal["ngram"]
    """Which model."""
    order: Positive = 5
    """Words of the longest n-gram."""
    smoothing: Literal["kneser_ney", "add_k", "stupid_backoff"] = "kneser_ney"
    """Modified Kneser–Ney, interpolated (Chen and Goodman 1999), add-k, or stupid backoff (Brants et al. 2007)."""
    k: Annotated[float, Field(gt=0), Only(smoothing=("add_k",))] = 1.0
    """Add-k: what is added to every count."""
    backoff: Annotated[float, Field(gt=0, le=1), Only(smoothing=("stupid_backoff",))] = 0.4
    """Stupid backoff: factor for each shorter context."""
    memory: Positive = 4096
    """Memory for counting, in MiB; a text with more distinct n-grams than fit is refused."""


class Penalty(Section):
    """Activation regularization (Merity et al. 2017b), added to the loss of each target in training."""

    activation: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the mean square of the last layer's output after dropout."""
    change: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the mean square of the change of the last layer's output from one word to the next."""


class NeuralModel(Section):
    """Settings of every trained language model."""

    kind: str
    """Which model."""
    tie: bool = False
    """Whether input and output embeddings share weights."""
    cutoffs: list[Positive] = Field(default=[])
    """Adaptive softmax (Grave et al. 2017): increasing frequency ranks at which the vocabulary is cut; tokens beyond
    the first get narrower vectors. None means one softmax over all tokens."""
    shrink: Annotated[Positive, Only(cutoffs=Not([]))] = 4
    """Adaptive softmax: factor by which vectors are narrower in each further part."""
    penalty: Penalty = Penalty()
    """What is added to the loss."""
    vectors: TextVectors = TextVectors()
    """Word vectors that the embedding starts from."""

    @model_validator(mode="after")
    def _cuts_rise(self) -> Self:
        if self.cutoffs and self.tie:
            raise ValueError(
                "cutoffs gives rare tokens narrower vectors, which those of the input cannot share; set tie = false, "
                "or leave cutoffs out"
            )
        if sorted(set(self.cutoffs)) != self.cutoffs:
            raise ValueError(f"cutoffs = {self.cutoffs} must rise, such as [2000, 10000]")
        return self

    @property
    def learned_positions(self) -> int | None:
        """Most positions a segment may have, if a table of them is learned."""
        return None

    @property
    def carries_everything(self) -> bool:
        """Whether its state holds all it knows of earlier text, so that it does not matter where segments end."""
        return True


class WindowModel(NeuralModel):
    """A feed-forward network over the last words (Bengio et al. 2003)."""

    kind: Literal["window"]
    """Which model."""
    window: Positive = 4
    """Number of preceding words that the model sees."""
    embedding: Width = 128
    """Width of the word embeddings."""
    hidden: Width = 256
    """Width of the hidden layer."""
    direct: bool = False
    """Whether embeddings are also connected directly to the readout, bypassing the hidden layer."""
    dropout: Share = 0.0
    """Share of features dropped after embeddings and the hidden layer."""


class RecurrentLayers(NeuralModel):
    """Settings of every recurrent language model."""

    kind: str
    """Which model."""
    cell: CellName = "lstm"
    """Tanh RNN, GRU, or LSTM."""
    embedding: Width = 256
    """Width of the word embeddings."""
    hidden: Width = 256
    """Width of a state; if there are several layers, the last has the width of tied embeddings."""
    layers: Layers = 1
    """Layers."""
    connection: ConnectionName = "none"
    """Connections around each layer from the second on: none, residual, highway, or dense."""
    dropout: RecurrentDropout = RecurrentDropout()
    """Dropout of each kind."""

    @property
    def drops(self) -> bool:
        """Whether anything is dropped in training, so that two passes differ."""
        return self.dropout.drops


class RecurrentLanguageModel(RecurrentLayers):
    """A recurrent language model (Mikolov et al. 2010)."""

    kind: Literal["recurrent"]
    """Which model."""


class AttentiveModel(RecurrentLayers):
    """A recurrent model that looks back at its own earlier states."""

    kind: Literal["attentive"]
    """Which model."""
    score: ScoreName = "scaled_dot"
    """How the current state and an earlier one are compared."""
    score_hidden: Annotated[Width, Only(score=SCORES)] = 128
    """Hidden width of the additive score."""
    normalizer: NormalizerName = "softmax"
    """How scores become weights."""
    reach: Positive = 100
    """Number of earlier states that attention sees."""
    parts: Literal[1, 2, 3] = 1
    """Number of parts, each `hidden` wide, into which states are divided: with 1, the whole state is key, value, and
    prediction; with 2, keys are separate; with 3, keys, values, and predictions are (Daniluk et al. 2017)."""
    values: Literal["states", "words"] = "states"
    """What the weights average: the earlier states, or the vectors of the words that followed them."""
    attention_dropout: Share = 0.0
    """Share of attention weights dropped."""
    join: Literal["concatenate", "add"] = "concatenate"
    """How the context is combined with the state before the readout: concatenated, or added through a linear map
    initialized to zero."""

    @model_validator(mode="after")
    def _parts_pass_nothing(self) -> Self:
        if self.parts > 1 and self.layers > 1 and self.connection != "none":
            raise ValueError(
                f"parts = {self.parts} widens the last layer, around which a connection = {self.connection!r} leads; "
                "set parts = 1, or connection = 'none'"
            )
        return self


class CopyingModel(RecurrentLayers):
    """A recurrent model whose next word is one of the vocabulary or one of the text before it (Merity et al. 2017)."""

    kind: Literal["copying"]
    """Which model."""
    score: ScoreName = "scaled_dot"
    """How the current state and an earlier one are compared."""
    score_hidden: Annotated[Width, Only(score=SCORES)] = 128
    """Hidden width of the additive score."""
    mixture: Literal["fixed", "gate", "sentinel"] = "sentinel"
    """What decides between vocabulary and copying: a fixed share, a learned gate, or a sentinel."""
    share: Annotated[float, Field(gt=0, lt=1), Only(mixture=("fixed",))] = 0.8
    """Fixed mixture: share of the vocabulary."""
    reach: Positive = 100
    """Number of earlier words that can be copied."""
    slots: Count = 0
    """Number of words outside the vocabulary that are distinguished at a time, so that they can be copied; 0 copies
    only known words."""


class TransformerLanguageModel(TransformerBlocks, NeuralModel):
    """A Transformer decoder."""

    kind: Literal["transformer"]
    """Which model."""
    layers: Layers = 4
    """Blocks."""
    memory: Count = 0
    """Tokens of earlier segments that each block still sees (Dai et al. 2019); 0 means only the current segment."""
    output_dropout: Share = 0.0
    """Share of features dropped before the readout."""
    tie: bool = True
    """Whether input and output embeddings share weights."""

    @property
    def carries_everything(self) -> bool:
        return False

    @model_validator(mode="after")
    def _memory_needs_distances(self) -> Self:
        if self.memory and self.position not in DISTANCES:
            raise ValueError(
                f"memory = {self.memory} lets words see earlier segments, where positions that are {self.position} "
                f"start from zero again; choose one of {', '.join(DISTANCES[1:])}, or memory = 0"
            )
        return self


LANGUAGE_MODELS: Registry[Any] = Registry(
    "model",
    {
        "ngram": Entry("regard.models.ngram.generator:build", table=NgramModel),
        "window": Entry("regard.models.window:WindowLanguageModel", table=WindowModel),
        "recurrent": Entry("regard.models.language_recurrent:RecurrentLanguageModel", table=RecurrentLanguageModel),
        "attentive": Entry("regard.models.attentive:AttentiveLanguageModel", table=AttentiveModel),
        "copying": Entry("regard.models.language_copying:CopyingLanguageModel", table=CopyingModel),
        "transformer": Entry(
            "regard.models.language_transformer:TransformerLanguageModel", table=TransformerLanguageModel
        ),
    },
)
"""Builds the language model of a recipe's `[model]` table, by its `kind`, for a vocabulary of a given size."""

LanguageModel = Annotated[NgramModel | NeuralModel, ChosenBy(LANGUAGE_MODELS)]
