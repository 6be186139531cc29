"""CoNLL-U: sentences of words in ten columns, with heads and relations (universaldependencies.org/format.html).

    for sentence in read_conllu([Path("en.conllu")]):
        sentence.forms, sentence.heads, sentence.relations
        print(sentence.with_tree(heads, relations).text, end="")

A sentence keeps its lines as they are: comments, multiword tokens (`1-2`) and empty nodes (`8.1`) are written back
where they were, so that reading and writing reproduces the text. Only words are part of trees.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from regard.data.report import Finding, Outcome
from regard.disk import each_line

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
ID, FORM, HEAD, RELATION = 0, 1, 6, 7
NOTHING = "_"
"""An empty column."""
PLACES = 3
"""Maximum number of places in a finding."""

_NUMBER = re.compile("0|[1-9][0-9]{0,8}")
_ID = re.compile(r"(0|[1-9][0-9]{0,8})(?:([-.])([1-9][0-9]{0,8}))?")

Kind = Literal["columns", "numbering", "head", "cycle", "root", "relation"]

KINDS: dict[Kind, str] = {
    "columns": "lines without ten columns",
    "numbering": "lines with a wrong number",
    "head": "words whose head is not in the sentence",
    "cycle": "cycles of heads",
    "root": "sentences without exactly one root",
    "relation": "words without a relation",
}
"""Problems of a sentence, in the words of a finding. With the first two it cannot be read at all."""


@dataclass(frozen=True)
class Problem:
    """A problem of a sentence."""

    kind: Kind
    place: str
    """File and line."""
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


@dataclass(frozen=True)
class Sentence:
    """The lines of a sentence, without the blank line after it. Its words are valid if `layout_problems` finds none,
    its tree if `tree_problems` finds none."""

    lines: tuple[str, ...]
    file: str = ""
    first: int = 1
    """Number of its first line in the file."""

    @classmethod
    def of(cls, forms: Sequence[str]) -> Self:
        """The sentence of some words, with nothing in the other columns."""
        empty = "\t".join([NOTHING] * (len(COLUMNS) - 2))
        return cls(tuple(f"{number}\t{form}\t{empty}" for number, form in enumerate(forms, start=1)))

    @cached_property
    def words(self) -> tuple[tuple[int, list[str]], ...]:
        """The words: the index of the line of each, and its columns."""
        rows = ((index, line.split("\t")) for index, line in enumerate(self.lines) if not line.startswith("#"))
        return tuple((index, columns) for index, columns in rows if columns[ID].isdecimal())

    @property
    def forms(self) -> tuple[str, ...]:
        return tuple(columns[FORM] for _, columns in self.words)

    @property
    def heads(self) -> tuple[int, ...]:
        """The number of each word's head, from 1; 0 for the root."""
        return tuple(int(columns[HEAD]) for _, columns in self.words)

    @property
    def relations(self) -> tuple[str, ...]:
        return tuple(columns[RELATION] for _, columns in self.words)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def text(self) -> str:
        """As in a file, with the blank line that ends it."""
        return "".join(f"{line}\n" for line in (*self.lines, ""))

    def with_tree(self, heads: Sequence[int], relations: Sequence[str]) -> Self:
        """With other heads and relations; all other columns and lines stay as they are."""
        lines = list(self.lines)
        for (index, columns), head, relation in zip(self.words, heads, relations, strict=True):
            lines[index] = "\t".join([*columns[:HEAD], str(head), relation, *columns[RELATION + 1 :]])
        return replace(self, lines=tuple(lines))

    def place(self, index: int = 0) -> str:
        """The place of one of its lines, for messages."""
        number = self.first + index
        return f"{self.file}:{number}" if self.file else f"line {number}"

    def layout_problems(self) -> Iterator[Problem]:
        """Lines that are not rows of ten columns, numbered from 1 without gaps."""
        last, inner, covered = 0, 0, 0  # the last word; of the empty nodes after it; the last in a multiword token
        for index, line in enumerate(self.lines):
            columns = line.split("\t")
            if line.startswith("#"):
                continue
            if wrong := _wrong_columns(columns):
                yield Problem("columns", self.place(index), wrong)
                return
            number, sign, other = _numbers(columns[ID])
            if sign == ".":
                is_next, inner = number == last and other == inner + 1, other
            elif sign == "-":
                is_next, covered = number == last + 1 and number > covered and other > number, other
            else:
                is_next, last, inner = number == last + 1, number, 0
            if not is_next:
                yield Problem("numbering", self.place(index), _wrong_number(columns[ID], index, self))
                return
        if covered > last:
            what = f"a multiword token ends at word {covered}, and the last word is {last}; let it end there"
            yield Problem("numbering", self.place(), what)

    def tree_problems(self) -> Iterator[Problem]:
        """Why heads and relations are not a tree. The layout must be valid."""
        heads: list[int] = []
        for number, (index, columns) in enumerate(self.words, start=1):
            head = columns[HEAD]
            heads.append(int(head) if _NUMBER.fullmatch(head) else -1)
            if not 0 <= heads[-1] <= len(self):
                yield Problem("head", self.place(index), f"word {number} has the head {head!r}, {self._allowed}")
            if columns[RELATION] in ("", NOTHING):
                yield Problem("relation", self.place(index), f"word {number} has no relation; name it in column 8")
        roots = [number for number, head in enumerate(heads, start=1) if head == 0]
        if len(roots) > 1:
            what = f"words {', '.join(map(str, roots))} have the head 0; give it to one word"
            yield Problem("root", self.place(self.words[roots[1] - 1][0]), what)
        if heads and not roots:
            yield Problem("root", self.place(self.words[0][0]), "no word has the head 0; give it to the root")
        for cycle in _cycles(heads):
            what = f"the heads of words {' → '.join(map(str, (*cycle, cycle[0])))} are a cycle; change one"
            yield Problem("cycle", self.place(self.words[cycle[0] - 1][0]), what)

    def problems(self) -> tuple[Problem, ...]:
        """All problems of the layout, or else of the tree."""
        return tuple(self.layout_problems()) or tuple(self.tree_problems())

    @property
    def _allowed(self) -> str:
        return f"and there are words 1 to {len(self)}; give the number of one, or 0 for the root"


def each_sentence(lines: Iterable[str], file: str = "", first: int = 1) -> Iterator[Sentence]:
    """The sentences in some lines: blank lines end them."""
    found: list[str] = []
    number = first - 1
    for number, line in enumerate(lines, start=first):
        if line.strip():
            found.append(line)
        elif found:
            yield Sentence(tuple(found), file, number - len(found))
            found = []
    if found:
        yield Sentence(tuple(found), file, number + 1 - len(found))


def read_conllu(paths: Iterable[Path]) -> Iterator[Sentence]:
    """The sentences of files, one file after another; each may end in `.gz`."""
    for path in paths:
        yield from each_sentence(each_line(path), str(path))


def findings(part: str, problems: Iterable[Problem], outcome: Outcome, setting: str) -> list[Finding]:
    """One finding for each kind of problem, with the first places."""
    by_kind: dict[Kind, list[Problem]] = {kind: [] for kind in KINDS}
    for problem in problems:
        by_kind[problem.kind].append(problem)
    return [
        Finding(kind, part, len(found), KINDS[kind], outcome, setting, tuple(map(str, found[:PLACES])))
        for kind, found in by_kind.items()
        if found
    ]


def _wrong_columns(columns: Sequence[str]) -> str:
    """The problem of a row, if any."""
    if len(columns) != len(COLUMNS):
        has = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
        return f"{has} instead of {len(COLUMNS)}; write {', '.join(COLUMNS)} with a tab between them, _ for nothing"
    if "" in columns:
        place = columns.index("")
        return f"column {place + 1} ({COLUMNS[place]}) is empty; write _ for nothing"
    return ""


def _numbers(given: str) -> tuple[int, str, int]:
    """The parts of an ID: of `8` (8, "", 0), of `1-2` (1, "-", 2), of `8.1` (8, ".", 1)."""
    match = _ID.fullmatch(given)
    return (int(match[1]), match[2] or "", int(match[3] or 0)) if match else (-1, "", 0)


def _wrong_number(given: str, index: int, sentence: Sentence) -> str:
    before = [line.split("\t")[ID] for line in sentence.lines[:index] if not line.startswith("#")]
    after = f"after {before[-1]!r}" if before else "on the first word"
    return f"the number {given!r} {after} is wrong; words are numbered 1, 2, 3, tokens 1-2 before them, empty nodes 1.1"


def _cycles(heads: Sequence[int]) -> Iterator[list[int]]:
    """The cycles among heads (numbers from 1), each from its first word on."""
    seen = [0] * (len(heads) + 1)  # in which walk a word was first met
    for start in range(1, len(heads) + 1):
        word = start
        while 1 <= word <= len(heads) and not seen[word]:
            seen[word] = start
            word = heads[word - 1]
        if 1 <= word <= len(heads) and seen[word] == start:
            cycle = [word]
            while heads[cycle[-1] - 1] != word:
                cycle.append(heads[cycle[-1] - 1])
            least = cycle.index(min(cycle))
            yield cycle[least:] + cycle[:least]
