"""Versions of installed packages, which are recorded with results and models."""

from importlib.metadata import PackageNotFoundError, version


def version_of(package: str) -> str:
    """The version of a package; `unknown` where it is run from its source and not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
