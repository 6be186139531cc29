"""The interface of methods that learn vectors."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from regard.recipe import LearnedVectors
from regard.vectors.checkpoints import Checkpoints
from regard.vectors.corpus import Corpus
from regard.vectors.vectors import Vectors


@dataclass(frozen=True)
class Advance:
    """Progress of learning."""

    words: int
    """Words processed, in all passes over the text."""
    total: int
    """Words to process."""
    stage: str = ""
    """The current stage, if there are several."""


class LearningMethod(Protocol):
    """Learns vectors from a text: yields its progress, then the vectors.

    Randomness is a function of the seed and the position in the text. When `checkpoints` are due, it saves its state
    before the next advance; it resumes from an existing one. With one worker a resumed run gives the same bits as an
    uninterrupted one.
    """

    def __call__(
        self, settings: LearnedVectors, corpus: Corpus, seed: int, checkpoints: Checkpoints
    ) -> Iterator[Advance | Vectors]: ...
