"""Words of texts in every script: characters where a script has no blanks, blanks where there are some."""

import re
from itertools import pairwise
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.tokens.segmentation import (
    Units,
    begins_unspaced,
    has_no_blanks,
    main_script,
    parts_of,
    smallest_parts_of,
    spans_of,
)

TEXTS = st.text(st.sampled_from("ab1,.% \t東京にカー。ไม่ถເຂົ້າກာ်ភ្នំ한हिन्"), max_size=30) | st.text(max_size=20)
SENTENCES = {
    "ja": ("私は東京に行きます。", "私 は 東京 に 行き ます 。"),
    "zh": ("我们明天去北京。", "我们 明天 去 北京 。"),
    "th": ("ฉันไปโรงเรียนทุกวัน", "ฉัน ไป โรงเรียน ทุก วัน"),
    "lo": ("ຂ້ອຍໄປໂຮງຮຽນ", "ຂ້ອຍ ໄປ ໂຮງຮຽນ"),
}


def words(text: str, units: Units = "auto") -> list[str]:
    return [text[start:end] for start, end in spans_of(text, units)]


def parts(text: str) -> list[str]:
    return [text[start:end] for start, end in parts_of(text)]


@given(TEXTS, st.sampled_from(["auto", "blanks", "characters"]))
def test_words_hold_all_of_a_text_but_its_blanks(text: str, units: Units) -> None:
    for spans in (spans_of(text, units), parts_of(text), smallest_parts_of(text)):
        assert all(start < end for start, end in spans)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
        assert "".join(text[start:end] for start, end in spans) == re.sub(r"\s", "", text)


@given(TEXTS)
def test_every_word_between_blanks_is_words_whole(text: str) -> None:
    blanks = {place for span in spans_of(text, "blanks") for place in span}
    for units in ("auto", "characters"):
        assert blanks <= {place for span in spans_of(text, units) for place in span}


@given(st.text(st.characters(blacklist_categories=["Lo", "Mn", "Mc", "Cs"]), max_size=20))
def test_text_with_blanks_has_the_words_of_split(text: str) -> None:
    assert words(text, "blanks") == text.split()
    if not any(map(begins_unspaced, text)) and not re.search("[\u3000-\u30ff\uff00-\uffef]", text):
        assert words(text) == words(text, "characters") == text.split()


@pytest.mark.parametrize(("plain", "segmented"), SENTENCES.values(), ids=SENTENCES)
def test_characters_without_blanks_and_words_with_them(plain: str, segmented: str) -> None:
    assert has_no_blanks(plain)
    assert words(plain) == words(segmented, "characters")
    assert all(category(word[0])[0] in "LP" for word in words(plain)), "a mark stands by itself"
    assert words(segmented) == parts(segmented) == segmented.split()
    assert words(plain, "blanks") == [plain]


def test_marks_stay_with_their_letters() -> None:
    assert words("ไม่ได้") == ["ไ", "ม่", "ไ", "ด้"]
    assert words("น้ำ") == ["น้ำ"]  # SARA AM is no mark to Unicode
    assert words("ຂໍ້ນຳ") == ["ຂໍ້", "ນຳ"]
    assert words("ភ្នំ") == ["ភ្នំ"]  # the second consonant stands below the first
    assert words("ｶﾞ葛󠄀") == ["ｶﾞ", "葛󠄀"]
    assert parts("हिन्दी, में") == ["हिन्दी", ",", "में"]


def test_other_scripts_stand_between() -> None:
    assert words("GTK+のバージョン3.2を(開く)。") == [
        *("GTK+", "の", "バ", "ー", "ジ", "ョ", "ン", "3.2", "を", "(", "開", "く", ")", "。")
    ]
    assert words("東京、USA！") == ["東", "京", "、", "USA", "！"]
    assert words("한국어는 띄어 쓴다.") == ["한국어는", "띄어", "쓴다."]


def test_blanks_between_sentences_segment_nothing() -> None:
    text = "ไม่สามารถเปิดแฟ้มข้อมูลได้ กรุณาลองใหม่อีกครั้ง"
    assert has_no_blanks(text)
    assert len(words(text)) > 20


@given(st.lists(st.text("東京にab", min_size=1, max_size=4), max_size=6), st.text(" 。", max_size=1))
def test_a_function_gives_words_or_their_spans(given_words: list[str], between: str) -> None:
    text = between.join(given_words)
    assert words(text, lambda _: given_words) == given_words
    assert words(text, lambda _: spans_of(text, lambda _: given_words)) == given_words


@pytest.mark.parametrize("found", [["京", "東"], ["x"], [(0, 3)], [(1, 1)], [(1, 2), (0, 1)], [7], ["東", "  "]])
def test_words_that_are_not_there_are_refused(found: list[object]) -> None:
    message = r"^units: the function gave .+ for the text '東京', which has no such word after character \d; it must "
    with pytest.raises(UsageError, match=message):
        spans_of("東京", lambda text: found)  # type: ignore[arg-type, return-value]


def test_a_name_that_is_not_known_is_refused() -> None:
    with pytest.raises(UsageError) as error:
        spans_of("a", "character")  # type: ignore[arg-type]
    assert str(error.value) == (
        "units = 'character' is not known; known are 'characters', 'auto' or 'blanks', and in Python any function of a "
        "text"
    )


@pytest.mark.parametrize(
    ("script", "texts"),
    [
        ("kana", ["東京都に行く", "経済"]),
        ("Han", ["我们明天去北京", "の字", "中文" * 9]),
        ("Thai", ["ไม่สามารถเปิด GTK"]),
        ("Lao", ["ຂ້ອຍໄປ"]),
        ("Khmer", ["ភ្នំពេញ"]),
        ("Burmese", ["မြန်မာ"]),
        ("", ["a house", "東京 is the capital of Japan"]),
        ("", ["한국어", "हिन्दी", "12"]),
        ("", []),
    ],
)
def test_the_script_of_texts(script: str, texts: list[str]) -> None:
    assert main_script(texts) == script
