"""Packages that add to Regard.

A package names a function under the entry-point group `regard.plugins`; it is called once and registers what it brings:

    # pyproject.toml
    [project.entry-points."regard.plugins"]
    mine = "my_package:register"

    # my_package/__init__.py, which imports no torch
    from regard.recipe.names import SCORES

    def register() -> None:
        SCORES.register("bilinear_gate", "my_package.scores:make")

Scores, encoders, models, tokenizers, corpora, tasks and the rest are then known to recipes, `--set`, help and every
command. A package that fails is named, with its version, and everything that does not need it works.
"""

import warnings
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points
from importlib.metadata import version as version_of

from regard.errors import RegardError, RegardWarning
from regard.registry import Package, locate, registering

GROUP = "regard.plugins"
BUILT_IN = ("regard.tasks.kinds.translation", "regard.tasks.kinds.language", "regard.tasks.kinds.vectors")
"""Modules of our own that register something, by a function `register`, as plugins do."""


_failures: dict[Package, str] = {}
_loaded: list[bool] = []


def load_plugins() -> None:
    """Lets every installed package register what it brings; once."""
    if _loaded:
        return
    _loaded.append(True)  # before anything is imported that asks a registry
    for module in BUILT_IN:
        locate(f"{module}:register")()
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        _load(point)


def failures() -> dict[Package, str]:
    """The packages that could not register what they bring, and why."""
    load_plugins()
    return dict(_failures)


def _load(point: EntryPoint) -> None:
    package = Package(point.dist.name, point.dist.version) if point.dist else Package(point.module, "")
    try:
        with registering(package):
            point.load()()
            locate("regard.recipe.settings:rebuild")()  # of a room above this one; refuses tables that are none
    except Exception as error:  # whatever a stranger's package does must not stop what does not need it
        reason = str(error) if isinstance(error, RegardError) else f"{type(error).__name__}: {error}"
        _failures[package] = reason
        locate("regard.recipe.settings:rebuild")()
        warnings.warn(
            f"the package {package} adds to Regard, but failed: {reason}; what it brings is missing here. Upgrade it, "
            f"or remove it: pip uninstall {package.name}",
            RegardWarning,
            stacklevel=2,
        )


def missing(package: str) -> str | None:
    """Why what a package brings is not there, and what to do; None if it is."""
    for failed, reason in failures().items():
        if failed.name == package:
            return f"it failed: {reason}; upgrade it or mend it"
    try:
        version_of(package)
    except PackageNotFoundError:
        return f"it is not installed; install it: pip install {package}"
    return None
