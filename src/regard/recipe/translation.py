"""The recipe of a translator."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from regard.recipe.data import Data, Tokens
from regard.recipe.decoding import Decoding
from regard.recipe.model import Model
from regard.recipe.recipe import AnyRecipe, Recipe
from regard.recipe.section import Count, Section, Share
from regard.recipe.training import TokenTraining


class TranslationCorpus(AnyRecipe):
    """The settings for reading and checking pairs."""

    task: Literal["translation"] = "translation"
    data: Data
    """Where examples come from."""
    tokens: Tokens = Tokens()
    """How text becomes tokens."""


class EvaluationSettings(Section):
    """How outputs are judged, in validations and by `regard evaluate`."""

    bleu_tokenizer: Literal["auto", "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "none"] = "auto"
    """sacreBLEU's tokenizer for BLEU. `auto` goes by the script of the references: `zh` for Chinese, `char` for
    Japanese, Thai, Lao, Khmer, and Burmese, `13a` for all others. A model keeps the tokenizer that suits its
    development text, also for `decode.risk`."""


class TranslationTraining(TokenTraining):
    """The training loop of a translator."""

    precision: Literal["float32", "bfloat16", "auto"] = "auto"
    """Precision of matrix products (`auto`: bfloat16 on CUDA, otherwise float32); weights and sums stay in float32."""
    shapes: Count | Literal["auto"] = "auto"
    """Maximum number of batch shapes, at the cost of some padding, so that on CUDA a step is captured once for each and
    then replayed; 0 pads a batch to its longest row. `auto` is 16 on CUDA without packing, otherwise 0."""
    pack: bool | Literal["auto"] = "auto"
    """Whether several short pairs share a row instead of being padded (Transformers without copying): there is hardly
    any padding then, and nearly all batches have one shape, whatever `shapes` says. `auto` packs on CUDA."""
    label_smoothing: Share = 0.1
    """Share of probability spread evenly over the vocabulary."""
    r_drop: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the divergence between two passes with different dropout (R-Drop, Liang et al. 2021); 0 means one pass,
    and more than 0 doubles the time and memory of a micro-batch."""
    coverage: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the penalty for repeated attention (See et al. 2017, who use 1); for recurrent translators with
    `model.attention.coverage`."""

    @property
    def few_shapes(self) -> bool:
        return self.fixed_shapes > 0 or self.packs

    @property
    def mostly_one_shape(self) -> bool:
        return self.packs

    @property
    def packs(self) -> bool:
        """Whether rows are packed; False for `auto` before it is resolved."""
        return self.pack is True


class TranslationRecipe(TranslationCorpus, Recipe):
    """A recipe for a translator."""

    data: Data
    """Where examples come from."""
    train: TranslationTraining
    """The training loop."""
    model: Model
    """The model."""
    decode: Decoding = Decoding()
    """How the model writes its output, unless a command says otherwise."""
    evaluation: EvaluationSettings = EvaluationSettings()
    """How outputs are judged."""

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        if self.model.shares_embedding and not self.tokens.shared:
            raise ValueError("model.tie = 'all' shares one embedding between both sides; it needs tokens.shared = true")
        if self.model.shares_embedding and len(self.model.pretrained.files) > 1:
            raise ValueError(
                "model.tie = 'all' shares one embedding between both sides, but model.vectors names a file for each; "
                "leave one of them out"
            )
        if self.train.r_drop and not self.model.drops:
            raise ValueError(
                f"train.r_drop = {self.train.r_drop} compares two passes with different dropout, but [model] drops "
                "nothing; set a dropout of the model, or train.r_drop = 0.0"
            )
        if self.train.packs and not self.model.packs:
            raise ValueError(
                "train.pack = true puts several pairs into a row, which only model.kind = 'transformer' without "
                "copying, with a Transformer encoder, keeps apart; set train.pack = false"
            )
        if self.train.coverage and not self.model.covers:
            raise ValueError(
                f"train.coverage = {self.train.coverage} needs a recurrent model that knows where it has looked; set "
                "model.attention.coverage = true, or train.coverage = 0.0"
            )
        source, target = self.tokens.source, self.tokens.source if self.tokens.shared else self.tokens.target
        if self.model.copies and (source.kind, source.lowercase) != (target.kind, target.lowercase):
            raise ValueError(
                f"model.copying needs both sides split alike, but tokens.source has kind = {source.kind!r} and "
                f"lowercase = {source.lowercase}, tokens.target {target.kind!r} and {target.lowercase}; "
                "set tokens.shared"
            )
        learned, longest = self.model.learned_positions, self.data.longest
        if learned is not None and longest + 1 > learned:
            raise ValueError(
                f"{self.model.longest_setting} = {learned} learned positions are too few for data.longest = {longest} "
                f"tokens and the end-of-sentence mark; raise {self.model.longest_setting} to {longest + 1}, or lower "
                "data.longest"
            )
        return self
