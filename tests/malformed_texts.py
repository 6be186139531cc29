"""Malformed text files, recipes and arguments: what stands in the files, which command meets them, what it must say."""

import gzip
from dataclasses import dataclass, field

BOM = b"\xef\xbb\xbf"
GOOD = b"eins zwei\ndrei\nvier rot\n"
PACKED = gzip.compress(GOOD * 400)

PAIR = {"a.de": GOOD, "a.en": GOOD}


@dataclass(frozen=True)
class Malformed:
    """Files of a folder, a command given there, and fragments of the one message it must end with."""

    command: str
    says: tuple[str, ...]
    files: dict[str, bytes | None] = field(default_factory=dict)
    """Content by name; a folder if there is none."""


def text(says: str, *more: str, command: str = "check a.de a.en", **files: bytes | None) -> Malformed:
    """A corpus in the files a.de and a.en, both good unless given; other files by their names, `_` for the dot."""
    named = {name.replace("_", "."): content for name, content in files.items()}
    return Malformed(command, (says, *more), {**PAIR, **named})


def tsv(content: bytes, says: str) -> Malformed:
    return Malformed("check a.tsv", (says,), {"a.tsv": content})


def jsonl(content: bytes, says: str) -> Malformed:
    return Malformed("check a.jsonl", (says,), {"a.jsonl": content})


TEXTS = {
    "source missing": text("b.de: no such file; in that folder are 'a.de'", command="check b.de a.en"),
    "folder missing": text("nowhere/a.de: no such file", command="check nowhere/a.de a.en"),
    "source empty": text("a.de: the file is empty; name one with text", a_de=b""),
    "target empty": text("a.en: the file is empty", a_en=b""),
    "a folder": text("a.de: this is a folder; name a file in it", a_de=None),
    "a device": text("/dev/null: not a regular file", command="check /dev/null a.en"),
    "binary": text("a.de:1: byte 0x80 at byte 1 of the line", a_de=bytes(range(128, 256)) * 3 + b"\n\n\n"),
    "invalid UTF-8": text("a.en:2: byte 0xff at byte 3", "data.invalid", a_en=b"one\nab\xffc\nx\n"),
    "UTF-16": text("a.de:1: a NUL byte", "iconv -f UTF-16 -t UTF-8 ", a_de="eins\nzwei\ndrei\n".encode("utf-16")),
    "Latin-1": text("a.de:2: byte 0xe4", "iconv -f CP1252 -t UTF-8 ", a_de="Haus\nHäuser\nx\n".encode("latin-1")),
    "not gzip": text("a.gz:1: the name ends in .gz, but this is not gzip data", command="check a.gz a.en", a_gz=GOOD),
    "gzip cut off": text(
        "the gzip data is cut off or damaged here", command="check a.gz a.en", a_gz=PACKED[: len(PACKED) // 2]
    ),
    "gzip damaged": text(
        "the gzip data is cut off or damaged here",
        command="check a.gz a.en",
        a_gz=PACKED[:20] + b"\0" * 9 + PACKED[29:],
    ),
    "one line more": text("a.de has 3 lines and", "a.en 4", a_en=GOOD + b"x\n"),
    "one line fewer": text("a.de has 2 lines and", "line n of one belongs to line n of the other", a_de=b"x\ny\n"),
    "a line of 16 MB": text("a.de:1: a line of more than 16,777,216 bytes", a_de=b"x" * (1 << 24) + b"\n"),
    "control characters refused": text(
        "(U+0001)", "data.control", a_de=b"a\1\nb\nc\n", command="check a.de a.en --set data.control=refuse"
    ),
    "NUL": text("a.de:1: a NUL byte at byte 2 of the line, so this is not text", a_de=b"a\0\nb\nc\n"),
    "empty line refused": text(
        "a.de:2", "data.empty", a_de=b"a\n\nc\n", command="check a.de a.en --set data.empty=refuse"
    ),
    "duplicates refused": text(
        "a.de:2",
        "data.duplicates",
        a_de=b"a\na\nb\n",
        a_en=b"x\nx\ny\n",
        command="check a.de a.en --set data.duplicates=refuse",
    ),
    "overlap refused": text(
        "data.overlap", "test", command="check a.de a.en --test a.de --test a.en --set data.overlap=refuse"
    ),
    "over-long refused": text(
        "data.over_long", "data.longest", command="check a.de a.en --set data.longest=1 --set data.over_long=refuse"
    ),
    "three files": text("train names 3 files", command="check a.de a.en a.de"),
    "a tsv among two": text("expected two files of lines", command="check a.tsv a.en", a_tsv=b"a\tb\n"),
    "tsv of one column": tsv(b"a\tb\na\n", "a.tsv:2: 1 column instead of 2"),
    "tsv of three columns": tsv(b"a\tb\tc\n", "a.tsv:1: 3 columns instead of 2; a line is the source, one tab"),
    "tsv empty": tsv(b"", "a.tsv: the file is empty"),
    "tsv with spaces": tsv(b"a b\n", "a.tsv:1: 1 column instead of 2"),
    "jsonl not JSON": jsonl(b'{"source": "a"\n', "a.jsonl:1: not valid JSON"),
    "jsonl a list": jsonl(b'["a", "b"]\n', "a.jsonl:1: a JSON list instead of an object"),
    "jsonl without source": jsonl(b'{"src": "a", "target": "b"}\n', "no field 'source'; there are 'src' or 'target'"),
    "jsonl without target": jsonl(b'{"source": "a"}\n', "a.jsonl:1: no field 'target'"),
    "jsonl a number": jsonl(b'{"source": 3, "target": "b"}\n', "field 'source' is 3 and not a string"),
    "jsonl null": jsonl(b'{"source": null, "target": "b"}\n', "field 'source' is null"),
    "jsonl empty line": jsonl(b'{"source": "a", "target": "b"}\n\n', "a.jsonl:2: not valid JSON"),
    "jsonl half a surrogate": jsonl(b'{"source": "\\ud83d", "target": "b"}\n', "half a surrogate pair, \\ud83d"),
    "jsonl deep": jsonl(b"[" * 100_000 + b"\n", "a.jsonl:1: JSON too deeply nested"),
    "jsonl a bomb of digits": jsonl(b'{"source": ' + b"9" * 5000 + b"}\n", "a.jsonl:1: not valid JSON"),
    "no field of that name": Malformed(
        "check a.jsonl --set data.source_field=de",
        ("no field 'de'; there are 'source' or 'target'; set data.source_field",),
        {"a.jsonl": b'{"source": "a", "target": "b"}\n'},
    ),
}

RECIPE = """\
[data]
train = ["a.de", "a.en"]
[model]
kind = "transformer"
width = 8
heads = 2
[train]
steps = 1
"""


def recipe(says: str, *more: str, instead: str | bytes = RECIPE, add: str = "", options: str = "") -> Malformed:
    """A recipe that is trained with: the good one, with something instead of it, or lines added at its end."""
    content = instead if isinstance(instead, bytes) else (instead + add).encode()
    return Malformed(f"train r.toml --out out {options}", (says, *more), {**PAIR, "r.toml": content})


def change(says: str, *changes: str) -> Malformed:
    """The good recipe, changed on the command line."""
    return recipe(says, options=" ".join(f"--set '{each}'" for each in changes))


RECIPES = {
    "missing": Malformed("train nowhere.toml", ("nowhere.toml: neither a recipe file nor a built-in", "'dates'")),
    "misspelt built-in": Malformed("train date", ("date: neither a recipe file nor a built-in recipe", "'dates'")),
    "a folder": Malformed("train r.toml", ("r.toml: this is a folder, not a recipe; name a recipe",), {"r.toml": None}),
    "binary": recipe("r.toml: not UTF-8 text (byte 0)", instead=b"\xff\xfe\x00\x01"),
    "not TOML": recipe("r.toml: not valid TOML", "Strings need quotes", instead="[data\n"),
    "unquoted": recipe("r.toml: not valid TOML", instead="[model]\nkind = transformer\n"),
    "table twice": recipe("r.toml: not valid TOML", add="[data]\n"),
    "JSON": recipe("r.toml: not valid TOML", instead='{"data": {}}'),
    "empty": recipe("'data' is missing; add a [data] table", "'model' is missing", "'train' is missing", instead=""),
    "no model": recipe("'model' is missing; add a [model] table", instead="[data]\ncorpus='copy'\n[train]\nsteps=1\n"),
    "unknown table": recipe("unknown setting 'trian'", "'train'", add="[trian]\n"),
    "unknown setting": recipe("unknown setting 'train.step'", "nearest first: 'steps'", add="step = 3\n"),
    "setting of another model": recipe(
        "unknown setting 'model.cell'", instead=RECIPE.replace("width", "cell='gru'\nwidth")
    ),
    "a table for a value": recipe("train.clip = {}: must be a number", add="[train.clip]\n"),
    "a value for a table": recipe(
        "train = 3 is not a table; write its settings below a line [train]",
        instead="train = 3\n" + RECIPE.split("[train]")[0],
    ),
    "a list for a table": recipe("data = [] is not a table", instead="data = []\n" + RECIPE[RECIPE.index("[model]") :]),
    "unknown model": change("model.kind = 'transfomer' is not allowed; allowed are", "model.kind=transfomer"),
    "unknown corpus": change("data.corpus = 'date' is not allowed; allowed are 'dates'", "data.corpus=date"),
    "unknown language": change("'xx'", "data.corpus=dates", "data.train=[]", 'data.languages=["xx"]'),
    "unknown tokenizer": change(
        "tokens.source.kind = 'word' is not allowed; allowed are 'words'", "tokens.source.kind=word"
    ),
    "unknown score": change(
        "model.score = 'addititive' is not allowed; allowed are 'additive'", "model.score=addititive"
    ),
    "unknown device": change("train.device = 'tpu' is not allowed; allowed are", "train.device=tpu"),
    "text for a number": change("train.steps = 'many'", "train.steps=many"),
    "a fraction for a whole number": change("train.steps = 1.5", "train.steps=1.5"),
    "a number for true": change("tokens.shared = 1", "tokens.shared=1"),
    "negative": change("train.steps = -1", "train.steps=-1"),
    "zero": change("train.batch_tokens = 0", "train.batch_tokens=0"),
    "infinite": change("train.optimizer.rate = inf", "train.optimizer.rate=inf"),
    "not a number": change("train.clip = nan", "train.clip=nan"),
    "a share of one": change("model.dropout = 1.0", "model.dropout=1.0"),
    "nothing ends it": change("nothing ends this run", "train.steps=0"),
    "cosine without an end": change(
        "cosine schedule must know its end", "train.steps=0", "train.minutes=1", "train.schedule.kind=cosine"
    ),
    "heads do not divide": change("width = 8 cannot be divided among heads = 3", "model.heads=3"),
    "groups do not divide": change("heads = 2 cannot be divided among groups = 3", "model.groups=3"),
    "rotary with odd heads": change("rotary", "model.width=6", "model.position=rotary"),
    "tied without shared": change("it needs tokens.shared = true", "model.tie=all"),
    "BPE dropout on words": change("skips BPE merges", "tokens.source.kind=words", "tokens.source.dropout=0.1"),
    "shared and target": change("leave tokens.target out", "tokens.shared=true", "tokens.target.kind=words"),
    "files and a built-in corpus": change("train names files, but corpus is 'copy'", "data.corpus=copy"),
    "no files": change("train is missing: name two files", "data.train=[]"),
    "patience without development text": change("needs development text; set data.dev", "train.validation.patience=2"),
    "metric without development text": change("needs development text; set data.dev", "train.validation.metric=bleu"),
    "n-best beyond the beam": change("n_best = 9 outputs need at least as wide a beam", "decode.n_best=9"),
    "greedy n-best": change("greedy decoding gives one output", "decode.method=greedy", "decode.n_best=2"),
    "bytes with no room": change("needs 260", "tokens.source.kind=bytes", "tokens.source.size=100"),
    "vocabulary with no room": change("size = 3 leaves no room", "tokens.source.size=3"),
    "missing corpus": change("b.de: no such file", 'data.train=["b.de", "a.en"]'),
    "all dropped": change("no pair is left to train on", "data.longest=1", 'data.train=["l.de", "l.de"]'),
    "start from nothing": change("nowhere: no such folder", "train.start_from=nowhere"),
    "start from itself": change("out: this is not the folder of a model", "train.start_from=out"),
    "start from a file": change("train.start_from:", "train.start_from=a.de"),
    "start from no model": change("is not the folder of a model", "train.start_from=."),
    "--set without value": change("--set 'train.steps': expected key=value", "train.steps"),
    "--set without key": change("--set '=3': expected key=value", "=3"),
    "--set unknown": change("unknown setting 'train.step'; nearest known: 'train.steps'", "train.step=3"),
    "--set a table": change("unknown setting 'train'", "train=3"),
}
RECIPES["all dropped"].files["l.de"] = b"a b c\n"


def call(command: str, *says: str) -> Malformed:
    """A command given beside a good corpus (a.de, a.en), good and bad files of links, and a good model (MODEL)."""
    links = {"good.links": b"0-0\n0-0\n0-0\n", "short.links": b"0-0\n", "bad.links": b"0-0\n0:0\n0-0\n"}
    return Malformed(command, says, {**PAIR, **links, "one.de": b"eins\n", "latin.links": b"0-0\n\xff\n0-0\n"})


ARGUMENTS = {
    "no such command": call("trian", "No such command 'trian'"),
    "no such option": call("translate MODEL --bean 3", "No such option: --bean"),
    "no model": call("translate", "Missing argument 'MODEL'"),
    "no recipe": call("train", "Missing argument 'RECIPE'"),
    "no data": call("check", "Missing argument"),
    "model missing": call("translate nowhere", "nowhere: no such folder; name the folder of a trained model"),
    "model a file": call("translate a.de", "a.de: this is a file; name the folder of a trained model"),
    "model a bare folder": call(
        "evaluate .", "this is not the folder of a model: it has no recipe.toml; name one that `regard train` made\n"
    ),
    "beam of 0": call("translate MODEL --beam 0", "regard: --beam 0: give 1 or more\n"),
    "beam of none": call("evaluate MODEL --beam -2", "regard: --beam -2: give 1 or more\n"),
    "beam in words": call("translate MODEL --beam wide", "Invalid value for '--beam'"),
    "n-best of 0": call("translate MODEL --n-best 0", "regard: --n-best 0: give 1 or more\n"),
    "n-best beyond the beam": call(
        "translate MODEL --beam 2 --n-best 3", "n_best = 3 outputs need at least as wide a beam, not 2"
    ),
    "setting unknown": call("translate MODEL --set decode.baem=3", "unknown setting 'decode.baem'", "'decode.beam'"),
    "setting of no use now": call("translate MODEL --set model.cell=lstm", "--set 'model.cell=lstm'", "decode.*"),
    "setting of a wrong kind": call(
        "translate MODEL --set decode.method=dice", "decode.method = 'dice' is not allowed"
    ),
    "setting out of range": call("translate MODEL --set decode.top_p=2.0", "decode.top_p = 2.0"),
    "device unknown": call("translate MODEL --device tpu", "device 'tpu' is not available here; available: "),
    "device index": call("translate MODEL --device cpu:x", "device 'cpu:x' is not available here"),
    "device beyond": call("score MODEL a.de a.en --device cuda:99", "device 'cuda:99' is not available here"),
    "score of a missing file": call("score MODEL a.de b.en", "b.en: no such file"),
    "score of unequal files": call("score MODEL one.de a.en", "one.de has 1 line and", "a.en 3"),
    "score of a folder": call("score MODEL . a.en", "this is a folder"),
    "align unequal files": call("align MODEL a.de one.de", "a.de has 3 lines and"),
    "align by no layer": call("align MODEL a.de a.en --layer top", "there are no weights of a layer 'top'; there are"),
    "align by no head": call("align MODEL a.de a.en --head 7", "there is no head 7; heads are counted from 0 to 0"),
    "align by a head before the first": call("align MODEL a.de a.en --head -1", "there is no head -1"),
    "threshold beyond": call("align MODEL a.de a.en --threshold 2", "--threshold 2.0: probabilities lie"),
    "gold missing": call("align MODEL a.de a.en --gold no.links", "no.links: cannot be read (No such file"),
    "gold of another length": call(
        "align MODEL a.de a.en --gold short.links", "short.links:1: the links end with 1 line, and there are 3 "
    ),
    "gold no links": call(
        "align MODEL a.de a.en --gold bad.links", "bad.links:2: '0:0' is not a link", "'0-0' or '0p0'"
    ),
    "gold not text": call("align MODEL a.de a.en --gold latin.links", "latin.links:2: this line is not UTF-8"),
    "gold a folder": call("align MODEL a.de a.en --gold .", "cannot be read (Is a directory)"),
    "picture nowhere": call("look MODEL eins -o nowhere/x.png", "nowhere/x.png: cannot be written"),
    "page nowhere": call("look MODEL eins -o nowhere/x.html", "nowhere/x.html: cannot be written"),
    "picture of no kind": call("look MODEL eins -o x.bmp", "pictures are not written as .bmp", "'.png'", "'.html'"),
    "picture without suffix": call("look MODEL eins -o x", "x: pictures are not written as a file without suffix"),
    "picture a folder": call("look MODEL eins -o MODEL", "pictures are not written as"),
    "outputs nowhere": call("evaluate MODEL -o nowhere/x.txt", "nowhere/x.txt: there is no folder nowhere"),
    "outputs a folder": call("evaluate MODEL -o MODEL", "this is a folder; name a file in it"),
    "split unknown": call("evaluate MODEL --split train", "--split 'train' is not known; known are 'test' or 'dev'"),
    "evaluation on one file": call(
        "evaluate MODEL a.de", "a.de: is one side of pairs, by its name", "name the file of the target after it"
    ),
    "recipe unknown": call("recipes date", "date: neither a recipe file nor a built-in recipe", "'dates'"),
    "model in a file": call("train dates --out a.de", "a.de: is a file, but a model is a folder"),
    "model below a file": call("train dates --out a.de/x", "a.de/x: cannot be written: Not a directory"),
    "demo by a bad setting": call("demo --set train.stesp=1", "unknown setting 'train.stesp'", "'train.steps'"),
}
