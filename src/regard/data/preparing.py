"""From the corpus a recipe names to token pairs on disk: checked, cleaned as the settings say, tokenized, counted."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import compress
from pathlib import Path

import numpy as np

from regard.data.cache import (
    Side,
    TextPairs,
    TokenPairs,
    digest_of,
    digest_of_file,
    is_whole,
    new_folder,
    passing_folder,
    seal,
    sweep,
    write_texts,
)
from regard.data.check import PLACES, check_corpora, over_long
from regard.data.corpora import FileExamples, load_corpus, place, records
from regard.data.examples import Corpora, Examples, Pair
from regard.data.reading import Record
from regard.data.report import Report
from regard.data.tokenizing import Tally, Tokenizers, tokenize
from regard.errors import DataError, counted, one_of
from regard.recipe import Tokenizer as Settings
from regard.recipe import Tokens, TranslationRecipe, parse_recipe
from regard.tokens import Tokenizer, load_tokenizer, save_tokenizer, train_tokenizer

_FORMAT = 1
"""To be raised when the content of the cache changes, so that old ones are not taken for it."""

_FILES = {"train", "dev", "test"}
_NAMES = ("source", "target")

OnProgress = Callable[[str, int], None]
"""Told what is being done, and how many texts it was done to so far."""


@dataclass(frozen=True)
class Prepared:
    """Everything a run needs to know of its corpus."""

    train: TokenPairs
    """Training pairs as they are trained on, ready for `PairBatches`."""
    corpora: Corpora
    """The corpus as it was given; development and test pairs are never dropped or cut."""
    tokenizers: Tokenizers
    report: Report
    """What was found and done, to be shown before training starts."""
    fingerprint: str
    """A name for the data and the settings they were prepared with: as long as it is the same, so are the batches."""
    recipe: TranslationRecipe
    """As it was given, but with the settings of given tokenizers where these are others."""
    cache: Path
    """The folder that holds the token pairs."""


def prepare(
    recipe: TranslationRecipe,
    folder: Path,
    tokenizers: Tokenizers | None = None,
    on_progress: OnProgress = lambda what, count: None,
) -> Prepared:
    """Checks the corpus of a recipe, trains tokenizers unless they are given, and writes tokens into a cache.

    The cache is a folder inside `folder`, named after everything that its content depends on, and is used again when
    nothing of that has changed. DataError for what the settings refuse. Several processes may call this at once.
    Given tokenizers keep what they learned; BPE dropout is what the recipe says.
    """
    if tokenizers is not None:
        _refuse_other_tags(recipe.data.tags, tokenizers[0].vocabulary.tags)
        tokenizers = _with_dropout(recipe, tokenizers)
        recipe = _stating(recipe, tokenizers)
    corpora = load_corpus(recipe.data, recipe.seed)
    try:
        sweep(folder)
        with _made(corpora, folder) as made:
            fingerprint = _fingerprint(recipe, made, tokenizers)
            # The report in the cache names files, so that files which moved are prepared anew, though the batches are
            # the same.
            cache = folder / digest_of([fingerprint, recipe.data.model_dump(include=_FILES)])
            if not is_whole(cache):
                shutil.rmtree(cache, ignore_errors=True)
                with new_folder(cache) as unfinished:
                    _build(unfinished, recipe, made, tokenizers, on_progress)
        report = Report.from_json(json.loads((cache / "report.json").read_text(encoding="utf-8")))
        tokenizers = tokenizers or _load_tokenizers(cache, recipe)
        return Prepared(TokenPairs(cache), corpora, tokenizers, report, fingerprint, recipe, cache)
    except OSError as error:
        what = "the data cache cannot be written or read"
        raise DataError(f"{folder}: {what}: {error.strerror}; make room there, or choose another folder") from None


class _Written:
    """Pairs read from where they were written, any number of times."""

    def __init__(self, texts: TextPairs) -> None:
        self._texts = texts

    def __iter__(self) -> Iterator[Pair]:
        return (Pair(source, target) for source, target in self._texts)


@contextmanager
def _made(corpora: Corpora, folder: Path) -> Iterator[Corpora]:
    """Generated training text made once and kept on disk for the time of the block: it is gone through several times,
    making it costs more than reading it, and there may be more of it than memory."""
    if isinstance(corpora.train, FileExamples):
        yield corpora
        return
    with passing_folder(folder / "generated") as place:
        write_texts(place, ((pair.source, pair.target) for pair in corpora.train))
        yield Corpora(_Written(TextPairs(place)), tuple(corpora.dev), tuple(corpora.test))


def _stating(recipe: TranslationRecipe, tokenizers: Tokenizers) -> TranslationRecipe:
    """The recipe with the settings of given tokenizers, so that it tells the truth about the run."""
    source, target = (one.settings for one in tokenizers)
    shared = tokenizers[0] is tokenizers[1]
    tokens = Tokens(source=source, shared=True) if shared else Tokens(source=source, target=target)
    if tokens == recipe.tokens:
        return recipe
    tables = recipe.model_dump() | {"tokens": tokens.model_dump()}
    return parse_recipe(tables, "[tokens] of the model to start from", kind=TranslationRecipe)


def _with_dropout(recipe: TranslationRecipe, tokenizers: Tokenizers) -> Tokenizers:
    source, target = tokenizers
    changed = _dropping(source, recipe.tokens.source)
    if target is source:
        return changed, changed
    return changed, _dropping(target, recipe.tokens.source if recipe.tokens.shared else recipe.tokens.target)


def _dropping(tokenizer: Tokenizer, settings: Settings) -> Tokenizer:
    if tokenizer.kind != settings.kind or tokenizer.settings.dropout == settings.dropout:
        return tokenizer
    dropout = {"dropout": settings.dropout}
    changed = type(tokenizer).from_state(tokenizer.settings.model_copy(update=dropout), tokenizer.state())
    return changed.with_tags(tokenizer.vocabulary.tags)


def _fingerprint(recipe: TranslationRecipe, corpora: Corpora, tokenizers: Tokenizers | None) -> str:
    """A name for everything that batches depend on: settings, the content of all text, and given tokenizers."""
    given = tokenizers or ()
    learned = [[one.settings.model_dump(), one.state(), *one.vocabulary.tags] for one in given] or None
    facts = [_FORMAT, recipe.data.model_dump(exclude=_FILES), recipe.tokens.model_dump()]
    facts += [recipe.train.batch_tokens, learned]
    facts += [_digest(examples) for examples in (corpora.train, corpora.dev, corpora.test)]
    return digest_of(facts)


def _digest(examples: Examples) -> list[str]:
    if isinstance(examples, FileExamples):
        return [digest_of_file(file.path) for file in examples.files.files]
    digest = sha256()
    for pair in examples:
        digest.update(json.dumps([pair.source, pair.target]).encode())
    return [digest.hexdigest()]


def _build(
    folder: Path, recipe: TranslationRecipe, corpora: Corpora, tokenizers: Tokenizers | None, on_progress: OnProgress
) -> None:
    checked = check_corpora(corpora, recipe.data, recipe.tokens)
    checked.report.raise_if_refused()
    kept = ~checked.dropped
    tags: list[str] = []
    write_texts(folder, _noting_tags(compress(records(corpora.train), kept), tags))
    texts = TextPairs(folder)
    _refuse_nothing(len(texts), checked.report)
    if tokenizers is None:
        tokenizers = _tagged(_train_tokenizers(recipe, texts, on_progress), recipe.data.tags)
        for name, tokenizer in zip(_NAMES, tokenizers, strict=True):
            save_tokenizer(tokenizer, folder / f"{name}.json")
    longest, remedy = recipe.data.longest, recipe.data.over_long
    before = [tokenizers[0].vocabulary.tag(tag) for tag in tags]
    tally = tokenize(folder, texts, tokenizers, longest, remedy, lambda count: on_progress("tokenizing", count), before)
    lines = np.flatnonzero(kept) + 1
    places = tuple(place(corpora.train, int(lines[index])) for index in tally.over_long[:PLACES])
    found = [over_long(recipe.data, len(tally.over_long), places)] if tally.over_long else []
    report = checked.report.extended(found)
    report.raise_if_refused()
    _refuse_nothing(tally.pairs, report)
    report = report.extended(notes=_notes(folder, recipe, tokenizers, tally))
    (folder / "report.json").write_text(json.dumps(report.as_json()), encoding="utf-8")
    seal(folder)


def _noting_tags(some: Iterator[Record], tags: list[str]) -> Iterator[tuple[str, str]]:
    """The texts of pairs; their tags, if they have any, are put into the list."""
    for record in some:
        tags += [record.tag] if record.tag else []
        yield record.source, record.target


def _tagged(tokenizers: Tokenizers, tags: Sequence[str]) -> Tokenizers:
    """Tokenizers that know the tags: that of the source, and if it is the same, that of the target."""
    source, target = tokenizers
    tagged = source.with_tags(list(dict.fromkeys(tags)))
    return tagged, tagged if source is target else target


def _refuse_other_tags(tags: Sequence[str], known: Sequence[str]) -> None:
    for tag in tags:
        if tag not in known:
            there = one_of(known, tag) or "none"
            raise DataError(f"data.tags: {tag!r} is not a tag of the model to start from; its tags are {there}")


def _refuse_nothing(pairs: int, report: Report) -> None:
    if not pairs:
        raise DataError("\n".join([*report.lines(), "train: no pair is left to train on; change what is dropped"]))


def _train_tokenizers(recipe: TranslationRecipe, texts: TextPairs, on_progress: OnProgress) -> Tokenizers:
    tokens = recipe.tokens
    if tokens.shared:
        both = train_tokenizer(tokens.source, Side(texts, 0, 1), lambda count: on_progress("learning tokens", count))
        return both, both
    source = train_tokenizer(tokens.source, Side(texts, 0), lambda count: on_progress("learning source tokens", count))
    target = train_tokenizer(tokens.target, Side(texts, 1), lambda count: on_progress("learning target tokens", count))
    return source, target


def _load_tokenizers(cache: Path, recipe: TranslationRecipe) -> Tokenizers:
    source = load_tokenizer(cache / "source.json")
    return source, source if recipe.tokens.shared else load_tokenizer(cache / "target.json")


def _notes(folder: Path, recipe: TranslationRecipe, tokenizers: Tokenizers, tally: Tally) -> list[str]:
    notes = [f"train: {counted(tally.pairs, 'pair')} to train on"]
    for name, one, tokens, unknown in zip(_NAMES, tokenizers, tally.tokens, tally.unknown, strict=True):
        share = f"{unknown:,} of them unknown ({unknown / max(1, tokens):.2%})" if unknown else "none of them unknown"
        notes.append(f"{name}: a vocabulary of {one.size:,} ({one.kind}); {counted(tokens, 'token')}, {share}")
    # Lengths count END too.
    alone = int((TokenPairs(folder).lengths.max(axis=1) + 1 > recipe.train.batch_tokens).sum())
    if alone:
        budget = f"train.batch_tokens = {recipe.train.batch_tokens:,}"
        pairs = "pair is" if alone == 1 else "pairs are"
        notes.append(f"train: {alone:,} {pairs} longer than {budget}; each is a batch by itself")
    return notes
