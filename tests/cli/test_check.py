"""`regard check` of every task, which needs no torch: importing it takes longer than checking small files."""

import json
import subprocess
import sys
from pathlib import Path

from command_line import ALONE

from regard.recipe import TASKS

FILES = {
    "text": "the cat sees\nthe dog hears\n",
    "other": "die Katze sieht\nder Hund hört\n",
    "conll": "Bob B-PER\nruns O\n\nShe O\nruns O\n\n",
    "tsv": "good\ta nice film\nbad\ta poor film\n",
    "conllu": "1\tI\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\tgo\t_\t_\t_\t_\t0\troot\t_\t_\n\n",
}
ENCODER = '[train]\nsteps = 1\n[model.encoder]\nkind = "averaging"\n'
READ = {
    "alignment": (("text", "other"), ""),
    "classifying": (("tsv",), ENCODER),
    "language": (("text",), '[train]\nsteps = 1\n[model]\nkind = "recurrent"\n'),
    "parsing": (("conllu",), ENCODER + '[model]\nkind = "graph"\n'),
    "pretraining": (("text",), ENCODER),
    "tagging": (("conll",), ENCODER),
    "translation": (("text", "other"), '[train]\nsteps = 1\n[model]\nkind = "recurrent"\n'),
    "vectors": (("text",), '[vectors]\nkind = "skipgram"\n'),
}
"""What each task reads, by the endings of its files, and what else its recipe must say."""
CHECK = """
import json, sys
from regard.cli import main
for recipe in json.loads(sys.argv[1]):
    sys.argv = ["regard", "check", recipe]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, recipe
    assert "torch" not in sys.modules, recipe
"""


def test_the_data_of_every_task_is_checked_without_torch(tmp_path: Path) -> None:
    assert set(READ) == set(TASKS)
    for ending, content in FILES.items():
        (tmp_path / f"train.{ending}").write_text(content, encoding="utf-8")
    for task, (endings, others) in READ.items():
        train = json.dumps([f"train.{ending}" for ending in endings])
        (tmp_path / f"{task}.toml").write_text(f'task = "{task}"\n[data]\ntrain = {train}\n{others}', encoding="utf-8")
    recipes = json.dumps([f"{task}.toml" for task in READ])
    ended = subprocess.run(
        [sys.executable, "-c", CHECK, recipes],
        capture_output=True,
        cwd=tmp_path,
        env=ALONE,
        timeout=120,
        check=False,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("no problems found") == len(READ)
