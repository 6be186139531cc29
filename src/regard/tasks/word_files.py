"""Where models that read sentences of words keep what they know, and where it comes from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from regard.checkpoint import ModelFolder
from regard.errors import ModelError, RegardError
from regard.recipe import Training, WordTable
from regard.tasks.loading import task_of
from regard.tasks.tokenizer_files import covers, tokenizer_of_part
from regard.tokens.word_vocabulary import WordVocabulary

WORDS, TAGS = "words.json", "tags.json"

PARTS = ("words.embedding", "words.characters")
"""Parts of a model that know its words."""


class ReadsWords(Protocol):
    """A recipe whose model reads words."""

    @property
    def words(self) -> WordTable: ...

    @property
    def train(self) -> Training: ...


def known_words(recipe: ReadsWords, folder: Path, sentences: Sequence[Sequence[str]]) -> WordVocabulary:
    """The words of the training text and of the vector file; or those of the model to start from, or of the run that
    goes on."""
    if ModelFolder(folder).is_begun:
        return WordVocabulary.load(recipe.words, folder / WORDS)
    start, whole = recipe.train.start, recipe.train.start_from
    theirs = [part for ours, part in start.pairs if any(covers(ours, each) for each in PARTS)]
    if not (whole or theirs):
        return WordVocabulary.learn(recipe.words, sentences, _words_of_vectors(recipe.words))
    other = Path(whole or start.model)
    try:
        task_of(other)  # says in words if there is no model
        if whole or (other / WORDS).exists():
            return WordVocabulary.load(recipe.words, other / WORDS)
    except ModelError as error:
        raise ModelError(f"train.{'start_from' if whole else 'start'}: {error}") from None
    tokenizer = tokenizer_of_part(start.model, theirs[0])
    if tokenizer.kind != "words":
        raise ModelError(
            f"train.start: {other}: the part {theirs[0]!r} reads tokens of kind {tokenizer.kind!r}, and words are "
            "needed here; leave the part out, or name a model with tokens.kind = 'words'"
        )
    characters = WordVocabulary.learn(recipe.words, sentences).characters.tokens
    return WordVocabulary(recipe.words, tokenizer.vocabulary.tokens, characters)


def _words_of_vectors(settings: WordTable) -> Sequence[str]:
    if not settings.vectors.file:
        return ()
    from regard.vectors import Vectors  # takes long to import

    try:
        return Vectors.load(settings.vectors.file).words
    except RegardError as error:
        raise type(error)(f"words.vectors.file: {error}") from None
