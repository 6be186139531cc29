"""A tiny treebank, and recipes of parsers that learn it in seconds."""

import random
from pathlib import Path

from regard.data.conllu import Sentence

NOUNS, VERBS, ADVERBS = ("dog", "cat", "bird", "fish"), ("sees", "hears", "likes"), ("today", "now")


def sentence(draw: random.Random) -> Sentence:
    """A noun phrase, a verb, perhaps another noun phrase and an adverb, and a full stop."""
    words = [("the", 2, "det"), (draw.choice(NOUNS), 3, "nsubj"), (draw.choice(VERBS), 0, "root")]
    if draw.random() < 0.7:
        words += [(draw.choice(("the", "a")), 5, "det"), (draw.choice(NOUNS), 3, "obj")]
    if draw.random() < 0.3:
        words.append((draw.choice(ADVERBS), 3, "advmod:tmod"))
    words.append((".", 3, "punct"))
    forms, heads, relations = zip(*words, strict=True)
    return Sentence.of(forms).with_tree(heads, relations)


def write_treebank(folder: Path) -> None:
    draw = random.Random(1)
    for part, size in {"train": 120, "dev": 15, "test": 15}.items():
        trees = [sentence(draw) for _ in range(size)]
        text = "".join(f"# sent_id = {part}-{number}\n{tree.text}" for number, tree in enumerate(trees))
        (folder / f"{part}.conllu").write_text(text, encoding="utf-8")


RECIPE = """\
task = "parsing"

[data]
train = ["train.conllu"]
dev = ["dev.conllu"]
test = ["test.conllu"]

[words]
width = 12
characters = { kind = "cnn", embedding = 4, width = 4 }

[model]
kind = "graph"
arc_width = 16
relation_width = 8
dropout = 0.0

[model.encoder]
kind = "recurrent"
embedding = 16
hidden = 12

[train]
batch_tokens = 128
steps = 50
device = "cpu"

[train.optimizer]
rate = 2e-2

[train.schedule]
warmup = 5

[train.validation]
every = 50
metric = "las"
"""

TRANSITION = RECIPE.replace('kind = "graph"\narc_width = 16', 'kind = "transition"\nhidden = 16')
