"""Word vectors, ours and gensim's side by side: quality, speed, memory.

    python benchmarks/vectors.py --text wiki2018.txt.gz --wordsim wordsim
    python benchmarks/vectors.py --devices cpu cuda --cores 0,1 2,3 4,5 --out benchmarks/results/vectors_gpu.json

Every measurement is a separate process, on the same stream of the same words (lower-cased runs of letters that occur
five times). With --cores, each has those processors for itself, and as many run at once as there are sets of them, but
on a GPU one by one. The first dimension is measured with every seed, the others with the first.

Words per second are words of the text processed in all epochs, by the clock, from the start of training until vectors
are ready: reading and counting the text and compilation are not included. gensim reads the words from a file of lines
(`LineSentence`), so that neither holds the text in memory. Memory is the peak of the process, and its size after its
imports. Scores are over all words of the vocabulary: Google's analogies (additive; the three given
words are left out), and Spearman's rank correlation on rated pairs.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
from conditions import conditions

from regard.recipe import VectorsData, VectorsRecipe, read_recipe, toml
from regard.vectors import Vectors, evaluate
from regard.vectors.analogies import AnalogyScore
from regard.vectors.checkpoints import Checkpoints
from regard.vectors.corpus import Corpus, load_corpus
from regard.vectors.learning import learn

METHODS = ("skipgram", "gensim-skipgram", "cbow", "gensim-cbow", "glove", "svd", "hellinger")
SLOW = {"skipgram": 2, "gensim-skipgram": 4, "cbow": 1, "gensim-cbow": 2, "glove": 4, "svd": 3, "hellinger": 3}
PREDICTING = ("skipgram", "cbow", "gensim-skipgram", "gensim-cbow")
FILES = {
    "analogies": "questions-words.txt",
    "WordSim-353": "EN-WS-353-ALL.txt",
    "SimLex-999": "EN-SIMLEX-999.txt",
    "MEN": "EN-MEN-TR-3k.txt",
    "RG-65": "EN-RG-65.txt",
}


def main() -> None:
    arguments = parse()
    if arguments.measure:
        print(json.dumps(measure(json.loads(arguments.measure))))
        return
    record = conditions(("regard", "numpy", "numba", "scipy", "torch", "triton", "gensim"), arguments.commit)
    record["settings"] = {"workers": arguments.workers, "epochs": arguments.epochs, "cores": arguments.cores}
    with tempfile.TemporaryDirectory() as folder:
        task = {"text": str(arguments.text.absolute()), "cache": folder, "wordsim": str(arguments.wordsim.absolute())}
        corpus = corpus_of(task)
        record["text"] = {"words": corpus.vocabulary.total, "different": len(corpus.vocabulary), "least": 5}
        every = combinations(arguments)
        begun = [chosen | {"workers": arguments.workers, "epochs": arguments.epochs} for chosen in every]
        done: dict[int, dict[str, Any]] = {}
        for number, figures in measure_all(task, begun, arguments.cores, arguments.set):
            done[number] = begun[number] | figures
            print(json.dumps(done[number]), flush=True)
            record["figures"] = [done[number] for number in sorted(done)]
            record["load_average_after"] = round(os.getloadavg()[0], 2)
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            arguments.out.write_text(json.dumps(record, indent=1) + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, default=Path("wiki2018.txt.gz"), help="running text")
    parser.add_argument("--wordsim", type=Path, default=Path("wordsim"), help="folder of analogies and rated pairs")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--dimensions", nargs="+", type=int, default=[100])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--devices", nargs="+", default=["cpu"], help="of our skip-gram and CBOW")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=5, help="of methods that predict")
    parser.add_argument("--cores", nargs="+", default=[""], help="sets of processors, such as 0,1 2,3 (default: all)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a change of our settings")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/vectors.json"))
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    return parser.parse_args()


def combinations(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The measurements, in the order of the table. Counting methods, which are hardly random if at all, are measured
    once."""
    return [
        {"method": method, "dimension": dimension, "device": device, "seed": seed}
        for dimension in arguments.dimensions
        for method in arguments.methods
        for device in (arguments.devices if method in ("skipgram", "cbow") else ["cpu"])
        for seed in arguments.seeds
        if seed == arguments.seeds[0] or (dimension == arguments.dimensions[0] and method in PREDICTING)
    ]


def measure_all(
    task: dict[str, Any], every: list[dict[str, Any]], cores: list[str], changes: list[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Measures on every set of processors at once, of each dimension the slowest first; on a GPU, one by one."""
    free: Queue[str] = Queue()
    for one in cores:
        free.put(one)

    def on_some_cores(number: int) -> tuple[int, dict[str, Any]]:
        mine = free.get()
        try:
            return number, run(task | every[number] | {"set": changes}, mine)
        finally:
            free.put(mine)

    order = sorted(range(len(every)), key=lambda number: (every[number]["dimension"], -SLOW[every[number]["method"]]))
    with ThreadPoolExecutor(len(cores)) as on_cpu, ThreadPoolExecutor(1) as on_gpu:
        pools = (on_cpu if every[number]["device"] == "cpu" else on_gpu for number in order)
        waited = [pool.submit(on_some_cores, number) for pool, number in zip(pools, order, strict=True)]
        for future in as_completed(waited):
            yield future.result()


def run(task: dict[str, Any], cores: str) -> dict[str, Any]:
    """One measurement, in a separate process."""
    command = [sys.executable, __file__, "--measure", json.dumps(task)]
    if cores:
        command = ["taskset", "-c", cores, *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def corpus_of(task: dict[str, Any]) -> Corpus:
    return load_corpus(VectorsData(train=[task["text"]]), Path(task["cache"]))


def measure(task: dict[str, Any]) -> dict[str, Any]:
    learner = by_gensim if task["method"].startswith("gensim") else by_us
    if learner is by_gensim:
        import gensim.models  # noqa: F401
    imported = held()
    corpus = corpus_of(task)
    vectors, seconds = learner(task, corpus)
    # Counting methods read the text once.
    passes = task["epochs"] if task["method"] in PREDICTING else 1
    speed = {"words_per_second": round(passes * corpus.vocabulary.total / seconds), "seconds": round(seconds, 2)}
    memory = {"most_memory": held(), "memory_after_imports": imported}
    if task["device"] != "cpu":
        import torch

        memory["most_gpu_memory"] = torch.cuda.max_memory_allocated()
    return speed | memory | {"scores": scores(vectors, task["wordsim"])}


def by_us(task: dict[str, Any], corpus: Corpus) -> tuple[Vectors, float]:
    with tempfile.TemporaryDirectory() as folder:
        # Compiled before it is timed.
        few = Corpus(corpus.vocabulary, np.array(corpus.tokens[:2000]), "a few words")
        for text, epochs in ((few, 1), (corpus, task["epochs"])):
            begin = time.perf_counter()
            *_, vectors = learn(recipe_of(task, epochs), text, Checkpoints(Path(folder) / "run", 1e9, text.fingerprint))
            seconds = time.perf_counter() - begin
            shutil.rmtree(folder, ignore_errors=True)
    assert isinstance(vectors, Vectors)
    return vectors, seconds


def recipe_of(task: dict[str, Any], epochs: int) -> VectorsRecipe:
    changes = ["task=vectors", f"seed={task['seed']}", f"data.train={toml([task['text']])}"]
    changes += [
        f"vectors.kind={task['method']}",
        *(f"vectors.{name}={task[name]}" for name in ("dimension", "workers")),
    ]
    if task["method"] in PREDICTING:
        changes += [f"vectors.epochs={epochs}", f"vectors.device={task['device']}"]
    return read_recipe(None, [*changes, *task["set"]], kind=VectorsRecipe)


def by_gensim(task: dict[str, Any], corpus: Corpus) -> tuple[Vectors, float]:
    from gensim.models import Word2Vec
    from gensim.models.word2vec import LineSentence

    words = corpus.vocabulary.words
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        for line in np.split(corpus.tokens, np.flatnonzero(corpus.tokens < 0)):
            if len(line) > 1:
                file.write(" ".join(words[number] for number in line if number >= 0) + "\n")
        file.flush()
        text, epochs = LineSentence(file.name), task["epochs"]
        model = Word2Vec(
            vector_size=task["dimension"],
            window=5,
            negative=5,
            sample=1e-3,
            min_count=5,
            epochs=epochs,
            sg=int(task["method"] == "gensim-skipgram"),
            workers=task["workers"],
            seed=task["seed"],
        )
        model.build_vocab(text)
        begin = time.perf_counter()
        model.train(text, total_examples=model.corpus_count, epochs=epochs)
        seconds = time.perf_counter() - begin
    return Vectors(words, np.stack([model.wv[word] for word in words]).astype(np.float32)), seconds


def scores(vectors: Vectors, folder: str) -> dict[str, float | None]:
    found = {}
    for name, score in zip(FILES, evaluate(vectors, [Path(folder) / file for file in FILES.values()]), strict=True):
        if isinstance(score, AnalogyScore):
            parts = {"semantic": score.semantic, "syntactic": score.syntactic, "analogies": score.total}
            found |= {part: answers.plain() for part, answers in parts.items()}
        else:
            found[name] = None if score.spearman is None else round(score.spearman, 4)
    return found


def held() -> int:
    """Peak memory of this process in bytes; Linux counts kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
