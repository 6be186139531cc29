"""`regard explore`: it says where it is, answers there, ends with Ctrl-C, and says what it lacks."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from command_line import ALONE, Trained, regard

from regard.cli.explore import _unique
from regard.errors import UsageError
from regard.vectors import Vectors
from regard.web.serving import PORT, listening


def test_it_answers_until_it_is_stopped(trained: Trained, tmp_path: Path) -> None:
    """Vectors of words may be among the models, as a folder or a file."""
    Vectors(["man", "king", "queen"], np.eye(3, dtype=np.float32)).save(tmp_path / "vectors")
    (tmp_path / "vectors.txt").write_text("man 1 0\nking 0 1\nqueen 1 1\n", encoding="utf-8")
    folders = map(str, (trained.folder, trained.folder, tmp_path / "vectors", tmp_path / "vectors.txt"))
    command = [sys.executable, "-m", "regard", "explore", *folders, "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=ALONE, text=True, **pipes) as server:  # type: ignore[call-overload]
        line = server.stdout.readline()
        assert line.endswith("/  (Ctrl-C ends it)\n"), server.stderr.read()
        with urlopen(f"{line.split()[0]}api/models", timeout=30) as answer:
            cards = json.load(answer)["models"]
        assert [card["name"] for card in cards] == ["model", "model-2", "vectors", "vectors.txt"]
        assert [card["reads"] for card in cards] == [True, True, False, False]
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
    told = regard("explore", trained.folder, "--no-browser", "--host", "..")
    assert (told.code, "--host ..: this machine has no such address" in told.err) == (2, True)
    assert PORT > 1024


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_small_answers_are_sent_at_once(host: str) -> None:
    """Without TCP_NODELAY, each waits some 40 ms for the other side to acknowledge the one before."""

    class Server(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted = transport.get_extra_info("socket")
            told.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            transport.close()

    async def ask() -> None:
        with listening(host, None) as listener:
            async with await asyncio.get_running_loop().create_server(Server, sock=listener):
                with socket.create_connection(listener.getsockname()[:2]) as visitor:
                    visitor.setblocking(False)
                    await asyncio.get_running_loop().sock_recv(visitor, 1)

    told: list[int] = []
    asyncio.run(ask())
    assert told == [1]


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


def test_what_has_nothing_inside_is_refused(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.tasks.load", lambda *given, **how: object())
    told = regard("explore", trained.folder, "--no-browser")
    says = f"{trained.folder}: is for translation, which has nothing to look inside; leave it out"
    assert (told.code, says in told.err) == (2, True), told.err


def test_options_that_do_not_fit_are_refused(trained: Trained, tmp_path: Path) -> None:
    Vectors(["man", "king", "queen"], np.eye(3, dtype=np.float32)).save(tmp_path / "vectors")
    for arguments, says in {
        (trained.folder, "--cache", 5): "--cache 5: only language models have one, and none of these is; leave it out",
        (trained.folder, "--cache-theta", 1): "--cache-theta 1 needs a cache; ask for one with --cache 500",
        (
            tmp_path / "vectors",
            "-o",
            tmp_path / "page.html",
        ): "vectors of words have a page of their own; regard vectors",
    }.items():
        told = regard("explore", *arguments, "--no-browser")
        assert (told.code, says in told.err) == (2, True), told.err


def test_no_two_models_have_the_same_name() -> None:
    taken: list[str] = []
    for name in ("a", "a", "a-2", "a"):
        taken.append(_unique(name, taken))
    assert taken == ["a", "a-2", "a-2-2", "a-3"]
