"""Validates texts passed from Python before any work is done."""

from collections.abc import Iterable, Sequence, Sized

from regard.errors import UsageError
from regard.inspect.watch import LONGEST

_ENDS = frozenset("\t\n\r")
"""Characters that end a word or a line in files, so that no word can contain them."""


def check_texts(name: str, given: object, what: str = "a list of texts") -> None:
    """Refuses anything but a list of texts; a single text would be read as a list of letters."""
    if isinstance(given, str):
        raise UsageError(f"{name} = {given!r:.60} is a single text, but {what} is needed; put brackets around it")
    if not isinstance(given, Sized) or not isinstance(given, Iterable):
        raise UsageError(f"{name} is of type {type(given).__name__}, but {what} is needed")
    for place, text in enumerate(given):
        if not isinstance(text, str):
            said = f"{name}[{place}] = {text!r:.60} is of type {type(text).__name__}"
            raise UsageError(f"{said}, but {what} is needed")


def check_terms(given: object) -> None:
    """Refuses anything but a list of terms for each text."""
    what = "a list of terms for each text, such as [['house', 'red'], []],"
    if isinstance(given, str) or not isinstance(given, Sized) or not isinstance(given, Iterable):
        raise UsageError(f"terms = {given!r:.60}, but {what} is needed")
    for place, terms in enumerate(given):
        check_texts(f"terms[{place}]", terms, what)


def check_not_empty(name: str, text: str) -> None:
    """Refuses a text to inspect that has no words."""
    if not text.strip():
        raise UsageError(f"the {name} is empty: there is nothing to look at; give at least one word")


def words_of(name: str, sentences: Sequence[str] | Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The words of sentences, each a text with blanks between its words, or a list of words."""
    what = f"a list of {name}, each a text or a list of words,"
    if isinstance(sentences, str) or not isinstance(sentences, Sequence):
        check_texts(name, sentences, what)
    for place, sentence in enumerate(sentences):
        check_texts(f"{name}[{place}]", [sentence] if isinstance(sentence, str) else sentence, what)
        wrong = [] if isinstance(sentence, str) else [word for word in sentence if not word or set(word) & _ENDS]
        if wrong:
            raise UsageError(
                f"{name}[{place}]: {wrong[0]!r} is not a word; a word has no tab or line end and is not empty"
            )
    return [tuple(each.split()) if isinstance(each, str) else tuple(each) for each in sentences]


def words_to_look_at(reader: str, noun: str, texts: Sequence[str]) -> tuple[str, ...]:
    """The words of the one text to inspect by a model of this name."""
    check_texts("texts", texts)
    if len(texts) != 1:
        raise UsageError(f"{reader} reads a single {noun}, not {len(texts)}; put it between one pair of quotes")
    check_not_empty(noun, texts[0])
    words = tuple(texts[0].split())
    if len(words) > LONGEST:
        raise UsageError(f"a {noun} of {len(words):,} words is too long to look at; give one of at most {LONGEST}")
    return words


def check_pair_up(sources: Sequence[str], targets: Sequence[str]) -> None:
    check_texts("sources", sources)
    check_texts("targets", targets)
    if len(sources) != len(targets):
        raise UsageError(f"{len(sources)} sources and {len(targets)} targets do not pair up; give as many of each")
