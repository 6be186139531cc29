"""The format of a model folder and the version of Regard that wrote it, so that no version misreads it silently.

They are recorded in `format.json`. A folder without it predates format versions: most such models still give the same
results, but it is not known which.
"""

import warnings
from dataclasses import asdict, dataclass, field
from json import dumps
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from regard.errors import ModelError, ModelWarning
from regard.plugins import missing
from regard.versions import version_of

FORMAT = 4
"""The current format. Incremented by every change after which an older version could not read a model (a new setting or
file) or would compute different results from it; rounding does not count."""

OLDEST = 1
"""The oldest format that still gives the same results; raised to `FORMAT` by a change after which it does not."""

FILE = "format.json"


@dataclass(frozen=True)
class FormatVersion:
    """The format of a model, and what wrote it."""

    format: Annotated[int, Field(ge=1)]
    version: str
    """Version of Regard."""
    packages: dict[str, str] = field(default_factory=dict, compare=False)
    """Versions of the plugin packages that the recipe uses (`regard.plugins`)."""

    @classmethod
    def now(cls, packages: dict[str, str] | None = None) -> "FormatVersion":
        """The format that this version writes."""
        return cls(FORMAT, version_of("regard"), packages or {})

    @classmethod
    def read(cls, folder: Path) -> "FormatVersion":
        """The format of a folder; `UNVERSIONED` if it has none."""
        try:
            return _ADAPTER.validate_json((folder / FILE).read_bytes(), strict=True)
        except FileNotFoundError:
            return UNVERSIONED
        except OSError as error:
            problem = f"cannot be read: {error.strerror}"
        except ValidationError as error:
            problem = f"damaged: {error.errors()[0]['msg']}"
        raise ModelError(
            f"{folder / FILE}: {problem}; restore it from a copy, or delete it, and the model counts as one that "
            "predates format versions"
        )

    def to_json(self) -> bytes:
        content = asdict(self)
        if not self.packages:
            del content["packages"]
        return dumps(content).encode() + b"\n"

    def __str__(self) -> str:
        return f"Regard {self.version} in format {self.format}" if self.format else "an unversioned release of Regard"

    def check_readable(self, where: Path, newest: int = FORMAT, oldest: int = OLDEST) -> None:
        """Refuses a model that this version cannot read or would compute different results from; warns if it is not
        known."""
        self._refuse_newer(where, newest)
        if self == UNVERSIONED:
            warnings.warn(
                f"{where}: predates format versions, so this release may compute different results from it; "
                "re-evaluate it, or train it again",
                ModelWarning,
                stacklevel=1,
            )
        elif self.format < oldest:
            raise ModelError(
                f"{where}: written by {self}, and {FormatVersion.now()} would compute different results from it; use "
                f"it with Regard {self.version}, or train it again in another folder"
            )

    def check_packages(self, where: Path) -> None:
        """Refuses a model that needs a missing package; a folder never contains code."""
        for package, version in self.packages.items():
            if problem := missing(package):
                raise ModelError(
                    f"{where}: this model needs the package {package} (it was made with {version}), but {problem}"
                )

    def check_resumable(self, where: Path) -> None:
        """Refuses to resume a run that would continue differently; warns if it is not known, or rounding may differ."""
        self._refuse_newer(where, FORMAT)
        now = FormatVersion.now()
        if UNVERSIONED.format < self.format < OLDEST:
            raise ModelError(
                f"{where}: this run was started by {self}, and {now} may continue it differently; resume it with the "
                "version that started it, or train again in another folder (--out)"
            )
        if self != now:
            warnings.warn(
                f"{where}: this run was started by {self} and is continued by {now}, so its results may differ",
                ModelWarning,
                stacklevel=1,
            )

    def _refuse_newer(self, where: Path, newest: int) -> None:
        if self.format > newest:
            raise ModelError(
                f"{where}: written by {self}, but this is Regard {FormatVersion.now().version}, "
                f"which reads formats up to {newest}; upgrade Regard"
            )


UNVERSIONED = FormatVersion(0, "")
"""The format of folders without `format.json`."""

_ADAPTER = TypeAdapter(FormatVersion)


def written_elsewhere(folder: Path) -> str:
    """For messages about a file: which other version wrote it, if that may be why this one cannot read it."""
    try:
        written = FormatVersion.read(folder)
    except ModelError:  # any other file of that name
        return ""
    if written == UNVERSIONED or written == (now := FormatVersion.now()):
        return ""
    return f" (written by {written}, but this is {now}: use Regard {written.version})"
