"""Faults of pairs and of running text, by file and line."""

from dataclasses import replace

from regard.data.check import check
from regard.data.report import Report
from regard.data.text import check_text
from regard.data.unspaced import find_unspaced_words
from regard.recipe import LanguageCorpus, LanguageData, PretrainingCorpus, TranslationCorpus, VectorsRecipe
from regard.vectors.corpus import first_lines


def check_pairs(corpus: TranslationCorpus) -> Report:
    return check(corpus.data, corpus.seed, corpus.tokens)


def check_text_of_vectors(corpus: VectorsRecipe) -> Report:
    report = check_text(LanguageData(corpus=corpus.data.corpus, train=corpus.data.train))
    unspaced = () if report.refused else find_unspaced_words(first_lines(corpus.data))
    return replace(report, findings=(*report.findings, *unspaced))


def check_running_text(corpus: LanguageCorpus) -> Report:
    return check_text(corpus.data, corpus.tokens.unknown, corpus.tokens.kind)


def check_plain_text(corpus: PretrainingCorpus) -> Report:
    report = check_text(corpus.data.lines, unknown="<unk>")  # an ordinary word
    # Lines without text are no sentences, whatever the settings.
    return replace(
        report, findings=tuple(replace(each, setting="") if each.kind == "empty" else each for each in report.findings)
    )
