"""Names that are said several times: all that is said is one name, of one language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.dates.echoes import FEWEST, MOST, echoes, names_of
from regard.errors import DataError
from regard.recipe import ClassifyingData

LANGUAGES = ["de", "fr", "nl"]


@given(st.integers(0, 9), st.integers(10, 60))
def test_each_is_one_name_of_one_language(seed: int, size: int) -> None:
    data = ClassifyingData(corpus="echoes", languages=LANGUAGES, examples=size)
    corpora = echoes(data, seed, ("train", "dev", "test"))
    seen = {}
    for split in ("train", "dev", "test"):
        for text in corpora.texts(split):
            assert FEWEST <= len(text.words) <= MOST
            assert set(text.words) == {text.words[0]}
            assert text.labels == (names_of(tuple(LANGUAGES))[text.words[0]],)
            assert seen.setdefault(text.words, split) == split
    assert len(corpora.texts("train")) == size
    larger = echoes(ClassifyingData(corpus="echoes", languages=LANGUAGES, examples=size + 5), seed, ("train",))
    assert larger.texts("train")[:size] == corpora.texts("train")


def test_names_that_languages_share_are_left_out() -> None:
    names = names_of(("de", "nl"))
    assert {names["mittwoch"], names["woensdag"]} == {"de", "nl"}
    assert not {"april", "september", "november"} & set(names)


def test_one_language_is_no_choice() -> None:
    with pytest.raises(DataError, match=r"data\.languages = \['de'\]: there is nothing to choose from"):
        echoes(ClassifyingData(corpus="echoes", languages=["de"]), 1, ("train",))
