"""The three parts of the corpus named in a recipe: from files, or built in."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from regard.data.combined_files import DividedFiles, LanguageTaggedFiles, RecordFiles
from regard.data.examples import Corpora, Examples, Pair, Split
from regard.data.pair_files import PairFiles, Record
from regard.disk import to_utf8
from regard.errors import EncodingError
from regard.recipe import Data, names

Loader = Callable[[Data, int], Corpora]

OTHERWISE = 'set data.invalid to "replace" or "drop"'
"""Values of a recipe's setting for lines that are not UTF-8."""


class FileExamples:
    """The pairs of files, read again in each pass."""

    def __init__(self, files: RecordFiles, invalid: str) -> None:
        self.files = files
        self._invalid = invalid

    def __iter__(self) -> Iterator[Pair]:
        for record in self.files:
            if record.invalid and self._invalid == "refuse":
                raise EncodingError(record.invalid, self.conversion([record.invalid]), OTHERWISE)
            if not record.invalid or self._invalid == "replace":
                yield Pair(record.source, record.target, tag=record.tag)

    def conversion(self, problems: Sequence[str]) -> str:
        """Advice on files that are not UTF-8, given some of their bad lines."""
        files = {file.path for file in self.files.files if any(each.startswith(f"{file.path}:") for each in problems)}
        return "; ".join(dict.fromkeys(map(to_utf8, sorted(files))))


def records(examples: Examples) -> Iterator[Record]:
    """Every pair of the corpus with its line, including those that are not valid text."""
    if isinstance(examples, FileExamples):
        return iter(examples.files)
    return (Record(line, pair.source, pair.target) for line, pair in enumerate(examples, start=1))


def place(examples: Examples, line: int, side: int = 0) -> str:
    """The place of the source (0) or target (1) of a pair, for messages."""
    return examples.files.place(line, side) if isinstance(examples, FileExamples) else f"example {line}"


CORPORA: Mapping[str, Loader] = names.CORPORA


def load_corpus(data: Data, seed: int) -> Corpora:
    """The training, development and test pairs named in the settings; the seed is for generated corpora."""
    return CORPORA[data.corpus](data, seed)


def from_files(data: Data, seed: int) -> Corpora:
    def read(name: str) -> RecordFiles:
        paths = getattr(data, name)
        count = len(paths) // max(1, len(data.tags))
        groups = [paths[start : start + count] for start in range(0, len(paths), count)] if data.tags else [paths]
        fields = data.source_field, data.target_field, f"data.{name}", data.format
        corpora = [PairFiles(group, *fields) for group in groups]
        return LanguageTaggedFiles(corpora, data.tags) if data.tags else corpora[0]

    def part(name: Split) -> Examples:
        if data.held_out:
            return FileExamples(DividedFiles(read("train"), name, data.held_out), data.invalid)
        return FileExamples(read(name), data.invalid) if getattr(data, name) else ()

    return Corpora(part("train"), part("dev"), part("test"))
