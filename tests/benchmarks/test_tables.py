"""Tables on the pages of results are what the results say, with their conditions as footnotes."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in BENCHMARKS.parent.glob("docs/results/*.md")}


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("tables")


def test_language_models_are_judged_by_their_perplexity(tables: ModuleType) -> None:
    made_by = {"uncommitted_changes": False, "device": "a GPU", "date": "today", "commit": "c", "command": ""}
    known = {"seeds": [1], "training": [], "judged_by": "", "made": made_by}
    rows = [
        known | {"name": name, "scores": {"dev": {"perplexity per token": told}}}
        for name, told in (("as it is", {"values": [80.0], "signatures": ["tokens:9"]}), ("worse", {"values": [90.5]}))
    ]
    made = tables.ablation({"rows": rows})
    assert made.lines[0] == "|  | seeds | dev perplexity per token | training, s | change of dev perplexity per token |"
    assert made.lines[3] == "| worse | 1 | 90.50 | – | +10.50 |"
    assert made.caption == "On a GPU.[^]"
    assert made.notes == {"": "tokens:9. a GPU; today, commit c. Command: ``."}


def test_labels_are_judged_by_their_own_scores(tables: ModuleType) -> None:
    made_by = {"uncommitted_changes": False, "device": "a GPU", "date": "today", "commit": "c", "command": ""}
    made_by["vectors"] = {"file": "glove.txt", "words": 33760}
    scores = {
        "F1": {"values": [95.0, 96.0], "signatures": ["s"]},
        "exact": {"values": [80.0]},
        "recall": {"values": [1]},
    }
    row = {"name": "both", "seeds": [1, 2], "scores": {"dev": scores}, "made": made_by}
    made = tables.labels({"rows": [row]})
    assert made.lines[0] == "|  | seeds | dev F1 | dev exact | test F1 | test exact |"
    assert made.lines[2] == "| both[^] | 2 | 95.50 ± 0.71 | 80.00 | – | – |"
    assert made.notes == {"": "s. a GPU; today, commit c; glove.txt with 33,760 words. Command: ``."}
    assert made.caption == "± is the standard deviation over seeds. On a GPU."
    record = made_by | {"difference": 2.5, "low": -0.25, "high": 5.0, "conversations": 19, "texts": 4078, "seeds": 1}
    made = tables.context(record | {"accuracy": {"with-context": [77.0], "without-context": [74.5]}})
    assert made.lines[2:] == ["| with context | 77.00 |", "| without context | 74.50 |"]
    assert "changes the accuracy by +2.50, 95 % interval −0.25 to +5.00" in made.caption


def test_a_change_of_labels_has_its_interval_over_seeds(tables: ModuleType) -> None:
    made_by = {"uncommitted_changes": False, "device": "a GPU", "date": "today", "commit": "c", "command": ""}

    def row(name: str, dev: list[float], test: list[float]) -> dict[str, object]:
        scores = {"dev": {"accuracy": {"values": dev}}, **({"test": {"accuracy": {"values": test}}} if test else {})}
        return {"name": name, "seeds": list(range(len(dev))), "scores": scores, "made": made_by}

    first = row("first", [1.0, 2.0, 3.0], [80.0, 81.0, 82.0])
    others = [
        row("second", [4.0, 4.0, 4.0], [84.0, 86.0, 88.0]),
        row("one seed", [5.0], [79.5]),
        row("none", [6.0], []),
    ]
    made = tables.labels({"rows": [first, *others]})
    assert made.lines[0] == "|  | seeds | dev accuracy | test accuracy | change of test accuracy |"
    # Welch: a standard error of √(1/3 + 4/3) and 2.94 degrees of freedom, whose t is 3.2183.
    assert [line.split(" | ")[-1].rstrip(" |") for line in made.lines[2:]] == ["", "+5.00 [+0.84, +9.16]", "−1.50", ""]
    assert made.caption.startswith("In brackets, the 95 % interval of the change, by Welch's t over seeds. ± is ")
    made = tables.labels({"rows": [row("first", [1.0], []), row("second", [2.0], [])]})
    assert made.lines[0].endswith(" | change of dev accuracy |")
    assert made.lines[3].endswith(" | – | +1.00 |")
    assert made.caption == "On a GPU."


def test_they_are_made_of_the_newest_results() -> None:
    command = [sys.executable, str(BENCHMARKS / "tables.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}; run python benchmarks/tables.py"


def test_a_block_is_replaced_and_all_else_stays(tables: ModuleType, tmp_path: Path) -> None:
    text = "before\n<!-- generated: vectors -->\nold\n<!-- end -->\nafter\n"
    assert tables.with_tables(text, tmp_path) == text, "without results nothing changes"
    scores = {"semantic": {"share": 0.5}, "syntactic": {"share": 0.25}, "WordSim-353": 0.5, "SimLex-999": None}
    row = {"method": "skipgram", "dimension": 100, "device": "cuda", "words_per_second": 1234567, "most_memory": 2**20}
    rows = [row | {"scores": scores | {"MEN": men, "RG-65": 0.1}} for men in (0.4, 0.6)]
    record = {
        "figures": [*rows, {"method": "cbow", "failed": ["no"]}],
        "text": {"words": 1000, "different": 10},
        "settings": {"workers": 2, "epochs": 5},
        "versions": {"python": "3.12", "gensim": None},
        "uncommitted_changes": False,
        "load_average_before": 0.1,
        "load_average_after": 0.2,
        "date": "2026-01-01",
        "commit": "0123456789abcdef",
        "processor": "a processor",
        "cpus": 2,
        "command": "python benchmarks/vectors.py",
    }
    (tmp_path / "vectors.json").write_text(json.dumps(record))
    made = tables.with_tables(text, tmp_path).splitlines()
    assert (made[0], made[-1]) == ("before", "after")
    assert "old" not in made
    assert "| skip-gram on the GPU | 100 | 2 | 50.0 ± 0.0 | 25.0 ± 0.0 | 0.500 ± 0.000 | – | 0.500 ± 0.141 |" in made[5]
    assert made[5].endswith("| 0.100 ± 0.000 | 1,235 ± 0 | 1 ± 0 |")
    assert not any("| CBOW" in line for line in made)
    assert any(
        line.startswith("1,000 words of text, 10 of them distinct") and line.endswith("[^vectors]") for line in made
    )
    footnotes = "<!-- footnotes -->\nold\n<!-- end -->\n"
    *_, note, empty, end = tables.with_tables(text + footnotes, tmp_path).splitlines()
    where = "a processor (2 processors; load 0.1 before, 0.2 after)"
    how = "2026-01-01, commit 0123456789; python 3.12. Command: `python benchmarks/vectors.py`."
    assert note == f"[^vectors]: {where}; {how}"
    assert (empty, end) == ("", "<!-- end -->")


def test_every_table_is_shown_once_and_none_outside_the_pages_of_results(tables: ModuleType) -> None:
    shown = [name for page in PAGES.values() for name in re.findall(r"<!-- generated: ([\w-]+) -->", page)]
    measured = [name for name, (file, _) in tables.TABLES.items() if (BENCHMARKS / "results" / file).exists()]
    assert sorted(shown) == sorted(measured)
    guides = {*BENCHMARKS.parent.glob("docs/**/*.md")} - {*BENCHMARKS.parent.glob("docs/results/*.md")}
    assert [guide.name for guide in guides if "<!-- generated" in guide.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_table_has_a_footnote_and_every_footnote_a_reference(page: str) -> None:
    text = PAGES[page]
    tables, _, footnotes = text.partition("<!-- footnotes -->")
    for block in re.findall(r"<!-- generated: .*?<!-- end -->", tables, re.DOTALL):
        assert "[^" in block
    defined = re.findall(r"^\[\^([\w-]+)\]: ", footnotes, re.MULTILINE)
    assert set(re.findall(r"\[\^([\w-]+)\]", tables)) == set(defined)
    assert len(set(defined)) == len(defined)


def test_conditions_name_the_gpu_and_the_host_and_end_with_the_note(tables: ModuleType) -> None:
    record = {"gpu": "a GPU", "device": "cuda", "processor": "P", "cpus": 16, "uncommitted_changes": True}
    record |= {"date": "today", "commit": "0123456789abc", "command": "c", "note": "it was busy"}
    told = "a GPU, P (16 processors); today, commit 0123456789 with uncommitted changes. Command: `c`. It was busy."
    assert tables.conditions(record) == told


def test_an_unknown_table_is_refused(tables: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"unknown table 'vector'; known are .*vectors"):
        tables.with_tables("<!-- generated: vector -->\n<!-- end -->", tmp_path)


def test_tables_of_language_models(tables: ModuleType, tmp_path: Path) -> None:
    scored = {"perplexity": 60.0, "signature": "tokens:5|x:1"}
    cache = {"test": {"perplexity": 50.0, "signature": "x:1|cache:5"}}
    figure = {"recipe": "ptb-awd-lstm", "parameters": 1000, "seconds": 90, "dev": scored, "test": scored}
    figure |= {"cache": cache, "commit": "0123456789abc"}
    plain = figure | {"recipe": "mine", "cache": None}
    made = block(tables, tmp_path, "language", {"figures": [figure, figure, plain], **CONDITIONS})
    assert "| mine[^language-mine] | 1 | 1,000 | 1.5 | 60.00 | 60.00 |  | – |  |" in made
    row = next(
        line for line in made if line.startswith("| ptb-awd-lstm[^language-ptb-awd-lstm] | 2 | 1,000 | 1.5 ± 0.0")
    )
    assert row.endswith("| 57.3[^language-merity-2018] | 50.00 ± 0.00 | 52.8[^language-merity-2018] |")
    assert "[^language-mine]: mine, on a CPU, commit 0123456789: tokens:5|x:1." in made
    cached = "ptb-awd-lstm, on a CPU, commit 0123456789: tokens:5|x:1. With a cache: x:1|cache:5."
    assert f"[^language-ptb-awd-lstm]: {cached}" in made
    assert [line for line in made if line.startswith("[^language-m")][1:] == [
        "[^language-merity-2018]: Merity et al. (2018), Regularizing and optimizing LSTM language models."
    ], "papers that no row cites are left out"
    changed = [
        plain | {"changes": ["seed=3"], "device": "GPU", "against": {"recipe": "a-b", "ratio": ratio} | interval}
        for ratio, interval in ((0.95, {"ratio_interval": [0.9, 1.0]}), (0.97, {"ratio_interval": [0.96, 1.04]}))
    ]
    made = block(tables, tmp_path, "language", {"figures": [figure, *changed], **CONDITIONS})
    assert any("-mine] | 2 |" in line and line.endswith("| a-b: −4.0 % [−7.0, +2.0] |") for line in made)
    assert "[^language-mine]: mine, with `seed=3`, on GPU, commit 0123456789: tokens:5|x:1." in made
    rung = {"rung": "lstm", "parameters": 10, "seconds": 30.4, "tokens_per_second": 1000.0, "perplexity": 50.0}
    rung |= {"added": -5.25, "against": "rnn", "signature": "x:1"}
    conditions = {"date": "2026-01-01", "commit": "c" * 40, "processor": "P", "cpus": 2, "command": "regard ladder"}
    conditions |= {"versions": {"torch": "2.13"}, "uncommitted_changes": False}
    made = block(tables, tmp_path, "ladder", {"rungs": [rung], "note": "In a minute.", **conditions})
    assert "| lstm | 10 | 30 | 1,000 | 50.00 | -5.2 % | rnn |" in made
    assert any(line.startswith("[^ladder]: lstm: x:1. P (2 processors)") and "In a minute." in line for line in made)
    claim = {"rung": "lstm", "against": "ngram", "change": -2.5, "low": -3.0, "high": -2.0}
    seeds = {"rungs": [rung | {"perplexities": [50.0, 52.0]}], "claims": [claim], "note": "", **conditions}
    made = block(tables, tmp_path, "ladder", seeds)
    assert "| lstm | 10 | 30 | 1,000 | 51.00 ± 1.41 | -5.2 % | rnn |" in made
    assert any(line.endswith("lstm against ngram: −2.50 [−3.00, −2.00].") for line in made)
    speed = {"processor": "p", "threads": 2, "tokens": 9, "date": "2026-01-01", "commit": "0123456789abc"}
    speed |= {"command": "c", "figures": [{"rung": "rnn", "first": 12.0, "last": 11.0}], "uncommitted_changes": False}
    made = block(tables, tmp_path, "generating", speed)
    assert "| rnn | 12 | 11 |" in made
    assert "9 tokens on p, 2 threads.[^generating]" in made
    assert "[^generating]: p; 2026-01-01, commit 0123456789. Command: `c`." in made


def test_tables_of_rare_words(tables: ModuleType, tmp_path: Path) -> None:
    row = {"words": "rare, new", "count": 1200, "bits": 8.0, "margin": 0.1, "change": None, "change_margin": None}
    other = row | {"model": "copying", "bits": 6.5, "change": -1.5, "change_margin": 0.05}
    record = {"rare": 20, "figures": [row | {"model": "lstm"}, other], **CONDITIONS}
    made = block(tables, tmp_path, "rare-words", record)
    assert made[1] == "| words | count | lstm | copying | change |"
    assert made[3] == "| rare, new | 1,200 | 8.00 ± 0.10 | 6.50 ± 0.10 | −1.50 ± 0.05 |"
    assert made[5].endswith("occur 20 times or less in the training text.[^rare-words]")


def test_tables_of_training_speed_of_language_models(tables: ModuleType, tmp_path: Path) -> None:
    figure = {"shape": "2 × 650", "weight_drop": 0.5, "precision": "bfloat16", "plain_ms": 7.25, "regard_ms": 2.5}
    record = {"figures": [figure | {"times_as_fast": 2.9}], "processor": "P", "versions": {"torch": "2.13"}}
    record |= {"date": "2026-01-01", "commit": "0123456789abc", "command": "c", "uncommitted_changes": False}
    for gpu, where, host in ({"gpu": "G"}, "G", "G, P"), ({}, "P", "P"):
        made = block(tables, tmp_path, "train-language-gpu", record | gpu)
        assert "| 2 × 650 | 50% | bfloat16 | 7.2 | 2.5 | 2.90 × |" in made
        assert f"On {where}.[^train-language-gpu]" in made
        note = f"[^train-language-gpu]: {host}; 2026-01-01, commit 0123456789; torch 2.13. Command: `c`."
        assert note in made


CONDITIONS = {"device": "a GPU", "date": "2026-01-01", "commit": "0123456789abc", "uncommitted_changes": False}
CONDITIONS |= {"command": "python benchmarks/experiments.py"}


def row(name: str, *values: float, size: str = "", judged_by: str = "", **others: list[float]) -> dict[str, object]:
    """A row of experiments with a BLEU of each seed; `others` are those of languages."""
    named = {"BLEU": list(values)} | {f"BLEU {tag}": each for tag, each in others.items()}
    scores = {kind: {"values": each, "signatures": ["tok:13a"]} for kind, each in named.items()}
    seeds, training = list(range(len(values))), [{"seconds": 30.0} for _ in values]
    told = {"name": name, "size": size, "judged_by": judged_by, "seeds": seeds, "training": training}
    told["made"] = CONDITIONS
    return told | {"scores": {"dev": scores} if values else {}}


def block(tables: ModuleType, folder: Path, name: str, record: dict[str, object]) -> list[str]:
    """The lines of a table and of its footnotes."""
    (folder / tables.TABLES[name][0]).write_text(json.dumps(record))
    page = f"<!-- generated: {name} -->\n<!-- end -->\n<!-- footnotes -->\n<!-- end -->"
    made: str = tables.with_tables(page, folder)
    return made.splitlines()[1:]


def test_tables_of_experiments(tables: ModuleType, tmp_path: Path) -> None:
    rows = [row("as it is", 40.0, 41.0), row("less", 39.0), row("failed")]
    rows += [row("both", 30.0, judged_by="BLEU de", de=[41.0], en=[20.0])]
    made = block(tables, tmp_path, "multi30k-ablation", {"rows": rows})
    assert made[1] == "|  | seeds | dev BLEU | training, s | change of dev BLEU |"
    assert made[3:7] == [
        "| as it is | 2 | 40.50 ± 0.71 | 30 ± 0 |  |",
        "| less | 1 | 39.00 | 30 | −1.50 |",
        "| failed | 0 | – | – |  |",
        "| both | 1 | 41.00 | 30 | +0.50 |",
    ]
    assert made[8] == "± is the standard deviation over seeds. On a GPU.[^multi30k-ablation]"
    how = "2026-01-01, commit 0123456789. Command: `python benchmarks/experiments.py`."
    assert f"[^multi30k-ablation]: tok:13a. a GPU; {how}" in made
    rows[1]["made"] = CONDITIONS | {"device": "another"}
    made = block(tables, tmp_path, "multi30k-ablation", {"rows": rows})
    assert [line.split(" | ")[0] for line in made[3:5]] == [
        "| as it is[^multi30k-ablation-1]",
        "| less[^multi30k-ablation-2]",
    ]
    assert made[8] == "± is the standard deviation over seeds."
    assert f"[^multi30k-ablation-1]: tok:13a. a GPU; {how}" in made
    assert f"[^multi30k-ablation-2]: tok:13a. another; {how}" in made
    rows = [row("German alone", 40.0), row("both", 30.0, de=[41.0], fr=[20.0])]
    made = block(tables, tmp_path, "tatoeba", {"rows": rows})
    assert made[1] == "|  | seeds | dev BLEU | dev BLEU de | dev BLEU fr | training, s |"
    assert made[3:5] == ["| German alone | 1 | 40.00 | – | – | 30 |", "| both | 1 | – | 41.00 | 20.00 | 30 |"]


def test_a_change_has_an_interval_where_both_have_several_seeds(tables: ModuleType, tmp_path: Path) -> None:
    rows = [row("as it is", 40.0, 41.0, 42.0), row("less", 38.0, 39.0, 40.0), row("one seed", 39.0)]
    made = block(tables, tmp_path, "multi30k-ablation", {"rows": rows})
    # Two deviations of 1 over three seeds: 2 ∓ t(4) · √(1/3 + 1/3), and t(4) is 2.776.
    assert made[4].endswith("| −2.00 [−4.27, +0.27] |")
    assert made[5].endswith("| −2.00 |")
    assert made[7].startswith("In brackets, the 95 % interval of the change, by Welch's t over seeds. ±")
    alike = [row("as it is", 40.0, 40.0), row("less", 38.0, 38.0)]
    assert block(tables, tmp_path, "multi30k-ablation", {"rows": alike})[4].endswith("| −2.00 |")
    made = block(tables, tmp_path, "multi30k-ablation", {"rows": [row("as it is", 40.0), row("less", 38.0)]})
    assert made[6] == "On a GPU.[^multi30k-ablation]", "of one seed each, nothing is said of intervals"


def test_the_guide_marks_the_best_of_each_size(tables: ModuleType, tmp_path: Path) -> None:
    rows = [
        row(name, *found, size=size)
        for name, size, found in (
            ("small", "5", [20.0]),
            ("large", "5", [10.0]),
            ("small", "30", [30.0]),
            ("large", "60", [1.0]),
        )
    ]
    made = block(tables, tmp_path, "guide-europarl", {"rows": rows})
    assert made[1] == "| dev BLEU | 5 | 30 | 60 |"
    assert made[3] == "| small | **20.00** (30 s) | **30.00** (30 s) | – |"
    assert made[4] == "| large | 10.00 (30 s) | – | **1.00** (30 s) |"


def test_the_table_of_europarl(tables: ModuleType, tmp_path: Path) -> None:
    side = {"seconds": 100.4, "preparing": 10.0, "steps": 13230, "passes": [], "sample": 0, "decoding": {"test": 2.0}}
    side |= {"peak_reserved_gibibytes": 1.5, "settings": ["train.optimizer.rate=5e-4"]}
    compared = {"difference": -0.1, "low": -0.5, "high": 0.3, "p_value": 0.5, "signature": "tok:13a|bs:1000"}
    scores = {"own": {"value": 33.0}, "peer": {"value": 33.1}, "comparisons": [compared]}
    record = CONDITIONS | {"own": side, "peer": side | {"seconds": 600.0, "passes": [60.0] * 10}}
    record |= {"times_as_fast": 5.976, "times_as_fast_all_shapes_met": 5.5, "epochs": 10}
    made = block(tables, tmp_path, "europarl", record | {"scores": {"dev": scores, "test": scores}})
    assert made[3:5] == [
        "| Regard | 100 | 10 | 13,230 | 33.00 | 33.00 | 2.0 | 1.5 |",
        "| MarianMT, plain loop | 600 | 10 | 13,230 | 33.10 | 33.10 | 2.0 | 1.5 |",
    ]
    assert made[6].startswith(
        "On a GPU. 5.98 times as fast; 5.50 times, if all passes of the peer were as short as its "
    )
    assert ". Test BLEU differs by −0.10, 95 % interval −0.50 to +0.30, p = 0.500" in made[6]
    note = "[^europarl]: Settings of the peer: `train.optimizer.rate=5e-4`. BLEU: tok:13a|bs:1000. a GPU; 2026-01-01, "
    assert any(line.startswith(note) for line in made)
    record["peer"]["passes"] = [60.0, 60.0]
    made = block(tables, tmp_path, "europarl", record | {"scores": {"dev": scores, "test": scores}})
    note = "[^europarl]: 2 passes of the peer were timed; the others count as long as those after the first. Settings"
    assert any(line.startswith(note) for line in made)
    record["peer"] |= {"passes": [300.4, 60.0], "sample": 150}
    made = block(tables, tmp_path, "europarl", record | {"scores": {"dev": scores, "test": scores}})
    assert made[4].endswith("| 33.10 | – | 1.5 |")
    note = "a sample of 150 batches, timed when their shapes were new and when they were not: 300 s for the first pass"
    assert any(note in line for line in made)
    made = block(tables, tmp_path, "europarl", record | {"scores": {"dev": scores, "test": scores}, "note": "Noted."})
    assert any(line.endswith("`python benchmarks/experiments.py`. Noted.") for line in made)


def test_tables_of_decoding_on_a_cpu_say_at_which_size_of_batches(tables: ModuleType) -> None:
    record = {"versions": {}, "uncommitted_changes": False, "load_average_before": 0.1, "date": "today"}
    record |= {"commit": "c", "processor": "P", "cpus": 2, "command": ""}
    speed = {"system": "own", "sentences_per_second": 8.0, "slowest": 7.0, "fastest": 9.0}
    quality = {"same_outputs_as_own": None, "bleu": 42.0}
    beside_marian = tables.decode_cpu, "MarianMT", "times_marian", " – | 42.00 |"
    beside_joeynmt = tables.decode_joeynmt, "JoeyNMT", "times_joeynmt", ""
    for table, peer, times, ending in (beside_marian, beside_joeynmt):
        figure = speed | quality | {times: 2.0, f"{times}_by_processor": 3.0}
        made = table(record | {"figures": [figure]}).lines
        assert made[0].startswith(f"| system | sentences/s | slowest to fastest | times {peer} |")
        assert made[2] == f"| own | 8.0 | 7.0 – 9.0 | 2.00 × | 3.00 × |{ending}"
        made = table(record | {"figures": [figure | {"batch_tokens": 4096}]}).lines
        assert made[0].startswith(f"| system | batch, tokens | sentences/s | slowest to fastest | times {peer} |")
        assert made[2] == f"| own | 4,096 | 8.0 | 7.0 – 9.0 | 2.00 × | 3.00 × |{ending}"
