"""Text without spaces that would be split into words at spaces."""

from collections.abc import Iterable
from itertools import islice

from regard.data.report import Finding
from regard.tokens.segmentation import has_no_blanks, main_script

LOOKED_AT = 1000
"""Number of texts, from the beginning, that are checked."""


def find_unspaced(texts: Iterable[str], kind: str, setting: str) -> tuple[Finding, ...]:
    """A finding if most texts have no spaces between words, but `kind`, the value of `setting`, needs them."""
    language = _without_blanks(texts) if kind == "words" else ""
    what = (
        f'the text is {language} without blanks, but {setting} = "words" splits at blanks, so that whole '
        'sentences are words; set it to "bpe", "unigram" or "characters", or put blanks between the words'
    )
    return (Finding("unspaced", "train", 0, what, "kept"),) if language else ()


def find_unspaced_words(texts: Iterable[str]) -> tuple[Finding, ...]:
    """The same where vectors of words are learned."""
    language = _without_blanks(texts)
    what = (
        f"the text is {language} without blanks, so that whole phrases are taken for words; put blanks between the "
        "words first, by a segmenter"
    )
    return (Finding("unspaced", "train", 0, what, "kept"),) if language else ()


def _without_blanks(texts: Iterable[str]) -> str:
    """The language or script of most texts, if they have no spaces between words."""
    some = list(islice(texts, LOOKED_AT))
    script = main_script(some)
    if not script or 2 * sum(map(has_no_blanks, some)) < len(some):
        return ""
    return {"kana": "Japanese", "Han": "Chinese"}.get(script, script)
