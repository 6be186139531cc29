"""Packages that extend Regard.

A package names a function under the entry-point group `regard.plugins`, which is called once and registers its objects:

    # pyproject.toml
    [project.entry-points."regard.plugins"]
    mine = "my_package:register"

    # my_package/__init__.py, which imports no torch
    from regard.recipe import SCORES

    def register() -> None:
        SCORES.register("bilinear_gate", "my_package.scores:make")

Scores, encoders, models, tokenizers, corpora, tasks and the rest then work in recipes, `--set`, help and every command.
A package that fails is named with its version, and everything that does not need it works.
"""

import warnings
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points
from importlib.metadata import version as version_of

from regard.errors import RegardError, RegardWarning
from regard.registry import Package, locate, registering

GROUP = "regard.plugins"
BUILT_IN = (
    "regard.tasks.kinds.translation",
    "regard.tasks.kinds.language",
    "regard.tasks.kinds.vectors",
    "regard.tasks.kinds.tagging",
    "regard.tasks.kinds.classifying",
    "regard.tasks.kinds.parsing",
    "regard.tasks.kinds.pretraining",
    "regard.tasks.kinds.alignment",
)
"""Built-in modules that register tasks through a function `register`, as plugins do, in the order of `regard --help`;
the last ones are asked first whether files are theirs (`TaskKind.takes`)."""


_failures: dict[Package, str] = {}
_loaded: list[bool] = []


def load_plugins() -> None:
    """Registers the built-in tasks and all installed plugins, once."""
    if _loaded:
        return
    _loaded.append(True)  # before importing anything that looks into a registry
    for module in BUILT_IN:
        locate(f"{module}:register")()
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        _load(point)


def failures() -> dict[Package, str]:
    """The packages that failed to register, and why."""
    load_plugins()
    return dict(_failures)


def _load(point: EntryPoint) -> None:
    package = Package(point.dist.name, point.dist.version) if point.dist else Package(point.module, "")
    try:
        with registering(package):
            point.load()()
            locate("regard.recipe.settings:rebuild")()  # by name, as `recipe` is a layer above; fails on invalid tables
    except Exception as error:  # a plugin's error must not break unrelated commands
        reason = str(error) if isinstance(error, RegardError) else f"{type(error).__name__}: {error}"
        _failures[package] = reason
        locate("regard.recipe.settings:rebuild")()
        warnings.warn(
            f"the plugin package {package} failed: {reason}; nothing that it provides is available. Upgrade it, or "
            f"remove it: pip uninstall {package.name}",
            RegardWarning,
            stacklevel=2,
        )


def missing(package: str) -> str | None:
    """Why a package's objects are not available, and what to do; None if they are."""
    for failed, reason in failures().items():
        if failed.name == package:
            return f"it failed: {reason}; upgrade or fix it"
    try:
        version_of(package)
    except PackageNotFoundError:
        return f"it is not installed; install it: pip install {package}"
    return None
