"""Importing and exporting n-gram models as ARPA files."""

import warnings
from pathlib import Path

from regard.checkpoint import ModelFolder, Progress, weights_of
from regard.errors import ModelError, ModelWarning
from regard.models.ngram.generator import NgramLanguageModel
from regard.recipe import LanguageRecipe, parse_recipe
from regard.tasks import Writer
from regard.tasks.tokenizer_files import TOKENIZER
from regard.tokens import save_tokenizer
from regard.tokens.characters import Characters
from regard.tokens.kinds import TOKENIZERS
from regard.tokens.vocabulary import SPECIAL_NAMES
from regard.tokens.words import Words
from regard.train.ngram_run import save_counted


def export_arpa(writer: Writer, path: Path) -> int:
    """Writes an n-gram model as an ARPA file, compressed if its name ends in `.gz`; returns its number of n-grams."""
    # Imported here, because numba takes a second to load.
    from regard.models.ngram.arpa_writing import arpa_words, write_arpa

    if not isinstance(writer.model, NgramLanguageModel):
        raise ModelError(
            f"an ARPA file holds n-grams, but this model is of kind {writer.recipe.model.kind!r}; name a model of kind "
            "'ngram'"
        )
    table, tokens = writer.model.table, tuple(writer.tokenizer.vocabulary)
    words = arpa_words(tokens)
    write_arpa(table, words, path)
    for token, word in zip(tokens[len(SPECIAL_NAMES) :], words[len(SPECIAL_NAMES) :], strict=True):
        if token in SPECIAL_NAMES:
            _warn(f"{path}: {token!r} is a word of this model's text, not an unknown one, and written as {word!r}")
    kind = writer.tokenizer.kind
    if kind != Words.kind:
        back = "" if kind == Characters.kind else ", and read back it is a model of words"
        _warn(
            f"{path}: this model is of {kind}, which an ARPA file does not say{back}; other programs must be given "
            "text split as this model splits it, white space as ▁"
        )
    return int(table.bounds[-1])


def _warn(message: str) -> None:
    warnings.warn(message, ModelWarning, stacklevel=3)


def import_arpa(path: Path, out: Path) -> int:
    """Turns an ARPA file into a model folder, whose recipe names it as the training text; returns its number of
    n-grams. The model is one of characters if all words are single characters, one of them white space; else of words.
    """
    from regard.models.ngram.arpa_reading import read_arpa
    from regard.models.ngram.arpa_writing import arpa_tokens

    folder = ModelFolder(out)
    folder.check_may_train(resume=False)
    arpa = read_arpa(path)
    size, (kind, tokens) = len(arpa.words), arpa_tokens(arpa.words[len(SPECIAL_NAMES) :])
    recipe = parse_recipe(
        {
            "task": "language",
            "data": {"train": [str(path.absolute())], "context": "lines"},
            "tokens": {"kind": kind, "size": size},
            "model": {"kind": "ngram", "order": arpa.table.order},
            "train": {"steps": 1},
        },
        str(path),
        kind=LanguageRecipe,
    )
    with folder.locked():
        save_tokenizer(TOKENIZERS[kind].from_state(recipe.tokens, {"tokens": tokens}), out / TOKENIZER)
        save_counted(folder, weights_of(NgramLanguageModel(arpa.table)), Progress(step=1))
        folder.write_recipe(recipe)
    return int(arpa.table.bounds[-1])
