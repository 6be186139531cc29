"""Tagging words and labelling their sentence with one model."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from command_line import Trained, regard
from tagging_runs import tagging_recipe, write_tagged_lines

import regard as library
from regard.checkpoint import load_weights
from regard.data import CorpusPosition
from regard.errors import ModelError, RecipeError
from regard.inspect import Inspection
from regard.tasks.tagger import Tagged, Tagger
from regard.tasks.tagging import TaggingTask
from regard.train import run


@pytest.fixture(scope="module")
def trained(trained_joint_tagger: Trained) -> Tagger:
    tagger: Tagger = library.load(trained_joint_tagger.folder, device="cpu")
    return tagger


def prepared(folder: Path, **tables: object) -> TaggingTask:
    return TaggingTask.prepare(tagging_recipe(folder, **tables), folder / "model", lambda line: None)  # type: ignore[arg-type]


def test_it_learns_tags_and_labels(trained: Tagger, trained_joint_tagger: Trained) -> None:
    first, empty, second = trained.tag(["the Anna Emil . Rome .", "", "Oslo ."])
    assert first.tags == ("O", "B-PER", "I-PER", "O", "B-LOC", "O")
    assert (first.label, second.label) == ("per#first", "loc#first")
    assert first.label_probabilities["per#first"] > 0.9
    assert sum(first.label_probabilities.values()) == pytest.approx(1, abs=1e-5)
    assert empty == Tagged((), (), ())
    assert empty.label == ""
    assert "and 2 different labels" in trained_joint_tagger.err
    assert ", labels per#first, loc#first" in trained_joint_tagger.err
    assert "the best exact is " in trained_joint_tagger.err
    assert repr(second) == "<Tagged: Oslo/B-LOC ./O (loc#first)>"
    assert repr(trained).endswith("tags 5, labels 2, on cpu>")


def test_scores_of_both_have_signatures(trained: Tagger) -> None:
    scores = {score.name: score for score in trained.evaluate("test")}
    assert list(scores) == ["F1", "precision", "recall", "accuracy", "label accuracy", "exact"]
    assert all(score.value > 80 for score in scores.values())
    assert scores["exact"].value <= scores["label accuracy"].value
    assert scores["accuracy"].signature.startswith("conlleval|sentences:30|words:")
    assert all(scores[name].signature.startswith("sentences:30|words:") for name in ("label accuracy", "exact"))


def test_looking_shows_labels_and_the_weight_of_each_word(trained: Tagger, trained_joint_tagger: Trained) -> None:
    seen = trained.inspect("the Anna .")
    assert seen["labels"].texts is not None
    assert seen["labels"].texts.tolist() == ["per#first", "loc#first"]
    assert seen["probabilities"].axes == ("label",)
    assert seen.labels["label"] == ("per#first", "loc#first")
    np.testing.assert_allclose(seen["pooling.weights"].values.sum(), 1, atol=1e-5)
    assert seen.shown == ("tags", "candidates", "labels", "pooling.weights")
    told = regard("look", trained_joint_tagger.folder, "the Anna .")
    assert "per#first" in told.out
    assert Inspection.from_json(seen.to_json()).shown == seen.shown


def test_lines_get_tags_and_a_label(trained_joint_tagger: Trained, tmp_path: Path) -> None:
    folder = trained_joint_tagger.folder
    told = regard("tag", folder, stdin=b"the Anna .\n\nRome .\n")
    assert (told.code, told.out) == (0, "O B-PER O\tper#first\n\nB-LOC O\tloc#first\n")
    line = "the Anna .\tO O O\tx\n"
    told = regard("tag", folder, "--columns", stdin=f"{line}\nRome .\n".encode())
    assert told.out == f"{line.strip()}\tO B-PER O\tper#first\n\nRome .\tB-LOC O\tloc#first\n"
    assert regard("tag", folder, "--columns", stdin=b"\tO\tx\n").out == "\tO\tx\n"
    told = regard("tag", folder, "--probabilities", stdin=b"\nAnna .")
    empty, full = told.out.splitlines()
    assert empty == ""
    tags, label, shares, share = full.split("\t")
    assert (tags, label, len(shares.split())) == ("B-PER O", "per#first", 2)
    assert 0.5 < float(share) <= 1
    file = tmp_path / "scores.json"
    assert regard("evaluate", folder, "--json", file).code == 0
    assert json.loads(file.read_text(encoding="utf-8"))["scores"][-1]["name"] == "exact"


def test_a_label_never_seen_in_training_is_wrong_and_leaves_the_loss_alone(tmp_path: Path) -> None:
    files = write_tagged_lines(tmp_path)
    task = prepared(tmp_path, data=files)
    model = task.build_model().eval()
    before = task.validate(model, decode=False, rank=0, world=1)
    assert {"loss", "accuracy", "f1", "label_accuracy", "exact"} == set(before)
    dev = tmp_path / "dev.tsv"
    dev.write_text(dev.read_text(encoding="utf-8").replace("per#first", "unheard"), encoding="utf-8")
    told: list[str] = []
    after = TaggingTask.prepare(tagging_recipe(tmp_path, data=files), tmp_path / "model", told.append)
    assert any("labels never seen in training" in line and "(unheard)" in line for line in told)
    wrong = after.validate(model, decode=False, rank=0, world=1)
    assert wrong["accuracy"] == before["accuracy"]
    assert wrong["label_accuracy"] < 100
    batch, _ = next(after.batches(CorpusPosition()))
    assert after.describe_batch(batch)[0]["label"].endswith("#first")
    torch.testing.assert_close(
        after.objective(model, batch, None)[0], task.objective(model, next(task.batches(CorpusPosition()))[0], None)[0]
    )


def test_a_model_starts_from_another_with_its_labels(
    trained: Tagger, trained_joint_tagger: Trained, tmp_path: Path
) -> None:
    files = write_tagged_lines(tmp_path, {"train": 6, "dev": 2})
    train = {"steps": 1, "optimizer": {"rate": 1e-9}, "start_from": str(trained_joint_tagger.folder)}
    tables = {"data": files, "model": {"pooling": {"kind": "attention"}}, "train": train}
    run(tagging_recipe(tmp_path, **tables), tmp_path / "other", reporter=lambda event: None)
    ours, theirs = load_weights(tmp_path / "other"), load_weights(trained_joint_tagger.folder)
    torch.testing.assert_close(ours, theirs)
    (tmp_path / "train.tsv").write_text("Anna\tB-PER\todd\n", encoding="utf-8")
    with pytest.raises(ModelError, match="this model does not know the labels 'odd' of the training text; take over"):
        prepared(tmp_path, **tables)
    (tmp_path / "other" / "labels.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelError, match=r"labels\.json: these labels are damaged"):
        library.load(tmp_path / "other")


def test_wishes_for_labels_are_refused_where_there_are_none(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"model\.pooling is for sentences with a label; name its column"):
        tagging_recipe(tmp_path, model={"pooling": {"kind": "max"}})
    with pytest.raises(RecipeError, match=r"train\.validation\.metric = 'exact' is for sentences with a label"):
        tagging_recipe(tmp_path, train={"validation": {"metric": "exact"}})
