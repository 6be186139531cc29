"""Puts tables made from `results/*.json` into the documentation, between `<!-- generated: NAME -->` and `<!-- end -->`.

    python benchmarks/tables.py            # writes them
    python benchmarks/tables.py --check    # says which are not what the results say, and fails if any is

A table is a function in TABLES that makes lines of Markdown of one result; its block stays as it is while the file of
results is not there.
"""

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import mean

from decoding_tables import decode_cpu, decode_gpu, decode_gpu_memory, decode_gpu_text, decode_joeynmt, decode_quality
from experiment_tables import ablation, guide, recipes
from markdown_tables import Record, conditions, markdown, spread

HERE = Path(__file__).parent
DOCUMENTS = HERE.parent / "docs"
BLOCK = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

PAIRS = ("WordSim-353", "SimLex-999", "MEN", "RG-65")


def vectors(record: Record) -> list[str]:
    """Ways to learn word vectors: a row for each method, dimension and device, means over seeds."""
    groups: dict[tuple[str, int, str], list[Record]] = defaultdict(list)
    for row in record["figures"]:
        if "failed" not in row:
            groups[row["method"], row["dimension"], row["device"]].append(row)
    titles = ["method", "dimension", "seeds", "semantic %", "syntactic %", *PAIRS, "1,000 words/s", "memory, MiB"]
    rows = [
        [
            METHODS.get(method, method) + (" on the GPU" if device.startswith("cuda") else ""),
            str(dimension),
            str(len(group)),
            *(spread([100 * row["scores"][part]["share"] for row in group], 1) for part in ("semantic", "syntactic")),
            *(spread([row["scores"][name] for row in group], 3) for name in PAIRS),
            spread([row["words_per_second"] / 1000 for row in group], 0),
            spread([row["most_memory"] / 2**20 for row in group], 0),
        ]
        for (method, dimension, device), group in groups.items()
    ]
    text, settings = record["text"], record["settings"]
    said = (
        f"{text['words']:,} words of text, {text['different']:,} of them different; {settings['workers']} workers, "
        f"{settings['epochs']} epochs of the methods that predict. {conditions(record)}"
    )
    return [*markdown(titles, rows), "", said]


METHODS = {
    "skipgram": "skip-gram",
    "cbow": "CBOW",
    "svd": "PPMI and SVD",
    "hellinger": "Hellinger PCA",
    "glove": "GloVe",
    "gensim-skipgram": "gensim, skip-gram",
    "gensim-cbow": "gensim, CBOW",
}

CITED = {
    "ptb-ngram": 141.2,
    "ptb-window": 140.2,
    "ptb-rnn": 124.7,
    "ptb-lstm": 82.7,
    "ptb-copying": 70.9,
    "ptb-awd-lstm": 57.3,
    "wikitext2-awd-lstm": 65.8,
}
CITED_CACHED = {"ptb-awd-lstm": 52.8, "wikitext2-awd-lstm": 52.0}
"""Test perplexities of the literature, without a cache and with one."""


def language(record: Record) -> list[str]:
    """Language models on their benchmarks: a row for each recipe, means over seeds."""
    groups: dict[str, list[Record]] = defaultdict(list)
    figures = sorted(record["figures"], key=lambda figure: figure["recipe"].partition("-")[0])  # by corpus
    for figure in figures:
        groups[figure["recipe"]].append(figure)
    titles = ["recipe", "seeds", "parameters", "minutes", "dev", "test", "cited", "test with cache", "cited"]
    rows = [
        [
            name,
            str(len(group)),
            f"{group[0]['parameters']:,}",
            spread([figure["seconds"] / 60 for figure in group], 1),
            *(spread([figure[part]["perplexity"] for figure in group], 2) for part in ("dev", "test")),
            f"[{CITED[name]}]" if name in CITED else "",
            spread([figure["cache"] and figure["cache"]["test"]["perplexity"] for figure in group], 2),
            f"[{CITED_CACHED[name]}]" if name in CITED_CACHED else "",
            _against(group),
        ]
        for name, group in groups.items()
    ]
    notes = dict.fromkeys(note for figure in figures for note in _conditions_of(figure))
    if any(row[-1] for row in rows):
        said = (
            "Against another recipe of the same seed: change of test perplexity, with its 95 % interval by the paired "
            "bootstrap over lines; with several seeds, means of the change and of both ends."
        )
        return [*markdown([*titles, "against"], rows), "", said, "", *notes]
    return [*markdown(titles, [row[:-1] for row in rows]), "", *notes]


def _against(group: Sequence[Record]) -> str:
    """`ptb-lstm: −4.1 % [−4.9, −3.3]`, or nothing if there was no comparison."""
    found = [figure["against"] for figure in group if figure.get("against")]
    if not found:
        return ""
    ends = zip(*(each["ratio_interval"] for each in found), strict=True)
    change, *interval = (f"{100 * (mean(each) - 1):+.1f}" for each in ([each["ratio"] for each in found], *ends))
    names = ", ".join(dict.fromkeys(each["recipe"] for each in found))
    return f"{names}: " + f"{change} % [{', '.join(interval)}]".replace("-", "−")


def _conditions_of(figure: Record) -> Iterable[str]:
    """What the perplexities of a figure depend on, a line for each."""
    changes = [f"`{change}`" for change in figure.get("changes", [])]
    parts = [figure["recipe"], *([f"with {', '.join(changes)}"] if changes else [])]
    if figure.get("device", "cpu") != "cpu":
        parts.append(f"on {figure['device']}")
    parts.append(f"at {figure['commit'][:10]}")
    yield f"- {', '.join(parts)}: {figure['test']['signature']}" + (f". {figure['note']}" if "note" in figure else "")
    if figure["cache"]:
        yield f"- {figure['recipe']} with a cache: {figure['cache']['test']['signature']}"


def rare_words(record: Record) -> list[str]:
    """Surprisal of classes of words by several models: a row for each class."""
    models = list(dict.fromkeys(row["model"] for row in record["figures"]))
    classes = list(dict.fromkeys(row["words"] for row in record["figures"]))
    found = {(row["model"], row["words"]): row for row in record["figures"]}
    rows = [
        [words, f"{found[models[0], words]['count']:,}"]
        + [f"{found[model, words]['bits']:.2f} ± {found[model, words]['margin']:.2f}" for model in models]
        + [_signed(found[model, words]) for model in models[1:]]
        for words in classes
    ]
    changes = ["change" if len(models) == 2 else f"change by {model}" for model in models[1:]]
    said = (
        f"Bits, means with 95 % intervals over documents; changes are against {models[0]}. Rare is what occurs "
        f"{record['rare']} times or less in training. {record['date']}, {record['commit'][:10]}: `{record['command']}`"
    )
    return [*markdown(["words", "count", *models, *changes], rows), "", said]


def _signed(row: Record) -> str:
    return f"{row['change']:+.2f} ± {row['change_margin']:.2f}".replace("-", "−")


def ladder(record: Record) -> list[str]:
    """What `regard ladder` found."""
    titles = ["rung", "parameters", "seconds", "tokens/s", "perplexity", "added", "against"]
    rows = [
        [
            row["rung"],
            f"{row['parameters']:,}",
            f"{row['seconds']:.0f}" if row["seconds"] else "–",  # the cache is not trained
            f"{row['tokens_per_second']:,.0f}" if row["seconds"] else "–",
            f"{row['perplexity']:.2f}",
            "" if row["added"] is None else f"{row['added']:+.1f} %",
            row["against"],
        ]
        for row in record["rungs"]
    ]
    last, torch = record["rungs"][-1], record["versions"]["torch"]
    said = [
        f"{last['rung']}: {last['signature']}",
        f"{record['note']} {record['date']}, {record['commit'][:10]}, torch {torch} on {record['processor']} "
        f"({record['cpus']} processors): `{record['command']}`",
    ]
    return [*markdown(titles, rows), "", *said]


def generating(record: Record) -> list[str]:
    """How fast language models write, on the machines that were measured."""
    rows = [[row["rung"], f"{row['first']:,.0f}", f"{row['last']:,.0f}"] for row in record["figures"]]
    where = record.get("gpu") or f"{record['processor']}, {record['threads']} threads"
    said = f"{record['tokens']} tokens on {where}; {record['date']}, {record['commit'][:10]}: `{record['command']}`"
    return [*markdown(["rung", "tokens/s, first quarter", "tokens/s, last quarter"], rows), "", said]


def train_gpu(record: Record) -> list[str]:
    """Training on a GPU: a row for each system and budget."""
    titles = ["system", "tokens of a batch", "target tokens/s", "times the eager peer", "real share", "start, s"]
    rows = [
        [
            figure["system"],
            f"{figure['batch_tokens']:,}",
            f"{figure['tokens_per_second']:,.0f}",
            _times(record["ratios"], figure),
            f"{figure['real_share']:.2f}",
            f"{figure['start_seconds']:.0f}",
            f"{figure['peak_reserved_gibibytes']:.1f}",
        ]
        for figure in record["figures"]
    ]
    changed = " with changes" if record["uncommitted_changes"] else ""
    said = (
        f"{record['pairs']:,} pairs of random tokens, dropout {record['dropout']}, bfloat16, on {record['device']}; "
        f"{record['date']}, {record['commit'][:10]}{changed}: `{record['command']}`"
    )
    return [*markdown([*titles, "peak, GiB"], rows), "", said, *filter(None, [record.get("note", "")])]


def ngram(record: Record) -> list[str]:
    """n-gram models beside KenLM: seconds to build one, and to score a text by it."""
    built = {name: record["building"][name]["seconds"] for name in ("regard", "lmplz")}
    rows = [(f"building: {name}", f"{seconds:.2f}", "") for name, seconds in built.items()]
    rows[0] = (*rows[0][:2], f"{record['building']['times_lmplz']:.2f}")
    # Older results have the figures of a function that no command called.
    for name, figure in record["querying"].items() if "regard" in record["querying"] else ():
        rows.append((f"scoring: {name}", f"{figure['seconds']:.3f}", f"{figure['times_kenlm']:.2f}"))
    said = f"{sum(record['ngrams']):,} n-grams. {conditions(record)}"
    return [*markdown(("", "seconds", "times KenLM's"), rows), "", said]


def train_cpu(record: Record) -> list[str]:
    """Translators in training on a CPU beside plain loops: rates and memory."""
    titles = ("model", "system", "target tokens/s", "slowest to fastest", "times the best peer", "peak, MiB")
    rows = [
        (
            *(figure["model"], figure["system"], f"{figure['tokens_per_second']:,.0f}"),
            f"{figure['slowest']:,.0f} – {figure['fastest']:,.0f}",
            *(f"{figure['times_best_peer']:.2f} ×", f"{figure['peak_mebibytes']:,.0f}"),
        )
        for figure in record["figures"]
    ]
    return [*markdown(titles, rows), "", conditions(record)]


def train_language(record: Record) -> list[str]:
    """LSTMs in training beside a plain loop: milliseconds of a step."""
    titles = ("model and batch", "weights dropped", "numbers", "plain loop, ms", "Regard, ms", "times as fast")
    rows = [
        (
            *(figure["shape"], f"{figure['weight_drop']:.0%}", figure["precision"]),
            *(f"{figure[name]:.1f}" for name in ("plain_ms", "regard_ms")),
            f"{figure['times_as_fast']:.2f} ×",
        )
        for figure in record["figures"]
    ]
    return [*markdown(titles, rows), "", _on_torch(record)]


def utilization(record: Record) -> list[str]:
    """A large Transformer in training: the share of the device's peak that it uses."""
    titles = ("model and batch", "parameters", "ms a step", "tokens/s", "TFLOP/s", "peak, TFLOP/s", "share of the peak")
    rows = [
        (
            figure["shape"] + (", compiled" if figure["compiled"] else ""),
            f"{figure['parameters']:,}",
            f"{figure['regard_ms']:.1f}",
            f"{figure['words_per_second']:,.0f}",
            *(f"{figure[name] / 1e12:.0f}" for name in ("operations_per_second", "peak_operations_per_second")),
            f"{figure['share_of_peak']:.0%}",
        )
        for figure in record["figures"]
    ]
    return [*markdown(titles, rows), "", _on_torch(record)]


def _on_torch(record: Record) -> str:
    made = f"{record['date']}, {record['commit'][:10]}: `{record['command']}`"
    return f"On {record.get('gpu', record['processor'])}, torch {record['versions']['torch']}; {made}"


def europarl(record: Record) -> list[str]:
    """One training on Europarl by ours and by a peer: times and BLEU."""
    titles = ["", "training, s", "of these before the first step", "steps", "dev BLEU", "test BLEU"]
    rows = [
        [
            told,
            *(f"{record[side][part]:.0f}" for part in ("seconds", "preparing")),
            f"{record[side]['steps']:,}",
            *(f"{record['scores'][split][side]['value']:.2f}" for split in ("dev", "test")),
            # A peer that was timed by a sample has shared the device since.
            "–" if record[side]["sample"] else f"{record[side]['decoding']['test']:.1f}",
            f"{record[side]['peak_reserved_gibibytes']:.1f}",
        ]
        for side, told in (("own", "Regard"), ("peer", "MarianMT, plain loop"))
    ]
    test = record["scores"]["test"]["comparisons"][0]
    difference, low, high = (f"{test[part]:+.2f}".replace("-", "−") for part in ("difference", "low", "high"))
    chance = f"p = {test['p_value']:.3f}" if test["p_value"] >= 0.001 else "p < 0.001"
    timed, passes = len(record["peer"]["passes"]), record["epochs"]
    rest = f"; {timed} passes of the peer were timed, and the others taken to be as long as those after the first"
    if sample := record["peer"]["sample"]:
        rest = (
            f"; the peer's passes are reckoned by a sample of {sample} batches, timed when their shapes were new and "
        )
        first, later = record["peer"]["passes"]
        rest += f"when they were not: {first:.0f} s for the first pass, {later:.0f} s for each of the others"
    said = (
        f"{record['times_as_fast']:.2f} times as fast{rest if timed < passes else ''}; "
        f"{record['times_as_fast_all_shapes_met']:.2f} times, if all passes of the peer were as short as its shortest. "
        f"Test BLEU differs by {difference}, 95 % interval {low} to {high}, "
        f"{chance} ({test['signature']}). "
        f"Settings of the peer: {', '.join(f'`{each}`' for each in record['peer']['settings'])}."
    )
    made = f"On {record['device']}, {record['date']}, {record['commit'][:10]}: `{record['command']}`"
    table = markdown([*titles, "decoding the test text, s", "peak, GiB"], rows)
    return [*table, "", said, "", made, *filter(None, [record.get("note", "")])]


def _times(ratios: dict[str, dict[str, float]], figure: Record) -> str:
    """How many times as fast as the peer it is compared with; nothing for that peer, or where it was not measured."""
    mine = [found for pair, found in ratios.items() if pair.startswith(f"{figure['system']} / ")]
    times = mine[0].get(str(figure["batch_tokens"])) if mine else None
    return f"{times:.2f} ×" if times else ""


TABLES: dict[str, tuple[str, Callable[[Record], list[str]]]] = {
    "back-translation": ("back-translation.json", ablation),
    "decode-cpu": ("decode_cpu_trained.json", decode_cpu),
    "decode-gpu": ("decode_gpu.json", decode_gpu),
    "decode-gpu-text": ("decode_gpu_text.json", decode_gpu_text),
    "decode-gpu-trained": ("decode_gpu_trained.json", decode_gpu_text),
    "decode-gpu-memory": ("decode_gpu_memory.json", decode_gpu_memory),
    "decode-joeynmt": ("decode_joeynmt.json", decode_joeynmt),
    "decode-joeynmt-transformer": ("decode_joeynmt_transformer.json", decode_joeynmt),
    "decode-quality": ("decode_quality.json", decode_quality),
    "europarl": ("europarl.json", europarl),
    "generating": ("generating.json", generating),
    "generating-gpu": ("generating_gpu.json", generating),
    "guide-europarl": ("guide-europarl.json", guide),
    "ladder": ("ladder.json", ladder),
    "language": ("language.json", language),
    "multi30k": ("multi30k.json", recipes),
    "multi30k-ablation": ("multi30k-ablation.json", ablation),
    "multi30k-recurrent": ("multi30k-recurrent.json", ablation),
    "multi30k-scores": ("multi30k-scores.json", ablation),
    "ngram": ("ngram.json", ngram),
    "ptb-transformer": ("ptb-transformer.json", ablation),
    "rare-words": ("rare_words.json", rare_words),
    "tatoeba": ("tatoeba.json", recipes),
    "train-cpu": ("train_cpu.json", train_cpu),
    "train-cpu-bfloat16": ("train_cpu_bfloat16.json", train_cpu),
    "train-gpu": ("train_gpu.json", train_gpu),
    "train-gpu-64k": ("train_gpu_64k.json", train_gpu),
    "train-gpu-compiled": ("train_gpu_compiled.json", train_gpu),
    "train-gpu-earlier": ("train_gpu_earlier.json", train_gpu),
    "train-language": ("train_language.json", train_language),
    "train-language-gpu": ("train_language_gpu.json", train_language),
    "train-transformer-gpu": ("train_transformer_gpu.json", utilization),
    "vectors": ("vectors.json", vectors),
    "vectors-200": ("vectors_200.json", vectors),
    "vectors-gpu": ("vectors_gpu.json", vectors),
}
"""The file of results and the function of each table."""


def with_tables(text: str, results: Path) -> str:
    """A document with its blocks made anew."""

    def made(block: re.Match[str]) -> str:
        if block["name"] not in TABLES:
            raise SystemExit(f"unknown table {block['name']!r}; known are {', '.join(TABLES)}")
        file, table = TABLES[block["name"]]
        if not (results / file).exists():
            return block[0]
        lines = table(json.loads((results / file).read_text()))
        return "\n".join([block[1], *lines, "", block[3]])

    return BLOCK.sub(made, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if anything would change")
    arguments = parser.parse_args()
    stale = []
    for path in sorted(DOCUMENTS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        made = with_tables(text, HERE / "results")
        if made != text:
            stale.append(path.name)
            if not arguments.check:
                path.write_text(made, encoding="utf-8")
    print(f"{'to be made anew' if arguments.check else 'made anew'}: {', '.join(stale) or 'nothing'}")
    sys.exit(bool(arguments.check and stale))


if __name__ == "__main__":
    main()
