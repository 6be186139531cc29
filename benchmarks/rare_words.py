"""Surprisal of words that are rare in training but seen before in the same article, with and without copying.

    python benchmarks/rare_words.py runs/wikitext2-lstm-1 runs/wikitext2-copying-1

Reads models that were trained on the same text (`benchmarks/language.py` trains them), and compares them on its test
text: bits of each class of words, and how they change against the first of the models.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from conditions import conditions

from regard.data.stream import TokenText, encoded
from regard.data.text import Text
from regard.errors import UsageError
from regard.metrics.resampling import interval_of_mean
from regard.tasks import load_writer
from regard.tasks.writer import Writer
from regard.tokens import END, UNKNOWN

CLASSES = ("rare, seen before", "rare, new", "frequent, seen before", "frequent, new")
"""Classes of words: rare or frequent in training, seen before or new in the same document."""


@dataclass(frozen=True)
class Surprisal:
    """Surprisal of the words of one class by one model."""

    model: str
    words: str
    """The class."""
    count: int
    bits: float
    """Mean over the words."""
    margin: float
    """Half the width of its 95 % interval, by the bootstrap over documents."""
    change: float | None = None
    """Change against the first model; None for that itself."""
    change_margin: float | None = None
    """Margin of the change, by the paired bootstrap."""


def compare(writers: Mapping[str, Writer], text: Text, train: Text, *, rare: int = 20) -> list[Surprisal]:
    """The mean surprisal of each class of words in a text, by each model, and how it changes against the first. Words
    that occur at most `rare` times in the training text are rare. All models must have the same words, and documents
    must be known."""
    first = next(iter(writers.values()))
    if any(other.tokenizer.state() != first.tokenizer.state() for other in writers.values()):
        raise UsageError("models can be compared word by word only if they have the same words")
    if text.data.documents == "none":
        raise UsageError("where documents begin is not known; set data.documents to 'headings' or 'blank'")
    counts = _counts(first, train)
    found: list[Surprisal] = []
    reference: npt.NDArray[np.float64] | None = None
    for name, writer in writers.items():
        scored = writer.score_text(text)
        known = np.minimum(scored.text.stream, writer.tokenizer.size)
        documents = documents_of(scored.text)
        classes = classify(known, documents, counts, rare)
        bits = -scored.log_probs.astype(np.float64) / np.log(2)
        for place, words in enumerate(CLASSES):
            chosen = classes == place
            mean, margin = _mean(bits[chosen], documents[chosen])
            changes = () if reference is None else _mean((bits - reference)[chosen], documents[chosen])
            found.append(Surprisal(name, words, int(chosen.sum()), mean, margin, *changes))
        reference = bits if reference is None else reference
    return found


def documents_of(text: TokenText) -> npt.NDArray[np.int64]:
    """For every token the number of its document."""
    starts = np.concatenate([[0], text.lines])[text.documents]
    return np.searchsorted(starts, np.arange(len(text)), side="right") - 1


def classify(
    tokens: npt.NDArray[np.int64], documents: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], rare: int
) -> npt.NDArray[np.int64]:
    """For every token the class of its word; −1 for ends of lines and unknown words."""
    seen: set[tuple[int, int]] = set()
    classes = np.full(len(tokens), -1)
    for place, both in enumerate(zip(documents.tolist(), tokens.tolist(), strict=True)):
        token = both[1]
        if token not in (END, UNKNOWN) and token < len(counts):
            classes[place] = 2 * int(counts[token] > rare) + int(both not in seen)
            seen.add(both)
    return classes


def _counts(writer: Writer, train: Text) -> npt.NDArray[np.int64]:
    """Counts of tokens in the training text."""
    counts = np.zeros(writer.tokenizer.size, dtype=np.int64)
    for tokens, _ in encoded(train.lines(), writer.tokenizer, end_of_line=False):
        np.add.at(counts, tokens, 1)
    return counts


def _mean(bits: npt.NDArray[np.float64], documents: npt.NDArray[np.int64]) -> tuple[float, float]:
    """The mean, and half the width of its interval."""
    if not len(bits):
        return 0.0, 0.0
    _, groups = np.unique(documents, return_inverse=True)
    sums, sizes = np.bincount(groups, bits), np.bincount(groups)
    low, high = interval_of_mean(sums, sizes)
    return float(bits.mean()), (high - low) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--rare", type=int, default=20, help="most occurrences in training of a word that is rare")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--commit", default="", help="what is measured, where git cannot say it")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "rare_words.json")
    arguments = parser.parse_args()
    record = conditions(("regard", "torch"), arguments.commit)
    writers = {folder.name: load_writer(folder, device=arguments.device) for folder in arguments.models}
    data = next(iter(writers.values())).recipe.data
    found = compare(writers, Text("test", data), Text("train", data), rare=arguments.rare)
    record |= {"rare": arguments.rare, "figures": [asdict(row) for row in found]}
    for row in found:
        change = "" if row.change is None else f"   {row.change:+.3f} ± {row.change_margin:.3f}"
        print(f"{row.model:30} {row.words:24} {row.count:8,} {row.bits:8.3f} ± {row.margin:.3f}{change}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
