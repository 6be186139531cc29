"""The words of a source as target tokens, so that a model can copy them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regard.tokens import UNKNOWN, Tokenizer


@dataclass(frozen=True)
class Copied:
    """The tokens of a source as words of the target."""

    words: list[int]
    """Each token's index in the target vocabulary of V tokens, or V + its index in `beyond`."""
    beyond: tuple[str, ...]
    """The distinct source words that are not in the target vocabulary, in order."""


class Copying:
    """Translates between the tokens of a source and those of its target, where these are the same text.

    A token in both vocabularies maps to its index in the other. Words outside the target's vocabulary, above all those
    unknown on both sides, get an index per source.
    """

    def __init__(self, source: Tokenizer, target: Tokenizer) -> None:
        self._source, self._target = source, target
        self._size = target.size
        known, texts = target.vocabulary.find, source.vocabulary.tokens
        tags = [UNKNOWN] * len(source.vocabulary.tags)
        special = range(source.size - len(texts) - len(tags))
        numbers = range(len(special), len(special) + len(texts)) if source is target else map(known, texts)
        self._table = [*special, *numbers, *tags]

    def copied(self, tokens: Sequence[int], text: str) -> Copied:
        """The words of a source, given its tokens and its text."""
        words = [self._table[token] for token in tokens]
        if UNKNOWN not in words:
            return Copied(words, ())
        slots: dict[str, int] = {}
        names = _names(self._source, tokens, text)
        for place, (word, name) in enumerate(zip(words, names, strict=True)):
            if word == UNKNOWN and name and not self._source.vocabulary.is_tag(tokens[place]):
                # A token unknown to the source vocabulary may be known to that of the target.
                found = self._target.vocabulary.find(name)
                words[place] = found if found != UNKNOWN else slots.setdefault(name, self._size + len(slots))
        return Copied(words, tuple(slots))

    def target(self, tokens: Sequence[int], text: str, beyond: Sequence[str]) -> list[int]:
        """The tokens of a target; unknown ones that occur in the source get their index there."""
        if not beyond or UNKNOWN not in tokens:
            return list(tokens)
        slots = {name: self._size + place for place, name in enumerate(beyond)}
        names = _names(self._target, tokens, text)
        both = zip(tokens, names, strict=True)
        return [slots.get(name, token) if token == UNKNOWN else token for token, name in both]

    def copied_all(self, sources: Sequence[Sequence[int]], texts: Sequence[str]) -> list[Copied]:
        """The words of each source."""
        return [self.copied(tokens, text) for tokens, text in zip(sources, texts, strict=True)]

    def both(
        self, sources: Iterable[Sequence[int]], targets: Iterable[Sequence[int]], texts: Iterable[tuple[str, str]]
    ) -> tuple[list[list[int]], list[list[int]]]:
        """For pairs: the words of each source, and the tokens of each target."""
        words, wanted = [], []
        for source, target, (source_text, target_text) in zip(sources, targets, texts, strict=True):
            found = self.copied(source, source_text)
            words.append(found.words)
            wanted.append(self.target(target, target_text, found.beyond))
        return words, wanted


def with_new_words(tokenizer: Tokenizer, text: str, beyond: list[str], *, within: bool = False) -> list[int]:
    """The tokens of a target text with unknown words numbered: a word outside the vocabulary of V tokens is V + its
    index in `beyond`, to which new words are appended. `within` is for text with no space before it."""
    tokens = tokenizer.encode_within(text) if within else tokenizer.encode(text)
    for place, name in enumerate(_names(tokenizer, tokens, text)):
        if tokens[place] == UNKNOWN and name:
            beyond += [] if name in beyond else [name]
            tokens[place] = tokenizer.size + beyond.index(name)
    return tokens


def _names(tokenizer: Tokenizer, tokens: Sequence[int], text: str) -> list[str]:
    """The text of each token; empty where it is not known.

    However subwords are sampled, the same characters are unknown, in the same order.
    """
    unknown = iter(tokenizer.unknown(text))
    return [next(unknown, "") if token == UNKNOWN else tokenizer.vocabulary[token] for token in tokens]


def words_in(copied: Sequence[Copied] | None) -> list[list[int]] | None:
    """The words of each source, if any are copied at all."""
    return None if copied is None else [each.words for each in copied]
