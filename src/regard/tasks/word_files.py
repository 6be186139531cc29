"""The vocabulary files of models that read sentences of words, and the sources of their words."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from regard.checkpoint import ModelFolder
from regard.errors import ModelError, RegardError
from regard.recipe import AnyRecipe, Training, WordTable
from regard.tasks.tokenizer_files import covers, tokenizer_of_part
from regard.tokens.word_vocabulary import WordVocabulary

WORDS, TAGS, LABELS = "words.json", "tags.json", "labels.json"

PARTS = ("words.embedding", "words.characters")
"""Parts of a model that know its words."""


class ReadsWords(Protocol):
    """A recipe whose model reads words."""

    @property
    def words(self) -> WordTable: ...

    @property
    def train(self) -> Training: ...


def known_words(recipe: ReadsWords, folder: Path, sentences: Iterable[Sequence[str]]) -> WordVocabulary:
    """The words of the training text and of the vector file, or those of the resumed run, or of the model to start
    from; parts of a model learn the words of the training text too. `sentences` is iterated several times."""
    if ModelFolder(folder).is_begun:
        return WordVocabulary.load(recipe.words, folder / WORDS)
    start, whole = recipe.train.start, recipe.train.start_from
    if whole:
        return _words_of_model(recipe.words, Path(whole), "train.start_from")
    embedding, characters = (next((theirs for ours, theirs in start.pairs if covers(ours, part)), "") for part in PARTS)
    own = WordVocabulary.learn(recipe.words, sentences, () if embedding else _words_of_vectors(recipe.words))
    if not (embedding or characters):
        return own
    other = _words_of_part(recipe.words, Path(start.model), embedding or characters)
    known = other if embedding else own
    spelled = (other if characters else own).characters.tokens
    known = WordVocabulary(recipe.words, known.vocabulary.tokens, spelled, known.unseen)
    return known.grown(sentences) if embedding else known


def _words_of_model(settings: WordTable, folder: Path, setting: str) -> WordVocabulary:
    try:
        recipe = ModelFolder(folder).read_recipe(AnyRecipe)  # raises a readable error if there is no model
        theirs = getattr(recipe, "words", settings)
        if theirs.lowercase != settings.lowercase:
            looked_up = f"its words are looked up with words.lowercase = {str(theirs.lowercase).lower()}"
            raise ModelError(f"{folder}: {looked_up}; set it here too")
        return WordVocabulary.load(settings, folder / WORDS)
    except ModelError as error:
        raise ModelError(f"{setting}: {error}") from None


def _words_of_part(settings: WordTable, folder: Path, part: str) -> WordVocabulary:
    """The words that a part of another model knows: one that reads sentences of words, or a text as word tokens."""
    if (folder / WORDS).exists() or not folder.is_dir():
        return _words_of_model(settings, folder, "train.start")
    tokenizer = tokenizer_of_part(str(folder), part)
    if tokenizer.kind != "words":
        raise ModelError(
            f"train.start: {folder}: the part {part!r} reads tokens of kind {tokenizer.kind!r}, and words are "
            "needed here; leave the part out, or name a model with tokens.kind = 'words'"
        )
    return WordVocabulary(settings, tokenizer.vocabulary.tokens)


def _words_of_vectors(settings: WordTable) -> Sequence[str]:
    if not settings.vectors.file:
        return ()
    from regard.vectors import Vectors  # slow to import

    try:
        return Vectors.load(settings.vectors.file).words
    except RegardError as error:
        raise type(error)(f"words.vectors.file: {error}") from None
