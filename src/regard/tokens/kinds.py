"""Training, saving and loading tokenizers of every kind."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from regard import recipe
from regard.disk import parse_json, replace_file
from regard.errors import DataError, ModelError, one_of
from regard.recipe import names
from regard.tokens.tokenizer import Tokenizer

TOKENIZERS: Mapping[str, type[Tokenizer]] = names.TOKENIZERS

_FORMAT = 1
_REPORT_EVERY = 10_000
_DAMAGED = "this tokenizer is damaged; restore the folder from a copy, or train again"


def train_tokenizer(
    settings: recipe.TokenizerSettings, texts: Iterable[str], on_progress: Callable[[int], None] | None = None
) -> Tokenizer:
    """Trains a tokenizer of the kind in the settings; `on_progress` gets the number of texts read.

    Texts may be read more than once (the count restarts each time); an iterator is put into a list first.
    """
    texts = list(texts) if isinstance(texts, Iterator) else texts
    if not any(text.strip() for text in texts):
        raise DataError(f"there is no text to learn a vocabulary of {settings.kind} from: every line is empty")
    return TOKENIZERS[settings.kind].train(settings, texts if on_progress is None else _Reported(texts, on_progress))


def save_tokenizer(tokenizer: Tokenizer, path: Path) -> None:
    """Writes a tokenizer as JSON, atomically."""
    content = {
        "format": _FORMAT,
        "kind": tokenizer.kind,
        "settings": tokenizer.settings.model_dump(),
        "state": tokenizer.state(),
    }
    if tokenizer.vocabulary.tags:
        content["tags"] = list(tokenizer.vocabulary.tags)
    replace_file(path, json.dumps(content, ensure_ascii=False, indent=0).encode())


def load_tokenizer(path: Path) -> Tokenizer:
    """Loads a saved tokenizer. Nothing in the file can run code."""
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path}: this tokenizer is missing; a model folder holds those it was trained with") from None
    except OSError as error:
        raise ModelError(f"{path}: this tokenizer cannot be read: {error.strerror}") from None
    except ValueError as error:  # not UTF-8, not JSON
        raise ModelError(f"{path}: {_DAMAGED} ({error})") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        found = content.get("format") if isinstance(content, dict) else None
        raise ModelError(f"{path}: tokenizer format {found!r} is not known here; this version reads format {_FORMAT}")
    kind = content.get("kind")
    if not isinstance(kind, str) or kind not in TOKENIZERS:
        raise ModelError(f"{path}: tokenizer kind {kind!r} is not known; known are {one_of(TOKENIZERS, str(kind))}")
    try:
        settings = recipe.TokenizerSettings.model_validate(content["settings"])
        return TOKENIZERS[kind].from_state(settings, content["state"]).with_tags(content.get("tags", ()))
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # pydantic's is a ValueError
        raise ModelError(f"{path}: {_DAMAGED} ({type(error).__name__}: {str(error).splitlines()[0]})") from None


class _Reported:
    """Texts that report how many were read."""

    def __init__(self, texts: Iterable[str], on_progress: Callable[[int], None]) -> None:
        self._texts = texts
        self._on_progress = on_progress

    def __iter__(self) -> Iterator[str]:
        for count, text in enumerate(self._texts, start=1):
            yield text
            if count % _REPORT_EVERY == 0:
                self._on_progress(count)
