"""The corpus of dates as a whole: what an example is, who may read it how, and that it never changes."""

import calendar
import os
import re
import subprocess
import sys
from datetime import date

import babel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.dates import LANGUAGES, DateExamples, count, dates_corpus, grammar_of
from regard.errors import DataError
from regard.recipe import Data

ALL = grammar_of(())
SPLITS = st.sampled_from(["train", "dev", "test"])


def examples(seed: int = 1, split: str = "train", size: int = 300, languages: tuple[str, ...] = ()) -> DateExamples:
    return DateExamples(grammar_of(languages), seed, split, size)


def untagged(source: str, language: str) -> str:
    return source.removeprefix(f"{language}: ")


@given(seed=st.integers(0, 2**40), split=SPLITS, index=st.integers(0, 10**9))
def test_an_example_is_read_as_its_target_by_its_language_and_by_no_one_otherwise(seed, split, index):
    drawn = examples(seed, split).drawn(index)
    pair = drawn.pair
    year, month, day = map(int, pair.target.split("-"))
    readings = ALL.read(untagged(pair.source, pair.language))
    assert pair.language in readings[year, month, day]
    assert drawn.tagged == (len(readings) > 1) == pair.source.startswith(f"{pair.language}: ")
    assert [meant for meant, languages in readings.items() if pair.language in languages] == [(year, month, day)]


@given(seed=st.integers(0, 2**40), split=SPLITS, index=st.integers(0, 10**9))
def test_links_are_year_month_and_day(seed, split, index):
    drawn = examples(seed, split).drawn(index)
    pair = drawn.pair
    assert [pair.target[start:end] for _, (start, end) in pair.links] == pair.target.split("-")
    fields = {part.name: part for part in drawn.style.form.parts if not isinstance(part, str)}
    for ((start, end), (first, last)), name in zip(pair.links, ("year", "month", "day"), strict=True):
        assert fields[name].values[pair.source[start:end]] == [int(pair.target[first:last])]


@given(st.integers(0, 5000))
def test_the_weekday_is_that_of_the_date(index):
    pair = examples(languages=("en-GB",)).example(index)
    found = re.match(r"(?:en-GB: )?([A-Z][a-z]+)[, ]", pair.source)
    if found and found.group(1)[:3] in calendar.day_abbr:
        assert calendar.day_name[date.fromisoformat(pair.target).weekday()].startswith(found.group(1))


@pytest.mark.parametrize("seeds", [(1, 1), (1, 2)])
def test_no_calendar_date_is_in_two_splits_whatever_the_seed(seeds):
    dates = [
        {pair.target for pair in examples(seed, split, 800)} for split in ("train", "dev", "test") for seed in seeds
    ]
    train, dev, test = (dates[place] | dates[place + 1] for place in (0, 2, 4))
    assert not train & dev
    assert not train & test
    assert not dev & test


def test_a_larger_corpus_begins_with_the_smaller_one():
    assert list(examples(size=30)) == examples(size=10**7)[:30]
    assert list(examples(seed=2, size=30)) != list(examples(seed=1, size=30))
    assert list(examples(split="dev", size=30)) != list(examples(split="train", size=30))


@pytest.mark.long
def test_the_same_examples_come_out_of_another_process():
    script = (
        "from regard.data.dates import DateExamples, grammar_of\n"
        "import sys; sys.stdout.reconfigure(encoding='utf-8')\n"
        "print(*DateExamples(grammar_of(()), 1, 'train', 200), sep='\\n')"
    )
    settings = os.environ | {"PYTHONHASHSEED": "7", "LC_ALL": "C", "LANG": "C"}
    answer = subprocess.run(
        [sys.executable, "-c", script], env=settings, capture_output=True, encoding="utf-8", check=True
    )
    assert answer.stdout.splitlines() == [str(pair) for pair in examples(size=200)]


def test_examples_are_a_sequence():
    some = examples(size=10)
    assert len(some) == 10
    assert some[-1] == some[9] == list(some)[9]
    assert some[8:] == [some[8], some[9]]
    with pytest.raises(IndexError):
        some[10]


def test_a_recipe_gives_three_splits():
    corpora = dates_corpus(Data(corpus="dates", examples=50, languages=["de", "pt"]), seed=3)
    assert (len(corpora.train), len(corpora.dev), len(corpora.test)) == (50, 5, 5)
    assert {pair.language for pair in corpora.train} == {"de", "pt-BR", "pt-PT"}
    many = dates_corpus(Data(corpus="dates", examples=10**6), seed=3)
    assert (len(many.train), len(many.dev)) == (10**6, 1000)
    assert len(dates_corpus(Data(corpus="dates", examples=1), seed=3).test) == 1


def test_every_language_and_every_style_occurs():
    drawn = [examples(size=12_000).drawn(index) for index in range(12_000)]
    assert {one.pair.language for one in drawn} == set(LANGUAGES)
    assert {id(one.style) for one in drawn} == {id(style) for styles in ALL.styles.values() for style in styles}
    assert len({code.split("-")[0] for code in LANGUAGES}) >= 25


def test_an_unknown_language_is_refused_with_the_nearest_first():
    with pytest.raises(DataError) as error:
        dates_corpus(Data(corpus="dates", languages=["de", "zh-CM"]), seed=1)
    message = str(error.value)
    assert message.startswith(
        "data.languages: 'zh-CM' is not a language of the built-in dates; known are 'zh-CN', 'zh-TW'"
    )
    assert all(repr(code) in message for code in LANGUAGES)


def test_counts_agree_with_the_examples():
    some = examples(size=1500)
    counts = count(some)
    tagged = sum(bool(re.match(r"[a-z]{2}(-[A-Z]{2})?: ", pair.source)) for pair in some)
    assert counts.examples.total() == 1500
    assert counts.tagged.total() == tagged > 0
    assert counts.century.total() == sum(some.drawn(index).left_out.count("century") for index in range(1500)) > 0
    assert counts.styles == {code: len(styles) for code, styles in ALL.styles.items()}


def test_counts_are_told_in_words():
    some = examples(size=40, languages=("en-US", "en-GB", "de"))
    counts = count(some)
    title, tags, left_out, header, *rows = counts.lines()
    styles = sum(counts.styles.values())
    assert title == f"40 dates in 2 languages and {styles} styles (CLDR data of Babel {babel.__version__})"
    assert tags == (
        f"{counts.tagged.total()} carry their language as a tag, because other languages read them as another date"
    )
    assert left_out == (
        f"{counts.century.total()} were left out and drawn again: {counts.century.total()} whose year two digits "
        "cannot say, 0 ambiguous even within their language"
    )
    assert header.split() == ["styles", "examples", "tagged", "left", "out"]
    assert [row.split()[0] for row in rows] == ["en-US", "en-GB", "de"]
    assert rows[2].split()[1:3] == ["German", str(counts.styles["de"])]
