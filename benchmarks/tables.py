"""Puts tables made from `results/*.json` into the pages of `docs/results`, between `<!-- generated: NAME -->` and
`<!-- end -->`, and their conditions as footnotes between `<!-- footnotes -->` and `<!-- end -->`.

    python benchmarks/tables.py            # writes them
    python benchmarks/tables.py --check    # names the pages that differ from the results, and fails if there are any

A table is a function in TABLES that makes a `Table` of one file of results.
"""

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

from decoding_tables import decode_cpu, decode_gpu, decode_gpu_memory, decode_gpu_text, decode_joeynmt, decode_quality
from experiment_tables import ablation, context, guide, labels, laptop, low_resource, recipes
from markdown_tables import Record, Table, conditions, machine, markdown, spread

HERE = Path(__file__).parent
PAGES = HERE.parent / "docs" / "results"
BLOCK = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
FOOTNOTES = re.compile(r"(<!-- footnotes -->\n).*?(<!-- end -->)", re.DOTALL)

PAIRS = ("WordSim-353", "SimLex-999", "MEN", "RG-65")


def vectors(record: Record) -> Table:
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
    caption = (
        f"{text['words']:,} words of text, {text['different']:,} of them distinct; {settings['workers']} workers; "
        f"{settings['epochs']} epochs of skip-gram and CBOW. ± is the standard deviation over seeds.[^]"
    )
    return Table(markdown(titles, rows), caption, {"": conditions(record)})


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
    "ptb-ngram": "141.2[^mikolov]",
    "ptb-window": "140.2[^mikolov]",
    "ptb-rnn": "124.7[^mikolov]",
    "ptb-lstm": "82.7[^zaremba]",
    "ptb-copying": "70.9[^merity-2017]",
    "ptb-awd-lstm": "57.3[^merity-2018]",
    "wikitext2-awd-lstm": "65.8[^merity-2018]",
}
CITED_CACHED = {"ptb-awd-lstm": "52.8[^merity-2018]", "wikitext2-awd-lstm": "52.0[^merity-2018]"}
"""Test perplexities in the literature, without and with a cache."""
PAPERS = {
    "mikolov": "Mikolov (2012), Statistical language models based on neural networks, table 4.1.",
    "zaremba": "Zaremba et al. (2014), Recurrent neural network regularization.",
    "merity-2017": "Merity et al. (2017), Pointer sentinel mixture models.",
    "merity-2018": "Merity et al. (2018), Regularizing and optimizing LSTM language models.",
}


def language(record: Record) -> Table:
    """Language models on their benchmarks: a row for each recipe, means over seeds."""
    groups: dict[str, list[Record]] = defaultdict(list)
    figures = sorted(record["figures"], key=lambda figure: figure["recipe"].partition("-")[0])  # by corpus
    for figure in figures:
        groups[figure["recipe"]].append(figure)
    titles = ["recipe", "seeds", "parameters", "minutes", "dev", "test", "cited", "test with cache", "cited"]
    rows = [
        [
            f"{name}[^{name}]",
            str(len(group)),
            f"{group[0]['parameters']:,}",
            spread([figure["seconds"] / 60 for figure in group], 1),
            *(spread([figure[part]["perplexity"] for figure in group], 2) for part in ("dev", "test")),
            CITED.get(name, ""),
            spread([figure["cache"] and figure["cache"]["test"]["perplexity"] for figure in group], 2),
            CITED_CACHED.get(name, ""),
            _against(group),
        ]
        for name, group in groups.items()
    ]
    notes = {name: " ".join(dict.fromkeys(map(_conditions_of, group))) for name, group in groups.items()}
    cited = " ".join(cell for row in rows for cell in row)
    notes |= {name: paper for name, paper in PAPERS.items() if f"[^{name}]" in cited}
    notes[""] = f"Comparison and merging: {conditions(record)}"
    caption = "Perplexity per token of the development and test text; `cited` is that of the literature.[^]"
    if any(row[-1] for row in rows):
        caption += (
            " Against: change of test perplexity from another recipe with the same seed, and its 95 % interval by the "
            "paired bootstrap over lines (with several seeds, means of the change and of both ends)."
        )
        return Table(markdown([*titles, "against"], rows), caption, notes)
    return Table(markdown(titles, [row[:-1] for row in rows]), caption, notes)


def _against(group: Sequence[Record]) -> str:
    """`ptb-lstm: −4.1 % [−4.9, −3.3]`, or nothing if there was no comparison."""
    found = [figure["against"] for figure in group if figure.get("against")]
    if not found:
        return ""
    ends = zip(*(each["ratio_interval"] for each in found), strict=True)
    change, *interval = (f"{100 * (mean(each) - 1):+.1f}" for each in ([each["ratio"] for each in found], *ends))
    names = ", ".join(dict.fromkeys(each["recipe"] for each in found))
    return f"{names}: " + f"{change} % [{', '.join(interval)}]".replace("-", "−")


def _conditions_of(figure: Record) -> str:
    """The conditions of the perplexities of a figure."""
    changes = [f"`{change}`" for change in figure.get("changes", [])]
    parts = [f"with {', '.join(changes)}"] if changes else []
    parts.append(f"on {'a CPU' if (device := figure.get('device', 'cpu')) == 'cpu' else device}")
    said = f"{figure['recipe']}, {', '.join(parts)}, commit {figure['commit'][:10]}: {figure['test']['signature']}."
    cache = f" With a cache: {figure['cache']['test']['signature']}." if figure["cache"] else ""
    return said + cache + (f" {figure['note']}" if "note" in figure else "")


def rare_words(record: Record) -> Table:
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
    caption = (
        f"Bits, means with 95 % intervals over documents; changes are relative to {models[0]}. Rare words occur "
        f"{record['rare']} times or less in the training text.[^]"
    )
    return Table(markdown(["words", "count", *models, *changes], rows), caption, {"": conditions(record)})


def _signed(row: Record) -> str:
    return f"{row['change']:+.2f} ± {row['change_margin']:.2f}".replace("-", "−")


def ladder(record: Record) -> Table:
    """The results of `regard ladder`, and of more seeds of some rungs."""
    titles = ["rung", "parameters", "seconds", "tokens/s", "perplexity", "added", "against"]
    rows = [
        [
            row["rung"],
            f"{row['parameters']:,}",
            f"{row['seconds']:.0f}" if row["seconds"] else "–",  # the cache is not trained
            f"{row['tokens_per_second']:,.0f}" if row["seconds"] else "–",
            spread(row.get("perplexities", [row["perplexity"]]), 2),
            "" if row["added"] is None else f"{row['added']:+.1f} %",
            row["against"],
        ]
        for row in record["rungs"]
    ]
    last = record["rungs"][-1]
    caption = (
        "Test perplexity, of some rungs with its deviation over seeds; `added` is its change from that of the rung in "
        f"the last column, with the first seed. On {machine(record)}.[^]"
    )
    for claim in record.get("claims", []):
        between = f"[{claim['low']:+.2f}, {claim['high']:+.2f}]".replace("-", "−")
        caption += f" {claim['rung']} against {claim['against']}: {claim['change']:+.2f} {between}.".replace("-", "−")
    note = f"{last['rung']}: {last['signature']}. {conditions(record)}"
    return Table(markdown(titles, rows), caption, {"": note})


def data_faults(record: Record) -> Table:
    """Number of faults planted into each corpus that were found and located; and false alarms."""
    alarms: dict[str, int] = defaultdict(int)
    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for row in record["figures"]:
        corpus = "XL-WA" if row["corpus"].startswith("xlwa") else row["corpus"]
        corpus = "message catalogs" if corpus.startswith("catalogs") else corpus
        if row["fault"] == "none":
            alarms[corpus] += len(row["false"])
        else:
            found[row["fault"]][corpus].append(row["found"] and row["placed"])
    rows = [["nothing: false alarms", *(str(count) for count in alarms.values())]]
    for fault, by_corpus in found.items():
        counts = ((sum(placed), len(placed)) for placed in (by_corpus.get(corpus, []) for corpus in alarms))
        rows.append([fault, *(f"{some} of {every}" if every else "–" for some, every in counts)])
    timed = record["timed"]
    caption = (
        f"Mistakes found, and placed within {record['near']} lines, of those planted: into the whole training text, "
        "and from 10, 50 and 90 % on (encodings, and all of XL-WA with its ten languages: whole texts). False alarms "
        f"are those of the corpora as they are. {timed['pairs']:,} pairs, once read, took "
        f"{timed['processor_seconds']:.0f} s of processor time ({timed['seconds']:.0f} s by the clock).[^]"
    )
    return Table(markdown(["planted", *alarms], rows), caption, {"": conditions(record)})


def alignment_new_text(record: Record) -> Table:
    """Speed of an aligner on text that it was not trained on, and the cost of compilation."""
    first = record["figures"][0]
    titles = [
        "loops",
        "pairs a second of CPU time",
        "by the clock",
        "CPU s to load it and the loops",
        "by the clock",
        "CPU s to train",
        "by the clock",
    ]
    rows = [
        [
            {"cold": "to be compiled", "warm": "compiled before"}[row["when"]],
            f"{row['pairs_per_cpu_second']:,}",
            f"{row['pairs_per_second']:,}",
            f"{row['loading_and_compiling_cpu_seconds']:.1f}",
            f"{row['loading_and_compiling_seconds']:.1f}",
            f"{row['training_cpu_seconds']:.0f}",
            f"{row['training_seconds']:.0f}",
        ]
        for row in record["figures"]
    ]
    caption = (
        f"{first['pairs']:,} pairs of Europarl after the 30,000 that the aligner was trained on, in one thread; and "
        f"training on {first['training_pairs']:,} pairs, with starting Python.[^]"
    )
    return Table(markdown(titles, rows), caption, {"": conditions(record)})


def alignment(record: Record) -> Table:
    """Error rates of Regard's aligner and eflomal: a row for each text, with the difference and its interval."""
    found = _by_text(record)
    titles = ["text", "pairs", "Regard", "eflomal", "difference", "CPU s, Regard", "CPU s, eflomal"]
    rows = []
    for text, systems in sorted(found.items(), key=lambda each: each[1]["regard"]["pairs"]):
        ours, theirs = systems["regard"], systems["eflomal"]
        rows.append(
            [
                f"English–{text.split('-')[0]}",
                f"{ours['pairs']:,}",
                *(_with_interval(each, each["test"], "") for each in (ours, theirs)),
                _with_interval(systems["less eflomal"], systems["less eflomal"]["difference"], "+"),
                *(f"{each['cpu_seconds']:.0f}" for each in (ours, theirs)),
            ]
        )
    runs = sorted({systems["eflomal"]["runs"] for systems in found.values()})
    seeds = sorted({systems["regard"]["runs"] for systems in found.values()})
    caption = (
        "Alignment error rate on the test part, with 95 % intervals over sentences. CPU seconds are "
        "of training and aligning the whole text, with starting Python. Means over "
        f"{' or '.join(map(str, runs))} runs of eflomal, and over {' or '.join(map(str, seeds))} of Regard, whose "
        "links do not depend on the seed.[^]"
    )
    return Table(markdown(titles, rows), caption, {"": conditions(record)})


def alignment_methods(record: Record) -> Table:
    """Aligners, and Regard's with parts left out, on English–Spanish: a row for each, with three columns a size."""
    found = {text: systems for text, systems in _by_text(record).items() if text.startswith("es-")}
    names = list(dict.fromkeys(name for systems in found.values() for name in systems if "less " not in name))
    titles = ["", *(f"{systems['regard']['pairs']:,} pairs" for systems in found.values()), "CPU s, largest"]
    rows = [
        [
            {"regard": "Regard"}.get(name, name),
            *(_with_interval(each[name], each[name]["test"], "") if name in each else "–" for each in found.values()),
            *(f"{each[name]['cpu_seconds']:.0f}" if name in each else "–" for each in list(found.values())[-1:]),
        ]
        for name in names
    ]
    caption = (
        "Alignment error rate on the test part of English–Spanish, with 95 % intervals over sentences. fast_align is "
        "systran-align, with its own links of both directions; what follows it is Regard's aligner with parts left "
        "out, `words alone` without order, stems and spelling (model 1 of both directions, which agree).[^]"
    )
    return Table(markdown(titles, rows), caption, {"": conditions(record)})


def _by_text(record: Record) -> dict[str, dict[str, Record]]:
    """The systems of each text; `less eflomal` is the difference from that one."""
    texts: dict[str, dict[str, Record]] = defaultdict(dict)
    for row in record["figures"]:
        texts[row["text"]][row.get("system", f"less {row.get('less')}")] = row
    return texts


def _with_interval(row: Record, value: float, sign: str) -> str:
    low, high = row["interval"]
    return f"{value:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})"


def alignment_choice(record: Record) -> Table:
    """Effect of an aligner's settings, changed one at a time, on development text."""
    first, *others = record["figures"]
    titles = ["changed", "to", "dev, mean", "change", "languages better"]
    rows = [["nothing", "", f"{first['dev']:.4f}", "", ""]]
    for row in others:
        better = sum(row["each"][text] < rate for text, rate in first["each"].items())
        change = f"{row['dev'] - first['dev']:+.4f}"
        rows.append([row["setting"], str(row["value"]), f"{row['dev']:.4f}", change, f"{better} of {len(row['each'])}"])
    caption = (
        "Alignment error rate on the development part, mean of ten languages with 1,350 or 10,000 pairs less the test "
        "part, which was not read.[^]"
    )
    return Table(markdown(titles, rows), caption, {"": conditions(record)})


def attention_alignment(record: Record) -> Table:
    """Error rates of links from the attention of translators, for each way to choose the attention."""
    titles = ["links", "dev", "test", "test, 95 % interval", "test, each pair of translators"]
    rows = []
    for row in record["figures"]:
        low, high = row["interval"]
        rates = (spread(row[f"{part}_runs"], 3) for part in ("dev", "test"))
        each = ", ".join(f"{rate:.3f}" for rate in row["test_runs"])
        rows.append([row["links"], *rates, f"{low:.3f} to {high:.3f}", each])
    found = record["translators"]
    changed = ", ".join(f"{name} = {json.dumps(value)}" for name, value in record["settings"].items())
    sizes = [_range([each[what] for each in found]) for what in ("parameters", "steps")]
    vocabulary = _range([size for each in found for size in each["vocabulary"]])
    caption = (
        f"Alignment error rate; ± is the standard deviation over pairs of translators, and the interval of the mean is "
        f"over sentences. The translators: {len(found)} by the recipe `{record['recipe']}`"
        f"{f' with `{changed}`' if changed else ''}; {vocabulary} subwords, {sizes[0]} parameters, trained for "
        f"{sizes[1]} steps.[^]"
    )
    return Table(markdown(titles, rows), caption, {"": conditions(record)})


def _range(values: Sequence[int]) -> str:
    low, high = f"{min(values):,}", f"{max(values):,}"
    return low if low == high else f"{low} to {high}"


def explorer(record: Record) -> Table:
    """Speed of the explorer's page, by the browser's own clock."""
    large = record["large_view"]
    size = f"{large['tokens']} tokens, {large['heads']} heads"
    timed = {
        "first view of the demo's model": "first_view",
        "a changed weight, answered": "changed_weight",
        f"all heads drawn, {size}": "large_view",
    }
    rows = []
    for what, name in timed.items():
        found = record[name]
        rows.append((what, *(f"{time:.0f} ms" for time in (found["milliseconds"], max(found["each"]), found["limit"]))))
    for what, name in {"pointed at": "large_view_pointed", "brought nearer and moved": "large_view_scrolled"}.items():
        found = record[name]
        rates = (found["frames_per_second"], min(found["each"]), found["least"])
        rows.append((f"the same {what}", *(f"{rate:.0f} frames/s" for rate in rates)))
    browser = f"Chromium {record['chromium'].partition('.')[0]} without a GPU"
    caption = f"In {browser}, the server beside it on {machine(record)}.[^]"
    return Table(markdown(("", "median", "slowest", "bar"), rows), caption, {"": conditions(record)})


def generating(record: Record) -> Table:
    """How fast language models write, on the machines that were measured."""
    rows = [[row["rung"], f"{row['first']:,.0f}", f"{row['last']:,.0f}"] for row in record["figures"]]
    where = record.get("gpu") or f"{record['processor']}, {record['threads']} threads"
    lines = markdown(["model", "tokens/s, first quarter", "tokens/s, last quarter"], rows)
    return Table(lines, f"{record['tokens']} tokens on {where}.[^]", {"": conditions(record)})


def train_gpu(record: Record) -> Table:
    """Training on a GPU: a row for each system and budget."""
    titles = ["system", "batch, tokens", "target tokens/s", "times the eager peer", "real share", "start, s"]
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
    caption = (
        f"{record['pairs']:,} pairs of random tokens, dropout {record['dropout']}, bfloat16, on {machine(record)}.[^]"
    )
    return Table(markdown([*titles, "peak, GiB"], rows), caption, {"": conditions(record)})


def ngram(record: Record) -> Table:
    """n-gram models beside KenLM: seconds to build one, and to score a text by it."""
    built = {name: record["building"][name]["seconds"] for name in ("regard", "lmplz")}
    rows = [(f"building: {name}", f"{seconds:.2f}", "") for name, seconds in built.items()]
    rows[0] = (*rows[0][:2], f"{record['building']['times_lmplz']:.2f}")
    # Older results have the figures of a function that no command called.
    for name, figure in record["querying"].items() if "regard" in record["querying"] else ():
        rows.append((f"scoring: {name}", f"{figure['seconds']:.3f}", f"{figure['times_kenlm']:.2f}"))
    caption = f"{sum(record['ngrams']):,} n-grams, on {machine(record)}.[^]"
    return Table(markdown(("", "seconds", "times KenLM's"), rows), caption, {"": conditions(record)})


def train_cpu(record: Record) -> Table:
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
    caption = f"On {machine(record)}, {record['cpus']} processors.[^]"
    return Table(markdown(titles, rows), caption, {"": conditions(record)})


def train_language(record: Record) -> Table:
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
    return Table(markdown(titles, rows), f"On {machine(record)}.[^]", {"": conditions(record)})


def tagging_speed(record: Record) -> Table:
    """Taggers with a CRF of one shape, and what the CRF costs in training."""
    found, steps = record["tagging"], record["training"]
    own = found["regard"]
    rows = [
        (TAGGERS.get(name, name), f"{speed:,.0f}", "" if name == "regard" else f"{own / speed:.2f} ×")
        for name, speed in found.items()
    ]
    threads = f"{record['threads']} threads of " if record["device"] == "cpu" else ""
    caption = (
        f"Batches of {record['batch']} sentences, on {threads}{machine(record)}. A training step of the recipe "
        f"`conll2003-tagger` takes {steps['crf']:.0f} ms with a CRF and {steps['softmax']:.0f} ms with a softmax, "
        f"{steps['crf'] / steps['softmax']:.2f} times as long.[^]"
    )
    return Table(
        markdown(("tagger", "sentences/s", "Regard's speed, times this"), rows), caption, {"": conditions(record)}
    )


TAGGERS = {"regard": "Regard", "torch and pytorch-crf": "plain torch with pytorch-crf"}


def utilization(record: Record) -> Table:
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
    return Table(markdown(titles, rows), f"On {machine(record)}.[^]", {"": conditions(record)})


def europarl(record: Record) -> Table:
    """One training run on Europarl, ours and a peer's: times and BLEU."""
    titles = ["", "training, s", "of these before the first step", "steps", "dev BLEU", "test BLEU"]
    rows = [
        [
            told,
            *(f"{record[side][part]:.0f}" for part in ("seconds", "preparing")),
            f"{record[side]['steps']:,}",
            *(f"{record['scores'][split][side]['value']:.2f}" for split in ("dev", "test")),
            # A peer timed by a sample shared the device afterwards.
            "–" if record[side]["sample"] else f"{record[side]['decoding']['test']:.1f}",
            f"{record[side]['peak_reserved_gibibytes']:.1f}",
        ]
        for side, told in (("own", "Regard"), ("peer", "MarianMT, plain loop"))
    ]
    test = record["scores"]["test"]["comparisons"][0]
    difference, low, high = (f"{test[part]:+.2f}".replace("-", "−") for part in ("difference", "low", "high"))
    chance = f"p = {test['p_value']:.3f}" if test["p_value"] >= 0.001 else "p < 0.001"
    caption = (
        f"On {machine(record)}. {record['times_as_fast']:.2f} times as fast; "
        f"{record['times_as_fast_all_shapes_met']:.2f} times, if all passes of the peer were as short as its shortest. "
        f"Test BLEU differs by {difference}, 95 % interval {low} to {high}, {chance}.[^]"
    )
    settings = ", ".join(f"`{each}`" for each in record["peer"]["settings"])
    note = f"{_timing(record)}Settings of the peer: {settings}. BLEU: {test['signature']}. {conditions(record)}"
    return Table(markdown([*titles, "decoding the test text, s", "peak, GiB"], rows), caption, {"": note})


def _timing(record: Record) -> str:
    """How the time of the peer was estimated, if not all of its passes were timed."""
    if len(passes := record["peer"]["passes"]) >= record["epochs"]:
        return ""
    if not (sample := record["peer"]["sample"]):
        return f"{len(passes)} passes of the peer were timed; the others count as long as those after the first. "
    first, later = passes
    return (
        f"The time of the peer is estimated from a sample of {sample} batches, timed when their shapes were new and "
        f"when they were not: {first:.0f} s for the first pass, {later:.0f} s for each of the others. "
    )


def _times(ratios: dict[str, dict[str, float]], figure: Record) -> str:
    """How many times as fast as the peer it is compared with; nothing for that peer, or where it was not measured."""
    mine = [found for pair, found in ratios.items() if pair.startswith(f"{figure['system']} / ")]
    times = mine[0].get(str(figure["batch_tokens"])) if mine else None
    return f"{times:.2f} ×" if times else ""


TABLES: dict[str, tuple[str, Callable[[Record], Table]]] = {
    "alignment": ("alignment.json", alignment),
    "alignment-choice": ("alignment_choice.json", alignment_choice),
    "alignment-choice-eflomal": ("alignment_choice_eflomal.json", alignment_choice),
    "alignment-methods": ("alignment_methods.json", alignment_methods),
    "alignment-new-text": ("alignment_new_text.json", alignment_new_text),
    "atis": ("atis.json", labels),
    "attention-alignment": ("attention_alignment.json", attention_alignment),
    "back-translation": ("back-translation.json", ablation),
    "conll2003": ("conll2003.json", labels),
    "conll2003-vectors": ("conll2003-vectors.json", labels),
    "conversations": ("conversations.json", context),
    "data-faults": ("data_faults.json", data_faults),
    "decode-cpu": ("decode_cpu_trained.json", decode_cpu),
    "decode-gpu": ("decode_gpu.json", decode_gpu),
    "decode-gpu-text": ("decode_gpu_text.json", decode_gpu_text),
    "decode-gpu-trained": ("decode_gpu_trained.json", decode_gpu_text),
    "decode-gpu-memory": ("decode_gpu_memory.json", decode_gpu_memory),
    "decode-joeynmt": ("decode_joeynmt.json", decode_joeynmt),
    "decode-joeynmt-transformer": ("decode_joeynmt_transformer.json", decode_joeynmt),
    "decode-quality": ("decode_quality.json", decode_quality),
    "europarl": ("europarl.json", europarl),
    "ewt": ("ewt.json", labels),
    "ewt-tagger": ("ewt-tagger.json", labels),
    "explorer": ("explorer.json", explorer),
    "generating": ("generating.json", generating),
    "generating-gpu": ("generating_gpu.json", generating),
    "guide-europarl": ("guide-europarl.json", guide),
    "ladder": ("ladder.json", ladder),
    "language": ("language.json", language),
    "laptop": ("laptop.json", laptop),
    "multi30k": ("multi30k.json", recipes),
    "multi30k-ablation": ("multi30k-ablation.json", ablation),
    "multi30k-recurrent": ("multi30k-recurrent.json", ablation),
    "multi30k-scores": ("multi30k-scores.json", ablation),
    "ngram": ("ngram.json", ngram),
    "pretraining": ("pretraining.json", low_resource),
    "ptb-attentive": ("ptb-attentive.json", ablation),
    "ptb-transformer": ("ptb-transformer.json", ablation),
    "rare-words": ("rare_words.json", rare_words),
    "sst2": ("sst2.json", labels),
    "swda": ("swda.json", labels),
    "tagging-speed": ("tagging_speed.json", tagging_speed),
    "tagging-speed-gpu": ("tagging_speed_gpu.json", tagging_speed),
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
    """A page with its tables and footnotes made from the results; a table without results stays as it is."""
    notes: dict[str, str] = {}

    def made(block: re.Match[str]) -> str:
        if block["name"] not in TABLES:
            raise SystemExit(f"unknown table {block['name']!r}; known are {', '.join(TABLES)}")
        file, function = TABLES[block["name"]]
        if not (results / file).exists():
            return block[0]
        table = function(json.loads((results / file).read_text())).named(block["name"])
        notes.update(table.notes)
        return "\n".join([block[1], *table.lines, "", table.caption, "", block[3]])

    text = BLOCK.sub(made, text)
    lines = [line for name, note in notes.items() for line in (f"[^{name}]: {note}", "")]
    return FOOTNOTES.sub(lambda block: "\n".join([block[1], *lines, block[2]]), text) if notes else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if anything would change")
    arguments = parser.parse_args()
    stale = []
    for path in sorted(PAGES.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        made = with_tables(text, HERE / "results")
        if made != text:
            stale.append(path.name)
            if not arguments.check:
                path.write_text(made, encoding="utf-8")
    print(f"{'out of date' if arguments.check else 'updated'}: {', '.join(stale) or 'nothing'}")
    sys.exit(bool(arguments.check and stale))


if __name__ == "__main__":
    main()
