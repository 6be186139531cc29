"""Every number of a command as JSON, for programs."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes the results of a command, and the command itself."""
    from regard.cli.evaluate import write_text

    whole = {"command": ["regard", *sys.argv[1:]], **content}
    write_text(path, json.dumps(whole, ensure_ascii=False, indent=2) + "\n")
