"""The words and characters that a model of sentences of words knows."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Self

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

    def encode(self, sentences: Sequence[Sequence[str]]) -> tuple[Rows, Rows | None, Rows | None]:
        """Sentences as numbers of words; if characters are read, also as numbers of forms (from 1), and the characters
        of each form, that of number 0 being empty."""
        forms = {word: number for number, word in enumerate(dict.fromkeys(chain.from_iterable(sentences)), start=1)}
        numbers = {word: self.find(word) for word in forms}
        words = Rows.of([[numbers[word] for word in sentence] for sentence in sentences])
        if self.settings.characters.kind == "none":
            return words, None, None
        rows = Rows.of([[forms[word] for word in sentence] for sentence in sentences])
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
