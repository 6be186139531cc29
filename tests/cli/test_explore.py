"""`regard explore`: it says where it is, answers there, ends with Ctrl-C, and says what it lacks."""

import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from command_line import ALONE, Trained, regard

from regard.errors import UsageError
from regard.web.serving import PORT, listening


def test_it_answers_until_it_is_stopped(trained: Trained) -> None:
    command = [sys.executable, "-m", "regard", "explore", str(trained.folder), str(trained.folder), "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=ALONE, text=True, **pipes) as server:  # type: ignore[call-overload]
        line = server.stdout.readline()
        assert line.endswith("/  (Ctrl-C ends it)\n"), server.stderr.read()
        with urlopen(f"{line.split()[0]}api/models", timeout=30) as answer:
            assert answer.read().count(b'"name":') == 2
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=30)
    assert (server.returncode, out, err) == (0, "", "")


def test_a_port_of_one_s_own_or_any(trained: Trained) -> None:
    with listening("127.0.0.1", None) as first, listening("127.0.0.1", None) as second:
        ports = {listener.getsockname()[1] for listener in (first, second)}
        assert len(ports) == 2
        taken = first.getsockname()[1]
        with pytest.raises(UsageError, match=f"--port {taken}: cannot be used at 127.0.0.1 "):
            listening("127.0.0.1", taken)
        told = regard("explore", trained.folder, "--no-browser", "--port", taken)
    assert (told.code, "leave it out for a free one" in told.err) == (2, True)
    with pytest.raises(UsageError, match=r"--host no\.such\.host\.invalid: this machine has no such address"):
        listening("no.such.host.invalid", None)
    assert PORT > 1024


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn"])
def test_what_is_missing_is_named(trained: Trained, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    told = regard("explore", trained.folder)
    assert (told.code, told.err) == (
        2,
        f"regard: the page needs {missing}, which is not installed: pip install 'regard[web]'\n",
    )


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    told = regard("explore", tmp_path, "--no-browser")
    assert told.code == 2
    assert str(tmp_path) in told.err
