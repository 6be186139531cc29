"""Commands where parts of Python are missing that only POSIX systems have, as on Windows."""

import json
import subprocess
import sys
from pathlib import Path

from command_line import ALONE, RECIPE, write_corpus

WITHOUT = """
import json, os, sys

# On Windows these have other ways of their own; here they need what is taken away below.
import filelock, numba, numpy, sacrebleu, scipy, torch

for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty"):
    sys.modules[name] = None  # importing it raises ModuleNotFoundError
for name in ("uname", "fork", "O_DIRECTORY", "getuid", "geteuid", "getpgid", "sched_getaffinity", "statvfs"):
    delattr(os, name)

from regard.cli import main

for arguments in json.loads(sys.argv[1]):
    sys.argv = ["regard", *arguments]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
"""


def test_training_resuming_translating_and_vectors_need_no_posix(tmp_path: Path) -> None:
    write_corpus(tmp_path, {"train": 60, "dev": 5, "test": 5})
    (tmp_path / "my.toml").write_text(RECIPE.replace("150", "4"), encoding="utf-8")
    train = ["train", "my.toml", "--out", "model"]
    commands = [
        train,
        [*train, "--resume", "--set", "train.steps=6"],
        ["translate", "model"],
        ["vectors", "train", "--text", "train.de", "--out", "vectors", "--set", "vectors.dimension=4"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps(commands)],
        input=b"eins und zwei\n",
        capture_output=True,
        cwd=tmp_path,
        env=ALONE,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.count(b"\n") >= 1
    assert (tmp_path / "model" / "checkpoints" / "step-00000006").is_dir()
    record = json.loads((tmp_path / "vectors" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert (record["event"], record["most_memory"]) == ("ended", None)
