"""Pairs of texts as an aligner reads them: as words, if they are fit to learn from."""

from collections.abc import Callable

from regard.data.check import PLACES, check_corpora, over_long
from regard.data.corpora import load_corpus, place, records
from regard.data.report import Report
from regard.recipe.alignment import AlignmentCorpus, AlignmentData, AlignmentRecipe
from regard.tokens.segmentation import Units, spans_of


def words_of(text: str, data: AlignmentData, units: Units = "auto") -> list[str]:
    """The words of a text as an aligner compares them."""
    spans = spans_of(text, data.units if units == "auto" else units)
    return [text[start:end].lower() if data.lowercase else text[start:end] for start, end in spans]


def check_pairs(
    corpus: AlignmentCorpus | AlignmentRecipe, take: Callable[[list[str], list[str]], object] = lambda *_: None
) -> Report:
    """The report on the pairs of a recipe. Each that is trained on is passed to `take`, as words."""
    data = corpus.data
    corpora = load_corpus(data, corpus.seed)
    checked = check_corpora(corpora, data)
    if checked.report.refused:
        return checked.report
    long = 0
    places: list[str] = []
    for record, dropped in zip(records(corpora.train), checked.dropped.tolist(), strict=True):
        if dropped:
            continue
        source, target = words_of(record.source, data), words_of(record.target, data)
        if max(len(source), len(target)) > data.longest:
            long += 1
            if len(places) < PLACES:
                places.append(place(corpora.train, record.line))
        else:
            take(source, target)
    return checked.report.extended([over_long(data, long, tuple(places), "words")] if long else [])
