"""Plants the mistakes that `regard check` looks for into the training text of real corpora, and counts which it finds,
how far from their true place, and what it finds where nothing was planted; and how long the checks take.

    python benchmarks/data_faults.py --data data --out benchmarks/results/data_faults.json

The folder has Multi30k, Europarl (German–English, English–Spanish), Tatoeba, IWSLT 2014 and XL-WA as published, each
in a folder of its own. False alarms are counted on the whole of each; faults are planted into at most `--most` of its
pairs, taken evenly: in all of them, or from 10, 50 or 90 % on. Development text has 1,000 pairs at most, cut off where
there is none. Sides are swapped without any, too. The message catalogs of this system (/usr/share/locale) are looked
through for false alarms alone; which there are depends on what is installed.
"""

import argparse
import gettext
import gzip
import json
import re
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from conditions import conditions

from regard.data import Report
from regard.data.check import check
from regard.data.faults import PairFaults
from regard.recipe import Data

Pairs = list[tuple[str, str]]
KINDS = {
    "identical",
    "swapped",
    "shifted",
    "language of the source",
    "language of the target",
    "loops",
    "repeated text",
    "copied",
}
"""Kinds of findings that are faults."""
NEAR = 200
"""Lines from the true place within which a fault counts as placed."""
SPANISH_IS_FOREIGN = ("multi30k", "iwslt14", "europarl-deen", "tatoeba-deu", "xlwa-en-nl", "xlwa-en-da")
"""Corpora where the other language is Spanish; it is German elsewhere."""
BEGINNINGS = (0.0, 0.1, 0.5, 0.9)
CATALOGS = ("ja", "zh_CN", "th", "de", "fr", "ru", "ar")
"""Languages of message catalogs."""
FEWEST = 1000
"""Least number of messages for a language to be included."""
ENCODINGS = {"CP1252": "cp1252", "UTF-16LE": "utf-16-le", "UTF-16BE": "utf-16-be", "UTF-16": "utf-16"}


def read(path: Path) -> list[str]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return text.removesuffix("\n").split("\n")


def corpora(folder: Path) -> Iterator[tuple[str, Pairs, Pairs]]:
    """Name, training pairs and development pairs of each corpus."""

    def pairs(name: str, source: str, target: str) -> Pairs:
        return list(zip(read(folder / name / source), read(folder / name / target), strict=True))

    yield "multi30k", pairs("multi30k", "train.de", "train.en"), pairs("multi30k", "val.de", "val.en")
    train = pairs("europarl-deen", "train.de.gz", "train.en.gz")
    yield "europarl-deen", train, pairs("europarl-deen", "dev.de", "dev.en")
    train = pairs("europarl-enes", "train.en.gz", "train.es.gz")
    yield "europarl-enes", train[1000:], train[:1000]
    for language in ("deu", "fra"):
        lines = (line.split("\t") for line in read(folder / "tatoeba" / f"eng-{language}.txt.gz"))
        train = [(source, target) for source, target in lines]
        rest = [pair for line, pair in enumerate(train) if line % 100]
        yield f"tatoeba-{language}", rest, train[::100]
    train = pairs("iwslt14", "train-sample.de", "train-sample.en")
    yield "iwslt14", train, pairs("iwslt14", "valid.de", "valid.en")
    for path in sorted((folder / "align-xlwa").glob("*.train.tsv")):
        parts = [
            [tuple(line.split("\t")[:2]) for line in read(path.with_name(path.name.replace("train", part)))]
            for part in ("train", "dev")
        ]
        yield f"xlwa-{path.name[:5]}", parts[0], parts[1]  # type: ignore[misc]


def catalogs() -> Iterator[tuple[str, Pairs, Pairs]]:
    """The same of the messages of installed programs, sorted as they are in their catalogs."""
    for language in CATALOGS:
        found: dict[str, str] = {}
        for path in sorted(Path("/usr/share/locale", language, "LC_MESSAGES").glob("*.mo")):
            try:
                with path.open("rb") as file:
                    messages = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
            except UnicodeDecodeError:  # a few old ones do not name their encoding
                continue
            for english, text in messages.items():
                if isinstance(english, str) and english:
                    found[" ".join(english.split("\4")[-1].split())] = " ".join(text.split())
        pairs = [(text, english) for english, text in found.items() if english != text]
        if len(pairs) >= FEWEST:
            yield f"catalogs-{language}", [pair for line, pair in enumerate(pairs) if line % 100], pairs[::100]


def others(pairs: Pairs, side: int, foreign: list[str]) -> Pairs:
    """Pairs with one side in another language."""
    texts = [foreign[line % len(foreign)] for line in range(len(pairs))]
    return [
        (text, target) if side == 0 else (source, text) for text, (source, target) in zip(texts, pairs, strict=True)
    ]


def shifted(pairs: Pairs, start: int, distance: int) -> Pairs:
    """Pairs after some lines of one side are lost: of the target, or if the distance is negative, of the source."""
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    lost = targets if distance > 0 else sources
    del lost[start : start + abs(distance)]
    return list(zip(sources, targets, strict=False))


def block_of(pairs: Pairs) -> int:
    """Number of pairs in the block that is repeated."""
    return max(200, len(pairs) // 20)


def planted(pairs: Pairs, foreign: list[str]) -> dict[str, tuple[str, Callable[[int], Pairs]]]:
    """For each fault the kind of finding that names it, and the pairs with the fault from a place on."""

    def from_there(change: Callable[[Pairs], Pairs]) -> Callable[[int], Pairs]:
        return lambda start: pairs[:start] + change(pairs[start:])

    def copied(some: Pairs) -> Pairs:
        block = pairs[: block_of(pairs)]
        return [block[line % len(block)] for line in range(len(some))]

    faults: dict[str, tuple[str, Callable[[int], Pairs]]] = {
        "identical": ("identical", from_there(lambda some: [(source, source) for source, _ in some])),
        "swapped": ("swapped", from_there(lambda some: [(target, source) for source, target in some])),
        "source in another language": ("language of the source", from_there(lambda some: others(some, 0, foreign))),
        "target in another language": ("language of the target", from_there(lambda some: others(some, 1, foreign))),
        "target in the source's language": (
            "language of the target",
            from_there(lambda some: others(some, 1, [source for source, _ in pairs[7:]])),
        ),
        "a phrase over and over": (
            "loops",
            from_there(lambda some: [(source, " ".join(target.split()[:3] * 8)) for source, target in some]),
        ),
        "one text for all": (
            "repeated text",
            from_there(lambda some: [(source, "This is the same text for every line.") for source, _ in some]),
        ),
        "a block again": ("copied", from_there(copied)),
    }
    for distance in (1, -1, 3, -40):
        faults[f"shifted by {distance}"] = "shifted", lambda start, by=distance: shifted(pairs, start, by)  # type: ignore[misc]
    return faults


def checked(folder: Path, train: Pairs, dev: Pairs, encoding: str = "utf-8", start: int = 0) -> tuple[Report, float]:
    """The report about two files of each part, and the processor seconds it took."""
    paths = {}
    for part, pairs in {"train": train, "dev": dev}.items():
        paths[part] = [str(folder / f"{part}.{side}") for side in ("source", "target")]
        for side, path in enumerate(paths[part]):
            lines = [pair[side] for pair in pairs]
            plain, other = (lines[:start], lines[start:]) if part == "train" else (lines, [])
            text = "".join(f"{line}\n" for line in plain).encode()
            Path(path).write_bytes(text + "".join(f"{line}\n" for line in other).encode(encoding, "replace"))
    begin = time.process_time()
    report = check(Data(train=paths["train"], dev=paths["dev"] if dev else []))
    return report, time.process_time() - begin


def row(report: Report, kind: str, start: int) -> dict[str, Any]:
    """Whether a planted fault was found, and how far from its place."""
    found = [finding for finding in report.findings if finding.kind == kind and finding.part == "train"]
    extra = sorted({finding.kind for finding in report.findings if finding.kind in KINDS} - {kind})
    if not found:
        return {"found": False, "others": extra}
    place = re.search(r"%, (?:from )?\S+?:(\d+) (?:on|to)", found[0].what)
    away = abs((int(place[1]) - 1 if place else 0) - start)
    return {"found": True, "away": away, "placed": away <= NEAR, "others": extra}


def figures(folder: Path, names: list[str], most: int) -> Iterator[dict[str, Any]]:
    files = "europarl-deen/train.de.gz", "europarl-enes/train.es.gz"
    german, spanish = (read(folder / name)[:20_000] for name in files)
    for name, train, dev in chain(corpora(folder), catalogs()):
        if names and not any(name.startswith(each) for each in names):
            continue
        dev = dev[:1000]
        foreign = spanish if name in SPANISH_IS_FOREIGN else german
        with TemporaryDirectory() as place:
            report, seconds = checked(Path(place), train, dev)
            false = [finding.line() for finding in report.findings if finding.kind in KINDS]
            yield {"corpus": name, "fault": "none", "pairs": len(train), "seconds": round(seconds, 1), "false": false}
            if name.startswith("catalogs"):
                continue
            train = train[:: -(-len(train) // most)]
            for fault, (kind, plant) in planted(train, foreign).items():
                for beginning in BEGINNINGS[:1] if name.startswith("xlwa") else BEGINNINGS:
                    start = int(beginning * len(train))
                    report, _ = checked(Path(place), plant(start), dev)
                    start = max(start, block_of(train)) if kind == "copied" else start
                    yield {"corpus": name, "fault": fault, "from": beginning} | row(report, kind, start)
            for beginning in () if name.startswith("xlwa") else BEGINNINGS[1:]:
                start = int(beginning * len(train))
                swapped = train[:start] + [(target, source) for source, target in train[start:]]
                report, _ = checked(Path(place), swapped, [])
                fault = "swapped, no development text"
                yield {"corpus": name, "fault": fault, "from": beginning} | row(report, "swapped", start)
            for encoding, codec in ENCODINGS.items():
                report, _ = checked(Path(place), train[:5000], dev, codec)
                told = " ".join(finding.line() for finding in report.refused)
                found = f"iconv -f {encoding} " in told
                yield {"corpus": name, "fault": encoding, "from": 0.0, "found": found, "placed": found}


def timed(folder: Path, pairs: int) -> dict[str, Any]:
    """Seconds of checking a corpus of that many pairs: Europarl, repeated. Reading is not counted."""
    _, train, dev = next(one for one in corpora(folder) if one[0] == "europarl-deen")
    known = PairFaults(1, lambda line, side: str(line), None)
    for source, target in dev:
        known.add(source, target)
    languages = known.languages()
    assert languages is not None
    begin, processor = time.perf_counter(), time.process_time()
    faults = PairFaults(1, lambda line, side: str(line), ("dev", languages))
    for line in range(pairs):
        faults.add(*train[line % len(train)])
    found = [finding.kind for finding in faults.findings("train", "kept", "")]
    return {
        "pairs": pairs,
        "seconds": round(time.perf_counter() - begin, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
        "found": found,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with a folder for each corpus")
    parser.add_argument("--out", type=Path, required=True, help="JSON file for the figures")
    parser.add_argument("--corpora", nargs="*", default=[], help="names, or how they begin (default: all)")
    parser.add_argument("--most", type=int, default=40_000, help="training pairs of each into which faults are planted")
    parser.add_argument("--timed", type=int, default=1_000_000, help="pairs whose check is timed; 0 means none")
    arguments = parser.parse_args()
    record = conditions(("regard", "numpy"))
    rows = []
    for one in figures(arguments.data, arguments.corpora, arguments.most):
        rows.append(one)
        print(json.dumps(one, ensure_ascii=False), flush=True)
    record["near"] = NEAR
    record["timed"] = timed(arguments.data, arguments.timed) if arguments.timed else None
    record["figures"] = rows
    arguments.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
