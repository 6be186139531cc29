"""How each language writes dates: against Babel's own formatting, and against what its speakers would write."""

import unicodedata
from datetime import date

import pytest
from babel import Locale
from babel.dates import format_date

from regard.data.dates import LANGUAGES, grammar_of
from regard.data.dates.styles import styles_of

WEDNESDAY, SUNDAY = date(2021, 3, 3), date(1999, 8, 1)

SPEAKERS = {
    "en-US": ("March 3rd, 2021", "Wednesday, March 3, 2021", "03/03/2021", "Mar 3, '21"),
    "en-GB": ("3rd of March 2021", "Wed, 3 Mar 2021", "Wednesday, the 3rd of March 2021", "3/3/21"),
    "de": ("3. März 2021", "Mi., 3.3.2021", "Mittwoch, den 3. März 2021", "03.03.21"),
    "nl": ("woensdag 3 maart 2021", "3 mrt 2021", "3-3-2021"),
    "sv": ("onsdagen den 3 mars 2021", "den 3:e mars 2021", "2021-03-03", "3/3 2021"),
    "da": ("onsdag den 3. marts 2021", "3. mar. 2021"),
    "nb": ("onsdag 3. mars 2021", "03.03.2021"),
    "is": ("miðvikudagur, 3. mars 2021",),
    "fr": ("le 3 mars 2021", "mercredi 3 mars 2021", "03/03/2021"),
    "es": ("3 de marzo de 2021", "miércoles, 3 de marzo de 2021"),
    "it": ("mercoledì 3 marzo 2021", "3 mar 2021"),
    "pt-BR": ("quarta-feira, 3 de março de 2021", "3 de mar. de 2021"),
    "pt-PT": ("3 de março de 2021", "03/03/2021"),
    "ca": ("dimecres, 3 de març de 2021",),
    "ro": ("miercuri, 3 martie 2021", "3 III 2021"),
    "pl": ("środa, 3 marca 2021", "3 marca 2021 r.", "3 III 2021"),
    "cs": ("středa 3. března 2021", "3. 3. 2021"),
    "sk": ("streda 3. marca 2021",),
    "sl": ("sreda, 3. marec 2021", "3. marca 2021"),
    "hr": ("srijeda, 3. ožujka 2021.", "3. ožujka 2021. godine"),
    "sr": ("среда, 3. март 2021.", "3. марта 2021. године"),
    "bg": ("3 март 2021 г.",),
    "ru": ("среда, 3 марта 2021 г.", "3 марта 2021 года", "03.03.2021"),
    "uk": ("середа, 3 березня 2021 р.", "3 березня 2021 року"),
    "el": ("Τετάρτη 3 Μαρτίου 2021", "3/3/2021"),
    "hu": ("2021. március 3., szerda", "2021. III. 3.", "2021. 03. 03."),
    "fi": ("keskiviikkona 3. maaliskuuta 2021", "ke 3.3.2021"),
    "et": ("kolmapäev, 3. märts 2021",),
    "lv": ("trešdiena, 2021. gada 3. marts",),
    "lt": ("2021 m. kovo 3 d., trečiadienis", "2021-03-03"),
    "tr": ("3 Mart 2021 Çarşamba", "03.03.2021"),
    "ka": ("ოთხშაბათი, 3 მარტი, 2021", "2021 წლის 3 მარტი"),
    "hy": ("2021 թ. մարտի 3, չորեքշաբթի",),
    "he": ("יום רביעי, 3 במרץ 2021", "3.3.2021"),
    "ar": ("الأربعاء، ٣ مارس ٢٠٢١", "3 مارس 2021", "٣/٣/٢٠٢١"),
    "fa": ("چهارشنبه ۳ مارس ۲۰۲۱", "۲۰۲۱/۳/۳"),
    "ur": ("بدھ، 3 مارچ، 2021", "۳ مارچ، ۲۰۲۱"),
    "hi": ("बुधवार, 3 मार्च 2021", "३ मार्च २०२१"),
    "bn": ("বুধবার, ৩ মার্চ, ২০২১",),
    "ta": ("புதன், 3 மார்ச், 2021",),
    "th": ("วันพุธที่ 3 มีนาคม ค.ศ. 2021", "๓ มีนาคม ค.ศ. ๒๐๒๑"),
    "vi": ("Thứ Tư, ngày 3 tháng 3 năm 2021",),
    "id": ("Rabu, 3 Maret 2021",),
    "sw": ("Jumatano, 3 Machi 2021",),
    "zh-CN": ("2021年3月3日星期三", "二〇二一年三月三日"),
    "zh-TW": ("2021年3月3日 星期三", "2021/3/3（週三）"),
    "ja": ("2021年3月3日(水)", "２０２１年３月３日", "二〇二一年三月三日水曜日"),
    "ko": ("2021년 3월 3일 수요일", "2021. 3. 3."),
}


def texts(code: str, day: date) -> list[str]:
    written = (style.form.write(day.year, day.month, day.day, day.weekday()) for style in styles_of(LANGUAGES[code]))
    return [one.text for one in written if one is not None]


def typed(text: str) -> str:
    marks = str.maketrans({"\u202f": " ", "\u00a0": " ", "\u200e": None, "\u200f": None})
    return unicodedata.normalize("NFC", text.translate(marks))


@pytest.mark.parametrize("code", LANGUAGES)
def test_people_write_so(code):
    assert set(SPEAKERS[code]) <= set(texts(code, WEDNESDAY))


def test_the_first_of_the_month_where_it_is_special():
    assert {"1er août 1999", "le dimanche 1er août 1999"} <= set(texts("fr", SUNDAY))
    assert "1 août 1999" not in texts("fr", SUNDAY)
    assert "1º agosto 1999" in texts("it", SUNDAY)
    assert "1º de agosto de 1999" in texts("pt-BR", SUNDAY)
    assert "1.º de agosto de 1999" in texts("es", SUNDAY)
    assert "1η Αυγούστου 1999" in texts("el", SUNDAY)


@pytest.mark.parametrize("code", LANGUAGES)
def test_western_digits_agree_with_babel(code):
    locale = Locale.parse(code.replace("-", "_"))
    unwanted = LANGUAGES[code].without.split(" | ")
    wanted = {
        name for name in ("full", "long", "medium", "short") if typed(locale.date_formats[name].pattern) not in unwanted
    }
    for day in (WEDNESDAY, SUNDAY):
        for name in wanted:
            if "c" not in locale.date_formats[name].pattern:
                assert typed(format_date(day, name, locale=locale)) in texts(code, day)


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_has_several_styles_of_clean_text(code):
    assert len(set(texts(code, SUNDAY))) >= 7
    for text in texts(code, WEDNESDAY) + texts(code, SUNDAY):
        assert text == " ".join(text.split()) == unicodedata.normalize("NFC", text)
        assert not {unicodedata.category(character) for character in text} & {"Cc", "Zl", "Zp", "Co", "Cn"}
        assert {character for character in text if unicodedata.category(character) == "Cf"} <= {"\u200c"}  # Persian


def test_styles_do_not_depend_on_what_was_formatted_before():
    # Babel 2.18 writes Hebrew names into the data of other locales when it resolves those of Hebrew.
    before = {code: texts(code, WEDNESDAY) for code in LANGUAGES}
    for code in ("he", "ar", "ja"):
        format_date(WEDNESDAY, "LLLL LLL cccc ccc", locale=code)
    styles_of.cache_clear()
    assert {code: texts(code, WEDNESDAY) for code in LANGUAGES} == before


def test_many_scripts_and_numerals():
    letters = {character for code in LANGUAGES for text in texts(code, WEDNESDAY) for character in text}
    names = {unicodedata.name(character, "").split()[0] for character in letters}
    assert {"LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "DEVANAGARI", "BENGALI", "TAMIL", "THAI", "GEORGIAN",
            "ARMENIAN", "CJK", "HANGUL", "FULLWIDTH", "ARABIC-INDIC", "EXTENDED"} <= names  # fmt: skip


def test_a_bare_code_means_all_its_regions():
    assert [language.code for language in grammar_of(("zh", "en-GB")).languages] == ["zh-CN", "zh-TW", "en-GB"]
    assert len(grammar_of(()).languages) == len(LANGUAGES)
