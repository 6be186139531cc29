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
    """Sampling: only the k likeliest tokens; 0 means all."""
    top_p: Annotated[float, Field(gt=0, le=1), SAMPLING] = 1.0
    """Sampling: the smallest set of tokens with this much probability."""
    min_p: Annotated[Share, SAMPLING] = 0.0
    """Sampling: only tokens at least this likely compared with the likeliest."""
    seed: Annotated[Seed, SAMPLING] = 1
    """Sampling: outputs are a function of seed, example and position."""
    precision: Literal["float32", "tf32", "bfloat16", "int8"] = "float32"
    """The format of the numbers. tf32, on CUDA alone, multiplies matrices with 10 bits behind the point; int8, on CPUs
    alone, rounds linear maps to whole numbers of 8 bits; elsewhere these are float32. bfloat16 computes everything but
    probabilities with 7 bits behind the point. Newer CPUs have instructions for int8 and bfloat16. Where the
    hardware has them they are faster, and now and then they write another output."""

    @property
    def reads_attention(self) -> bool:
        """Whether the choice of tokens depends on attention weights."""
        return False


class LanguageDecoding(Drawing):
    """How a language model writes."""

    method: Literal["greedy", "sample"] = "sample"
    """The likeliest token each step, or drawing at random."""


class Decoding(Drawing):
    """How a model writes its output."""

    method: Literal["greedy", "beam", "sample"] = "beam"
    """The likeliest token each step, a beam, or drawing at random."""
    beam: Annotated[Outputs, Only(method=("beam",))] = 5
    """Hypotheses kept at each step."""
    n_best: Outputs = 1
    """Outputs given for each input; at most `beam`, and fewer where a beam has found a text in several ways."""
    risk: Annotated[str, Named(UTILITIES, ("none",))] = "none"
    """Minimum Bayes risk: of `candidates` outputs, those that by this metric are most like the others are given;
    measured in sentence chrF or BLEU. Validation during training goes without."""
    candidates: Annotated[Outputs, Only(risk=Not("none"))] = 32
    """With `risk`: outputs drawn, or found by a beam at least that wide, to choose from."""
    length_penalty: Annotated[float, Field(ge=0)] = 1.0
    """Exponent by which a hypothesis' log-probability is divided: length ** penalty; 0 means the plain sum."""
    coverage_penalty: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the penalty for source tokens that got little attention (Wu et al. 2016)."""
    no_repeat: Count = 0
    """No n-gram of this many tokens occurs twice in an output; 0 means no such rule."""
    unknown: Literal["replace", "forbid", "keep"] = "replace"
    """What becomes of unknown words in an output: each is replaced by the word of the source that got most attention
    (models without attention write the unknown sign), none is ever written, or they are kept as the unknown sign."""
    least: Length = 0
    """Least number of tokens of an output."""
    longest_factor: Annotated[float, Field(ge=0, le=1000)] = 2.0
    """An output has at most this many tokens for each source token, and …"""
    longest_extra: Length = 20
    """… this many more."""
    batch_tokens: Positive = 8192
    """Source tokens decoded together, padding included, the beam not counted. On a CPU each worker has as many, but at
    most 128 sentences."""

    def longest_output(self, words: int) -> int:
        """Maximum number of output tokens for a source of `words` tokens, END not counted on either side."""
        return int(words * self.longest_factor) + self.longest_extra

    def search(self) -> "Decoding":
        """How the search goes: with `risk`, it gives all candidates."""
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
