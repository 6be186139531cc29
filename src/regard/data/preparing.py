"""Prepares the corpus of a recipe as token pairs on disk: checked, cleaned as the settings say, tokenized, counted."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
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
from regard.data.pair_files import Record
from regard.data.report import Report
from regard.data.sides import Languages, read_languages, write_languages
from regard.data.tokenizing import Tally, Tokenizers, tokenize
from regard.disk import parse_json
from regard.errors import DataError, counted, one_of
from regard.recipe import TokenizerSettings, Tokens, TranslationRecipe, parse_recipe
from regard.tokens import Tokenizer, load_tokenizer, save_tokenizer, train_tokenizer

_FORMAT = 1
"""Raised when the content of the cache changes, so that old caches are not reused."""

_FILES = {"train", "dev", "test"}
_NAMES = ("source", "target")

GivenTokenizers = tuple[Tokenizer | None, Tokenizer | None]
"""Tokenizers of source and target from another model."""

OnProgress = Callable[[str, int], None]
"""Called with the current activity and the number of texts done so far."""


@dataclass(frozen=True)
class PreparedPairs:
    """Everything a run needs to know of its corpus."""

    train: TokenPairs
    """Training pairs as they are trained on, ready for `PairBatches`."""
    corpora: Corpora
    """The corpus as it was given; development and test pairs are never dropped or cut."""
    tokenizers: Tokenizers
    report: Report
    """Findings and what was done about them, shown before training starts."""
    fingerprint: str
    """Identifies the data and their settings: equal fingerprints mean equal batches."""
    recipe: TranslationRecipe
    """The recipe, with the settings of the given tokenizers."""
    cache: Path
    """The folder that holds the token pairs."""
    languages: dict[str, Languages]
    """The languages of the training text, by tag, if it is from files and long enough."""


def prepare(
    recipe: TranslationRecipe,
    folder: Path,
    given: GivenTokenizers = (None, None),
    on_progress: OnProgress = lambda what, count: None,
) -> PreparedPairs:
    """Checks the corpus of a recipe, trains the tokenizers that are not given, and writes tokens into a cache.

    The cache is a folder inside `folder`, named after a hash of everything that its content depends on, and is reused
    while that is unchanged. Raises DataError for what the settings refuse. Several processes may call this at once.
    Given tokenizers are not retrained; BPE dropout follows the recipe.
    """
    if given[0] is not None:
        _refuse_other_tags(recipe.data.tags, given[0].vocabulary.tags)
    given = _with_dropout(recipe, given)
    recipe = _stating(recipe, given)
    corpora = load_corpus(recipe.data, recipe.seed)
    try:
        sweep(folder)
        with _made(corpora, folder) as made:
            fingerprint = _fingerprint(recipe, made, given)
            # The report in the cache has file names, so moved files are prepared again, though the batches are equal.
            cache = folder / digest_of([fingerprint, recipe.data.model_dump(include=_FILES)])
            if not is_whole(cache):
                shutil.rmtree(cache, ignore_errors=True)
                with new_folder(cache) as unfinished:
                    _build(unfinished, recipe, made, given, on_progress)
        report = Report.from_json(parse_json((cache / "report.json").read_text(encoding="utf-8")))
        tokenizers = _whole(given) or _load_tokenizers(cache, recipe)
        languages = read_languages(cache)
        return PreparedPairs(TokenPairs(cache), corpora, tokenizers, report, fingerprint, recipe, cache, languages)
    except OSError as error:
        what = "the data cache cannot be written or read"
        raise DataError(f"{folder}: {what}: {error.strerror}; make room there, or choose another folder") from None


class _Written:
    """Pairs read back from disk, any number of times."""

    def __init__(self, texts: TextPairs) -> None:
        self._texts = texts

    def __iter__(self) -> Iterator[Pair]:
        return (Pair(source, target) for source, target in self._texts)


@contextmanager
def _made(corpora: Corpora, folder: Path) -> Iterator[Corpora]:
    """Corpora whose generated training text is on disk during the block: it is iterated several times, generating it is
    slower than reading it, and it may not fit into memory."""
    if isinstance(corpora.train, FileExamples):
        yield corpora
        return
    with passing_folder(folder / "generated") as place:
        write_texts(place, ((pair.source, pair.target) for pair in corpora.train))
        yield Corpora(_Written(TextPairs(place)), tuple(corpora.dev), tuple(corpora.test))


def _whole(given: GivenTokenizers) -> Tokenizers | None:
    """The tokenizers of both sides, if both are given."""
    source, target = given
    return None if source is None or target is None else (source, target)


def _stating(recipe: TranslationRecipe, given: GivenTokenizers) -> TranslationRecipe:
    """The recipe with the settings of the given tokenizers, so that it describes the run."""
    source, target = given
    own = recipe.tokens.source, recipe.tokens.target
    stated = [each if one is None else one.settings for one, each in zip(given, own, strict=True)]
    shared = source is target if source or target else recipe.tokens.shared
    tokens = Tokens(source=stated[0], shared=True) if shared else Tokens(source=stated[0], target=stated[1])
    if tokens == recipe.tokens or not (source or target):
        return recipe
    tables = recipe.model_dump() | {"tokens": tokens.model_dump()}
    return parse_recipe(tables, "[tokens] of the model to start from", kind=TranslationRecipe)


def _with_dropout(recipe: TranslationRecipe, given: GivenTokenizers) -> GivenTokenizers:
    source, target = given
    changed = source and _dropping(source, recipe.tokens.source)
    if target is source:
        return changed, changed
    return changed, target and _dropping(target, recipe.tokens.source if recipe.tokens.shared else recipe.tokens.target)


def _dropping(tokenizer: Tokenizer, settings: TokenizerSettings) -> Tokenizer:
    if tokenizer.kind != settings.kind or tokenizer.settings.dropout == settings.dropout:
        return tokenizer
    dropout = {"dropout": settings.dropout}
    changed = type(tokenizer).from_state(tokenizer.settings.model_copy(update=dropout), tokenizer.state())
    return changed.with_tags(tokenizer.vocabulary.tags)


def _fingerprint(recipe: TranslationRecipe, corpora: Corpora, given: GivenTokenizers) -> str:
    """A hash of everything that batches depend on: settings, the content of all text, and given tokenizers."""
    states = [one and [one.settings.model_dump(), one.state(), *one.vocabulary.tags] for one in given]
    learned = states if any(states) else None
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
    folder: Path, recipe: TranslationRecipe, corpora: Corpora, given: GivenTokenizers, on_progress: OnProgress
) -> None:
    checked = check_corpora(corpora, recipe.data, recipe.tokens)
    checked.report.raise_if_refused()
    kept = ~checked.dropped
    tags: list[str] = []
    write_texts(folder, _noting_tags(compress(records(corpora.train), kept), tags))
    texts = TextPairs(folder)
    _refuse_nothing(len(texts), checked.report)
    tokenizers = _whole(given)
    if tokenizers is None:
        tokenizers = _train_tokenizers(recipe, texts, given, on_progress)
        if given[0] is None:
            tokenizers = _tagged(tokenizers, recipe.data.tags)
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
    write_languages(folder, checked.languages)
    seal(folder)


def _noting_tags(some: Iterator[Record], tags: list[str]) -> Iterator[tuple[str, str]]:
    """The texts of pairs; appends their tags, if any, to the list."""
    for record in some:
        tags += [record.tag] if record.tag else []
        yield record.source, record.target


def _tagged(tokenizers: Tokenizers, tags: Sequence[str]) -> Tokenizers:
    """Tokenizers whose source side knows the tags, and the target side too if it is shared."""
    source, target = tokenizers
    tagged = source.with_tags(list(dict.fromkeys(tags)))
    return tagged, tagged if source is target else target


def _refuse_other_tags(tags: Sequence[str], known: Sequence[str]) -> None:
    if known and not tags:
        raise DataError(
            f"data.tags: the model to start from writes the languages {one_of(known)}, each told by a tag, and this "
            f'recipe has no tags; say which language its target text is in: data.tags = ["{known[0]}"]'
        )
    for tag in tags:
        if tag not in known:
            there = one_of(known, tag) or "none"
            raise DataError(f"data.tags: {tag!r} is not a tag of the model to start from; its tags are {there}")


def _refuse_nothing(pairs: int, report: Report) -> None:
    if not pairs:
        raise DataError("\n".join([*report.lines(), "train: no pair is left to train on; change what is dropped"]))


def _train_tokenizers(
    recipe: TranslationRecipe, texts: TextPairs, given: GivenTokenizers, on_progress: OnProgress
) -> Tokenizers:
    """Tokenizers of both sides; those that are not given are trained."""
    tokens = recipe.tokens
    if tokens.shared:
        both = train_tokenizer(tokens.source, Side(texts, 0, 1), lambda count: on_progress("learning tokens", count))
        return both, both
    sides = zip(_NAMES, (tokens.source, tokens.target), given, strict=True)
    source, target = (
        one or train_tokenizer(settings, Side(texts, side), partial(on_progress, f"learning {name} tokens"))
        for side, (name, settings, one) in enumerate(sides)
    )
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
