"""Dates as people write them in many languages, read into ISO 8601."""

from regard.data.dates.corpus import DateExamples, DrawnDate, dates_corpus, grammar_of
from regard.data.dates.counts import Counts, count
from regard.data.dates.grammar import Grammar
from regard.data.dates.languages import LANGUAGES, Language

__all__ = [
    "LANGUAGES",
    "Counts",
    "DateExamples",
    "DrawnDate",
    "Grammar",
    "Language",
    "count",
    "dates_corpus",
    "grammar_of",
]
