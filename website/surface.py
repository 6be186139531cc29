"""What is public: `regard.__all__` and what of `regard.attention` is meant for people, with the members of classes."""

import dataclasses
import inspect
from typing import Any

import regard

ATTENTION = """
    Additive Alibi Attention Concatenation Cosine Dot Gaussian Heads InverseDistance Learned Multiplicative Relative
    Rotary ScaledDot Score Sinusoidal TreeDistance attend causal combine entmax15 padding proportional softmax sparsemax
    tree_depths tree_distances window
"""
"""What is public of `regard.attention`; the rest of it serves the models."""

WITH_MEMBERS = """
    Classified Classifier Filled Inspection Parse Parser PretrainedEncoder Scored ScoredText Tagged Tagger Translation
    Translator Vectors WordAligner Writer
"""
"""Classes whose members are public too; what the tables of a recipe have are settings, which have a page."""

INTERNAL = {"why_eager", "segment", "tokens_of", "refuse_long", "looking_at", "joining", "watched"}
"""Members that commands use, and people need not."""


def things() -> dict[str, Any]:
    """Every public class and function by its name."""
    top = {f"regard.{name}": getattr(regard, name) for name in sorted(regard.__all__, key=str.lower)}
    told = {name: thing for name, thing in top.items() if callable(thing)}
    return told | {f"regard.attention.{name}": getattr(regard.attention, name) for name in sorted(ATTENTION.split())}


def members(name: str, thing: Any) -> list[tuple[str, Any]]:
    """The public methods and properties of a class, its own last: they replace those of the classes it is made of."""
    if name.removeprefix("regard.") not in WITH_MEMBERS.split():
        return []
    own = [each for each in thing.__mro__ if each.__module__.startswith("regard.")]
    found = {member: value for each in reversed(own) for member, value in vars(each).items()}
    plain = {member: getattr(value, "__func__", value) for member, value in found.items()}
    return [(member, value) for member, value in plain.items() if _is_public(member, value)]


def _is_public(name: str, value: Any) -> bool:
    # A cached property has a `func`.
    called = callable(value) or isinstance(value, property) or hasattr(value, "func")
    return called and not name.startswith("_") and name not in INTERNAL


def fields(thing: Any) -> list[str]:
    """The fields of what a model gives: a data class or a named tuple."""
    if dataclasses.is_dataclass(thing):
        return [field.name for field in dataclasses.fields(thing) if not field.name.startswith("_")]
    return list(getattr(thing, "_fields", ()))


def documented(thing: Any) -> str:
    """The docstring of a thing, or of the function behind a cached property."""
    behind = thing.func if hasattr(thing, "func") and not inspect.isfunction(thing) else thing
    return inspect.getdoc(behind) or ""
