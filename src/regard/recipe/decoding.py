"""`[decode]`: how a model writes its output."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from regard.recipe.names import UTILITIES
from regard.recipe.section import Count, Length, Named, Not, Only, Outputs, Positive, Section, Seed, Share

SAMPLING = Only(method=("sample",))


class Drawing(Section):
    """How tokens are computed, and drawn at random."""

    method: str
    """How tokens are chosen."""
    temperature: Annotated[float, Field(gt=0), SAMPLING] = 1.0
    """Sampling: values below 1 sharpen, above 1 flatten."""
    top_k: Annotated[Count, SAMPLING] = 0
    """Sampling: only the k most likely tokens; 0 means all."""
    top_p: Annotated[float, Field(gt=0, le=1), SAMPLING] = 1.0
    """Sampling: the smallest set of tokens with this much probability."""
    min_p: Annotated[Share, SAMPLING] = 0.0
    """Sampling: only tokens with at least this share of the probability of the most likely one."""
    seed: Annotated[Seed, SAMPLING] = 1
    """Sampling: outputs are a function of seed, example, and position."""
    precision: Literal["float32", "tf32", "bfloat16", "int8"] = "float32"
    """The precision. tf32 (only on CUDA) multiplies matrices with a 10-bit mantissa; int8 (only on CPUs) quantizes
    linear maps to 8-bit integers; elsewhere, these mean float32. bfloat16 computes everything except probabilities with
    a 7-bit mantissa. Newer CPUs have instructions for int8 and bfloat16. With hardware support, these are faster and
    occasionally give another output."""

    @property
    def reads_attention(self) -> bool:
        """Whether the choice of tokens depends on attention weights."""
        return False


class LanguageDecoding(Drawing):
    """How a language model writes."""

    method: Literal["greedy", "sample"] = "sample"
    """Greedy decoding, or sampling."""


class Decoding(Drawing):
    """How a model writes its output."""

    method: Literal["greedy", "beam", "sample"] = "beam"
    """Greedy search, beam search, or sampling."""
    beam: Annotated[Outputs, Only(method=("beam",))] = 5
    """Hypotheses kept at each step."""
    n_best: Outputs = 1
    """Outputs per input; at most `beam`, and fewer if beam search finds a text in several ways."""
    risk: Annotated[str, Named(UTILITIES, ("none",))] = "none"
    """Minimum Bayes risk: of `candidates` outputs, return those most similar to the others by this metric, sentence
    chrF or BLEU. Validation during training does not use it."""
    candidates: Annotated[Outputs, Only(risk=Not("none"))] = 32
    """With `risk`: number of candidates to choose from, sampled or found with a beam of at least that size."""
    length_penalty: Annotated[float, Field(ge=0)] = 1.0
    """Exponent of the length by which a hypothesis's log-probability is divided (length ** penalty); 0 means the plain
    sum."""
    coverage_penalty: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the penalty for source tokens that got little attention (Wu et al. 2016)."""
    no_repeat: Count = 0
    """No n-gram of this length may occur twice in an output; 0 means no such limit."""
    unknown: Literal["replace", "forbid", "keep"] = "replace"
    """What happens to unknown words in an output: each is replaced by the source word that got the most attention
    (models without attention keep the unknown token), none is ever generated, or they are kept as the unknown token."""
    least: Length = 0
    """Minimum number of tokens of an output."""
    longest_factor: Annotated[float, Field(ge=0, le=1000)] = 2.0
    """An output has at most this many tokens per source token, plus …"""
    longest_extra: Length = 20
    """… this many more."""
    batch_tokens: Positive = 8192
    """Source tokens decoded together, including padding, not counting the beam. On a CPU, each worker decodes this
    many, but at most 128 sentences."""

    def longest_output(self, words: int) -> int:
        """Maximum number of output tokens for a source of `words` tokens, END not counted on either side."""
        return int(words * self.longest_factor) + self.longest_extra

    def search(self) -> "Decoding":
        """The settings of the search itself: with `risk`, it returns all candidates."""
        if self.risk == "none":
            return self
        width = max(self.beam, self.candidates)
        return self.model_copy(update={"risk": "none", "beam": width, "n_best": self.candidates})

    @property
    def reads_attention(self) -> bool:
        return self.coverage_penalty > 0

    @model_validator(mode="after")
    def _candidates_suffice(self) -> Self:
        if self.risk != "none" and self.method == "greedy":
            raise ValueError(
                f"greedy decoding gives nothing to choose from by risk = {self.risk!r}; use 'beam' or 'sample'"
            )
        if self.risk != "none" and self.n_best > self.candidates:
            raise ValueError(
                f"n_best = {self.n_best} outputs cannot be chosen from {self.candidates} candidates; "
                "raise candidates or lower n_best"
            )
        return self

    @model_validator(mode="after")
    def _least_is_allowed(self) -> Self:
        if self.least > (most := self.longest_output(1)):
            raise ValueError(
                f"least = {self.least} tokens are more than the {most} that longest_factor and longest_extra allow "
                f"for a source of one token; lower least, or raise longest_extra to {self.least} or more"
            )
        return self

    @model_validator(mode="after")
    def _n_best_fits(self) -> Self:
        if self.method == "beam" and self.n_best > self.beam:
            remedy = "raise beam or lower n_best"
            raise ValueError(f"n_best = {self.n_best} outputs need at least as wide a beam, not {self.beam}; {remedy}")
        if self.method == "greedy" and self.n_best > 1:
            raise ValueError(f"greedy decoding gives one output, not n_best = {self.n_best}; use 'beam' or 'sample'")
        return self
