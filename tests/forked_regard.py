"""The command `regard` for shell scripts of tests, without the seconds that starting Python and torch takes each time.

A server imports everything once, makes some models to load what is compiled, and forks for every call; the command in
the script is a client, which hands its standard streams over. Calls can be changed: a few steps instead of thousands.

    with ForkedRegard(folder) as forked:
        environment = forked.environment([("train", ["--set", "train.steps=2"])])
        subprocess.run(["bash", "-c", "regard train dates"], env=environment)
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, Self
from urllib.request import urlopen

Rules = list[tuple[str, list[str]]]
"""A pattern of calls, and the arguments that these get besides their own. `VISIT` among them stands for a visitor of
the explorer, who fetches its page and what models it has, and then presses Ctrl-C."""
VISIT = "visit"
PATIENCE = 120.0
"""Seconds that a visitor waits for the page."""
BROKEN_PIPE = 1
"""The exit code of a command that writes to `head` after that has seen enough."""

CLIENT = f"""\
#!{sys.executable} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({{address!r}})
    call = [sys.argv[1:], os.getcwd(), dict(os.environ)]
    socket.send_fds(server, [b"call"], [0, 1, 2])
    server.sendall(json.dumps(call).encode() + b"\\0")
    answer = server.recv(16)
sys.exit(int(answer or b"70"))
"""


class ForkedRegard:
    """A server, and a folder with the command that asks it."""

    def __init__(self, folder: Path) -> None:
        # Addresses of sockets must be short.
        self._place = tempfile.TemporaryDirectory(prefix="regard")
        self.address = f"{self._place.name}/socket"
        self.commands, self.failures = folder / "commands", folder / "failures"
        self.commands.mkdir(parents=True, exist_ok=True)
        self.add_command("regard", CLIENT.format(address=self.address))

    def add_command(self, name: str, script: str) -> None:
        path = self.commands / name
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)

    def __enter__(self) -> Self:
        # Whether there is a GPU must be asked without using it, or no forked process could.
        alone = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
        self._server = subprocess.Popen(
            [sys.executable, __file__, self.address], env=alone, stdout=subprocess.PIPE, text=True
        )
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.terminate()
        self._server.communicate()
        self._place.cleanup()

    def environment(self, rules: Rules | None = None, *, gpu: bool = False) -> dict[str, str]:
        """That of a script, whose calls of `regard` are changed by these rules. What fails is written down in
        `failures`."""
        path = f"{self.commands}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {
            **os.environ,
            "PATH": path,
            "REGARD_RULES": json.dumps(rules or []),
            "REGARD_FAILURES": str(self.failures),
            "OMP_NUM_THREADS": "1",
            "MPLBACKEND": "agg",
            "COLUMNS": "120",
            **({} if gpu else {"CUDA_VISIBLE_DEVICES": ""}),
        }


def serve(address: str) -> None:
    import torch

    torch.set_num_threads(1)
    import regard.cli
    import regard.cli.commands
    import regard.tasks
    import regard.train

    for name in sorted(regard.__all__):
        getattr(regard, name)
    for command in regard.cli.commands.commands().values():
        for target in command.of_task.values():
            regard.cli.commands.made(target)
    _warm_up()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen(64)
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            with suppress(ChildProcessError):  # each answers by itself, but leaves its name
                while os.waitpid(-1, os.WNOHANG) != (0, 0):
                    pass
            with connection:
                _, streams, _, _ = socket.recv_fds(connection, 4, 3)
                received = b""
                while not received.endswith(b"\0"):
                    received += connection.recv(1 << 16)
                if os.fork() == 0:
                    server.close()
                    _answer(connection, streams, *json.loads(received[:-1]))
                for stream in streams:
                    os.close(stream)


QUICK = [
    argument
    for change in ("data.examples=60", "train.steps=2", "train.validation.every=2", "train.device=cpu")
    for argument in ("--set", change)
]
ALIGNER = 'task = "alignment"\n\n[data]\ntrain = ["aligned.tsv"]\n'
WARM_UP = [
    ["train", "aligner.toml", "--out", "aligner"],
    ["align", "aligner", "aligned.tsv"],
    ["train", "dates", "--out", "dates", *QUICK],
    ["train", "dates-tagging", "--out", "tagging", *QUICK],
    ["train", "dates-language", "--out", "language", *QUICK],
    ["evaluate", "dates", "--split", "dev", "--device", "cpu"],
    ["look", "dates", "3. März 2021", "-o", "look.png", "--device", "cpu"],
]


def _warm_up() -> None:
    """Does in this process what loads modules and compiled loops, so that forked ones have them."""
    from command_line import regard

    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("aligner.toml").write_text(ALIGNER, encoding="utf-8")
        Path("aligned.tsv").write_text("ein Haus\ta house\nein Hund\ta dog\n" * 5, encoding="utf-8")
        for call in WARM_UP:
            outcome = regard(*call)
            assert outcome.code == 0, outcome.err
        os.chdir(before)


def _answer(
    connection: socket.socket, streams: list[int], arguments: list[str], folder: str, environment: dict[str, str]
) -> None:
    """Runs one call in the forked process, as if it had been started by the shell."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode, encoding="utf-8") for number, mode in enumerate("rww"))
    sys.argv = ["regard", *arguments, *_added(" ".join(arguments))]
    code = 70
    try:
        if Path(environment.get("REGARD_PACKAGES", "/nowhere")).is_dir():
            sys.exit(_afresh(environment["REGARD_PACKAGES"]))
        from regard.cli import main

        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        if code not in (0, BROKEN_PIPE) and "REGARD_FAILURES" in os.environ:
            with open(os.environ["REGARD_FAILURES"], "a", encoding="utf-8") as file:
                file.write(f"regard {' '.join(arguments)}: exit code {code}\n")
        connection.sendall(str(code).encode())
        connection.close()
        os._exit(code)


def _afresh(packages: str) -> int:
    """Runs the call in a new process, which alone finds packages that were installed since this one began."""
    paths = [packages, *filter(None, sys.path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.call([sys.executable, "-m", "regard", *sys.argv[1:]], env=environment)


def _added(call: str) -> list[str]:
    added = []
    for pattern, arguments in json.loads(os.environ.get("REGARD_RULES", "[]")):
        if re.search(pattern, call):
            added += [argument for argument in arguments if argument != VISIT]
            if VISIT in arguments:
                with socket.create_server(("127.0.0.1", 0)) as free:
                    port = free.getsockname()[1]
                added += ["--port", str(port)]
                threading.Thread(target=_visit, args=(call, f"http://127.0.0.1:{port}/"), daemon=True).start()
    return added


def _visit(call: str, address: str) -> None:
    """Fetches the page of the explorer as soon as it is served, and ends the server as Ctrl-C does."""
    until, page, models = time.monotonic() + PATIENCE, b"", []
    while time.monotonic() < until and not models:
        with suppress(OSError):
            page = urlopen(address).read()
            models = json.load(urlopen(f"{address}api/models"))["models"]
        time.sleep(0.05)
    if b"<title>" not in page or not models:
        with open(os.environ["REGARD_FAILURES"], "a", encoding="utf-8") as file:
            file.write(f"regard {call}: no page came\n")
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    serve(sys.argv[1])
