"""`regard explore`: it says where it is, answers there, ends with Ctrl-C, and says what it lacks."""

import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from command_line import ALONE, Trained, regard

from regard.cli.explore import _unique
from regard.errors import UsageError
from regard.recipe import VectorsRecipe, parse_recipe, write_recipe
from regard.vectors import Vectors
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
    told = regard("explore", trained.folder, "--no-browser", "--host", "..")
    assert (told.code, "--host ..: this machine has no such address" in told.err) == (2, True)
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
    Vectors(["man", "king"], np.eye(2, dtype=np.float32)).save(tmp_path / "vectors")
    recipe = parse_recipe(
        {"task": "vectors", "data": {"train": ["text.txt"]}, "vectors": {"kind": "svd"}}, kind=VectorsRecipe
    )
    (tmp_path / "vectors" / "recipe.toml").write_text(write_recipe(recipe), encoding="utf-8")
    told = regard("explore", tmp_path / "vectors", "--no-browser")
    assert (told.code, "which has nothing to look inside; leave it out" in told.err) == (2, True), told.err


def test_no_two_models_have_the_same_name() -> None:
    taken: list[str] = []
    for name in ("a", "a", "a-2", "a"):
        taken.append(_unique(name, taken))
    assert taken == ["a", "a-2", "a-2-2", "a-3"]
