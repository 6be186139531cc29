"""Decoding settings of a trained model: its recipe's, with changes."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from regard.errors import UsageError
from regard.recipe import Drawing, change_section

D = TypeVar("D", bound=Drawing)


def changed_decoding(own: D, given: D | Mapping[str, Any] | None) -> D:
    """The recipe's settings with those that are given by name, or all of them from another table."""
    if given is None:
        return own
    if isinstance(given, type(own)):
        return given
    if not isinstance(given, Mapping):
        example = f'{{"method": "sample"}} or {type(own).__name__}(method="sample")'
        raise UsageError(
            f"decoding is {given!r:.60} of type {type(given).__name__}, but settings are needed: {example}"
        )
    return change_section(own, given)


def check_only_decoding(changes: Sequence[str], *others: str) -> None:
    """Refuses changes beyond decoding for a trained model; `others` are further tables that may be changed."""
    tables = ("decode.", *others)
    for change in [changes] if isinstance(changes, str) else changes:
        if not change.strip().startswith(tables):
            allowed = " and ".join(f"{table}*" for table in tables)
            raise UsageError(f"--set {change!r}: a trained model stays as it is; only {allowed} can be changed")
