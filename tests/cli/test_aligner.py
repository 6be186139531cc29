"""Aligners through the real commands: train, check, align, judge, look."""

import random
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import regard

import regard as library
from regard.errors import ModelWarning, UsageError
from regard.inspect import Joining
from regard.recipe import parse_recipe
from regard.recipe.alignment import AlignmentRecipe
from regard.tasks.alignment import AlignmentTask
from regard.tasks.word_aligner import WordAligner
from regard.train.ngram_run import count

WORDS = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("red", "blue", "green", "house", "garden", ",", "."),
)
GERMAN = (
    *("eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"),
    *("rot", "blau", "grün", "Haus", "Garten", ",", "."),
)


def corpus(folder: Path, pairs: int = 120) -> None:
    """Pairs whose words are translated one by one."""
    draw = random.Random(7)
    rows = [[draw.randrange(len(WORDS)) for _ in range(draw.randint(2, 7))] for _ in range(pairs)]
    for name, words in (("train.en", WORDS), ("train.de", GERMAN)):
        lines = (" ".join(words[number] for number in row).capitalize() for row in rows)
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "my.toml").write_text('task = "alignment"\n[data]\ntrain = ["train.de", "train.en"]\n', encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("aligner")
    corpus(place)
    told = regard("train", place / "my.toml", "--out", place / "model")
    assert told.code == 0, told.err
    assert "train: 120 pairs in " in told.err
    assert "round 1 of 9, without word order: 120 of 120 pairs" in told.err
    assert "round 9 of 9, with word order: 120 of 120 pairs" in told.err
    return place


@pytest.fixture(scope="module")
def aligner(folder: Path) -> WordAligner:
    found = library.load(folder / "model")
    assert isinstance(found, WordAligner)
    return found


def test_new_text_is_aligned_line_for_line(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "new.de").write_text("EINS rot zwei\n\nHaus , blau .\n", encoding="utf-8")
    (tmp_path / "new.en").write_text("one red two\n\nhouse , BLUE .\n", encoding="utf-8")
    files = tmp_path / "new.de", tmp_path / "new.en"
    told = regard("align", folder / "model", *files)
    assert (told.code, told.out) == (0, "0-0 1-1 2-2\n\n0-0 1-1 2-2 3-3\n"), told.err
    shown = regard("align", folder / "model", *files, "--probabilities", "--scores").out.splitlines()
    links, score = shown[0].split("\t")
    assert re.fullmatch(r"0-0:[01]\.\d+ 1-1:[01]\.\d+ 2-2:[01]\.\d+", links)
    assert float(score) < 0
    assert shown[1] == "\t-inf"
    every = {
        method: regard("align", folder / "model", *files, "--symmetrize", method)
        for method in ("intersection", "union", "grow-diag", "grow-diag-final-and", "by-probability")
    }
    assert {told.out for told in every.values()} == {"0-0 1-1 2-2\n\n0-0 1-1 2-2 3-3\n"}
    assert regard("align", folder / "model", *files, "--threshold", "1").out == "\n\n\n"


def test_the_training_text_is_aligned_and_judged(folder: Path, tmp_path: Path) -> None:
    files = folder / "train.de", folder / "train.en"
    gold = [
        " ".join(f"{place}-{place}" for place in range(len(line.split()))) for line in files[0].read_text().splitlines()
    ]
    (tmp_path / "gold").write_text("".join(f"{line}\n" for line in gold))
    told = regard("align", folder / "model", *files, "--gold", tmp_path / "gold")
    assert told.code == 0, told.err
    rate = re.search(r"^alignment error rate (\S+) ", told.out)
    assert rate is not None
    assert float(rate[1]) < 0.05


def test_pairs_that_do_not_fit_have_low_scores(aligner: WordAligner) -> None:
    fits, other = aligner.align(["Haus rot eins", "Haus rot eins"], ["house red one", "garden blue ten"])
    assert other.score < fits.score - 1


def test_check_finds_pairs_that_do_not_fit(folder: Path, tmp_path: Path) -> None:
    lines = [(folder / f"train.{side}").read_text(encoding="utf-8").splitlines() for side in ("de", "en")]
    lines[1][9], lines[1][89] = "Ten nine ten nine ten .", "Six six six , garden"
    for side, text in zip(("de", "en"), lines, strict=True):
        (tmp_path / f"noisy.{side}").write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    noisy = [tmp_path / "noisy.de", tmp_path / "noisy.en"]
    told = regard("check", *noisy, "--aligner", folder / "model")
    assert told.code == 0, told.err
    line = next(line for line in told.out.splitlines() if "score" in line)
    least = re.search(r"train: 2 pairs with a score of less than (-\d+\.\d\d) by .*: kept; ", line)
    assert least, line
    assert "as texts have that do not belong together" in line
    median = re.search(r"train: the median score by .* is (-\d\.\d\d), the limit (-\d+\.\d\d)", told.out)
    assert median, told.out
    assert float(median[1]) > float(median[2]) == float(least[1])
    assert re.search(r"noisy\.de:10 \(-\d", line)
    assert re.search(r"noisy\.de:90 \(-\d", line)
    kept = regard("align", folder / "model", *noisy, "--least-score", least[1])
    assert len(kept.out.splitlines()) == 118
    strict = regard("check", *noisy, "--aligner", folder / "model", "--least-score", "0")
    assert "train: 120 pairs with a score of less than 0.00" in strict.out
    assert "these are most: the files do not belong together, or the model knows too little" in strict.out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--least-score", "-5"], "--least-score needs --aligner MODEL, which scores the pairs"),
        (["--aligner", "short.de"], "--aligner short.de: links in a file have no scores; name the folder of a model"),
        (["--aligner", "model"], "--aligner: 3 pairs are too few to tell what texts score that do not belong together"),
    ],
)
def test_check_refuses_what_cannot_be_scored(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], told: str
) -> None:
    monkeypatch.chdir(folder)
    for side in ("de", "en"):
        lines = Path(f"train.{side}").read_text(encoding="utf-8").splitlines()[:3]
        Path(f"short.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert told in regard("check", "short.de", "short.en", *options).err
    one_file = regard("check", "train.de", "--aligner", "model").err
    assert "--aligner model: is for pairs of texts, and this corpus has none; leave it out" in one_file


def test_swapped_sides_are_noticed(aligner: WordAligner) -> None:
    fresh = WordAligner(aligner.recipe, aligner.model)
    with pytest.warns(ModelWarning, match="source and target seem to be swapped for this model"):
        list(fresh.alignments(["one red house"] * 40, ["eins rot Haus"] * 40))
    list(fresh.alignments(["one red house"] * 40, ["eins rot Haus"] * 40))  # said once


def test_python_gives_links_with_probabilities(aligner: WordAligner) -> None:
    (found,) = aligner.align(["Das Haus , rot"], ["the HOUSE , red"])
    assert {(1, 1), (2, 2), (3, 3)} <= found.links
    assert found.source == ("Das", "Haus", ",", "rot")
    assert found.probabilities.shape == (4, 4)
    assert (found.probabilities <= 1 + 1e-4).all()
    assert re.fullmatch(r"<AlignedPair: .*Haus–HOUSE 1\.00, .*>", repr(found))
    (both,) = aligner.align(["Haus"], ["house"], joining=Joining("intersection"))
    assert both.links == {(0, 0)}
    assert re.fullmatch(r"<WordAligner: hmm, words 17 source, 17 target, pairs [\d,]+>", repr(aligner))
    assert aligner.align([], []) == []


def test_one_pair_is_looked_at(aligner: WordAligner, folder: Path) -> None:
    seen = aligner.inspect("Haus rot", "red house")
    assert list(seen) == ["probabilities", "forward", "backward"]
    assert seen.labels == {"source": ("Haus", "rot"), "target": ("red", "house")}
    assert seen["probabilities"].values.argmax(axis=1).tolist() == [1, 0]
    assert seen["backward"].axes == ("target", "source")
    assert (np.array(seen["backward"]).sum(axis=0) <= 1 + 1e-4).all()
    told = regard("look", folder / "model", "Haus rot", "red house")
    assert told.code == 0
    assert "Haus" in told.out
    with pytest.raises(UsageError, match=r"^an aligner looks at a pair of texts, not at 1; give source and target$"):
        aligner.inspect("Haus")


def test_text_that_is_tokenized_otherwise_is_noticed(aligner: WordAligner) -> None:
    sources, targets = ["Haus, rot."] * 120, ["house , red ."] * 120
    with pytest.warns(ModelWarning, match="the source text seems to be tokenized otherwise .* 'haus,' is not known"):
        aligner.align(sources, targets)
    again = WordAligner(aligner.recipe, aligner.model)
    with pytest.warns(ModelWarning, match="the target text .* '!' stands alone more often than there"):
        again.align(["Haus"] * 120, ["house !"] * 120)
    again.align(["Haus"] * 120, ["house !"] * 120)


def test_what_stands_before_a_line_that_is_wrong_is_aligned(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "new.tsv").write_text("eins\tone\nzwei\ttwo\ndrei\tthree\t3\n", encoding="utf-8")
    told = regard("align", folder / "model", tmp_path / "new.tsv")
    assert (told.code, told.out) == (2, "0-0\n0-0\n")
    assert "new.tsv:3: 3 columns instead of 2; a line is the source, one tab character and the target; keep" in told.err


def test_a_pair_that_is_too_long_has_no_links_and_the_others_have_theirs(aligner: WordAligner) -> None:
    with pytest.warns(
        ModelWarning, match=r'^a pair of 4,000 and 4,000 words \("eins eins .*…"\) is too long to be ali'
    ):
        one, long, other = aligner.align(["Haus", "eins " * 4000, "rot"], ["house", "one " * 4000, "red"])
    assert (one.links, long.links, other.links) == ({(0, 0)}, frozenset(), {(0, 0)})
    assert long.score == float("-inf")


def test_what_cannot_be_aligned_is_refused(aligner: WordAligner, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^2 sources and 1 targets do not pair up; give as many of each$"):
        aligner.align(["a", "b"], ["c"])
    (tmp_path / "more.en").write_text("one\n", encoding="utf-8")
    told = regard("align", folder / "model", folder / "train.de", tmp_path / "more.en")
    assert told.code == 2
    assert "more.en" in told.err
    told = regard("evaluate", folder / "model")
    assert (told.code, told.out) == (2, "")
    assert "an aligner is judged by true links" in told.err
    for arguments, wrong in (
        (("--set", "decode.beam=2"), "--set 'decode.beam=2': a word aligner stays as it is; leave it out"),
        (("--layer", "x"), "--layer"),
    ):
        told = regard("align", folder / "model", folder / "train.de", folder / "train.en", *arguments)
        assert told.code == 2
        assert wrong in told.err
    with pytest.raises(UsageError, match="is a word aligner, which works alone; name one folder"):
        library.load(folder / "model", folder / "model")


def test_bad_training_text_is_refused_by_file_and_line(tmp_path: Path) -> None:
    corpus(tmp_path, 3)
    with (tmp_path / "train.de").open("a", encoding="utf-8") as file:
        file.write("noch eins\n")
    for command in ("train", "check"):
        told = regard(command, tmp_path / "my.toml", *(["--out", tmp_path / "model"] if command == "train" else []))
        assert told.code != 0
        assert "train.en" in told.out + told.err
    corpus(tmp_path, 3)
    for name in ("train.de", "train.en"):
        (tmp_path / name).write_text((tmp_path / name).read_text(encoding="utf-8") + "\n", encoding="utf-8")
    told = regard("train", tmp_path / "my.toml", "--out", tmp_path / "model")
    assert told.code == 0
    assert "1 pair with an empty side: dropped (data.empty)" in told.err
    told = regard("train", tmp_path / "my.toml", "--out", tmp_path / "long", "--set", "data.longest=1")
    assert told.code == 2
    assert "train: no pairs are left to learn from" in told.err
    assert "with more than 1 words on a side" in told.err


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ("data.dev=['a', 'b']", "is not used by task = 'alignment', which has no true links to keep apart"),
        ("data.over_long=cut", "over_long = 'cut' would take translations away; choose 'drop' or 'refuse'"),
        ("train.clip=2.0", "train.clip = 2.0 is not used by task = 'alignment', which is trained in a few passes"),
        ("train.steps=500", "train.steps = 500 is not used by task = 'alignment', which is trained in a few passes"),
        (
            "train.optimizer.rate=0.5",
            "train.optimizer.rate = 0.5 is not used by task = 'alignment', which is trained in",
        ),
        ("model.stems=3", "stem"),
    ],
)
def test_settings_without_use_are_refused(tmp_path: Path, change: str, wrong: str) -> None:
    corpus(tmp_path, 3)
    told = regard("train", tmp_path / "my.toml", "--out", tmp_path / "model", "--set", change)
    assert told.code == 2
    assert wrong in " ".join(told.err.split())


def test_a_run_that_is_stopped_begins_again_and_ends_in_the_same_bits(folder: Path, tmp_path: Path) -> None:
    tables = {"task": "alignment", "data": {"train": [str(folder / "train.de"), str(folder / "train.en")]}}
    recipe = parse_recipe(tables, "recipe", kind=AlignmentRecipe)
    from regard.checkpoint import ModelFolder

    def begun() -> AlignmentTask:
        task = AlignmentTask.prepare(recipe, tmp_path, lambda line: None)
        task.save(tmp_path)
        ModelFolder(tmp_path).write_recipe(recipe)
        return task

    *_, ended = count(begun(), ModelFolder(tmp_path), interrupted=lambda: True)
    assert ended.reason == "interrupted"
    assert ModelFolder(tmp_path).names() == []
    *_, ended = count(begun(), ModelFolder(tmp_path))
    assert ended.reason == "steps"
    found, before = library.load(tmp_path), library.load(folder / "model")
    weights = before.model.state_dict()
    assert all((tensor == weights[name]).all() for name, tensor in found.model.state_dict().items())
    told = regard("train", folder / "my.toml", "--out", folder / "model", "--resume")
    assert "the model is already counted" in told.err


def test_characters_of_scripts_without_blanks_are_linked(tmp_path: Path) -> None:
    corpus(tmp_path)
    signs = dict(zip(WORDS, "一二三四五六七八九十赤青緑家園、。", strict=True))
    lines = [line.lower().split() for line in (tmp_path / "train.en").read_text(encoding="utf-8").splitlines()]
    (tmp_path / "train.de").write_text("".join("".join(signs[word] for word in line) + "\n" for line in lines), "utf-8")
    assert regard("train", tmp_path / "my.toml", "--out", tmp_path / "model").code == 0
    (found,) = library.load(tmp_path / "model").align(["家赤一。"], ["house red one ."])
    assert found.links == {(0, 0), (1, 1), (2, 2), (3, 3)}
