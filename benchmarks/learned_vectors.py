"""Word vectors of one text, learned in several ways, for the table `conll2003-vectors`: initial vectors of a tagger.

    python benchmarks/learned_vectors.py --text wiki.txt.gz --conll conll2003 --out conll2003

The text has a paragraph a line; its words are split as in `pretraining.py`, like those of the labelled text. The
vectors have the width of GloVe's smallest file, and are cut to the words of the labelled text: those of other words
are never looked up, and the files stay small.
"""

import argparse
import gzip
import sys
from pathlib import Path

from experiments import call
from pretraining import sentences

WAYS = ("svd", "skipgram", "cbow", "glove")
WIDTH = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True, help="plain text, a paragraph a line, ending in .gz")
    parser.add_argument("--conll", type=Path, required=True, help="folder with eng.train, eng.testa and eng.testb")
    parser.add_argument("--out", type=Path, required=True, help="folder for svd.txt.gz and so on")
    parser.add_argument("--work", type=Path, default=Path("runs/learned-vectors"), help="folder for text and vectors")
    arguments = parser.parse_args()
    work = arguments.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    plain = work / "text.txt"
    if not plain.exists():
        plain.write_text("".join(" ".join(words) + "\n" for words in sentences(arguments.text)), encoding="utf-8")
    wanted = {
        line.split()[0].lower()
        for name in ("train", "testa", "testb")
        for line in (arguments.conll / f"eng.{name}").read_text(encoding="utf-8").splitlines()
        if line.strip()
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    for way in WAYS:
        settings = [f"vectors.kind={way}", f"vectors.dimension={WIDTH}", "data.words=spaces"]
        settings += ["vectors.device=cpu"] if way in ("skipgram", "cbow") else []
        options = [part for setting in settings for part in ("--set", setting)]
        more = ["--resume"] if (work / way).exists() else []
        whole = work / f"{way}.txt"
        learned = call(
            ["vectors", "train", "--text", str(plain), "--out", way, *more, *options], str(work), work / f"{way}.log"
        ) and call(["vectors", "convert", way, str(whole), "--form", "glove"], str(work), work / f"{way}-convert.log")
        if not learned:
            sys.exit(f"{way}: failed, see {work}/{way}*.log")
        with open(whole, encoding="utf-8") as lines, gzip.open(arguments.out / f"{way}.txt.gz", "wt") as file:
            file.writelines(line for line in lines if line.partition(" ")[0] in wanted)
        print(f"{way}: done", flush=True)


if __name__ == "__main__":
    main()
