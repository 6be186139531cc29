"""Dates with the language they are written in: no two languages share one, and parts share no day."""

import re

import pytest

from regard.data.dates.labelled import label_of
from regard.data.labelled import LabelledCorpora, load_labelled
from regard.errors import DataError
from regard.recipe import ClassifyingData

LANGUAGES = ["de", "en", "fr"]


def dates(examples: int, languages: list[str], seed: int = 1) -> LabelledCorpora:
    return load_labelled(ClassifyingData(corpus="dates", examples=examples, languages=languages), seed)


def test_no_text_has_two_languages_and_none_says_its_own() -> None:
    corpora = dates(200, LANGUAGES)
    assert [len(corpora.texts(split)) for split in ("train", "dev", "test")] == [200, 20, 20]
    every = [text for split in corpora.parts for text in corpora.texts(split)]
    known: dict[tuple[str, ...], str] = {}
    for text in every:
        (label,) = text.labels
        assert label in LANGUAGES
        assert known.setdefault(text.words, label) == label
        assert not {*text.words} & {"en-GB", "en-US", "GB", "US", *LANGUAGES}
    # English writes 03/04/2021 too.
    assert not any(re.fullmatch(r"\d+/\d+/\d+", "".join(text.words)) and text.labels == ("fr",) for text in every)
    assert re.fullmatch(
        r"200 dates, [\d,]+ words; \d+ that two languages write the same were left out", corpora.report.parts["train"]
    )
    assert corpora.notes == ("3 different labels",)


def test_they_are_a_function_of_the_seed_and_grow_at_the_end() -> None:
    assert dates(30, LANGUAGES).texts("train") == dates(60, LANGUAGES).texts("train")[:30]
    assert dates(30, LANGUAGES).texts("train") != dates(30, LANGUAGES, seed=2).texts("train")


def test_regions_are_one_label_unless_they_are_named() -> None:
    assert label_of("en-GB", ["en", "de"]) == "en"
    assert label_of("en-GB", ["en-GB", "en-US"]) == "en-GB"
    assert label_of("zh", []) == "zh"
    corpora = dates(20, ["en-GB", "en-US"])
    assert {text.labels for text in corpora.texts("train")} == {("en-GB",), ("en-US",)}


def test_a_single_language_leaves_nothing_to_choose() -> None:
    with pytest.raises(DataError) as refusal:
        dates(10, ["en"])
    assert str(refusal.value) == (
        "data.languages = ['en']: there is nothing to choose from; name at least two languages"
    )
