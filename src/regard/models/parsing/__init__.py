"""Dependency parsers: from sentences of words to trees."""

from collections.abc import Callable, Mapping
from typing import Any

from regard.models.parsing.parser import DependencyParser, ParserParts, Trees
from regard.recipe import parsing as names
from regard.recipe.parsing import ParserTable

PARSERS: Mapping[str, Callable[[Any, ParserParts], DependencyParser]] = names.PARSERS


def build_parser(settings: ParserTable, parts: ParserParts) -> DependencyParser:
    """A new parser on the CPU, in float32, with weights initialized from torch's global generator."""
    return PARSERS[settings.kind](settings, parts)


__all__ = ["PARSERS", "DependencyParser", "ParserParts", "Trees", "build_parser"]
