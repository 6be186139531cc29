"""Importing and exporting n-gram models as ARPA files."""

from pathlib import Path

from regard.checkpoint import ModelFolder, Progress, weights_of
from regard.errors import ModelError
from regard.models.ngram.generator import NgramLanguageModel
from regard.recipe import LanguageRecipe, parse_recipe
from regard.tasks import Writer
from regard.tasks.tokenizer_files import TOKENIZER
from regard.tokens import save_tokenizer
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
    table = writer.model.table
    write_arpa(table, arpa_words(tuple(writer.tokenizer.vocabulary)), path)
    return int(table.bounds[-1])


def import_arpa(path: Path, out: Path) -> int:
    """Turns an ARPA file into a model folder, whose recipe names it as the training text; returns its number of
    n-grams."""
    from regard.models.ngram.arpa_reading import read_arpa

    folder = ModelFolder(out)
    folder.check_may_train(resume=False)
    arpa = read_arpa(path)
    size = len(arpa.words)
    recipe = parse_recipe(
        {
            "task": "language",
            "data": {"train": [str(path.absolute())], "context": "lines"},
            "tokens": {"kind": "words", "size": size},
            "model": {"kind": "ngram", "order": arpa.table.order},
            "train": {"steps": 1},
        },
        str(path),
        kind=LanguageRecipe,
    )
    with folder.locked():
        tokenizer = Words.from_state(recipe.tokens, {"tokens": arpa.words[len(SPECIAL_NAMES) :]})
        save_tokenizer(tokenizer, out / TOKENIZER)
        save_counted(folder, weights_of(NgramLanguageModel(arpa.table)), Progress(step=1))
        folder.write_recipe(recipe)
    return int(arpa.table.bounds[-1])
