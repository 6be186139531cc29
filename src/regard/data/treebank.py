"""The trees of a recipe's files, and findings about them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from regard.data.conllu import PLACES, Problem, Sentence, findings, read_conllu
from regard.data.examples import Split
from regard.data.overlap import find_overlap
from regard.data.projective import made_projective
from regard.data.report import Finding, Outcome, Report, outcome_of
from regard.data.text import SPLITS
from regard.errors import DataError, counted
from regard.recipe.parsing import ParsingCorpus, ParsingData


@dataclass(frozen=True)
class Part:
    """The sentences of one part of a treebank that have words and a tree, and the problems of the others."""

    split: Split
    files: tuple[str, ...]
    sentences: tuple[Sentence, ...]
    problems: tuple[Problem, ...] = ()
    without_words: tuple[str, ...] = ()
    """Places of sentences without words."""
    unreadable: str = ""

    @classmethod
    def read(cls, data: ParsingData, split: Split) -> "Part":
        """The content of the files; an unreadable file is a finding, too."""
        files = tuple(getattr(data, split))
        sentences: list[Sentence] = []
        problems: list[Problem] = []
        without_words: list[str] = []
        try:
            for sentence in read_conllu(map(Path, files)):
                if found := sentence.problems():
                    problems += found
                elif len(sentence):
                    sentences.append(sentence)
                else:
                    without_words.append(sentence.place())
            if not (sentences or problems):
                raise DataError(f"there is no sentence in {', '.join(files)}; name a file of CoNLL-U")
        except DataError as error:
            return cls(split, files, (), unreadable=str(error))
        return cls(split, files, tuple(sentences), tuple(problems), tuple(without_words))

    @property
    def words(self) -> int:
        return sum(map(len, self.sentences))

    @property
    def holds(self) -> str:
        """A description of its content."""
        sizes = f"{counted(len(self.sentences), 'sentence')} in {', '.join(self.files)}, {counted(self.words, 'word')}"
        return f"{sizes}, {counted(len(self.relations), 'relation')}"

    @property
    def relations(self) -> Counter[str]:
        """How often each relation occurs."""
        return Counter(relation for sentence in self.sentences for relation in sentence.relations)

    def findings(self, malformed: str, known: set[str]) -> Iterator[Finding]:
        """The findings; `known` are the relations of the training text."""
        if self.unreadable:
            yield Finding("unreadable", self.split, 0, self.unreadable, "refused")
        is_train = self.split == "train"
        outcome: Outcome = outcome_of(malformed) if is_train else "refused"
        yield from findings(self.split, self.problems, outcome, "data.malformed" if is_train else "")
        if self.without_words:
            what, places = "sentences without words", self.without_words[:PLACES]
            yield Finding("empty", self.split, len(self.without_words), what, "dropped", places=places)
        unseen = [
            f"{sentence.place(index)}: {relation!r}"
            for sentence in self.sentences
            if not known.issuperset(sentence.relations)
            for (index, _), relation in zip(sentence.words, sentence.relations, strict=True)
            if relation not in known
        ]
        if unseen:
            what = "words whose relation the training text does not have, so that it cannot be found"
            yield Finding("unseen", self.split, len(unseen), what, "kept", places=tuple(unseen[:PLACES]))


@dataclass(frozen=True)
class Treebank:
    """The parts of a treebank named in a recipe."""

    data: ParsingData
    parts: dict[Split, Part]

    @classmethod
    def read(cls, data: ParsingData, splits: Sequence[Split] = SPLITS) -> "Treebank":
        return cls(data, {split: Part.read(data, split) for split in splits if getattr(data, split)})

    @property
    def report(self) -> Report:
        known = set(self.parts["train"].relations) if "train" in self.parts else None
        found = [
            finding
            for part in self.parts.values()
            for finding in part.findings(self.data.malformed, set(part.relations) if known is None else known)
        ]
        found += find_overlap(
            {
                split: ((" ".join(sentence.forms), sentence.place()) for sentence in part.sentences)
                for split, part in self.parts.items()
            },
            "sentences",
        )
        notes = [note for part in self.parts.values() if (note := _crossing(part))]
        holds = {str(split): part.holds for split, part in self.parts.items() if not part.unreadable}
        return Report(holds, tuple(found), tuple(notes))

    def sentences(self, split: Split) -> tuple[Sentence, ...]:
        """The sentences of a part; empty if it is not in the recipe."""
        return self.parts[split].sentences if split in self.parts else ()

    @property
    def fingerprint(self) -> str:
        """Identifies the text for training and validation."""
        found = sha256()
        learned_from: tuple[Split, ...] = ("train", "dev")
        for split in learned_from:
            found.update(f"{split}\n".encode())
            for sentence in self.sentences(split):
                found.update(sentence.text.encode("utf-8", "surrogateescape"))
        return found.hexdigest()


def _crossing(part: Part) -> str:
    """How many trees have crossing arcs, and how many heads projectivization changes."""
    moved = [count for sentence in part.sentences if (count := made_projective(sentence.heads)[1])]
    if not moved:
        return ""
    trees, words = len(part.sentences), part.words
    return (
        f"{part.split}: arcs cross in {len(moved):,} of {trees:,} trees ({100 * len(moved) / trees:.1f} %); to make "
        f"them projective, {sum(moved):,} of {words:,} words ({100 * sum(moved) / words:.2f} %) get another head"
    )


def check_treebank(corpus: ParsingCorpus) -> Report:
    """Problems of the files of a recipe."""
    return Treebank.read(corpus.data).report
