"""By which format and by which version of Regard a model was written, so that no other version misreads it in silence.

A model folder says so in `format.json`. One that does not is from before formats were counted: most such models mean
today what they meant then, but nobody can tell which.
"""

import warnings
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from json import dumps
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from regard.errors import ModelError, ModelWarning
from regard.plugins import missing

FORMAT = 2
"""What is written now. Counted up by every change after which an older version could not read a model (a new setting or
file) or would get other numbers out of the same weights and settings; rounding does not count."""

OLDEST = 1
"""The oldest format that still means the same numbers; raised to `FORMAT` by a change after which it does not."""

FILE = "format.json"


@dataclass(frozen=True)
class FormatVersion:
    """Who wrote a model."""

    format: Annotated[int, Field(ge=1)]
    version: str
    """Of Regard."""
    packages: dict[str, str] = field(default_factory=dict, compare=False)
    """Version of each package that brought something the recipe names (`regard.plugins`)."""

    @classmethod
    def now(cls, packages: dict[str, str] | None = None) -> "FormatVersion":
        """What this version writes."""
        try:
            return cls(FORMAT, version_of("regard"), packages or {})
        except PackageNotFoundError:  # it runs where it lies, and is not installed
            return cls(FORMAT, "unknown", packages or {})

    @classmethod
    def read(cls, folder: Path) -> "FormatVersion":
        """What a folder says; `BEFORE` if it does not."""
        try:
            return _WRITTEN.validate_json((folder / FILE).read_bytes(), strict=True)
        except FileNotFoundError:
            return BEFORE
        except OSError as error:
            problem = f"cannot be read: {error.strerror}"
        except ValidationError as error:
            problem = f"damaged: {error.errors()[0]['msg']}"
        raise ModelError(
            f"{folder / FILE}: {problem}; restore it from a copy, or delete it, and the model counts as one from "
            "before there were such files"
        )

    def to_json(self) -> bytes:
        content = asdict(self)
        if not self.packages:
            del content["packages"]
        return dumps(content).encode() + b"\n"

    def __str__(self) -> str:
        return f"Regard {self.version} in format {self.format}" if self.format else "an unversioned release of Regard"

    def check_readable(self, where: Path, newest: int = FORMAT, oldest: int = OLDEST) -> None:
        """Refuses what this version cannot read or would take for other numbers; warns where nobody can tell."""
        self._refuse_newer(where, newest)
        if self == BEFORE:
            warnings.warn(
                f"{where}: predates format versions, so this release may compute different results from it; "
                "re-evaluate it, or train it again",
                ModelWarning,
                stacklevel=1,
            )
        elif self.format < oldest:
            raise ModelError(
                f"{where}: written by {self}, and its weights mean other numbers to {FormatVersion.now()}; use it with "
                f"Regard {self.version}, or train it anew in another folder"
            )

    def check_packages(self, where: Path) -> None:
        """Refuses a model that needs a package which is not there; a folder never brings code of its own."""
        for package, version in self.packages.items():
            if problem := missing(package):
                raise ModelError(
                    f"{where}: this model needs the package {package} (it was made with {version}), but {problem}"
                )

    def check_resumable(self, where: Path) -> None:
        """Refuses a run that would go on with other numbers; warns where nobody can tell, or rounding may differ."""
        self._refuse_newer(where, FORMAT)
        now = FormatVersion.now()
        if BEFORE.format < self.format < OLDEST:
            raise ModelError(
                f"{where}: this run was begun by {self}, and may go on with other numbers by {now}; go on with the "
                "version that began it, or train anew in another folder (--out)"
            )
        if self != now:
            warnings.warn(
                f"{where}: this run was begun by {self} and goes on by {now}, so it may end otherwise",
                ModelWarning,
                stacklevel=1,
            )

    def _refuse_newer(self, where: Path, newest: int) -> None:
        if self.format > newest:
            raise ModelError(
                f"{where}: written by {self}, but this is Regard {FormatVersion.now().version}, "
                f"which reads formats up to {newest}; upgrade Regard"
            )


BEFORE = FormatVersion(0, "")
"""Whoever wrote a folder that does not say."""

_WRITTEN = TypeAdapter(FormatVersion)


def written_elsewhere(folder: Path) -> str:
    """For messages about a file: by whom it was written, if that may be why this version does not understand it."""
    try:
        written = FormatVersion.read(folder)
    except ModelError:  # any other file of that name
        return ""
    if written == BEFORE or written == (now := FormatVersion.now()):
        return ""
    return f" (written by {written}, but this is {now}: use Regard {written.version})"
