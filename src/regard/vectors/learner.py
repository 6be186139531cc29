"""What a way of learning vectors must do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from regard.recipe import LearnedVectors
from regard.vectors.checkpoints import Checkpoints
from regard.vectors.corpus import Corpus
from regard.vectors.vectors import Vectors


@dataclass(frozen=True)
class Advance:
    """How far learning is."""

    words: int
    """Words gone through, in all passes over the text."""
    total: int
    """Words to go through."""
    stage: str = ""
    """What is being done, where there are several things to do."""


class Learner(Protocol):
    """Learns vectors from a text by the settings of its kind: tells how far it is, and at last gives the vectors.

    Whatever is random is a function of the seed and of the place in the text. When `checkpoints` are due, it saves what
    it needs to go on and says so by an advance; when one is there at the beginning, it goes on from it. With one worker
    a run that was stopped and resumed gives the same bits as one that was not.
    """

    def __call__(
        self, settings: LearnedVectors, corpus: Corpus, seed: int, checkpoints: Checkpoints
    ) -> Iterator[Advance | Vectors]: ...
