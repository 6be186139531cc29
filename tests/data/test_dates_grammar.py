"""Reading dates: against a table of everything that can be written, and the cases people argue about."""

from datetime import date
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.dates import LANGUAGES, Grammar, grammar_of
from regard.data.dates.fields import RANGES, Field, shape
from regard.data.dates.form import Form, Written, exists
from regard.data.dates.numerals import NUMERALS, english, han, swedish
from regard.data.dates.pattern import Names, parse
from regard.errors import DataError

ALL = grammar_of(())
EN = Names({"MMMM": tuple(f"month-{letter}" for letter in "abcdefghijkl")}, era="AD")
WESTERN = NUMERALS["western"]


def meant(text: str, grammar: Grammar = ALL) -> dict[str, set[str]]:
    return {date(*day).isoformat(): languages for day, languages in grammar.read(text).items()}


def zeros(written: Written) -> set[str]:
    """The text with and without zeros in front of month and day."""
    texts = {written.text}
    for start, end in sorted((written.month, written.day), reverse=True):
        number = written.text[start:end]
        if number.isdecimal():
            same = (number.lstrip("0"), number.zfill(2))
            texts = {text[:start] + said + text[end:] for text in texts for said in same}
    return texts


def test_reading_agrees_with_a_table_of_everything_that_can_be_written():
    grammar = Grammar([LANGUAGES[code] for code in ("en-US", "en-GB", "ja")])
    styles = [
        style
        for styles in grammar.styles.values()
        for style in styles
        if "E" not in style.pattern and style.numerals == "western"
    ]
    table: dict[str, set[tuple[int, int, int]]] = {}
    asked = []
    # Among the first twelve days of 2001 to 2012, every number can be a year, a month or a day.
    for year, month, day in product(range(2001, 2013), range(1, 13), range(1, 13)):
        for style in styles:
            written = style.form.write(year, month, day, 0)
            for text in zeros(written):
                table.setdefault(text, set()).add((year, month, day))
            if (year + month + day) % 13 == 0:
                asked.append(written.text)
    assert sum(len(table[text]) > 1 for text in asked) > 100
    for text in asked:
        assert set(grammar.read(text)) == table[text], text


@given(day=st.dates(date(1900, 1, 1), date(2099, 12, 31)), weekday=st.integers(0, 6), data=st.data())
def test_every_style_reads_what_it_writes(day, weekday, data):
    code = data.draw(st.sampled_from(sorted(LANGUAGES)))
    style = data.draw(st.sampled_from(ALL.styles[code]))
    written = style.form.write(day.year, day.month, day.day, weekday)
    if written is None:
        assert "yy" in style.pattern
        assert not 1969 <= day.year <= 2068
        return
    assert style.form.read(written.text) == [(day.year, day.month, day.day)]
    assert shape(written.text) in style.form.shapes()
    assert code in ALL.read(written.text)[day.year, day.month, day.day]


def test_numbers_in_another_order_are_ambiguous_unless_day_and_month_are_equal_or_too_large():
    assert set(meant("03/04/2021")) == {"2021-03-04", "2021-04-03"}
    assert meant("03/04/2021")["2021-03-04"] == {"en-US"}
    assert set(meant("04/04/2021")) == {"2021-04-04"}
    assert set(meant("25/04/2021")) == {"2021-04-25"}
    assert set(meant("21/03/04")) == {"2004-03-21", "2021-03-04"}
    assert set(meant("03.04.2021")) == {"2021-04-03"}


def test_a_zero_in_front_settles_nothing():
    # Brazilians write 03/04/2021 and Americans 3/4/2021, but the zero does not decide.
    assert set(meant("3/04/2021")) == {"2021-03-04", "2021-04-03"}


def test_a_weekday_settles_nothing():
    # Only 4 March 2021 was a Thursday, but readers do not look that up.
    assert set(meant("Thu, 3/4/2021")) == {"2021-03-04", "2021-04-03"}
    assert ALL.reading("Thu, 3/4/2021", LANGUAGES["en-US"]) == "tagged"


def test_words_settle_much():
    assert set(meant("3 listopada 2021")) == {"2021-11-03"}  # Polish …
    assert set(meant("3. listopada 2021.")) == {"2021-10-03"}  # … and Croatian
    assert set(meant("ngày 03/04/2021")) == {"2021-04-03"}
    assert meant("31.2.2021") == {}
    assert meant("yesterday") == {}


def test_what_is_ambiguous_depends_on_who_is_there():
    germany_and_france = grammar_of(("de", "fr"))
    assert germany_and_france.reading("03/04/2021", LANGUAGES["fr"]) == "plain"
    assert ALL.reading("03/04/2021", LANGUAGES["fr"]) == "tagged"


def test_a_text_that_its_own_language_reads_in_two_ways_is_ambiguous():
    class TwoWays(Grammar):
        def read(self, text):
            return {(2021, 3, 4): {"fr", "de"}, (2021, 4, 3): {"fr"}}

    assert TwoWays([LANGUAGES["fr"], LANGUAGES["de"]]).reading("03/04/2021", LANGUAGES["fr"]) == "ambiguous"


def test_two_digits_mean_1969_to_2068():
    form = parse("d/M/yy", EN, WESTERN)
    assert form.read("1/2/69") == [(1969, 2, 1)]
    assert form.read("1/2/68") == [(2068, 2, 1)]
    assert form.write(1968, 2, 1, 0) is None
    assert form.write(2069, 2, 1, 0) is None


@pytest.mark.parametrize(("pattern", "text"), [
    ("d 'of' MMMM y", "3 of month-c 2021"),
    ("d MMMM ''yy", "3 month-c '21"),
    ("d 'o''clock' MMMM y", "3 o'clock month-c 2021"),
    ("y G, d.LL.", "2021 AD, 3.03."),
    ("R/dd y", "III/03 2021"),
])  # fmt: skip
def test_patterns(pattern, text):
    form = parse(pattern, EN, WESTERN)
    assert form.write(2021, 3, 3, 2).text == text
    assert form.read(text) == [(2021, 3, 3)]


@pytest.mark.parametrize("symbol", ["QQQ", "o", "N", "MMMMM", "D"])
def test_a_pattern_field_nobody_knows_is_refused(symbol):
    with pytest.raises(DataError) as error:
        parse(f"{symbol} y", EN, WESTERN)
    assert str(error.value) == (
        f"dates: the date pattern field {symbol!r} of this Babel version is not known here; use Babel 2.18"
    )


def test_one_text_may_stand_for_two_values():
    months = Field("month", ("x", "x", *"cdefghijkl"))
    form = Form(
        (Field("year", tuple(map(str, RANGES["year"]))), " ", months, " ", Field("day", tuple(map(str, RANGES["day"]))))
    )
    assert form.read("2021 x 5") == [(2021, 1, 5), (2021, 2, 5)]
    assert form.read("2021 x 30") == [(2021, 1, 30)]
    assert form.read("2021 x 32") == []


@given(st.integers(1900, 2099), st.integers(1, 12), st.integers(1, 31))
def test_the_calendar_is_that_of_python(year, month, day):
    try:
        real = bool(date(year, month, day))
    except ValueError:
        real = False
    assert exists(year, month, day) == real


def test_numerals():
    assert [han(number, 1) for number in (1, 9, 10, 11, 20, 21, 30, 31)] == [
        "一", "九", "十", "十一", "二十", "二十一", "三十", "三十一"]  # fmt: skip
    assert han(2005, 4) == "二〇〇五"
    assert NUMERALS["persian"](7, 2) == "۰۷"
    assert NUMERALS["thai"](2021, 4) == "๒๐๒๑"
    assert [english(day) for day in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 30, 31)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "30th", "31st"]  # fmt: skip
    assert [swedish(day) for day in (1, 2, 3, 11, 12, 21, 31)] == ["1:a", "2:a", "3:e", "11:e", "12:e", "21:a", "31:a"]
