"""What is wrong with the data of a task, by file and line."""

from regard.data import check
from regard.data.report import Report
from regard.data.text import check_text
from regard.recipe import LanguageCorpus, LanguageData, TranslationCorpus, VectorsRecipe


def check_pairs(corpus: TranslationCorpus) -> Report:
    return check(corpus.data, corpus.seed, corpus.tokens)


def check_text_of_vectors(corpus: VectorsRecipe) -> Report:
    return check_text(LanguageData(corpus=corpus.data.corpus, train=corpus.data.train))


def check_running_text(corpus: LanguageCorpus) -> Report:
    return check_text(corpus.data, corpus.tokens.unknown, corpus.tokens.kind)
