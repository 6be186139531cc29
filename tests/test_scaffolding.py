"""The documents name files that exist, and the lock file pins what the project asks for."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WANTED = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["dev"]]


def pins() -> dict[str, Version]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if not line.startswith("#")]
    assert all(str(pin.specifier).startswith("==") for pin in found)
    return {_normal(pin.name): Version(str(pin.specifier)[2:]) for pin in found}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_architecture_page_names_files_that_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("## Which file to open for which wish")[1]
    named = re.findall(r"`([a-z_/]+\.(?:py|\{[a-z,]+\}))`", table)
    # `page.{py,html}` stands for several files, and a bare name for a file beside the one named before it.
    files = [f"{stem}{suffix}" for name in named for stem, suffix in _spelled_out(name)]
    assert len(files) > 30
    sources = ROOT / "src" / "regard"
    assert [name for name in files if not (sources / name).exists() and not list(sources.glob(f"*/{name}"))] == []


def _spelled_out(name: str) -> list[tuple[str, str]]:
    stem, _, rest = name.partition("{")
    return [(stem, suffix) for suffix in rest.rstrip("}").split(",")]


def test_the_architecture_page_names_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {path.stem for path in (ROOT / "src" / "regard").glob("[a-z]*") if path.suffix in ("", ".py")}
    assert "attention" in rooms
    assert {room for room in rooms if f"`{room}`" not in page} == set()


@pytest.mark.parametrize("wanted", WANTED)
def test_the_lock_pins_what_the_project_asks_for(wanted: str) -> None:
    requirement = Requirement(wanted)
    assert requirement.specifier.contains(pins()[_normal(requirement.name)])


def test_the_lock_is_of_no_one_machine() -> None:
    assert str(pins()["torch"]) == "2.13.0"
    assert [name for name, version in pins().items() if version.local or name.startswith(("nvidia", "cuda"))] == []
