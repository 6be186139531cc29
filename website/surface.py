"""What is public: `regard.__all__`, what of some packages is meant for people, and the members of classes."""

import dataclasses
import inspect
from importlib import import_module
from typing import Any

import regard

PACKAGES = {
    "attention": """
        Additive Alibi Attention Concatenation Cosine Dot Function Gaussian Heads InverseDistance Learned Multiplicative
        Relative Rotary ScaledDot Score Sinusoidal TreeDistance attend causal combine entmax15 padding proportional
        softmax sparsemax tree_depths tree_distances window
    """,
    "inspect": """
        Array Faithfulness Outputs Permute SetGate SetWeight Silence Temper Uniform attributions changed faithfulness
        gradient_norms head_statistics map_inspection neighbors_inspection over_layers over_units page save_page
    """,
    "metrics": "Comparison MetricScore accuracy bleu chrf compare ter",
    "train": "Averaged Ended Noted Prepared Saved Started Step Validated WentBack",
    "vectors": "WordMap word_map",
    "web": "create_app",
}
"""What is public of the packages in `regard`; the rest of them serves the commands."""

REGISTRIES = """
    SCORES NORMALIZERS POSITIONS CELLS CONNECTIONS TOKENIZERS CORPORA OPTIMIZERS SCHEDULES ENCODERS MODELS
    LANGUAGE_MODELS PARSERS TASKS
"""
"""Of `regard.recipe`: what other packages may add to."""

WITH_MEMBERS = """
    Classified Classifier Filled Inspection MarkedTexts Parse Parser PretrainedEncoder Scored ScoredText Tagged Tagger
    Translation Translator Vectors WordAligner Writer inspect.Faithfulness inspect.Outputs metrics.Comparison
"""
"""Classes whose members are public too; what the tables of a recipe have are settings, which have a page."""

INTERNAL = {
    *("why_eager", "segment", "tokens_of", "refuse_long", "looking_at", "joining", "watched"),
    *("bound", "rows_at_once"),
}
"""Members that commands use, and people need not."""


def things() -> dict[str, Any]:
    """Every public class and function by its name."""
    top = {f"regard.{name}": getattr(regard, name) for name in sorted(regard.__all__, key=str.lower)}
    told = {name: thing for name, thing in top.items() if callable(thing)}
    for package, names in PACKAGES.items():
        module = import_module(f"regard.{package}")
        told |= {f"regard.{package}.{name}": getattr(module, name) for name in sorted(names.split(), key=str.lower)}
    return told


def registries() -> dict[str, Any]:
    """Every registry by its name."""
    module = import_module("regard.recipe")
    return {f"regard.recipe.{name}": getattr(module, name) for name in REGISTRIES.split()}


def importable() -> set[str]:
    """Everything that a program may import or name after `import regard`."""
    packages = {f"regard.{package}" for package in (*PACKAGES, "recipe")}
    return {"regard", *(f"regard.{name}" for name in regard.__all__), *packages, *things(), *registries()}


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
