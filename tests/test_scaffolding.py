"""The lock pins what the project asks for, code stays small."""

import ast
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


@pytest.mark.parametrize("wanted", WANTED)
def test_the_lock_pins_what_the_project_asks_for(wanted: str) -> None:
    requirement = Requirement(wanted)
    assert requirement.specifier.contains(pins()[_normal(requirement.name)])


def test_the_lock_is_of_no_one_machine() -> None:
    assert str(pins()["torch"]) == "2.13.0"
    assert [name for name, version in pins().items() if version.local or name.startswith(("nvidia", "cuda"))] == []


MOST_LINES, MOST_LINES_OF_A_FUNCTION, MOST_PARAMETERS = 600, 80, 10
MOST_LINES_OF_A_KERNEL = 90
SOURCES = sorted((ROOT / "src" / "regard").rglob("*.py"))


def _functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _is_compiled(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """By numba or Triton, which take arrays and sizes apart."""
    return any(re.search(r"\b(njit|jit|vectorize)\b", ast.unparse(each)) for each in function.decorator_list)


DEVICES = {"cpu", "cuda", "mps"}


def test_kinds_of_devices_are_compared_in_one_place() -> None:
    """`device.py` says what each can do, and kernels are for one of them; settings name devices."""
    found = []
    for path in SOURCES:
        if path.name == "device.py" or path.parent.name == "kernels":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare) and not ast.unparse(node.left).startswith("settings."):
                values = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
                found += [f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"] if values & DEVICES else []
    assert found == []


def test_files_fit_into_the_budget() -> None:
    assert len(SOURCES) > 200
    sizes = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {name: size for name, size in sizes.items() if size > MOST_LINES} == {}


def test_functions_fit_into_the_budget() -> None:
    """Commands have a parameter for each option."""
    long, many = [], []
    for path in SOURCES:
        is_command = path.is_relative_to(ROOT / "src" / "regard" / "cli")
        for function in _functions(path):
            name = f"{path.relative_to(ROOT)}: {function.name}"
            most = MOST_LINES_OF_A_KERNEL if _is_compiled(function) else MOST_LINES_OF_A_FUNCTION
            if (function.end_lineno or 0) - function.lineno + 1 > most:
                long.append(name)
            given = function.args
            parameters = [each for each in (*given.posonlyargs, *given.args, *given.kwonlyargs) if each.arg != "self"]
            if len(parameters) > MOST_PARAMETERS and not is_command and not _is_compiled(function):
                many.append(name)
    assert long == []
    assert many == []
