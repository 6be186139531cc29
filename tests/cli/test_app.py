"""The command as such: help without waiting, exit codes, tracebacks on demand, closed pipes."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ALONE, Trained, regard, regard_alone

from regard.cli import app as module
from regard.loops import njit

COMMANDS = (
    *("demo", "recipes", "check", "train", "repeat", "evaluate"),
    *("translate", "back-translate", "score", "align", "look"),
)

WITHOUT_TORCH = """
import sys
from regard.cli import main
sys.argv[1:] = {arguments}
try:
    main()
finally:
    assert "torch" not in sys.modules and "numpy" not in sys.modules
"""


@pytest.mark.spread(2)
@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["recipes"], ["--version"]], ids=" ".join)
def test_answers_that_need_no_torch_do_not_wait_for_it(arguments: list[str]) -> None:
    script = WITHOUT_TORCH.format(arguments=arguments)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, env=ALONE, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    assert ended.stdout


def test_help_names_every_command() -> None:
    told = regard("--help")
    assert told.code == 0
    assert [command for command in COMMANDS if f" {command} " not in told.out] == []
    assert "regard train --help" in told.out
    assert "<bool>" not in told.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_examples(command: str) -> None:
    told = regard(command, "--help")
    assert told.code == 0
    assert f"Usage: regard {command}" in told.out
    assert f"regard {command}" in told.out.split("Examples", 1)[1]


def test_defaults_that_depend_are_told() -> None:
    told = " ".join(regard("translate", "--help").out.replace("│", " ").split())
    assert "(default: the recipe's)" in told


def test_help_of_a_command_that_several_tasks_share_is_shown_once() -> None:
    assert regard("align", "--help").out.count("Usage:") == 1
    assert regard("evaluate", "--help").out.count("Usage:") > 1


def test_without_a_command_there_is_help() -> None:
    told = regard()
    assert "Usage: regard" in told.out + told.err


def test_version() -> None:
    assert regard("--version").out.startswith("regard 0.")


def test_an_error_is_one_message() -> None:
    told = regard("translate", "nowhere")
    assert told.code == 2
    assert told.out == ""
    assert told.err.splitlines() == [
        "regard: nowhere: no such folder; name the folder of a trained model (`regard train` makes one)"
    ]


@pytest.mark.parametrize(
    "command",
    [
        "score",
        "evaluate",
        "align",
        "lexicon",
        "translate",
        "look",
        "faithful",
        "generate",
        "back-translate",
        "tag",
        "classify",
        "parse",
        "fill",
        "export",
        "vectors-similar",
    ],
)
def test_a_folder_that_is_not_there_is_named_before_other_arguments(command: str, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("one\n", encoding="utf-8")
    told = regard(*command.replace("vectors-", "vectors ").split(), "nowhere", path)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("regard: nowhere: no such f"), told.err


@pytest.mark.parametrize("arguments", [["--debug", "translate", "nowhere"], ["translate", "nowhere", "--debug"]])
def test_debug_shows_the_traceback(arguments: list[str]) -> None:
    told = regard(*arguments)
    assert told.code == 2
    assert told.err.startswith("Traceback")
    assert "regard.errors.ModelError: nowhere: no such folder" in told.err


def test_debug_after_two_dashes_is_an_argument() -> None:
    assert "Traceback" not in regard("translate", "nowhere", "--", "--debug").err


def test_as_a_module() -> None:
    ended = regard_alone("recipes", "nowhere")
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"regard: nowhere: neither a recipe file nor a built-in recipe")


def test_a_reader_that_leaves_is_no_error(trained: Trained) -> None:
    command = [sys.executable, "-m", "regard", "translate", str(trained.folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=ALONE, **pipes) as process:  # type: ignore[call-overload]
        process.stdout.close()
        process.stdin.write(b"eins\n" * 3)
        process.stdin.close()
        said = process.stderr.read()
        process.wait(timeout=60)
    assert said == b""
    assert process.returncode != 2


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("waits", [True, False])
def test_compiling_is_said_to_who_waits(waits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    @njit()
    def doubled(number: int) -> int:
        return 2 * number

    monkeypatch.setattr(module, "app", lambda *_, **__: doubled(2))
    monkeypatch.setattr(sys, "argv", ["regard", "translate"])
    monkeypatch.setattr(sys, "stderr", told := Terminal() if waits else io.StringIO())
    module.main()
    assert told.getvalue() == ("compiling loops, which is done once …\n" if waits else "")
