"""`regard evaluate` and `regard score`: every number with its signature."""

import json
import math
import re
from pathlib import Path

import pytest
from command_line import WORDS, Trained, regard

import regard as library


def value(out: str, name: str) -> float:
    (found,) = re.findall(rf"^{name} (\S+) ", out, re.MULTILINE)
    return float(found)


def test_the_model_has_learned_something_and_every_score_is_signed(trained: Trained) -> None:
    told = regard("evaluate", trained.folder)
    assert (told.code, told.err) == (0, "")
    assert value(told.out, "accuracy") > 0.5
    assert [line.split()[0] for line in told.out.splitlines()] == ["accuracy", "BLEU", "chrF2", "TER"]
    assert "(exact|lines:20)" in told.out
    assert "BLEU" in told.out
    assert "tok:13a|smooth:exp|version:" in told.out


def test_a_split_is_not_named_beside_files(trained: Trained) -> None:
    told = regard("evaluate", trained.folder, "a.de", "a.en", "--split", "dev")
    said = "regard: --split dev is a part of the model's own corpus, and files are named; leave one out\n"
    assert (told.code, told.err) == (2, said)


def test_another_split_and_another_beam(trained: Trained) -> None:
    outputs = {regard("evaluate", trained.folder, *more).out for more in ([], ["--split", "dev"], ["--beam", 1])}
    assert len(outputs) >= 2


def test_files_intervals_and_outputs(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for module in ("metrics.resampling", "tasks.evaluation"):
        monkeypatch.setattr(f"regard.{module}.RESAMPLES", 20)
    sources = ["eins zwei", "Haus"]
    Path("a.tsv").write_text("".join(f"{text}\t{text}\n" for text in sources), encoding="utf-8")
    told = regard("evaluate", trained.folder, "a.tsv", "--intervals", "-o", "out.txt")
    assert told.code == 0
    assert re.search(r"^BLEU \S+ ± \S+ \(nrefs:1\|bs:20\|", told.out, re.MULTILINE)
    wanted = [best.text for best in library.load(trained.folder).translate(sources)]
    assert Path("out.txt").read_text(encoding="utf-8").splitlines() == wanted


def test_outputs_that_cannot_be_written_are_a_message(trained: Trained) -> None:
    told = regard("evaluate", trained.folder, "-o", "/dev/full")
    assert told.code == 2
    assert told.err == "regard: /dev/full: cannot be written (No space left on device); choose another file\n"


def test_a_model_without_test_text_says_so(trained: Trained, tmp_path: Path) -> None:
    recipe = tmp_path / "no-test.toml"
    lines = trained.recipe.read_text(encoding="utf-8").splitlines()
    kept = [
        line.replace('["', f'["{trained.recipe.parent}/').replace(', "', f', "{trained.recipe.parent}/')
        for line in lines
    ]
    recipe.write_text("\n".join(line for line in kept if not line.startswith("test =")), encoding="utf-8")
    assert regard("train", recipe, "--out", tmp_path / "m", "--set", "train.steps=1").code == 0
    told = regard("evaluate", tmp_path / "m")
    assert told.code == 2
    assert told.err.startswith("regard: the model's recipe names no test text (data.test); name the files instead\n")
    assert regard("score", tmp_path / "m").err == told.err
    assert regard("evaluate", tmp_path / "m", "--split", "dev").code == 0


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two right translations and a wrong one."""
    pairs = [("eins", "one"), ("Haus", "house"), ("rot", "house")]
    source, target = tmp_path / "a.de", tmp_path / "a.en"
    source.write_text("".join(f"{left}\n" for left, _ in pairs), encoding="utf-8")
    target.write_text("".join(f"{right}\n" for _, right in pairs), encoding="utf-8")
    assert WORDS["rot"] != "house"
    return source, target


def test_scores_of_given_translations(trained: Trained, files: tuple[Path, Path]) -> None:
    told = regard("score", trained.folder, *files)
    assert told.code == 0
    right, also_right, wrong = map(float, told.out.splitlines())
    assert wrong < min(right, also_right) <= 0
    perplexity = math.exp(-(right + also_right + wrong) / 6)
    stated = re.fullmatch(r"perplexity (\S+) per target token, end of sentence included \(6 tokens\)\n", told.err)
    assert stated
    assert float(stated[1]) == pytest.approx(perplexity, rel=1e-3)


@pytest.mark.parametrize("command", ["score", "evaluate", "align"])
def test_invalid_text_is_refused_with_advice_that_helps(
    trained: Trained, files: tuple[Path, Path], command: str
) -> None:
    source, _ = files
    source.write_bytes(b"eins\nHa\xffus\nrot\n")
    told = regard(command, trained.folder, *files)
    # What stands before the line is answered by the commands that answer line by line.
    assert (told.code, told.out.count("\n")) == (2, 0 if command == "evaluate" else 1)
    assert told.err == (
        f"regard: {source}:2: byte 0xff at byte 3 of the line: not valid UTF-8; "
        f"it seems to be CP1252; convert it: iconv -f CP1252 -t UTF-8 {source} > "
        f"{source.with_name(f'{source.stem}.utf8{source.suffix}')}\n"
    )


def test_scores_of_the_model_s_own_corpus(trained: Trained) -> None:
    place = trained.recipe.parent
    for split in ("dev", "test"):
        told = regard("score", trained.folder, "--split", split)
        assert told == regard("score", trained.folder, place / f"{split}.de", place / f"{split}.en")
        assert (told.code, told.out.count("\n")) == (0, 20)
    assert told == regard("score", trained.folder)
    told = regard("score", trained.folder, "--split", "train")
    assert (told.code, told.out) == (2, "")
    assert told.err == "regard: --split 'train' is not known; known are 'test' or 'dev'\n"


def test_scores_of_tokens_add_up(trained: Trained, files: tuple[Path, Path]) -> None:
    for line in regard("score", trained.folder, *files, "--per-token").out.splitlines():
        whole, parts = line.split("\t")
        named = [part.rpartition("=") for part in parts.split(" ")]
        assert named[-1][0] == "</s>"
        assert sum(float(number) for _, _, number in named) == pytest.approx(float(whole), abs=1e-3)


def test_the_library_says_the_same(trained: Trained, files: tuple[Path, Path]) -> None:
    sources, targets = (path.read_text(encoding="utf-8").splitlines() for path in files)
    scored = library.load(trained.folder).score(sources, targets)
    assert regard("score", trained.folder, *files).out == "".join(f"{row.log_prob:.4f}\n" for row in scored)


@pytest.fixture
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals and p-values from few draws, which is fast."""
    for module in ("metrics.resampling", "tasks.evaluation"):
        monkeypatch.setattr(f"regard.{module}.RESAMPLES", 20)
    monkeypatch.setattr("regard.metrics.comparison.RESAMPLES", 40)
    monkeypatch.setattr("regard.metrics.comparison.TRIALS", 100)


@pytest.fixture
def long_and_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A file of short and long sources in the folder that tests run in, and bad outputs of another system for them."""
    monkeypatch.chdir(tmp_path)
    sources = ["eins zwei", "Haus und Haus", "rot rot rot blau blau"] * 20
    targets = [" ".join(WORDS[word] for word in source.split()) for source in sources]
    rows = zip(sources, targets, strict=True)
    Path("text.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in rows), encoding="utf-8")
    Path("other.out").write_text("no\n" * len(sources), encoding="utf-8")
    return sources


@pytest.mark.usefixtures("_few_draws", "long_and_short")
def test_another_systems_outputs_are_compared_in_words(trained: Trained) -> None:
    told = regard("evaluate", trained.folder, "text.tsv", "--against", "other.out")
    assert (told.code, told.err) == (0, "")
    assert "\nagainst other.out, on the same 60 lines:\n  BLEU " in told.out
    assert re.search(r"chrF2 \S+ against \S+: \+\S+ \(95 % interval \+\S+ to \+\S+\), p = 0\.010", told.out)
    assert "    better, and hardly by chance: equally good systems differ this much in about 1 of 100 comp" in told.out
    assert "    (nrefs:1|bs:40|ar:100|seed:12345|case:mixed|eff:no|tok:13a|" in told.out
    lines = told.out.splitlines()
    names = ["words of the source", "lines", "BLEU", "chrF2", "other's BLEU", "other's chrF2"]
    assert re.split("  +", lines[-3]) == names
    assert [line.split()[:2] for line in lines[-2:]] == [["2–3", "40"], ["4–5", "20"]]
    assert len({len(line) for line in lines[-3:]}) == 1


@pytest.mark.usefixtures("_few_draws", "long_and_short")
def test_a_model_against_itself_is_no_different(trained: Trained) -> None:
    told = regard("evaluate", trained.folder, "text.tsv", "--against", trained.folder)
    assert told.code == 0, told.err
    assert told.out.count("    no difference at all\n") == 3


@pytest.mark.usefixtures("_few_draws", "long_and_short")
def test_everything_for_programs(trained: Trained) -> None:
    told = regard(
        *("evaluate", trained.folder, "text.tsv", "--against", "other.out", "--intervals", "--json", "a.json"),
        *("--by-length", "a.svg", "-o", "a.out"),
    )
    assert told.code == 0, told.err
    found = json.loads(Path("a.json").read_text(encoding="utf-8"))
    assert found["command"][:3] == ["regard", "evaluate", str(trained.folder)]
    assert found["model"] == str(trained.folder)
    assert found["data"] == {"corpus": "files", "files": ["text.tsv"], "split": None, "lines": 60}
    assert set(found["versions"]) == {"regard", "sacrebleu", "torch", "python"}
    assert found["decode"]["beam"] == 5
    for score in found["scores"][1:]:
        assert f"{score['name']} {score['value']:.4g} ± {score['margin']:.2g} ({score['signature']})" in told.out
    assert sum(bucket["lines"] for bucket in found["by_length"]) == 60
    assert found["against"]["system"] == "other.out"
    bleu = found["against"]["comparisons"][0]
    assert bleu["difference"] == pytest.approx(bleu["value"] - bleu["other"])
    assert bleu["low"] <= bleu["high"]
    assert Path("a.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert len(Path("a.out").read_text(encoding="utf-8").splitlines()) == 60


def test_the_models_own_split_is_named(trained: Trained, tmp_path: Path) -> None:
    assert regard("evaluate", trained.folder, "--split", "dev", "--json", tmp_path / "a.json").code == 0
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    place = trained.recipe.parent
    assert found["data"]["split"] == "dev"
    assert found["data"]["files"] == [str(place / "dev.de"), str(place / "dev.en")]
    assert found["against"] is None


@pytest.mark.usefixtures("long_and_short")
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--against", "short.out"], "short.out: 1 line for 60 sentence pairs; give what the other system made"),
        (["--against", "missing"], "missing: no such file; in that folder are "),
        (["--against", "bad.out"], "bad.out:1: byte 0xff at byte 1 of the line: not valid UTF-8; save the te"),
        (["--against", "."], ".: this is not the folder of a model: it has no recipe.toml"),
        (["--by-length", "a.gif"], "a.gif: pictures are not written as .gif; choose a name that ends in "),
        (["--by-length", "no/a.png"], "no/a.png: there is no folder no; make it first, or choose one that exists"),
        (["--json", "."], ".: this is a folder; name a file in it"),
        (["--json", "a.json", "-o", "./a.json"], "a.json: --out and --json name the same file; give each a file of "),
        (["--json", "scores"], "--json scores: give the name of a file to write that ends in .json\n"),
        (["-o", "/proc/none"], "/proc/none: cannot be written (No such file or directory); choose another file\n"),
        (["--beam", "0"], "regard: --beam 0: give 1 or more\n"),
        (["b", "c"], "text.tsv, b, c: are 3 files; give two (source, target), or one .tsv or .jsonl\n"),
    ],
)
def test_what_evaluate_refuses(trained: Trained, more: list[str], words: str) -> None:
    Path("short.out").write_text("a\n", encoding="utf-8")
    Path("bad.out").write_bytes(b"\xff\n" * 60)
    told = regard("evaluate", trained.folder, "text.tsv", *more)
    assert told.code == 2
    assert words in told.err


def test_one_side_alone_is_no_pair(trained: Trained) -> None:
    told = regard("evaluate", trained.folder, "test.de")
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        "regard: test.de: is one side of pairs, by its name; name the file of the target after it, or give one file of "
        "both sides that ends in .tsv or .jsonl\n"
    )


def test_a_line_end_inside_an_output_is_a_space(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(library.load(trained.folder).target_tokenizer), "decode", lambda *_: "a\r\nb\nc")
    told = regard("evaluate", trained.folder, "-o", tmp_path / "out.txt")
    assert told.code == 0, told.err
    assert (tmp_path / "out.txt").read_bytes() == b"a  b c\n" * 20
