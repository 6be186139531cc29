"""The built-in dates with the language that each is written in.

    3   .   März   2021          de
    3   mars   2021              fr

A date that two of the languages write the same (03/04/2021) is left out and counted, because nothing in it tells the
language. Words are split as those of the tagged dates.
"""

from collections.abc import Iterable, Iterator
from itertools import count

from regard.data.dates.corpus import DateExamples, grammar_of
from regard.data.dates.grammar import Grammar
from regard.data.examples import Split
from regard.data.generated import held_out_size
from regard.data.labelled import LabelledCorpora, LabelledPart, LabelledText
from regard.errors import DataError, counted
from regard.recipe import ClassifyingData
from regard.tokens.segmentation import smallest_parts_of


def labelled_dates(data: ClassifyingData, seed: int, splits: Iterable[Split]) -> LabelledCorpora:
    """As many dates as the settings say."""
    grammar = grammar_of(tuple(data.languages))
    labels = {language.code: label_of(language.code, data.languages) for language in grammar.languages}
    if len(set(labels.values())) < 2:
        raise DataError(
            f"data.languages = {data.languages}: there is nothing to choose from; name at least two languages"
        )
    parts: dict[Split, LabelledPart] = {}
    for split in splits:
        size = data.examples if split == "train" else held_out_size(data.examples)
        texts, left_out = [], 0
        for text in written(grammar, labels, seed, split):
            if text is None:
                left_out += 1
            else:
                texts.append(text)
            if len(texts) == size:
                break
        words = sum(len(text.words) for text in texts)
        alike = f"; {left_out:,} that two languages write the same were left out"
        parts[split] = LabelledPart(tuple(texts), f"{counted(size, 'date')}, {counted(words, 'word')}{alike}")
    return LabelledCorpora(parts, (counted(len(set(labels.values())), "different label"),))


def label_of(code: str, named: Iterable[str]) -> str:
    """A language as the settings name it: `en-GB`, or `en` for all its regions."""
    return code if code in named else code.partition("-")[0]


def written(grammar: Grammar, labels: dict[str, str], seed: int, split: Split) -> Iterator[LabelledText | None]:
    """Dates without end; None for one that other languages write too."""
    examples = DateExamples(grammar, seed, split, 0)
    for index in count():
        drawn = examples.drawn(index)
        code = drawn.pair.language
        # Dates that are read in two ways are marked with their language.
        text = drawn.pair.source.removeprefix(f"{code}: ") if drawn.tagged else drawn.pair.source
        writers = {labels[each] for codes in grammar.read(text).values() for each in codes}
        if len(writers) > 1:
            yield None
        else:
            words = (text[start:end] for start, end in smallest_parts_of(text))
            yield LabelledText(tuple(words), (labels[code],), f"date {index + 1}")
