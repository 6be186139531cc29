"""Tables of the results of `experiments.py`: recipes side by side, and the effect of changed settings."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

from markdown_tables import Record, Table, conditions, machine, markdown, spread
from scipy.stats import ttest_ind

PERPLEXITY = "perplexity per token"
LABEL_KINDS = ("F1", "LAS", "UAS", "label accuracy", "exact", "accuracy", "macro F1")
"""Scores of taggers, parsers and classifiers, in percent."""
INTERVALS = "In brackets, the 95 % interval of the change, by Welch's t over seeds."
DEVIATIONS = "± is the standard deviation over seeds."


def recipes(record: Record, *, changes: bool = False) -> Table:
    """Recipes beside each other: BLEU or perplexity, and time of each; with `changes`, how that on the development text
    differs from that of the first, with its interval where both have several seeds."""
    splits = [split for split in ("dev", "test") if any(split in row["scores"] for row in record["rows"])]
    kinds = {split: dict.fromkeys(kind for row in record["rows"] for kind in _judged(row, split)) for split in splits}
    columns = [(split, kind) for split in splits for kind in kinds[split]]
    counts = PERPLEXITY if PERPLEXITY in kinds.get("dev", ()) else "BLEU"
    first = _judged(record["rows"][0], "dev").get(counts)
    notes = _notes(record["rows"])
    rows = []
    for row in record["rows"]:
        found = [_judged(row, split).get(kind) for split, kind in columns]
        mine = _judged(row, "dev").get(counts)
        change = _change(mine, first) if mine and first and mine is not first else ""
        seconds = [each["seconds"] for each in row["training"]]
        name = f"{row['name']}[^{_made(row, record['rows'])}]" if len(notes) > 1 else row["name"]
        told = [name, str(len(row["seeds"])), *(spread(each or [], 2) for each in found), spread(seconds, 0)]
        rows.append([*told, *([change] if changes else [])])
    titles = ["", "seeds", *(f"{split} {kind}" for split, kind in columns), "training, s"]
    titles += [f"change of dev {counts}"] if changes else []
    lines = markdown(titles, rows)
    said = [DEVIATIONS] if any("±" in line for line in lines) else []
    said += [f"On {_devices(record['rows'])}.[^]"] if len(notes) == 1 else []
    return Table(lines, " ".join(said), notes)


def _change(mine: Sequence[float], first: Sequence[float]) -> str:
    """A difference of means, and where both have several values, which differ, its 95 % interval by Welch's t."""
    told = f"{mean(mine) - mean(first):+.2f}"
    several = min(len(mine), len(first)) > 1
    if several and max(len(set(mine)), len(set(first))) > 1:
        low, high = ttest_ind(mine, first, equal_var=False).confidence_interval()
        told += f" [{low:+.2f}, {high:+.2f}]"
    return told.replace("-", "−")


def ablation(record: Record) -> Table:
    """One recipe, with settings changed."""
    made = recipes(record, changes=True)
    has_intervals = any(" [" in line for line in made.lines)
    return replace(made, caption=f"{INTERVALS} {made.caption}") if has_intervals else made


def guide(record: Record) -> Table:
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
    notes = _notes(record["rows"])
    references = "".join(f"[^{name}]" for name in notes)
    caption = f"Seeds of each: {seeds}. On {_devices(record['rows'])}.{references}"
    return Table(markdown(["dev BLEU", *sizes], rows), caption, notes)


def low_resource(record: Record) -> Table:
    """Tasks with few labelled sentences, trained from scratch and from a pre-trained encoder."""
    first = {(row["task"], row["size"]): row for row in reversed(record["rows"])}  # from scratch
    rows = []
    for row in record["rows"]:
        kind = "F1" if "F1" in row["scores"].get("test", {}) else "accuracy"
        scores = {split: row["scores"].get(split, {}).get(kind, {}).get("values", []) for split in ("dev", "test")}
        nothing = first[row["task"], row["size"]]
        theirs = nothing["scores"].get("test", {}).get(kind, {}).get("values", [])
        change = _change(scores["test"], theirs) if scores["test"] and theirs and row is not nothing else ""
        told = [f"{row['task']} ({kind}), {row['size']:,}", row["start"], str(len(row["seeds"]))]
        rows.append([*told, *(spread(each, 1) for each in scores.values()), change])
    titles = ["labelled sentences", "started", "seeds", "dev", "test", "change of test"]
    text = record["text"]
    caption = (
        f"The encoder read {text['steps']:,} batches of 4,096 words out of {text['sentences']:,} sentences of plain "
        f"text; perplexity of masked words {text['perplexity']:.0f}. {INTERVALS} {DEVIATIONS} On {machine(record)}.[^]"
    )
    return Table(markdown(titles, rows), caption, {"": conditions(record)})


def laptop(record: Record) -> Table:
    """Models trained on a laptop within some minutes: a row for each command, with its time and its scores."""
    rows = []
    for row in record["rows"]:
        changes = "".join(f"<br>`--set {change}`" for change in row["changes"])
        minutes = (
            spread([run[name] / 60 for run in row["runs"] if run[name] is not None], 1)
            for name in ("seconds", "processor_seconds")
        )
        scores = (
            "<br>".join(
                f"{kind} {spread(row['scores'][split][kind]['values'], digits)}"
                for kind, digits in SHOWN.items()
                if kind in row["scores"].get(split, ())
            )
            for split in ("dev", "test")
        )
        name = f"{row['name']}[^{_made(row, record['rows'])}]"
        rows.append([name, f"`{row['recipe']}`{changes}", str(len(row["seeds"])), *minutes, *scores])
    titles = ["", "recipe", "seeds", "minutes", "processor minutes", "dev", "test"]
    lines = markdown(titles, rows)
    said = f"{DEVIATIONS} On {_devices(record['rows'])}."
    return Table(lines, said, _notes(record["rows"]))


SHOWN = {"BLEU": 2, PERPLEXITY: 2, "MEN": 3, "analogies, %": 1, "WordSim-353": 3, "SimLex-999": 3}
"""Scores of a translator, a language model and word vectors, with their digits."""


def labels(record: Record) -> Table:
    """Taggers, parsers or classifiers beside each other: their scores on both texts and, of several rows, how the first
    of these scores on the test text differs from that of the first row."""
    first, *others = record["rows"]
    kinds = [kind for kind in LABEL_KINDS if any(kind in row["scores"].get("dev", {}) for row in record["rows"])]
    columns = [(split, kind) for split in ("dev", "test") for kind in kinds]
    judged = "test" if first["scores"].get("test") else "dev", kinds[0]
    rows = []
    for row in record["rows"]:
        mine, theirs = _values(row, *judged), _values(first, *judged)
        change = _change(mine, theirs) if mine and theirs and row is not first else ""
        name = f"{row['name']}[^{_made(row, record['rows'])}]"
        told = [name, str(len(row["seeds"])), *(spread(_values(row, *column), 2) for column in columns)]
        rows.append([*told, *([change] if others else [])])
    titles = ["", "seeds", *map(" ".join, columns), *([f"change of {' '.join(judged)}"] if others else [])]
    lines = markdown(titles, rows)
    said = [INTERVALS] if any(" [" in line for line in lines) else []
    said += [DEVIATIONS] if any("±" in line for line in lines) else []
    return Table(lines, " ".join([*said, f"On {_devices(record['rows'])}."]), _notes(record["rows"], kinds))


def _values(row: Record, split: str, kind: str) -> list[float]:
    """A score of each seed, if it is known."""
    values: list[float] = row["scores"].get(split, {}).get(kind, {}).get("values", [])
    return values


def context(record: Record) -> Table:
    """Dialogue acts with and without what was said before, on the test text."""
    rows = [[row.replace("-", " "), spread(values, 2)] for row, values in record["accuracy"].items()]
    change, low, high = (f"{record[part]:+.2f}".replace("-", "−") for part in ("difference", "low", "high"))
    caption = (
        f"Context changes the accuracy by {change}, 95 % interval {low} to {high}, by the paired bootstrap over "
        f"{record['conversations']} conversations with {record['texts']:,} texts. Seeds of each: {record['seeds']}.[^]"
    )
    return Table(markdown(["", "test accuracy"], rows), caption, {"": conditions(record)})


def _judged(row: Record, split: str) -> dict[str, list[float]]:
    """BLEU or perplexity of each seed by name; with several languages, the main one's, or that of each instead of
    all."""
    scores = row["scores"].get(split, {})
    named = {kind: score["values"] for kind, score in scores.items() if kind.startswith(("BLEU", PERPLEXITY))}
    if row["judged_by"]:
        return {"BLEU": named[row["judged_by"]]} if named else {}
    return {kind: values for kind, values in named.items() if len(named) == 1 or kind != "BLEU"}


def _devices(rows: Sequence[Record]) -> str:
    return " and ".join(dict.fromkeys(machine(row["made"]) for row in rows))


def _made(row: Record, rows: Sequence[Record]) -> str:
    """The name of the footnote of a row: a number, if rows were made in several ways."""
    ways = list(dict.fromkeys(conditions(each["made"]) for each in rows))
    return str(1 + ways.index(conditions(row["made"]))) if len(ways) > 1 else ""


def _notes(rows: Sequence[Record], kinds: Sequence[str] = ("BLEU", PERPLEXITY)) -> dict[str, str]:
    """Footnotes of the scores of rows: their signatures, where, when and by which command."""
    signatures: dict[str, dict[str, None]] = {}
    notes: dict[str, str] = {}
    for row in rows:
        name = _made(row, rows)
        found = signatures.setdefault(name, {})
        for scores in row["scores"].values():
            for kind in kinds:
                found |= dict.fromkeys(scores.get(kind, {}).get("signatures", ()))
        notes[name] = f"{'; '.join(found)}. {conditions(row['made'])}"
    return notes
