"""A recipe for word vectors: `[data]` is running text, `[vectors]` how vectors are learned from it."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from regard.recipe.names import TextCorpusName
from regard.recipe.recipe import AnyRecipe
from regard.recipe.section import ChosenBy, Count, FilePath, Not, Only, Positive, Section, Width
from regard.registry import Entry, Registry

Amount = Annotated[float, Field(ge=0)]


class VectorsData(Section):
    """Where text comes from, and what counts as a word."""

    corpus: TextCorpusName = "files"
    """`files` reads your own text. Two texts need no download: `topics` is Python's own help, and `library` adds the
    documentation of Python's standard library, five times as much text."""
    train: list[FilePath] = Field(default=[])
    """Running text, one or more files, read one after another; each may end in `.gz`."""
    lowercase: bool = True
    """Whether text is lower-cased first."""
    words: Literal["letters", "spaces"] = "letters"
    """What a word is: a run of letters, or a string between white space."""
    least: Positive = 5
    """Minimum number of occurrences for a word to get a vector; rarer words are removed from the text."""
    most: Count = 0
    """Maximum number of words that get a vector, the most frequent ones; 0 for all that occur often enough."""
    phrases: Count = 0
    """Passes in which words that often occur together are joined by `_`; two passes join up to four words."""
    phrase_score: Annotated[float, Field(gt=0), Only(phrases=Not(0))] = 100.0
    """Minimum score for two words to be joined: (count of both − least) · words of the text ÷ the product of their
    counts."""

    @model_validator(mode="after")
    def _files_are_named(self) -> Self:
        if self.train and self.corpus != "files":
            raise ValueError(
                f"train names files, but corpus is {self.corpus!r}; set corpus to 'files' or leave train out"
            )
        if self.corpus == "files" and not self.train:
            raise ValueError("train is missing: name a text file, or choose corpus = 'library', which is built in")
        return self


class LearnedVectors(Section):
    """Settings of every learning method."""

    kind: str
    """Method by which vectors are trained."""
    dimension: Width = 100
    """Number of dimensions of a vector."""
    window: Positive = 5
    """Words on either side that count as the context of a word."""
    workers: Positive = 1
    """Training threads; with one, the same recipe gives bit-identical vectors."""
    save_every: Annotated[float, Field(gt=0)] = 300.0
    """Seconds between checkpoints from which a run can be resumed."""


class PredictingVectors(LearnedVectors):
    """Vectors that predict which words occur together (Mikolov et al. 2013), by negative sampling."""

    epochs: Positive = 5
    """Passes over the text."""
    negatives: Positive = 5
    """Negative samples per true word, drawn by the 3/4 power of their counts."""
    sample: Amount = 1e-3
    """Words whose share of the text exceeds this are subsampled; 0 skips none."""
    dynamic: bool = True
    """Whether the window of each word has a random width, from 1 to `window`, so that near words count more."""
    rate: Annotated[float, Field(gt=0)] = 0.025
    """Learning rate at the start; it falls linearly."""
    last_rate: Amount = 1e-4
    """Learning rate at the end."""
    shortest: Annotated[Positive, Only(longest=Not(0))] = 3
    """Length of the shortest n-gram, in characters, counting markers at both ends of the word."""
    longest: Count = 0
    """Length of the longest n-gram whose vectors are averaged into that of a word (fastText), in characters; 0 for
    none."""
    buckets: Annotated[Positive, Only(longest=Not(0))] = 200_000
    """Number of vectors that all n-grams share, by a hash of their text."""
    device: str = "auto"
    """`cpu`; `cuda`, which trains on many words in parallel, so that results differ slightly from run to run; `auto`:
    CUDA if available."""

    @model_validator(mode="after")
    def _settings_fit(self) -> Self:
        if self.longest and self.longest < self.shortest:
            raise ValueError(
                f"n-grams of at least {self.shortest} and at most {self.longest} characters: there are none; "
                "raise longest, or set it to 0 for no n-grams"
            )
        if self.last_rate > self.rate:
            raise ValueError(f"last_rate = {self.last_rate} is above rate = {self.rate}; lower it: the rate falls")
        if self.longest and self.device.startswith("cuda"):
            raise ValueError(f"n-grams (longest = {self.longest}) are learned on the CPU; set device to 'cpu'")
        return self


class SkipgramVectors(PredictingVectors):
    """Each word predicts each of the words around it."""

    kind: Literal["skipgram"]
    """Method by which vectors are trained."""


class CbowVectors(PredictingVectors):
    """The surrounding words predict the word in the middle."""

    kind: Literal["cbow"]
    """Method by which vectors are trained."""


class CountingVectors(LearnedVectors):
    """Vectors from counts of how often words occur together."""

    weighting: Literal["flat", "dynamic", "harmonic"] = "dynamic"
    """Weight of a pair at distance d in a window of L: 1, (L − d + 1) / L, or 1 / d."""
    memory: Positive = 512
    """Memory for counting, in MiB; what does not fit is temporarily stored on disk."""


class SvdVectors(CountingVectors):
    """The largest singular values of scaled counts."""

    kind: Literal["svd"]
    """Method by which vectors are trained."""
    scaling: Literal["ppmi", "counts", "sqrt", "log"] = "ppmi"
    """What is factorized: positive pointwise mutual information, or counts, their square roots, or their logarithms."""
    smoothing: Annotated[float, Field(gt=0, le=1), Only(scaling=("ppmi",))] = 0.75
    """Power of the counts of contexts in PPMI, which keeps rare contexts from getting too much weight (Levy et al.
    2015)."""
    shift: Annotated[float, Field(gt=0), Only(scaling=("ppmi",))] = 1.0
    """PPMI is lowered by the logarithm of this; k is what skip-gram with k negatives factorizes (Levy et al. 2015)."""
    power: Amount = 0.5
    """Vectors are left singular vectors times singular values to this power (Levy et al. 2015)."""


class HellingerVectors(CountingVectors):
    """Principal components of the square roots of P(context | word) (Lebret and Collobert 2014)."""

    kind: Literal["hellinger"]
    """Method by which vectors are trained."""
    contexts: Count = 10_000
    """Words that count as contexts, the most frequent ones; 0 for all."""
    power: Amount = 1.0
    """Vectors are left singular vectors times singular values to this power; 1 gives principal components."""


class GloveVectors(CountingVectors):
    """Vectors whose products are logarithms of counts (Pennington et al. 2014)."""

    kind: Literal["glove"]
    """Method by which vectors are trained."""
    window: Positive = 10
    """Words on either side that count as the context of a word."""
    weighting: Literal["flat", "dynamic", "harmonic"] = "harmonic"
    """Weight of a pair at distance d in a window of L: 1, (L − d + 1) / L, or 1 / d."""
    epochs: Positive = 25
    """Passes over the counts."""
    rate: Annotated[float, Field(gt=0)] = 0.05
    """Learning rate at the start; AdaGrad lowers it."""
    ceiling: Annotated[float, Field(gt=0)] = 10.0
    """Count from which all pairs have the same weight; x_max in the paper, which uses 100 for billions of words."""
    exponent: Annotated[float, Field(gt=0, le=1)] = 0.75
    """Power by which the weight of rarer pairs falls; α in the paper."""


LEARNERS: Registry[Any] = Registry(
    "way to learn vectors",
    {
        "skipgram": Entry("regard.vectors.predicting:predict", table=SkipgramVectors),
        "cbow": Entry("regard.vectors.predicting:predict", table=CbowVectors),
        "svd": Entry("regard.vectors.counting:factorize", table=SvdVectors),
        "hellinger": Entry("regard.vectors.counting:factorize", table=HellingerVectors),
        "glove": Entry("regard.vectors.counting:fit_glove", table=GloveVectors),
    },
)
"""Learns vectors as a recipe's `[vectors]` table says, by its `kind`."""

VectorsMethod = Annotated[
    SkipgramVectors | CbowVectors | SvdVectors | HellingerVectors | GloveVectors, ChosenBy(LEARNERS)
]


class VectorsRecipe(AnyRecipe):
    """A recipe for word vectors."""

    task: Literal["vectors"]
    data: VectorsData
    """Where text comes from."""
    vectors: VectorsMethod
    """Method by which vectors are trained."""
