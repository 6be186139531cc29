"""Texts with their labels, each by itself or in a conversation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from regard.data.examples import Split
from regard.data.report import Finding, Report
from regard.data.tagged import TRAINED_ON
from regard.recipe import ClassifyingCorpus, ClassifyingData
from regard.recipe.names import LABELLED_CORPORA


@dataclass(frozen=True)
class LabelledText:
    """The words of a text with its labels: one, or any number where several are allowed."""

    words: tuple[str, ...]
    labels: tuple[str, ...]
    place: str = field(default="", compare=False)
    """Its place, for messages."""
    conversation: int = 0
    """Number of the conversation that it belongs to, whose texts follow each other."""
    speaker: str = ""
    """Empty if unknown."""

    def places(self, word: int) -> str:
        """The place of a word: the line of its text."""
        return self.place


@dataclass(frozen=True)
class LabelledPart:
    """One part of a corpus, and what was found in it."""

    texts: tuple[LabelledText, ...]
    holds: str
    """A description of its content."""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class LabelledCorpora:
    """The parts of a corpus named in a recipe."""

    parts: Mapping[Split, LabelledPart]
    notes: tuple[str, ...] = ()
    overlap: tuple[Finding, ...] = ()
    """What is in the training text too."""

    def texts(self, split: Split) -> Sequence[LabelledText]:
        return self.parts[split].texts if split in self.parts else ()

    @property
    def report(self) -> Report:
        """The findings of all parts."""
        holds: dict[str, str] = {name: part.holds for name, part in self.parts.items() if part.holds}
        findings = tuple(each for part in self.parts.values() for each in part.findings)
        return Report(holds, findings + self.overlap, self.notes)

    @property
    def fingerprint(self) -> str:
        """Identifies the text."""
        found = sha256()
        for split in TRAINED_ON:
            for text in self.texts(split):
                said = [text.speaker, str(text.conversation)] if text.conversation else []
                found.update("\n".join([split, *text.words, "", *text.labels, *said, ""]).encode("utf-8", "replace"))
        return found.hexdigest()


def load_labelled(
    data: ClassifyingData, seed: int, splits: Iterable[Split] = ("train", "dev", "test")
) -> LabelledCorpora:
    """The parts of the corpus named in the settings; the seed is for generated corpora."""
    found: LabelledCorpora = LABELLED_CORPORA[data.corpus](data, seed, splits)
    return found


def check_labelled(corpus: ClassifyingCorpus) -> Report:
    """Problems of texts and their labels, by file and line."""
    return load_labelled(corpus.data, corpus.seed).report
