"""Tables of what `experiments.py` measured: recipes beside each other, and what a change of settings does."""

from collections.abc import Sequence
from statistics import mean

from markdown_tables import Record, markdown, spread
from scipy.stats import ttest_ind

PERPLEXITY = "perplexity per token"
INTERVALS = "In brackets, the 95 % interval of a change, by Welch's t over seeds."


def recipes(record: Record, *, changes: bool = False) -> list[str]:
    """Recipes beside each other: BLEU or perplexity, and time of each; with `changes`, how that on the development text
    differs from that of the first, with its interval where both have several seeds."""
    splits = [split for split in ("dev", "test") if any(split in row["scores"] for row in record["rows"])]
    kinds = {split: dict.fromkeys(kind for row in record["rows"] for kind in _judged(row, split)) for split in splits}
    columns = [(split, kind) for split in splits for kind in kinds[split]]
    counts = PERPLEXITY if PERPLEXITY in kinds.get("dev", ()) else "BLEU"
    first = _judged(record["rows"][0], "dev").get(counts)
    rows = []
    for row in record["rows"]:
        found = [_judged(row, split).get(kind) for split, kind in columns]
        mine = _judged(row, "dev").get(counts)
        change = _change(mine, first) if mine and first and mine is not first else ""
        seconds = [each["seconds"] for each in row["training"]]
        told = [row["name"], str(len(row["seeds"])), *(spread(each or [], 2) for each in found), spread(seconds, 0)]
        rows.append([*told, *([change] if changes else [])])
    titles = ["", "seeds", *(f"{split} {kind}" for split, kind in columns), "training, s"]
    titles += [f"change of dev {counts}"] if changes else []
    return [*markdown(titles, rows), "", _made(record)]


def _change(mine: Sequence[float], first: Sequence[float]) -> str:
    """A difference of means, and where both have several values, which differ, its 95 % interval by Welch's t."""
    told = f"{mean(mine) - mean(first):+.2f}"
    several = min(len(mine), len(first)) > 1
    if several and max(len(set(mine)), len(set(first))) > 1:
        low, high = ttest_ind(mine, first, equal_var=False).confidence_interval()
        told += f" [{low:+.2f}, {high:+.2f}]"
    return told.replace("-", "−")


def ablation(record: Record) -> list[str]:
    """One recipe, with settings changed."""
    made = recipes(record, changes=True)
    return [*made[:-1], f"{INTERVALS} {made[-1]}"] if any("[" in line for line in made[:-1]) else made


def guide(record: Record) -> list[str]:
    """Models with several amounts of text: BLEU on the development text, and in brackets the seconds of training."""
    sizes = list(dict.fromkeys(row["size"] for row in record["rows"]))
    names = list(dict.fromkeys(row["name"] for row in record["rows"]))
    found = {(row["name"], row["size"]): row for row in record["rows"]}
    values = {place: _judged(row, "dev").get("BLEU", []) for place, row in found.items()}
    best = {size: max(names, key=lambda name, size=size: mean(values.get((name, size)) or [0])) for size in sizes}

    def cell(name: str, size: str) -> str:
        if not values.get((name, size)):
            return spread([], 2)
        seconds = [each["seconds"] for each in found[name, size]["training"]]
        told = spread(values[name, size], 2)
        told = f"**{told}**" if name == best[size] else told
        return f"{told} ({mean(seconds):.0f} s)" if seconds else told

    rows = [[name, *(cell(name, size) for size in sizes)] for name in names]
    seeds = max(len(row["seeds"]) for row in record["rows"])
    return [*markdown(["dev BLEU", *sizes], rows), "", f"Seeds: {seeds}. {_made(record)}"]


def _judged(row: Record, split: str) -> dict[str, list[float]]:
    """BLEU or perplexity of each seed by its name; of several languages, that which counts, or that of each instead of
    all."""
    scores = row["scores"].get(split, {})
    named = {kind: score["values"] for kind, score in scores.items() if kind.startswith(("BLEU", PERPLEXITY))}
    if row["judged_by"]:
        return {"BLEU": named[row["judged_by"]]} if named else {}
    return {kind: values for kind, values in named.items() if len(named) == 1 or kind != "BLEU"}


def _made(record: Record) -> str:
    """By what the scores of a table were computed, where, when and by which command."""
    signatures = dict.fromkeys(
        signature
        for row in record["rows"]
        for scores in row["scores"].values()
        for kind in ("BLEU", PERPLEXITY)
        for signature in scores.get(kind, {}).get("signatures", ())
    )
    places = dict.fromkeys(_told(row["made"]) for row in record["rows"])
    return f"{'; '.join(signatures)}; on {'; on '.join(places)}"


def _told(made: Record) -> str:
    changed = " with changes" if made["uncommitted_changes"] else ""
    note = f" ({made['note']})" if "note" in made else ""
    return f"{made['device']}, {made['date']}, {made['commit'][:10]}{changed}: `{made['command']}`{note}"
