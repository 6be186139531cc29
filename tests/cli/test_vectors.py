"""`regard vectors`: using, measuring, drawing and converting, by the real commands."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import regard
from vector_strategies import equal, random_vectors

from regard.vectors import Vectors


@pytest.fixture(scope="module")
def royal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    matrix = [[1, 0, 0], [1, 1, 0], [1, 0.1, 1], [1, 1.1, 1], [0, 0, 1], [0.2, -1, -1]]
    words = ["man", "woman", "king", "queen", "crown", "stone"]
    folder = tmp_path_factory.mktemp("royal") / "vectors"
    Vectors(words, np.array(matrix, np.float32), {"made": {"by": "hand", "in": 3}}).save(folder)
    return folder


def test_similar(royal: Path) -> None:
    told = regard("vectors", "similar", royal, "king", "--top", 2)
    assert (told.code, told.err) == (0, "")
    assert told.out == "queen  0.8307\nman    0.7053\n"
    assert regard("vectors", "similar", royal, "king", "woman", "--away", "man", "--top", 1).out.startswith("queen")


def test_rare_words_are_said_to_be_rare(royal: Path, tmp_path: Path) -> None:
    plain = Vectors.load(royal)
    assert plain.occurrences("king") is None
    Vectors(plain.words, plain.matrix, {"occurrences": [[900, 2], [20, 1], [3, 2], [1, 1]]}).save(tmp_path / "counted")
    counted = Vectors.load(tmp_path / "counted")
    assert [counted.occurrences(word) for word in counted.words] == [900, 900, 20, 3, 3, 1]
    for word, often in zip(counted.words, ["", "", "", "3 times", "3 times", "once"], strict=True):
        told = regard("vectors", "similar", tmp_path / "counted", word, "--top", 2)
        assert told.out == regard("vectors", "similar", royal, word, "--top", 2).out
        rare = f"{word!r} occurred {often} in the training text: too rarely for its neighbors to mean much\n"
        assert told.err == (rare if often else "")
    assert "least occurrences of a word" in regard("vectors", "info", tmp_path / "counted").out


def test_analogy(royal: Path) -> None:
    asked = ("vectors", "analogy", royal, "man", "woman", "king")
    assert regard(*asked, "--top", 1).out == "queen  0.9764\n"
    assert regard(*asked, "--top", 1, "--method", "multiplicative").out.startswith("queen")
    kept = regard(*asked, "--top", 6, "--keep-given").out
    assert sorted(line.split("  ")[0] for line in kept.splitlines()) == sorted(Vectors.load(royal).words)
    assert [line.split()[0] for line in kept.splitlines() if "(given)" in line] == ["king", "woman", "man"]


def test_odd_one_out(royal: Path) -> None:
    assert regard("vectors", "odd-one-out", royal, "man", "stone", "king", "queen").out == "stone\n"


def test_an_unknown_word(royal: Path) -> None:
    told = regard("vectors", "similar", royal, "quen")
    assert (told.code, told.out) == (2, "")
    assert told.err == "regard: 'quen' is not among the 6 words of these vectors; nearest in spelling: 'queen'\n"


def test_evaluate(royal: Path, tmp_path: Path) -> None:
    questions, pairs, scores = tmp_path / "questions.txt", tmp_path / "pairs.csv", tmp_path / "scores.json"
    questions.write_text(": royal\nMan Woman King Queen\nman woman king crown\nman woman king duke\n: gram1\n")
    pairs.write_text("man,woman,5\nking,queen,9\nman,stone,1\nking,duke,8\n")
    told = regard("vectors", "evaluate", royal, questions, pairs, "--json", scores)
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines() == [
        "questions.txt (additive, lower case, all words, given words left out)",
        "  category   right  asked  unknown     %",
        "  royal          1      2        1  50.0",
        "  gram1          0      0        0     –",
        "  semantic       1      2        1  50.0",
        "  syntactic      0      0        0     –",
        "  total          1      2        1  50.0",
        "rated pairs (lower case, pairs with unknown words left out)",
        "  file       pairs  unknown  Spearman",
        "  pairs.csv      3        1     1.000",
    ]
    found = json.loads(scores.read_text())["scores"]
    assert [score["kind"] for score in found] == ["analogies", "pairs"]
    assert found[0]["total"] == {"share": 0.5, "right": 1, "asked": 2, "unknown": 1}
    assert found[0]["categories"]["gram1"]["share"] is None
    assert (found[1]["spearman"], found[1]["unknown"]) == (pytest.approx(1.0), 1)
    exact = regard(
        "vectors", "evaluate", royal, questions, "--exact-case", "--frequent", 5, "--method", "multiplicative"
    )
    assert exact.out.startswith(
        "questions.txt (multiplicative, exact case, the 5 most frequent words, given words left out)\n"
    )


def test_files_are_checked_before_anything_is_computed(royal: Path, tmp_path: Path) -> None:
    scores = tmp_path / "no" / "scores.json"
    told = regard("vectors", "evaluate", royal, tmp_path / "none.txt", "--json", scores)
    assert told.err == (
        f"regard: {scores}: there is no folder {scores.parent}; make it first, or choose one that exists\n"
    )
    told = regard("vectors", "map", tmp_path / "none", "-o", tmp_path / "map.gif")
    assert "pictures are not written as .gif; choose a name that ends in " in told.err
    assert all(f"'{suffix}'" in told.err for suffix in (".png", ".svg", ".pdf", ".html"))


def test_convert_from_form_to_form(tmp_path: Path) -> None:
    given = random_vectors()
    given.save(tmp_path / "native")
    forms = ["a.txt", "b.bin.gz", "c", "d.vec.gz", "e"]
    for before, name in zip(["native", *forms], forms, strict=False):
        told = regard("vectors", "convert", tmp_path / before, tmp_path / name)
        assert (told.code, told.err) == (0, "")
        assert equal(Vectors.load(tmp_path / name), given)
    told = regard("vectors", "convert", tmp_path / "e", tmp_path / "few.txt", "--form", "glove", "--frequent", 3)
    assert told.out == f"{tmp_path}/few.txt: 3 words × 6, glove\n"
    assert list(Vectors.load(tmp_path / "few.txt")) == ["w0", "w1", "w2"]


def test_convert_says_what_does_not_fit(royal: Path, tmp_path: Path) -> None:
    told = regard("vectors", "convert", royal, tmp_path, "--form", "text")
    assert told.err == f"regard: {tmp_path}: this is a folder; name a file in it, or say --form native\n"
    (tmp_path / "file").write_text("")
    told = regard("vectors", "convert", royal, tmp_path / "file")
    assert told.err == (
        f"regard: {tmp_path}/file: this is a file, but native vectors are a folder; choose another name\n"
    )


def test_info(royal: Path, tmp_path: Path) -> None:
    form, opened, *rest = regard("vectors", "info", royal).out.splitlines()
    assert form == "form         native folder"
    assert re.fullmatch(r"opened in    \d\.\d{3} s, with \d\.\d{3} s of a processor", opened)
    assert rest == [
        "words        6",
        "width        3",
        "first words  man woman king queen crown stone",
        "mean length  1.342",
        "made.by      hand",
        "made.in      3",
    ]
    regard("vectors", "convert", royal, tmp_path / "a.bin")
    assert regard("vectors", "info", tmp_path / "a.bin").out.splitlines()[0] == "form         binary"


def test_map(royal: Path, tmp_path: Path) -> None:
    picture, page = tmp_path / "map.png", tmp_path / "map.html"
    told = regard(
        *("vectors", "map", royal, "stone", "--group", "people=man,woman", "--most-frequent", 6, "--projection", "pca"),
        *("-o", picture, "-o", page),
    )
    assert (told.code, told.err, told.out) == (0, "", f"{picture}\n{page}\n")
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = page.read_text(encoding="utf-8")
    assert '"people"' in text
    assert "PCA of 6 words, by cosine, seed 1" in text


def test_a_map_of_frequent_words_by_default(royal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert regard("vectors", "map", royal, "--projection", "pca").out == "map.html\n"
    assert "PCA of 6 words" in (tmp_path / "map.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("group", ["colors", "=red,green", "colors="])
def test_a_group_that_is_none(royal: Path, group: str) -> None:
    told = regard("vectors", "map", royal, "--group", group)
    assert told.err == (
        f"regard: --group {group!r}: write a name, =, and words with commas between, as in colors=red,green\n"
    )
