"""What the pages take as given: text in files of the names that they use, and small models of every kind.

`Supplies` has one folder for all of it, which all tests of a run share. A page gets a copy.
"""

import gzip
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from classifying_runs import write_conversations, write_labelled
from parsing_task import write_treebank
from tagging_runs import write_columns, write_tagged_lines

WORDS = {
    "das": "this",
    "ist": "is",
    "ein": "a",
    "Haus": "house",
    "Hund": "dog",
    "klein": "small",
    "rot": "red",
    "und": "and",
    "sieht": "sees",
    ".": ".",
}
FRENCH = dict(zip(WORDS, ["ceci", "est", "un", "maison", "chien", "petit", "rouge", "et", "voit", "."], strict=True))
JAPANESE = dict(zip(WORDS, ["これ", "は", "一", "家", "犬", "小", "赤", "と", "見", "。"], strict=True))
SIZES = {"train": 120, "dev": 12, "test": 12, "new": 4, "crawled": 150}

QUICK = """\
[train]
steps = 4
batch_tokens = 128
device = "cpu"
threads = 1
keep = 1

[train.optimizer]
rate = 1e-2

[train.schedule]
warmup = 1

[train.validation]
every = 4
"""
WORD_TOKENS = '[tokens.source]\nkind = "words"\n\n[tokens.target]\nkind = "words"\n\n'
TRANSFORMER = """\
[model]
kind = "transformer"
width = 16
heads = 4
feedforward = 32
encoder_layers = 1
decoder_layers = 1
dropout = 0.0

"""
RECURRENT = '[model]\nkind = "recurrent"\nembedding = 16\nhidden = 16\n\n'
ENCODER = '[model.encoder]\nkind = "recurrent"\nembedding = 12\nhidden = 8\n\n'


def pairs(source: str, target: str) -> str:
    files = "".join(f'{part} = ["{part}.{source}", "{part}.{target}"]\n' for part in ("train", "dev", "test"))
    return f"[data]\n{files}\n{WORD_TOKENS}{TRANSFORMER}{QUICK}"


def of_files(
    task: str, suffix: str, data: str = "", model: str = ENCODER, words: str = "[words]\nwidth = 12\n\n"
) -> str:
    files = "".join(f'{part} = ["{part}.{suffix}"]\n' for part in ("train", "dev", "test"))
    return f'task = "{task}"\n\n[data]\n{files}{data}\n{words}{model}{QUICK}'


VECTORS = """\
task = "vectors"

[data]
train = ["train.txt"]
least = 1

[vectors]
kind = "skipgram"
dimension = 8
epochs = 1
"""
RECIPES = {
    "de-en": pairs("de", "en"),
    "en-de": pairs("en", "de"),
    "dates": "dates",
    "dates-language": "dates-language",
    "lstm": of_files("language", "txt", "segment = 10\n", RECURRENT, words=""),
    "ner": of_files("tagging", "conll"),
    "atis": of_files("tagging", "tsv", 'format = "lines"\nword_column = 1\ntag_column = 2\nlabel_column = 3\n'),
    "acts": of_files(
        "classifying",
        "tsv",
        "conversations = true\nspeaker_column = 1\ntext_column = 2\nlabel_column = 3\n",
        ENCODER + '[model.context]\nkind = "attention"\nreach = 2\n\n',
    ),
    "parser": of_files("parsing", "conllu", model='[model]\nkind = "graph"\narc_width = 8\n\n' + ENCODER),
    "aligner": 'task = "alignment"\n\n[data]\ntrain = ["train.de", "train.en"]\n',
    "en-es": 'task = "alignment"\n\n[data]\ntrain = ["train.en", "train.es"]\n',
    "vectors": VECTORS,
}
DATES = ["data.examples=200", "train.steps=4", "train.validation.every=4"]
SENSIBLE = ["train.steps=80", "train.validation.every=80"]
CHANGES = {
    "de-en": SENSIBLE,
    "en-de": SENSIBLE,
    "dates": DATES,
    "dates-language": DATES,
}
TEXTS: dict[str, Callable[[Path], object]] = {
    "ner": write_columns,
    "atis": write_tagged_lines,
    "sentiment": write_labelled,
    "acts": write_conversations,
    "parser": write_treebank,
}
"""What writes the text of a kind of model; that of all others is always there."""


def write_texts(folder: Path) -> None:
    """Parallel text in four languages, running text, links, terms."""
    draw = random.Random(1)
    for part, size in SIZES.items():
        rows = [draw.choices([word for word in WORDS if word != "."], k=draw.randint(2, 6)) for _ in range(size)]
        german = [" ".join([*row, "."]) for row in rows]
        english = [" ".join(map(WORDS.__getitem__, [*row, "."])) for row in rows]
        sides = {
            "de": german,
            "en": english,
            "fr": [" ".join(map(FRENCH.__getitem__, [*row, "."])) for row in rows],
            "es": [" ".join(map(FRENCH.__getitem__, [*row, "."])) for row in rows],
            "ja": ["".join(map(JAPANESE.__getitem__, [*row, "."])) for row in rows],
            "tsv": ["\t".join(pair) for pair in zip(german, english, strict=True)],
            "txt": [*english, "the company said it expects a loss ."],
        }
        for suffix, lines in sides.items():
            (folder / f"{part}.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        links = (" ".join(f"{place}-{place}" for place in range(len(row) + 1)) + "\n" for row in rows)
        (folder / f"{part}.links").write_text("".join(links), encoding="utf-8")
    given = {
        "terms.tsv": "Haus\tbuilding\n家\tbuilding\n",
        "pairs.csv": 'ein Haus,a house\n"klein, rot","small, red"\n',
        "more.en": "this is a house .\n",
        "sentences.txt": "Anna sees Rome .\n",
        "reviews.txt": "a lovely film\n",
        "conversations.tsv": "A\tis it ?\nB\tyes .\n\nA\tit is .\n",
        "dates.txt": "3 juillet 2021\n7 June 1987\n",
    }
    for name, text in given.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("my.txt", "plain.txt", "plain-dev.txt"):
        shutil.copy(folder / "train.txt", folder / name)
    for name in ("gold.links", "eflomal.links"):
        shutil.copy(folder / "test.links", folder / name)


COMPANY = """
hotel motel house dog small man woman king queen
paris france spain
rome italy spain
rome italy
two three four five six seven eight nine ten eleven twelve twenty
january february march april june july august september october november december
germany england russia china japan india canada australia brazil mexico sweden poland
mother father brother sister son daughter wife husband uncle aunt grandmother grandfather cousin
"""
"""Words of a line stand together in the text, so that vectors learn which belong together."""


def write_wiki(folder: Path) -> None:
    """Text of the words that the guide to word vectors asks for, and files to judge vectors by."""
    draw = random.Random(1)
    companies = [line.split() for line in COMPANY.strip().splitlines()]
    text = "".join(" ".join(draw.choices(draw.choice(companies), k=12)) + "\n" for _ in range(400))
    (folder / "train.txt").write_text(text, encoding="utf-8")
    with gzip.open(folder / "wiki.txt.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    (folder / "questions-words.txt").write_text(": family\nman woman king queen\n: gram1\ndog small man woman\n")
    (folder / "EN-WS-353-ALL.txt").write_text("hotel\tmotel\t9.1\nman\twoman\t8.3\nking\tdog\t1.0\n")


TEXTS["vectors"] = write_wiki


class Supplies:
    """The shared folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def text_of(self, kind: str) -> Path:
        """The folder with the text that a kind of model is trained on."""
        place = self.folder / (kind if kind in TEXTS else "texts")
        if not place.exists():
            place.mkdir()
            write_texts(place)
            if kind in TEXTS:
                TEXTS[kind](place)
        return place

    def model(self, kind: str, regard: Callable[..., None]) -> Path:
        """The folder of a model; `regard` runs a command in a folder."""
        place = self.folder / "models" / kind
        if not place.exists():
            text = self.text_of(kind)
            recipe = RECIPES[kind]
            if recipe != kind:
                (text / f"{kind}.toml").write_text(recipe, encoding="utf-8")
                recipe = f"{kind}.toml"
            changes = [part for change in CHANGES.get(kind, []) for part in ("--set", change)]
            command = ["vectors", "train"] if kind == "vectors" else ["train"]
            regard(text, *command, recipe, "--out", place, *changes)
        return place
