"""Texts as they are given in Python: what is none is refused in words, before anything is done with it."""

from collections.abc import Iterable, Sized

from regard.errors import UsageError


def check_texts(name: str, given: object, what: str = "a list of texts") -> None:
    """Refuses what is no list of texts; a single one would be read as a list of letters."""
    if isinstance(given, str):
        raise UsageError(f"{name} = {given!r:.60} is a single text, but {what} is needed; put brackets around it")
    if not isinstance(given, Sized) or not isinstance(given, Iterable):
        raise UsageError(f"{name} is of type {type(given).__name__}, but {what} is needed")
    for place, text in enumerate(given):
        if not isinstance(text, str):
            said = f"{name}[{place}] = {text!r:.60} is of type {type(text).__name__}"
            raise UsageError(f"{said}, but {what} is needed")


def check_terms(given: object) -> None:
    """Refuses what is no list of terms for each of several texts."""
    what = "a list of terms for each text, such as [['house', 'red'], []],"
    if isinstance(given, str) or not isinstance(given, Sized) or not isinstance(given, Iterable):
        raise UsageError(f"terms = {given!r:.60}, but {what} is needed")
    for place, terms in enumerate(given):
        check_texts(f"terms[{place}]", terms, what)


def check_not_empty(name: str, text: str) -> None:
    """Refuses a text to look at that has no word."""
    if not text.strip():
        raise UsageError(f"the {name} is empty: there is nothing to look at; give at least one word")
