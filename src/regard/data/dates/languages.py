"""The languages of the corpus, and how people write dates besides the patterns of CLDR.

CLDR has for each language the names of months and weekdays and the patterns that computers print. People also write
the day as an ordinal, put "the", "of" or "year" around it, leave commas out and use the digits of their own script.
Years are Gregorian everywhere; Buddhist, Persian, Hebrew, Hijri and Japanese era years are not part of this corpus.
"""

from collections.abc import Callable
from dataclasses import dataclass

from regard.data.dates.numerals import english, first, swedish


@dataclass(frozen=True)
class Language:
    """One language, or one region's way of writing it."""

    code: str
    name: str
    patterns: str
    """How people write, in CLDR's pattern letters and our own (see `pattern.py`), with | between patterns."""
    without: str = ""
    """CLDR patterns that are not how people write, with | between them."""
    numerals: tuple[str, ...] = ()
    """Numerals in use besides Western digits."""
    ordinal: Callable[[int], str] | None = None
    """The day as `o` writes it."""
    months: str = ""
    """Month names as `N` writes them, with spaces between."""

    @property
    def locale(self) -> str:
        """The code as Babel spells it."""
        return self.code.replace("-", "_")


_ALL = (
    Language(
        "en-US",
        "English (United States)",
        (
            "MMMM d y | MMM d y | MMMM o, y | MMM o, y | EEEE, MMMM o, y | y MMMM d | d-MMM-y | "
            "MMM d, ''yy | MM/dd/y | MM-dd-y | E, MMM d, y"
        ),
        ordinal=english,
    ),
    Language(
        "en-GB",
        "English (United Kingdom)",
        (
            "o MMMM y | o 'of' MMMM y | 'the' o 'of' MMMM, y | EEEE o MMMM y | "
            "EEEE, 'the' o 'of' MMMM y | E, d MMM y | d/M/y | d/M/yy | d.M.y | d-MMM-y | E d MMM y | "
            "EEEE d MMMM, y"
        ),
        ordinal=english,
    ),
    Language("de", "German", "'den' d. MMMM y | EEEE, 'den' d. MMMM y | d.M.yy | d. M. y | E, dd.MM.y | E d. MMM y"),
    Language("nl", "Dutch", "EEEE, d MMMM y | d MMMM ''yy | d/M/y | dd/MM/y | E d-M-yy"),
    Language(
        "sv",
        "Swedish",
        "'den' d MMMM y | EEEE'en' 'den' d MMMM y | 'den' o MMMM y | E d MMM y | d/M y | d.M.y",
        ordinal=swedish,
    ),
    Language("da", "Danish", "'den' d. MMMM y | EEEE d. MMMM y | d/M y | d/M-y | dd-MM-y"),
    Language("nb", "Norwegian", "'den' d. MMMM y | EEEE, d. MMMM y | d/M y | dd.MM.yy | d.M.yy"),
    Language("is", "Icelandic", "EEEE d. MMMM y | E d. MMM y | dd.MM.y | d. M. y"),
    Language(
        "fr",
        "French",
        (
            "o MMMM y | 'le' o MMMM y | EEEE o MMMM y | 'le' EEEE o MMMM y | o MMM y | E o MMM y | "
            "dd.MM.y | dd/MM/yy | d/M/y"
        ),
        without="EEEE d MMMM y | d MMMM y | d MMM y | E d MMM y",
        ordinal=first("1er"),
    ),
    Language(
        "es",
        "Spanish",
        ("EEEE d 'de' MMMM 'de' y | d 'de' MMMM 'del' y | o 'de' MMMM 'de' y | d-MMM-y | dd/MM/y | dd-MM-y"),
        ordinal=first("1.º"),
    ),
    Language(
        "it",
        "Italian",
        "o MMMM y | EEEE o MMMM y | 'il' o MMMM y | dd/MM/y | d/M/y | dd-MM-y | d.M.y",
        ordinal=first("1º"),
    ),
    Language(
        "pt-BR",
        "Portuguese (Brazil)",
        "o 'de' MMMM 'de' y | EEEE, o 'de' MMMM 'de' y | d MMM y | d/M/y | dd-MM-y | dd/MM/yy",
        ordinal=first("1º"),
    ),
    Language(
        "pt-PT",
        "Portuguese (Portugal)",
        (
            "o 'de' MMMM 'de' y | EEEE, o 'de' MMMM 'de' y | d MMM y | d/M/y | dd-MM-y | "
            "EEEE, d 'de' MMMM 'de' y | d.M.y"
        ),
        ordinal=first("1º"),
    ),
    Language(
        "ca",
        "Catalan",
        "EEEE, d MMMM 'de' y | d MMMM 'de' y | d MMM 'de' y | E, d MMM 'de' y | dd/MM/y",
        without="d MMM y | E, d MMM y",
    ),
    Language("ro", "Romanian", "EEEE d MMMM y | d.M.y | d R y | dd/MM/y"),
    Language(
        "pl", "Polish", ("d MMMM y 'r'. | EEEE, d MMMM y 'r'. | d R y | d R y 'r'. | dd.MM.y | dd.MM.y 'r'. | d.M.y")
    ),
    Language("cs", "Czech", "EEEE, d. MMMM y | E d. MMMM y | d.M.y | dd.MM.y | d. M. yy | d. R. y"),
    Language("sk", "Slovak", "EEEE, d. MMMM y | E d. MMMM y | d.M.y | dd.MM.y | d. M. yy"),
    Language(
        "sl",
        "Slovenian",
        "d. N y | EEEE, d. N y | d.M.y | dd.MM.y | d. M. y",
        months=("januarja februarja marca aprila maja junija julija avgusta septembra oktobra novembra decembra"),
    ),
    Language(
        "hr", "Croatian", ("EEEE, d. MMMM y. 'godine' | d. MMMM y. 'godine' | d. M. y. | d.M.y. | dd.MM.y. | d. R. y.")
    ),
    Language(
        "sr",
        "Serbian",
        "d. N y. | d. N y. 'године' | EEEE, d. N y. | d.M.y. | dd.MM.y.",
        months="јануара фебруара марта априла маја јуна јула августа септембра октобра новембра децембра",
    ),
    Language(
        "bg",
        "Bulgarian",
        ("d MMMM y | d MMMM y 'година' | EEEE, d MMMM y | dd.MM.y | dd.MM.y 'г'. | d.M.y | d R y 'г'."),
    ),
    Language(
        "ru",
        "Russian",
        ("d MMMM y | d MMMM y 'года' | EEEE, d MMMM y | EEEE, d MMMM y 'года' | d.M.y | dd.MM.yy | E, d MMMM y"),
    ),
    Language("uk", "Ukrainian", "d MMMM y | d MMMM y 'року' | EEEE, d MMMM y 'року' | d.M.y | E, d MMMM y"),
    Language(
        "el", "Greek", "o MMMM y | EEEE, o MMMM y | 'Την' o MMMM y | dd/MM/y | d-M-y | d.M.y", ordinal=first("1η")
    ),
    Language("hu", "Hungarian", "y. R. d. | y.MM.dd. | y.M.d. | y. M. d. | y-MM-dd | EEEE, y. MMMM d."),
    Language("fi", "Finnish", "E d. MMMM y | dd.MM.y | d.M.yy | d. M. y"),
    Language("et", "Estonian", "EEEE, d. MMMM y | d. MMMM y. 'a' | dd.MM.y | d.M.yy"),
    Language("lv", "Latvian", "d. MMMM y | EEEE, d. MMMM y | dd.MM.y. | dd.MM.y"),
    Language("lt", "Lithuanian", "y 'm'. MMMM d 'd'., E | EEEE, y 'm'. MMMM d 'd'. | y.MM.dd | y MM dd"),
    Language("tr", "Turkish", "EEEE, d MMMM y | d MMMM y, EEEE | d.M.y | dd/MM/y | d/M/y"),
    Language("ka", "Georgian", "d MMMM y | y 'წლის' d MMMM | EEEE, d MMMM, y | dd.MM.y", without="EEEE, dd MMMM, y"),
    Language("hy", "Armenian", "d MMMM y | d MMMM y թ. | y 'թվականի' MMMM d | EEEE, d MMMM, y թ. | d.M.y"),
    Language("he", "Hebrew", "EEEE d בMMMM y | d MMMM y | dd/MM/y | d/M/y | dd.MM.yy | E d.M.y"),
    Language("ar", "Arabic", "EEEE d MMMM y | d MMMM، y | d-M-y | y/M/d", numerals=("arabic",)),
    Language("fa", "Persian", "EEEE، d MMMM y | d MMMM، y | y/MM/dd", numerals=("persian",)),
    Language("ur", "Urdu", "d MMMM y | EEEE d MMMM y | y MMMM d | d-M-y", numerals=("persian",)),
    Language("hi", "Hindi", "d MMMM, y | EEEE d MMMM y | d-M-y | dd.MM.y", numerals=("devanagari",)),
    Language("bn", "Bengali", "d MMMM y | EEEE d MMMM y | d-M-y | dd/MM/y", numerals=("bengali",)),
    Language("ta", "Tamil", "d MMMM y | EEEE d MMMM y | d-M-y | dd-MM-y"),
    # Two digits of a Thai year are those of the Buddhist era.
    Language("th", "Thai", "'วันที่' d MMMM 'ค.ศ.' y | d MMM 'ค.ศ.' y | d-M-y", without="d/M/yy", numerals=("thai",)),
    Language(
        "vi",
        "Vietnamese",
        ("'ngày' d MMMM 'năm' y | EEEE, 'ngày' d MMMM 'năm' y | 'ngày' dd/MM/y | d MMMM 'năm' y | d-M-y | d.M.y"),
    ),
    Language("id", "Indonesian", "EEEE, d MMMM y | EEEE d MMMM y | 'tanggal' d MMMM y | dd/MM/y | d-M-y"),
    Language("sw", "Swahili", "'tarehe' d MMMM y | EEEE, 'tarehe' d MMMM y | EEEE d MMMM y | d-M-y"),
    Language(
        "zh-CN",
        "Chinese (China)",
        "y年M月d日（EEEE） | y.M.d | y-MM-dd | y年M月d日 EEEE",
        without="y/M/dE",
        numerals=("han",),
    ),
    Language("zh-TW", "Chinese (Taiwan)", "y年M月d日（EEEE） | y.M.d | y-MM-dd | y年M月d日（E）", numerals=("han",)),
    Language("ja", "Japanese", "y年M月d日（E） | y年MM月dd日 | y.M.d | yy/MM/dd | y-MM-dd", numerals=("wide", "han")),
    Language(
        "ko",
        "Korean",
        "y년 M월 d일 (E) | y년 M월 d일 | y년 M월 d일 EEEE | y.MM.dd | y.M.d | y-MM-dd | y.MM.dd(E)",
        without="y년 MMMM d일 EEEE | y년 MMMM d일 | y년 MMM d일 (E) | y년 MMM d일",
    ),
)

LANGUAGES: dict[str, Language] = {language.code: language for language in _ALL}
"""By code, such as `de` or `pt-BR`."""
