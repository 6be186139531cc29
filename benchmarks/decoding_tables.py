"""Tables of decoding speed, by `decode_cpu.py` and `decode_gpu.py`, and of quality in other number formats, by
`decode_quality.py`."""

from markdown_tables import Record, Table, conditions, machine, markdown, spread

MEASURES = {"allocated": "peak_gibibytes", "reserved": "reserved_gibibytes"}
"""GPU memory: allocated to tensors, and reserved for them by torch."""
REMOVED = ("ctranslate2", "ctranslate2:int8")
"""Systems of older results that no command runs any more."""


def decode_cpu(record: Record) -> Table:
    """Decoding on a CPU beside CTranslate2 and MarianMT: a row for each system that runs the same Transformer."""
    rows = [
        [
            *_rates(figure, "times_marian"),
            "–" if (same := figure["same_outputs_as_own"]) is None else f"{100 * same:.1f} %",
            "–" if figure["bleu"] is None else f"{figure['bleu']:.2f}",
        ]
        for figure in record["figures"]
        if figure["times_marian"] is not None
        and "recurrent" not in figure["system"]
        and figure["system"] not in REMOVED
    ]
    titles = [*_rate_titles(record, "MarianMT"), "same outputs as own", "BLEU"]
    return Table(markdown(titles, rows), f"On {machine(record)}, {record['cpus']} processors.[^]", _note(record))


def decode_quality(record: Record) -> Table:
    """Effect of number formats and runtimes on quality: a row for each system, means over models."""
    titles = ["system", "BLEU", "difference", "95 % interval", "same outputs as own", "lowest of a model"]
    rows = [
        [
            figure["system"],
            spread(figure["bleu"], 2),
            *(["–"] * 4 if figure["system"] == "own" else _beside_own(figure)),
        ]
        for figure in record["figures"]
        if figure["system"] not in REMOVED
    ]
    seeds = [str(model["seed"]) for model in record["models"]]
    means = f"Means ± standard deviations over models of seeds {', '.join(seeds)}"
    caption = (
        f"{record['sentences']:,} sentences. {means if len(seeds) > 1 else f'The model of seed {seeds[0]}'}. "
        "Differences and equal outputs are relative to our own search in float32, with intervals by the paired "
        "bootstrap over sentences.[^]"
    )
    return Table(markdown(titles, rows), caption, {"": f"BLEU: {record['signature']}. {conditions(record)}"})


def _beside_own(figure: Record) -> list[str]:
    """The difference of BLEU, its interval, and the share of equal outputs: the mean over models, and the least."""
    mean, low, high = (_signed(figure[name]) for name in ("mean_difference", "low", "high"))
    same = figure["mean_same_outputs_as_own"], min(figure["same_outputs_as_own"])
    return [mean, f"{low} to {high}", *(f"{100 * share:.1f} %" for share in same)]


def _signed(value: float) -> str:
    """`−0.12`; zero is `+0.00`, whatever its sign."""
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def decode_joeynmt(record: Record) -> Table:
    """Decoding on a CPU beside JoeyNMT: a row for each system, times a peer of the same kind of model."""
    figures = (figure for figure in record["figures"] if figure["times_joeynmt"] is not None)
    rows = [_rates(figure, "times_joeynmt") for figure in figures]
    caption = f"On {machine(record)}, {record['cpus']} processors.[^]"
    return Table(markdown(_rate_titles(record, "JoeyNMT"), rows), caption, _note(record))


def _rate_titles(record: Record, peer: str) -> list[str]:
    """Those of `_rates`. The batch size is a column if systems differ in it."""
    batch = ["batch, tokens"] if any("batch_tokens" in figure for figure in record["figures"]) else []
    return ["system", *batch, "sentences/s", "slowest to fastest", f"times {peer}", "times by CPU time"]


def _rates(figure: Record, times: str) -> list[str]:
    """A system, its speed, and how many times as fast as a peer it is, by the clock and by CPU time."""
    return [
        figure["system"],
        *([f"{figure['batch_tokens']:,}"] if "batch_tokens" in figure else []),
        f"{figure['sentences_per_second']:.1f}",
        f"{figure['slowest']:.1f} – {figure['fastest']:.1f}",
        *(f"{figure[name]:.2f} ×" for name in (times, f"{times}_by_processor")),
    ]


def decode_gpu(record: Record) -> Table:
    """Decoding on a GPU beside MarianMT: batches and single sentences, with a beam and without."""
    titles = ["system", "batch, sentences", "beam", "sentences/s", "slowest to fastest", "times MarianMT"]
    rows = [
        [
            figure["system"],
            *(str(figure[name]) for name in ("batch", "beam")),
            f"{figure['sentences_per_second']:,.1f}",
            f"{figure['slowest']:,.1f} – {figure['fastest']:,.1f}",
            f"{figure['times_marian']:.1f} ×",
        ]
        for figure in record["batches"]
    ]
    same = [figure["same_tokens_and_scores_uncaptured"] for figure in record["equal"]]
    outputs = sum(figure["outputs"] for figure in record["equal"])
    caption = (
        f"On {machine(record)}. Of {outputs:,} outputs in three precisions, with a beam and greedy, "
        f"{'all' if all(same) else 'not all'} are the same, with the same scores, without CUDA graphs.[^]"
    )
    return Table(markdown(titles, rows), caption, _note(record))


def decode_gpu_text(record: Record) -> Table:
    """Decoding a text of all lengths on a GPU: the first pass, which captures steps, and later ones."""
    times = [name for name in ("first_time", "second_time", "third_time") if name in record["text"][0]]
    rows = [
        [
            figure["system"],
            str(figure["beam"]),
            *(f"{figure[name]:,.0f}" for name in times),
            *(_mebibytes(figure[measure]) for measure in MEASURES.values()),
        ]
        for figure in record["text"]
    ]
    speeds = [f"sentences/s, {name.replace('time', 'pass').replace('_', ' ')}" for name in times]
    titles = ["system", "beam", *speeds, *(f"{measure}, MiB" for measure in MEASURES)]
    caption = f"{record['text'][0]['sentences']:,} sentences on {machine(record)}.[^]"
    return Table(markdown(titles, rows), caption, _note(record))


def decode_gpu_memory(record: Record) -> Table:
    """Peak memory of decoding on a GPU, beside MarianMT."""
    beams = list(dict.fromkeys(figure["beam"] for figure in record["memory"]))
    systems = list(dict.fromkeys(figure["system"] for figure in record["memory"]))
    peaks = {(figure["system"], figure["beam"]): figure for figure in record["memory"]}
    columns = [(beam, kind) for beam in beams for kind in MEASURES]
    rows = [
        [system, *(_mebibytes(peaks[system, beam][MEASURES[kind]]) for beam, kind in columns)] for system in systems
    ]
    titles = ["peak, MiB", *(f"beam {beam}, {kind}" for beam, kind in columns)]
    return Table(markdown(titles, rows), f"On {machine(record)}.[^]", _note(record))


def _note(record: Record) -> dict[str, str]:
    return {"": conditions(record)}


def _mebibytes(gibibytes: float) -> str:
    return f"{1024 * gibibytes:,.0f}"
