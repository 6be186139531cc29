"""`regard faithful`: whether attention explains what a model says of the texts of a file."""

import json
import random
from pathlib import Path
from unittest import mock

import pytest
from classifying_runs import MARKS, classifying_recipe
from command_line import Trained, regard

import regard as library
from regard.data.labelled import load_labelled
from regard.inspect.faithful import faithfulness
from regard.recipe import write_recipe

TEXTS = ["the film is lovely", "a dull film is the plot", "", "the plot is bleak", "fine"]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return file


def numbers(out: str) -> dict[str, list[str]]:
    """The rows of the table, by their names."""
    rows = [line.split("  ") for line in out.splitlines() if line.startswith(("different", "div", "out", "prob", "τ"))]
    return {row[0]: [cell.strip() for cell in row[1:] if cell.strip()] for row in rows}


def test_a_table_with_a_sentence(trained_classifier: Trained, texts: Path, tmp_path: Path) -> None:
    picture, file = tmp_path / "found.png", tmp_path / "found.json"
    told = regard("faithful", trained_classifier.folder, texts, "-o", picture, "--json", file)
    assert (told.code, told.err) == (0, f"all 4 texts; seed 1\n{picture}\n")
    rows = numbers(told.out)
    found = json.loads(file.read_text(encoding="utf-8"))
    assert told.out.splitlines()[-1] == found["sentence"]
    assert found["sentence"].startswith("In ")
    assert "of 3 examples, weights different by 0.1 or more" in found["sentence"]
    assert len(rows) == 9
    for name, (mean, *_, examples) in rows.items():
        assert f"{found['measures'][name]['mean']:.3f}" == mean
        assert str(found["measures"][name]["examples"]) == examples == "3"  # a single word has no other
    first = faithfulness(library.load(trained_classifier.folder, device="cpu").outputs(TEXTS[0]), 0)
    example = found["examples"][0]
    assert (example["place"], example["sentence"]) == (f"{texts}:1", first.sentence)
    assert example["variations"] == pytest.approx(first.variations)
    assert [each["place"] for each in found["examples"]] == [f"{texts}:{line}" for line in (1, 2, 4, 5)]
    assert found["examples"][3]["divergence"] is None
    assert found["seed"] == 1
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_texts_and_outputs_are_drawn_with_a_seed(trained: Trained, tmp_path: Path) -> None:
    source, target = (trained.recipe.parent / f"test.{side}" for side in ("de", "en"))
    outcomes = []
    for seed in (1, 1, 2):
        file = tmp_path / "found.json"
        told = regard("faithful", trained.folder, source, target, "--examples", 1, "--seed", seed, "--json", file)
        assert (told.code, told.err) == (0, f"1 of 20 texts, drawn with seed {seed}\n")
        outcomes.append((told.out, [each["output"] for each in json.loads(file.read_text("utf-8"))["examples"]]))
    assert outcomes[0] == outcomes[1] != outcomes[2]
    lines = source.read_text("utf-8").splitlines()
    assert all(output.split(" → ")[0] in lines for output in outcomes[0][1])
    (tmp_path / "one.de").write_text("eins\n", encoding="utf-8")
    told = regard("faithful", trained.folder, tmp_path / "one.de", "--position", "every", "--json", file)
    assert told.code == 0
    assert [each["output"] for each in json.loads(file.read_text("utf-8"))["examples"]] == [
        f"eins → one: {name}, decoder.attention.weights, head 0" for name in ("'one'", "'∎'")
    ]


def test_where_any_word_decides_attention_is_no_explanation(tmp_path: Path) -> None:
    """Every word of a text says which label it has, so that it does not matter which one is attended to."""
    draw = random.Random(0)
    for part, size in {"train": 150, "dev": 20, "test": 20}.items():
        labels = [draw.choice([*MARKS]) for _ in range(size)]
        lines = [f"{label}\t{' '.join(draw.choices(MARKS[label], k=draw.randint(3, 6)))}\n" for label in labels]
        (tmp_path / f"{part}.tsv").write_text("".join(lines), encoding="utf-8")
    files = {part: [str(tmp_path / f"{part}.tsv")] for part in ("train", "dev", "test")}
    model = {"pooling": {"kind": "attention"}, "encoder": {"kind": "averaging", "embedding": 12, "reach": 0}}
    (tmp_path / "my.toml").write_text(write_recipe(classifying_recipe(tmp_path, data=files, model=model)), "utf-8")
    assert regard("train", tmp_path / "my.toml", "--out", tmp_path / "model").code == 0
    texts = tmp_path / "texts.txt"
    texts.write_text("lovely fine bright lovely\nbleak dull poor\nbright bright fine\n", encoding="utf-8")
    told = regard("faithful", tmp_path / "model", texts)
    rows = numbers(told.out)
    assert rows["different weights, same output (share)"][0] == "1.000"
    assert float(rows["divergence of the most different weights"][0]) > 0.3
    assert float(rows["output changed by uniform weights"][0]) < 0.01
    assert abs(float(rows["probability lost without most-attended words"][0])) < 0.01


@pytest.mark.long
def test_the_classifier_of_dates(tmp_path: Path) -> None:
    """Its LSTM has carried what decides to all words: attention can be moved almost at will, and permuted."""
    languages = "data.languages=['de', 'en', 'fr']"
    settings = [languages, "data.examples=2500", "train.steps=150"]
    changes = [part for each in settings for part in ("--set", each)]
    assert regard("train", "dates-language", "--out", tmp_path / "model", *changes).code == 0
    model = library.load(tmp_path / "model", device="cpu")
    corpora = load_labelled(model.recipe.data, model.recipe.seed, ["test"])
    (tmp_path / "dates.txt").write_text("".join(" ".join(text.words) + "\n" for text in corpora.texts("test")), "utf-8")
    told = regard("faithful", tmp_path / "model", tmp_path / "dates.txt")
    rows = numbers(told.out)
    assert float(rows["different weights, same output (share)"][0]) >= 0.9
    assert float(rows["divergence of the most different weights"][0]) >= 0.4
    assert float(rows["output changed by permuted weights"][0]) <= 0.1


def test_what_is_done_when_it_is_stopped_counts(trained_classifier: Trained, texts: Path) -> None:
    whole, calls = faithfulness, []

    def stopping(*arguments: object, **options: object) -> object:
        calls.append(arguments)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return whole(*arguments, **options)  # type: ignore[arg-type]

    with mock.patch("regard.inspect.faithful.faithfulness", stopping):
        told = regard("faithful", trained_classifier.folder, texts)
    assert told.code == 130
    assert told.err.endswith("stopped after 2 outputs; the numbers are those of these\n")
    assert "of 2 examples, weights different by" in told.out


def test_what_cannot_be_explained_is_left_out_by_line(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "some.de").write_text("eins\neins zwei drei\n" + "rot " * 600 + "\n", encoding="utf-8")
    (tmp_path / "some.en").write_text("one\none two three\nred\n", encoding="utf-8")
    told = regard("faithful", trained.folder, tmp_path / "some.de", tmp_path / "some.en", "--position", 3)
    assert told.code == 0
    assert told.err.splitlines()[:2] == [
        f"{tmp_path}/some.de:1: there is no output 3: this example has 2 along 'target', counted from 0; left out",
        f"{tmp_path}/some.de:3: a text of 601 tokens is too long to look at; give one of at most 512; left out",
    ]


def test_what_is_wrong_is_said(trained_classifier: Trained, trained_tagger: Trained, texts: Path) -> None:
    (texts.parent / "empty.txt").write_text("\n\n", encoding="utf-8")
    (texts.parent / "short.txt").write_text("one\n", encoding="utf-8")
    (texts.parent / "broken.txt").write_bytes(b"fine\n\xff\n")
    folder, beside = trained_classifier.folder, texts.parent
    for arguments, message in {
        (
            folder,
            texts,
            "--layer",
            "poling.weights",
        ): "there is no attention 'poling.weights' to what is read; there is",
        (folder, texts, "--head", 1): "'pooling.weights' has no head 1; it has no heads",
        (folder, texts, "--position", "first"): "--position 'first': give random, last, every, or a number from 0",
        (folder, texts, "--position=--5"): "--position '--5': give random, last, every, or a number from 0",
        (folder, texts, "--limit", 1.5): "--limit 1.5: total variation is between 0 and 1",
        (folder, texts, "--examples", -1): "--examples -1: give 1 or more",
        (folder, texts, "-o", "found.docx"): "found.docx: pictures are not written as .docx",
        (folder, texts, "--to", "de"): "--to de: this model does not write several languages",
        (folder, beside / "empty.txt"): f"{beside}/empty.txt: there is no text in it; give one a line",
        (folder, beside / "none.txt"): f"{beside}/none.txt: no such file",
        (folder, beside / "broken.txt"): f"{beside}/broken.txt:2: not valid UTF-8",
        (folder, texts, beside / "short.txt"): "texts.txt has 5 lines and ",
        (folder, texts, texts, texts): "3 files: give one of texts, or for a translator a second of their translations",
        (folder, texts, texts): "none of 4 texts can be explained; see above",
        (trained_tagger.folder, texts): "this model has no attention to what it reads",
    }.items():
        told = regard("faithful", *arguments)
        assert (told.code, told.out) == (2, ""), message
        assert message in told.err.splitlines()[-1]
