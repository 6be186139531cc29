"""Names of days and months, each repeated several times, with their language.

    Mittwoch Mittwoch Mittwoch      de
    avril avril                     fr

Every word has all the information, so that it does not matter which one a model attends to: whatever attention it
learns, even a maximally different one does not change its prediction. Here the answer to "is attention an explanation?"
is known beforehand. Names that two of the languages share are left out.
"""

from collections import defaultdict
from collections.abc import Iterable
from hashlib import blake2b

from babel import Locale

from regard.data.dates.corpus import grammar_of
from regard.data.dates.labelled import label_of
from regard.data.examples import Split
from regard.data.generated import held_out_size, split_of
from regard.data.labelled import LabelledCorpora, LabelledPart, LabelledText
from regard.errors import DataError, counted
from regard.recipe import ClassifyingData

FEWEST, MOST = 2, 8
"""How often a name is repeated."""


def echoes(data: ClassifyingData, seed: int, splits: Iterable[Split]) -> LabelledCorpora:
    """As many as the settings say. The number of repetitions determines the part."""
    labels = names_of(tuple(data.languages))
    if len(set(labels.values())) < 2:
        raise DataError(
            f"data.languages = {data.languages}: there is nothing to choose from; name at least two languages"
        )
    every = [(name, times) for name in sorted(labels) for times in range(FEWEST, MOST + 1)]
    parts: dict[Split, LabelledPart] = {}
    for split in splits:
        own = [each for each in every if split_of(f"{each[0]} {each[1]}") == split]
        size = data.examples if split == "train" else held_out_size(data.examples)
        drawn = (own[_draw(seed, split, index) % len(own)] for index in range(size))
        texts = tuple(
            LabelledText((name,) * times, (labels[name],), f"echo {index + 1}")
            for index, (name, times) in enumerate(drawn)
        )
        parts[split] = LabelledPart(texts, f"{counted(size, 'text')}, each one name said several times")
    return LabelledCorpora(parts, (counted(len(set(labels.values())), "different label"),))


def names_of(codes: tuple[str, ...]) -> dict[str, str]:
    """One-word names that only one language has, with its label."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for language in grammar_of(codes).languages:
        locale = Locale.parse(language.locale)
        for names in (locale.days["stand-alone"]["wide"], locale.months["stand-alone"]["wide"]):
            for name in names.values():
                found[name.lower()].add(label_of(language.code, codes))
    return {name: min(labels) for name, labels in found.items() if len(labels) == 1 and len(name.split()) == 1}


def _draw(seed: int, split: Split, index: int) -> int:
    return int.from_bytes(blake2b(f"{seed} {split} {index}".encode(), digest_size=8).digest(), "big")
