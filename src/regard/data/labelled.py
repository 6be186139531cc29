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
    """Where it stands, for a message."""
    conversation: int = 0
    """Number of the conversation that it belongs to, whose texts follow each other."""
    speaker: str = ""
    """Who says it; empty if that is not known."""

    def places(self, word: int) -> str:
        """Where a word stands: on the line of its text."""
        return self.place


@dataclass(frozen=True)
class LabelledPart:
    """One part of a corpus, and what was found in it."""

    texts: tuple[LabelledText, ...]
    holds: str
    """What it holds, in words."""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class LabelledCorpora:
    """The parts of a corpus that a recipe names."""

    parts: Mapping[Split, LabelledPart]
    notes: tuple[str, ...] = ()

    def texts(self, split: Split) -> Sequence[LabelledText]:
        return self.parts[split].texts if split in self.parts else ()

    @property
    def report(self) -> Report:
        """What was found in the parts."""
        holds: dict[str, str] = {name: part.holds for name, part in self.parts.items() if part.holds}
        findings = tuple(each for part in self.parts.values() for each in part.findings)
        return Report(holds, findings, self.notes)

    @property
    def fingerprint(self) -> str:
        """Which text this is."""
        found = sha256()
        for split in TRAINED_ON:
            for text in self.texts(split):
                said = [text.speaker, str(text.conversation)] if text.conversation else []
                found.update("\n".join([split, *text.words, "", *text.labels, *said, ""]).encode("utf-8", "replace"))
        return found.hexdigest()


def load_labelled(
    data: ClassifyingData, seed: int, splits: Iterable[Split] = ("train", "dev", "test")
) -> LabelledCorpora:
    """The parts of the corpus that the settings name; the seed is for those that are generated."""
    found: LabelledCorpora = LABELLED_CORPORA[data.corpus](data, seed, splits)
    return found


def check_labelled(corpus: ClassifyingCorpus) -> Report:
    """What is wrong with texts and their labels, by file and line."""
    return load_labelled(corpus.data, corpus.seed).report
