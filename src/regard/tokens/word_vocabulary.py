"""The words and characters that a model of sentences of words knows."""

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Self

import numpy as np

from regard.disk import parse_json, replace_file
from regard.errors import ModelError
from regard.recipe import WordTable
from regard.tokens.rows import Rows
from regard.tokens.vocabulary import UNKNOWN, Vocabulary

_FORMAT = 1


class WordVocabulary:
    """Numbers words, and the characters that they are spelled with.

    A word that is not known as written is looked up in lower case, as in tables of word vectors. The last `unseen`
    words come from such a table alone: the training text does not have them.
    """

    sources: tuple[int, ...] = ()
    """In a vocabulary that has grown: for each new word, the number of the word it was read as before."""

    def __init__(
        self, settings: WordTable, words: Sequence[str], characters: Sequence[str] = (), unseen: int = 0
    ) -> None:
        self.settings = settings
        self.unseen = unseen
        self.vocabulary = Vocabulary(words)
        self.characters = Vocabulary(characters)

    @classmethod
    def learn(cls, settings: WordTable, sentences: Iterable[Sequence[str]], others: Iterable[str] = ()) -> Self:
        """The frequent words of sentences, most frequent first, then `others` (those of word vectors)."""
        counts = Counter(chain.from_iterable(sentences))
        characters = sorted(set().union(*counts)) if settings.characters.kind != "none" else []
        if settings.lowercase:
            folded: Counter[str] = Counter()
            for word, count in counts.items():
                folded[word.lower()] += count
            counts, others = folded, (word for word in others if word == word.lower())
        rows = sorted((-count, word) for word, count in counts.items() if count >= settings.least)
        frequent = [word for _, word in rows]
        words = list(dict.fromkeys([*frequent, *others]))
        return cls(settings, words, characters, len(words) - len(frequent))

    def grown(self, sentences: Iterable[Sequence[str]]) -> Self:
        """A copy with the frequent words of more sentences, inserted before the `unseen` ones. No characters are
        added."""
        frequent = self.learn(self.settings, sentences).vocabulary.tokens
        new = [word for word in frequent if word not in self.vocabulary]
        tokens = self.vocabulary.tokens
        cut = len(tokens) - self.unseen
        grown = type(self)(self.settings, [*tokens[:cut], *new, *tokens[cut:]], self.characters.tokens, self.unseen)
        grown.sources = tuple(map(self.find, new))
        return grown

    @property
    def size(self) -> int:
        """Entries for words, special ones included."""
        return len(self.vocabulary)

    def find(self, word: str) -> int:
        """The number of a word, UNKNOWN if it has none."""
        found = UNKNOWN if self.settings.lowercase else self.vocabulary.find(word)
        return found if found != UNKNOWN else self.vocabulary.find(word.lower())

    def spelled(self, word: str) -> list[int]:
        """The numbers of a word's characters; of a long one, those of its beginning and its end."""
        longest = self.settings.characters.longest
        if len(word) > longest:
            word = word[: longest - longest // 2] + word[len(word) - longest // 2 :]
        return self.characters.find_all(word)

    def encode(self, sentences: Iterable[Sequence[str]]) -> tuple[Rows, Rows | None, Rows | None]:
        """Sentences as numbers of words; if characters are read, also as numbers of forms (from 1), and the characters
        of each form, that of number 0 being empty. No more than a few bytes are held of a word."""
        forms: dict[str, int] = {}
        numbers, bounds = array("i"), array("q", [0])
        for sentence in sentences:
            numbers.extend(forms.setdefault(word, len(forms) + 1) for word in sentence)
            bounds.append(len(numbers))
        rows = Rows(np.array(numbers, dtype=np.int32), np.array(bounds, dtype=np.int64))
        known = np.array([UNKNOWN, *map(self.find, forms)], dtype=np.int32)
        words = Rows(known[rows.values], rows.bounds)
        if self.settings.characters.kind == "none":
            return words, None, None
        return words, rows, Rows.of([[], *map(self.spelled, forms)])

    def save(self, path: Path) -> None:
        """Writes it as JSON, atomically; the settings are those of the recipe."""
        words, characters = self.vocabulary.tokens, self.characters.tokens
        content = {"format": _FORMAT, "words": words, "characters": characters, "unseen": self.unseen}
        replace_file(path, json.dumps(content, ensure_ascii=True, indent=0).encode())

    @classmethod
    def load(cls, settings: WordTable, path: Path) -> Self:
        """Loads what `save` wrote. Nothing in the file can run code."""
        try:
            content = parse_json(path.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise ModelError(
                    f"{path}: the format {content['format']!r} of these words is not known here; this version reads "
                    f"format {_FORMAT}"
                )
            unseen = content.get("unseen", 0)
            if not (isinstance(unseen, int) and 0 <= unseen <= len(content["words"])):
                raise ValueError(f"unseen is {unseen!r}, which is not a number of its words")
            return cls(settings, content["words"], content["characters"], unseen)
        except FileNotFoundError:
            raise ModelError(f"{path}: is missing; a model folder holds the words it was trained with") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"{path}: these words are damaged ({error}); restore the folder from a copy, or train again"
            ) from None
