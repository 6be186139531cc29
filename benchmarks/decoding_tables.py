"""Tables of how fast translators write, as `decode_cpu.py` and `decode_gpu.py` measured it, and of how well they do in
other number formats, by `decode_quality.py`."""

from markdown_tables import Record, conditions, markdown, spread

MEASURES = {"allocated": "peak_gibibytes", "reserved": "reserved_gibibytes"}
"""Of memory on a GPU: what tensors have, and what is taken for them."""
REMOVED = ("ctranslate2", "ctranslate2:int8")
"""Systems of older results that no command runs any more."""


def decode_cpu(record: Record) -> list[str]:
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
    titles = [*_rate_titles(record, "MarianMT"), "outputs as of our own search", "BLEU"]
    return [*markdown(titles, rows), "", conditions(record)]


def decode_quality(record: Record) -> list[str]:
    """What number formats and runtimes do to quality: a row for each system, means over models."""
    titles = ["system", "BLEU", "difference", "95 % interval", "outputs as of our own search", "least with a model"]
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
    said = (
        f"{record['sentences']:,} sentences; {'models of seeds' if len(seeds) > 1 else 'the model of seed'} "
        f"{', '.join(seeds)}{', means ± standard deviations' if len(seeds) > 1 else ''}. Differences are from our own "
        f"search in float32, intervals by the paired bootstrap over sentences ({record['signature']}). "
        f"{conditions(record)}"
    )
    return [*markdown(titles, rows), "", said]


def _beside_own(figure: Record) -> list[str]:
    """The difference of BLEU, its interval, and the share of equal outputs: the mean over models, and the least."""
    mean, low, high = (_signed(figure[name]) for name in ("mean_difference", "low", "high"))
    same = figure["mean_same_outputs_as_own"], min(figure["same_outputs_as_own"])
    return [mean, f"{low} to {high}", *(f"{100 * share:.1f} %" for share in same)]


def _signed(value: float) -> str:
    """`−0.12`; nothing is `+0.00`, from whichever side."""
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def decode_joeynmt(record: Record) -> list[str]:
    """Decoding on a CPU beside JoeyNMT: a row for each system, times a peer of the same kind of model."""
    figures = (figure for figure in record["figures"] if figure["times_joeynmt"] is not None)
    rows = [_rates(figure, "times_joeynmt") for figure in figures]
    return [*markdown(_rate_titles(record, "JoeyNMT"), rows), "", conditions(record)]


def _rate_titles(record: Record, peer: str) -> list[str]:
    """Those of `_rates`. Where all systems had batches of one size, rows do not say which."""
    batch = ["batch, tokens"] if any("batch_tokens" in figure for figure in record["figures"]) else []
    return ["system", *batch, "sentences/s", "slowest to fastest", f"times {peer}", "the same by processor seconds"]


def _rates(figure: Record, times: str) -> list[str]:
    """A system, its speed, and how many times as fast as a peer it is, by the clock and by processor seconds."""
    return [
        figure["system"],
        *([f"{figure['batch_tokens']:,}"] if "batch_tokens" in figure else []),
        f"{figure['sentences_per_second']:.1f}",
        f"{figure['slowest']:.1f} – {figure['fastest']:.1f}",
        *(f"{figure[name]:.2f} ×" for name in (times, f"{times}_by_processor")),
    ]


def decode_gpu(record: Record) -> list[str]:
    """Decoding on a GPU beside MarianMT: batches and single sentences, with a beam and without."""
    titles = ["system", "sentences of a batch", "beam", "sentences/s", "slowest to fastest", "times MarianMT"]
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
    said = (
        f"Of {outputs:,} outputs in three precisions, with a beam and without, "
        f"{'all' if all(same) else 'not all'} are the same, with the same scores, when nothing is captured. "
        f"{record['device']}. {conditions(record)}"
    )
    return [*markdown(titles, rows), "", said]


def decode_gpu_text(record: Record) -> list[str]:
    """Decoding a text of all lengths on a GPU: from nothing, with all that is captured on the way, and again."""
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
    speeds = [f"sentences/s, {name.replace('_', ' ')}" for name in times]
    titles = ["system", "beam", *speeds, *(f"{measure}, MiB" for measure in MEASURES)]
    return [
        *markdown(titles, rows),
        "",
        f"{record['text'][0]['sentences']:,} sentences. {record['device']}. {conditions(record)}",
    ]


def decode_gpu_memory(record: Record) -> list[str]:
    """The most memory that decoding takes on a GPU, beside MarianMT."""
    beams = list(dict.fromkeys(figure["beam"] for figure in record["memory"]))
    systems = list(dict.fromkeys(figure["system"] for figure in record["memory"]))
    peaks = {(figure["system"], figure["beam"]): figure for figure in record["memory"]}
    columns = [(beam, kind) for beam in beams for kind in MEASURES]
    rows = [
        [system, *(_mebibytes(peaks[system, beam][MEASURES[kind]]) for beam, kind in columns)] for system in systems
    ]
    titles = ["peak, MiB", *(f"a beam of {beam}, {kind}" for beam, kind in columns)]
    return [*markdown(titles, rows), "", f"{record['device']}. {conditions(record)}"]


def _mebibytes(gibibytes: float) -> str:
    return f"{1024 * gibibytes:,.0f}"
