"""Does pre-training help where labelled sentences are few? Named entities (CoNLL-2003) and sentiment (SST-2) from 100
and 1,000 labelled sentences, from scratch, and in several ways from one encoder that was trained on plain text.

    python benchmarks/pretraining.py --text wiki.txt.gz --conll conll2003 --sst sst --seeds 1,2,3

The plain text has a paragraph a line. It is split into sentences, and these into words as the labelled text is: in the
way of the Penn Treebank, with brackets and double quotes as they are. Fewer sentences are drawn at random, the same for
all rows, and the fewer are among the more. A tagger is validated on 400 sentences of the development text during
training. Finished runs are never repeated, so an interrupted one is resumed.
"""

import argparse
import gzip
import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any

import torch
from conditions import conditions
from experiments import call

from regard.disk import read_lines, replace_file

SIZES = (100, 1000)
JUDGED = 400
"""Number of development sentences of the tagger."""
NOTHING = "from nothing"

ENCODER = """\
task = "pretraining"

[data]
train = ["text.txt"]
dev = ["text-dev.txt"]

[model]
dropout = 0.1

[train]
batch_tokens = 4096
threads = 1
keep = 1
schedule = { kind = "cosine", warmup = 200 }
optimizer = { kind = "adam", rate = 3e-3, beta2 = 0.999 }
validation = { every = 500 }
"""
NER = """\
task = "tagging"

[data]
train = ["conll-SIZE.conll"]
dev = ["conll-dev.conll"]
test = ["conll-test.conll"]

[model]
scheme = "iobes"
dropout = 0.5
"""
SENTIMENT = """\
task = "classifying"

[data]
train = ["sst-SIZE.tsv"]
dev = ["sst-dev.tsv"]
test = ["sst-test.tsv"]

[model]
dropout = 0.5
pooling = { kind = "max" }
"""
SHARED = """
[words]
width = 100
lowercase = true
characters = { kind = "cnn", embedding = 16, width = 30 }

[model.encoder]
kind = "recurrent"
embedding = 100
hidden = 200
"""
TRAINING = """\
dropout = { input = 0.3, variational = false }

[train]
batch_tokens = 256
threads = 1
keep = 1
steps = 600
clip = 5.0
schedule = { kind = "cosine", warmup = 30 }
optimizer = { kind = "adam", rate = 3e-3, beta2 = 0.999 }
"""
TASKS = {
    "named entities": (NER, 'validation = { every = 50, metric = "f1" }\n'),
    "sentiment": (SENTIMENT, 'validation = { every = 50, metric = "accuracy" }\n'),
}
"""Recipe and validation of each task."""
BOTH = 'train.start.parts=["words", "encoder"]'
STARTS: dict[str, list[str]] = {
    NOTHING: [],
    "from the encoder": [BOTH],
    "from its words alone": ['train.start.parts=["words"]'],
    "at lower rates": [BOTH, 'train.optimizer.part_rates=["words=0.1", "encoder=0.3"]'],
    "frozen for 100 steps": [BOTH, "train.start.frozen_steps=100"],
}
"""The settings changed by each way to start."""

ENDS = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"”]))\s+(?=[\"“(]?[A-Z0-9])")
TITLES = "Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|No|Inc|Co|Corp|Ltd|Prof|Gen|Col|Capt|Rev"
ABBREVIATED = re.compile(rf"\b(?:[A-Z]|{TITLES})\.$")
PIECES = re.compile(
    r"\d+(?:[.,:/-]\d+)*(?:st|nd|rd|th|s)?\b"  # numbers, dates, times
    rf"|(?:[A-Z]\.)+|\b(?:{TITLES})\."  # initials and titles
    r"|\w+(?:[-&]\w+)*(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m)\b"  # English contractions
    r"|\w+(?:[-&.]\w+)*|\.\.\.|--|[^\w\s]"
)


def sentences(text: Path) -> Iterator[list[str]]:
    """The sentences of paragraphs, as words."""
    with gzip.open(text, "rt", encoding="utf-8") as file:
        for line in file:
            rest = ""
            for part in ENDS.split(line.strip()):
                rest = f"{rest} {part}".strip()
                if not ABBREVIATED.search(rest):
                    if len(words := PIECES.findall(rest.replace("“", '"').replace("”", '"').replace("’", "'"))) > 3:
                        yield words
                    rest = ""


def drawn(examples: Sequence[str], count: int) -> list[str]:
    """Some examples; the fewer are among the more."""
    return [examples[place] for place in Random(0).sample(range(len(examples)), len(examples))[:count]]


def write_texts(arguments: argparse.Namespace, folder: Path) -> None:
    """Writes all text into a folder, under the names in the recipes."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "text.txt").exists():
        return
    blocks = {
        part: [
            block
            for block in (arguments.conll / f"eng.{name}").read_text(encoding="utf-8").split("\n\n")
            if block.strip() and not block.lstrip().startswith("-DOCSTART-")
        ]
        for part, name in (("train", "train"), ("dev", "testa"), ("test", "testb"))
    }
    lines = {part: read_lines(arguments.sst / f"sst2.{part}.tsv") for part in ("train", "dev", "test")}
    parts = {"conll-dev.conll": drawn(blocks["dev"], JUDGED), "conll-test.conll": blocks["test"]}
    parts |= {f"conll-{size}.conll": drawn(blocks["train"], size) for size in SIZES}
    tables = {"sst-dev.tsv": lines["dev"], "sst-test.tsv": lines["test"]}
    tables |= {f"sst-{size}.tsv": drawn(lines["train"], size) for size in SIZES}
    for name, some in parts.items():
        (folder / name).write_text("\n\n".join(block.strip("\n") for block in some) + "\n", encoding="utf-8")
    for name, rows in tables.items():
        (folder / name).write_text("\n".join(rows) + "\n", encoding="utf-8")
    plain = [" ".join(words) for words in islice(sentences(arguments.text), arguments.sentences + 1000)]
    (folder / "text-dev.txt").write_text("\n".join(plain[-1000:]) + "\n", encoding="utf-8")
    (folder / "text.txt").write_text("\n".join(plain[:-1000]) + "\n", encoding="utf-8")


def run(command: list[str], folder: Path, name: str) -> bool:
    """Runs `regard`, unless it has been run; returns whether it succeeded."""
    done = call(command, str(folder), folder / f"{name}.log")
    print(f"{name}: {'done' if done else f'failed, see {folder / name}.log'}", flush=True)
    return done


def pretrain(arguments: argparse.Namespace, folder: Path) -> None:
    """Trains the encoder from which the others start."""
    (folder / "encoder.toml").write_text(ENCODER + SHARED, encoding="utf-8")
    more = ["--set", f"train.steps={arguments.steps}", "--set", "words.least=5"]
    more += ["--resume"] if (folder / "encoder").exists() else []
    if not run(["train", "encoder.toml", "--out", "encoder", *more], folder, "encoder"):
        raise SystemExit(1)


def repeat(task: str, size: int, start: str, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The scores of a task with `size` sentences, started in one way, over seeds."""
    recipe, validation = TASKS[task]
    name = f"{task}-{size}-{start}".replace(" ", "-")
    recipe = recipe.replace("SIZE", str(size)) + SHARED + TRAINING + validation
    (folder / f"{name}.toml").write_text(recipe, encoding="utf-8")
    changes = STARTS[start] if start == NOTHING else ['train.start.model="encoder"', *STARTS[start]]
    options = [part for change in changes for part in ("--set", change)]
    again = ["--resume"] if (folder / name).exists() else []
    run(
        ["repeat", f"{name}.toml", "--seeds", arguments.seeds, "--out", name, "--on-test", *again, *options],
        folder,
        name,
    )
    path = folder / name / "results.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"seeds": [], "scores": {}}
    return {"task": task, "size": size, "start": start, "seeds": found["seeds"], "scores": found["scores"]}


def perplexity(encoder: Path) -> float:
    """How well the encoder guesses masked words, by its best validation."""
    lines = (encoder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    found = [record["metrics"]["perplexity"] for record in map(json.loads, lines) if record["event"] == "validated"]
    return float(min(found))


def parsed() -> argparse.Namespace:
    """The command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True, help="plain text, a paragraph a line, ending in .gz")
    parser.add_argument("--conll", type=Path, required=True, help="folder with eng.train, eng.testa and eng.testb")
    parser.add_argument(
        "--sst", type=Path, required=True, help="folder with sst2.train.tsv, sst2.dev.tsv, sst2.test.tsv"
    )
    parser.add_argument("--sentences", type=int, default=400_000, help="sentences of plain text")
    parser.add_argument("--steps", type=int, default=5000, help="steps of pre-training, of 4,096 words each")
    parser.add_argument("--parallel", type=int, default=1, help="models that are trained at the same time")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--work", type=Path, default=Path("runs/pretraining"), help="folder for texts and models")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/pretraining.json")
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    made, folder = conditions(("regard", "torch"), arguments.commit), arguments.work.absolute()
    made["device"] = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    write_texts(arguments, folder)
    pretrain(arguments, folder)
    text = {"sentences": arguments.sentences, "steps": arguments.steps, "perplexity": perplexity(folder / "encoder")}
    rows = []
    with ThreadPoolExecutor(arguments.parallel) as pool:
        ways = product(TASKS, SIZES, STARTS)
        for row in pool.map(lambda way: repeat(*way, arguments, folder), ways):
            rows.append(row)
            record = {**made, "text": text, "rows": rows}
            replace_file(arguments.out, (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())


if __name__ == "__main__":
    main()
