"""All styles of some languages together, and what a text means among them."""

from collections.abc import Sequence
from typing import Literal

from regard.data.dates.fields import shape
from regard.data.dates.form import Day, Form
from regard.data.dates.languages import Language
from regard.data.dates.styles import Style, styles_of

Reading = Literal["plain", "tagged", "ambiguous"]


class Grammar:
    """The union of the languages' styles. A text is ambiguous if two of them read different dates from it."""

    def __init__(self, languages: Sequence[Language]) -> None:
        self.languages = tuple(languages)
        self.styles: dict[str, tuple[Style, ...]] = {language.code: styles_of(language) for language in self.languages}
        writers: dict[Form, set[str]] = {}
        for code, styles in self.styles.items():
            for style in styles:
                writers.setdefault(style.form, set()).add(code)
        self._forms: dict[str, list[tuple[Form, set[str]]]] = {}
        for form, codes in writers.items():
            for key in form.shapes():
                self._forms.setdefault(key, []).append((form, codes))

    def read(self, text: str) -> dict[Day, set[str]]:
        """Every date that the text can mean, each with the languages that read it so."""
        dates: dict[Day, set[str]] = {}
        for form, codes in self._forms.get(shape(text), ()):
            for date in form.read(text):
                dates[date] = dates[date] | codes if date in dates else codes
        return dates

    def reading(self, text: str, language: Language) -> Reading:
        """Whether a text is unambiguous by itself, only given its language, or not even then."""
        dates = self.read(text)
        if len(dates) == 1:
            return "plain"
        return "tagged" if sum(language.code in codes for codes in dates.values()) == 1 else "ambiguous"
