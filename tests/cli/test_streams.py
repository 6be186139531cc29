"""Standard streams that are closed or full: one message, the right exit status, no traceback."""

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ALONE, Trained

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")


def in_shell(command: str, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    """Runs `regard` by a shell; `$@` are its arguments."""
    shell = ["sh", "-c", f'"{sys.executable}" -m regard "$@" {command}', "sh", *map(str, arguments)]
    return subprocess.run(shell, capture_output=True, timeout=120, env=ALONE, check=False)


@pytest.mark.parametrize(
    ("streams", "reason"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
)
def test_output_that_cannot_be_written_is_an_error(streams: str, reason: str) -> None:
    ended = in_shell(streams, "recipes")
    assert (ended.returncode, ended.stderr.decode()) == (2, f"regard: standard output cannot be written: {reason}\n")


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"])
def test_messages_that_cannot_be_written_are_lost_and_the_status_stays(streams: str) -> None:
    ended = in_shell(streams, "recipes", "dats")
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, b"", b"")
    ended = in_shell(f"{streams} <&-", "recipes", "dates")
    assert (ended.returncode, ended.stdout[:4], ended.stderr) == (0, b"task", b"")


def test_translating_without_input_or_output(trained: Trained) -> None:
    ended = in_shell("<&-", "translate", trained.folder)
    message = "regard: standard input is closed; pipe text into the command, or name files\n"
    assert (ended.returncode, ended.stdout, ended.stderr.decode()) == (2, b"", message)


def test_all_streams_closed_is_no_traceback_either() -> None:
    ended = in_shell("<&- >&- 2>&-", "recipes")
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, b"", b"")
