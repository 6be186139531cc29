"""The conditions of a measurement, without which no figure is stated."""

import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def conditions(packages: Iterable[str], commit: str = "") -> dict[str, Any]:
    """Command, commit (or the given one, where there is no repository to ask, or not this one), versions, processor and
    load."""
    return {
        "command": command(sys.argv),
        "commit": commit or _git("rev-parse", "HEAD").strip(),
        "uncommitted_changes": not commit and bool(_git("status", "--porcelain", ":/src").strip()),
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {"python": platform.python_version()} | {name: installed(name) for name in packages},
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "load_average_before": round(os.getloadavg()[0], 2),
    }


def command(arguments: Sequence[str]) -> str:
    """The command line; of paths, only the last part, because file locations are private."""
    script = Path(arguments[0])
    rest = (re.sub(r"[^\s=\"'\[,]*/(?=[^/])", "", each) for each in arguments[1:])
    return shlex.join(["python", f"{script.resolve().parent.name}/{script.name}", *rest])


def installed(package: str) -> str | None:
    """The version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git(*arguments: str) -> str:
    where = Path(__file__).parent
    return subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=where, check=False).stdout


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
