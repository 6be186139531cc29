"""Sentences of words with a tag for each word, and perhaps a label for the sentence."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from regard.data.examples import Split
from regard.data.report import Finding, Outcome, Report
from regard.recipe import TaggingCorpus, TaggingData
from regard.recipe.names import TAGGED_CORPORA
from regard.tokens.tag_schemes import Scheme

PLACES = 3
"""Maximum number of places in a finding."""


TRAINED_ON: tuple[Split, ...] = ("train", "dev")
"""Parts that influence the weights."""


@dataclass(frozen=True)
class TaggedSentence:
    """Words with their tags."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    places: Callable[[int], str] = field(default=lambda place: f"word {place + 1}", compare=False)
    """The place of a word, for messages."""
    label: str = ""
    """The label of the sentence; empty if sentences have none."""
    place: str = field(default="", compare=False)
    """The place of the label, for messages."""


@dataclass
class Problems:
    """Problems in a part of a corpus, counted, with the first places."""

    split: Split
    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)

    def note(self, kind: str, place: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        places = self.places.setdefault(kind, [])
        if len(places) < PLACES:
            places.append(place)

    def finding(self, kind: str, what: str, outcome: Outcome, setting: str = "", advice: str = "") -> list[Finding]:
        """The finding of a kind, if any."""
        if kind not in self.counts:
            return []
        return [Finding(kind, self.split, self.counts[kind], what, outcome, setting, tuple(self.places[kind]), advice)]


@dataclass(frozen=True)
class TaggedPart:
    """One part of a corpus, and what was found in it."""

    sentences: tuple[TaggedSentence, ...]
    holds: str
    """A description of its content."""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class TaggedCorpora:
    """The parts of a corpus named in a recipe."""

    parts: Mapping[Split, TaggedPart]
    scheme: Scheme
    notes: tuple[str, ...] = ()
    overlap: tuple[Finding, ...] = ()
    """What is in the training text too."""

    def sentences(self, split: Split) -> Sequence[TaggedSentence]:
        return self.parts[split].sentences if split in self.parts else ()

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
            for sentence in self.sentences(split):
                label = [sentence.label] if sentence.label else []
                text = "\n".join([split, *sentence.words, "", *sentence.tags, *label, ""])
                found.update(text.encode("utf-8", "replace"))
        return found.hexdigest()


def load_tagged(data: TaggingData, seed: int, splits: Iterable[Split] = ("train", "dev", "test")) -> TaggedCorpora:
    """The parts of the corpus named in the settings; the seed is for generated corpora."""
    found: TaggedCorpora = TAGGED_CORPORA[data.corpus](data, seed, splits)
    return found


def check_tagged(corpus: TaggingCorpus) -> Report:
    """Problems of tagged sentences, by file and line."""
    return load_tagged(corpus.data, corpus.seed).report
