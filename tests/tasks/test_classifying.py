"""The classifying task: training and its resumption, validation, the trained classifier, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest
import torch
from classifying_runs import classifying_recipe, write_labelled
from command_line import Trained
from model_strategies import ENCODERS as TABLES

import regard
from regard.checkpoint import load_weights
from regard.data import CorpusPosition
from regard.data.labelled_batch import NumberedLabelled
from regard.errors import DataError, ModelError, RecipeError, UsageError
from regard.recipe import Recipe
from regard.tasks.classifier import Classified, Classifier
from regard.tasks.classifying import ClassifyingTask
from regard.train import Ended, run


def silent(recipe: Recipe, out: Path, **options: bool) -> Ended:
    return run(recipe, out, reporter=lambda event: None, **options)  # type: ignore[arg-type]


def prepared(folder: Path, **tables: object) -> ClassifyingTask:
    return ClassifyingTask.prepare(classifying_recipe(folder, **tables), folder / "model", lambda line: None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def trained(trained_classifier: Trained) -> Classifier:
    classifier: Classifier = regard.load(trained_classifier.folder, device="cpu")
    return classifier


def test_it_learns_and_gives_labels_with_probabilities(trained: Classifier) -> None:
    first, empty, listed = trained.classify(["the film is lovely", "", ["dull", "plot"]])
    assert first.labels == ("good",)
    assert listed.label == "bad"
    assert first.probabilities["good"] > 0.9
    for found in (first, empty, listed):
        assert sum(found.probabilities.values()) == pytest.approx(1, abs=1e-5)
        assert len(found.labels) == 1
    assert list(listed.probabilities) == ["bad", "good"]
    assert trained.classify([]) == []


def test_its_scores_on_held_out_text_have_signatures(trained: Classifier) -> None:
    scores = trained.evaluate("test")
    assert [score.name for score in scores] == ["accuracy", "macro F1", "micro F1"]
    assert scores[0].value == 100
    assert scores[0].signature == "texts:30|labels:2|bootstrap:1000"


def test_batch_mates_and_length_change_nothing(trained: Classifier) -> None:
    texts = ["lovely", "a dull film is the plot", "", "unheard of"]
    for text, found in zip(texts, trained.classify(texts), strict=True):
        (alone,) = trained.classify([text])
        assert alone.labels == found.labels
        assert alone.probabilities == pytest.approx(found.probabilities, abs=1e-5)


def test_a_very_long_text_is_classified(trained: Classifier) -> None:
    (found,) = trained.classify([["lovely", "unheard", "film"] * 1700])
    assert found.labels == ("good",)


def test_looking_shows_labels_and_the_weight_of_each_word(trained: Classifier) -> None:
    seen = trained.inspect("the film is lovely")
    assert seen.labels["source"] == ("the", "film", "is", "lovely")
    assert seen["labels"].texts is not None
    assert seen["labels"].texts.tolist() == ["good", "bad"]
    assert seen["probabilities"].axes == ("label",)
    assert seen.labels["label"] == trained.labels.tags
    weights = seen["pooling.weights"]
    assert weights.axes == ("source",)
    np.testing.assert_allclose(weights.values.sum(), 1, atol=1e-5)
    assert seen["encoder.stack.layers.0.ahead.gates.input"].axes == ("source", "feature")
    assert seen.shown == ("labels", "pooling.weights")
    with regard.record(trained, "pooling.weights") as recorded:
        trained.classify(["lovely"])
    assert recorded.last("pooling.weights").tolist() == [[1.0]]


def test_it_shows_itself(trained: Classifier) -> None:
    assert repr(trained).startswith("<Classifier: classifying, parameters ")
    assert repr(trained).endswith("words 15, labels 2, on cpu>")
    assert "pooling.weights" in trained._repr_html_()
    found = Classified(("fine",), ("good",), {"good": 0.75, "bad": 0.25})
    assert repr(found) == "<Classified: good 0.7500>"
    assert "0.2500" in found._repr_html_()


def test_calls_with_something_else_are_refused_in_words(trained: Classifier) -> None:
    with pytest.raises(UsageError, match="texts = 'fine' is a single text, but a list of texts, each a text or"):
        trained.classify("fine")
    with pytest.raises(UsageError, match=r"texts\[0\]: '' is not a word; a word has no tab or line end"):
        trained.classify([["fine", ""]])
    with pytest.raises(UsageError, match="a classifier reads a single text, not 2; put it between one pair of quotes"):
        trained.inspect("fine", "dull")
    with pytest.raises(UsageError, match="the text is empty"):
        trained.inspect(" ")
    with pytest.raises(UsageError, match="a text of 513 words is too long to look at; give one of at most 512"):
        trained.inspect("fine " * 513)


def test_loading_says_what_a_classifier_does_not_take(trained: Classifier, trained_classifier: Trained) -> None:
    folder = trained_classifier.folder
    with pytest.raises(UsageError, match="is a classifier, which works alone; name one folder"):
        regard.load(folder, folder)
    with pytest.raises(UsageError, match="--set 'seed=2': a classifier stays as it is; leave it out"):
        regard.load(folder, changes=["seed=2"])
    recipe = trained.recipe.model_copy(update={"data": trained.recipe.data.model_copy(update={"test": []})})
    without = Classifier(recipe, trained.model, trained.vocabulary, trained.labels)
    with pytest.raises(UsageError, match=r"the model's recipe names no test text \(data\.test\); label a file with"):
        without.evaluate("test")


def test_several_labels_are_decided_one_by_one(tmp_path: Path) -> None:
    rows = ["a,b\tx y", "a\tx", "b\ty", "\tz"] * 30
    (tmp_path / "train.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    files = {part: [str(tmp_path / "train.tsv")] for part in ("train", "dev")}
    recipe = classifying_recipe(
        tmp_path,
        data=files | {"multiple": True},
        model={"encoder": {"kind": "averaging", "embedding": 12}, "pooling": {"kind": "max"}},
        train={"validation": {"every": 30, "metric": "micro_f1"}},
    )
    silent(recipe, tmp_path / "model")
    classifier = regard.load(tmp_path / "model", device="cpu")
    found = classifier.classify(["x y", "x", "y", "z", "x y"])
    assert [set(each.labels) for each in found] == [{"a", "b"}, {"a"}, {"b"}, set(), {"a", "b"}]
    assert found[0].labels[0] == found[0].label
    assert classifier.evaluate("dev")[0].value == 100


def test_filled_shapes_are_few_and_change_nothing(tmp_path: Path) -> None:
    plain, filled = prepared(tmp_path), prepared(tmp_path, train={"shapes": 2})
    model, rows = plain.build_model().eval(), NumberedLabelled.of(plain._train, plain.vocabulary, plain.labels)
    shapes = set()
    for (batch, after), _ in zip(filled.batches(CorpusPosition()), range(40), strict=False):
        shapes.add(tuple(batch.texts.tokens.shape))
        expected = plain.objective(model, rows.pick(np.array(batch.examples)), None)[0]
        torch.testing.assert_close(filled.objective(model, batch, None)[0], expected, rtol=1e-4, atol=1e-3)
        assert batch.count == len(batch.examples)
        if after.epoch:
            break
    assert len(shapes) <= 2


def test_a_run_that_goes_on_ends_in_the_same_bits(tmp_path: Path) -> None:
    files = write_labelled(tmp_path)
    with (tmp_path / "train.tsv").open("a", encoding="utf-8") as file:
        file.write("good\t \n")
    tables = {"data": files, "words": {"dropout": 0.2}, "model": {"dropout": 0.2}}
    whole = classifying_recipe(tmp_path, train={"steps": 8, "validation": {"every": 3}}, **tables)
    half = classifying_recipe(tmp_path, train={"steps": 4, "validation": {"every": 3}}, **tables)
    silent(whole, tmp_path / "whole")
    silent(half, tmp_path / "halves")
    silent(whole, tmp_path / "halves", resume=True)
    ours, theirs = (load_weights(tmp_path / name) for name in ("halves", "whole"))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    (tmp_path / "dev.tsv").write_text("good\tfine\n", encoding="utf-8")
    with pytest.raises(DataError, match="the training, development or test text, or a setting of"):
        silent(whole, tmp_path / "halves", resume=True)


def test_a_label_never_seen_in_training_counts_as_wrong_and_leaves_the_loss_alone(tmp_path: Path) -> None:
    task = prepared(tmp_path)
    model = task.build_model().eval()
    before = task.validate(model, decode=False, rank=0, world=1)
    assert before["accuracy"] == before["micro_f1"]
    with (tmp_path / "dev.tsv").open("a", encoding="utf-8") as file:
        file.write("odd\tfilm\n")
    files = {part: [str(tmp_path / f"{part}.tsv")] for part in ("train", "dev")}
    after = prepared(tmp_path, data=files).validate(model, decode=False, rank=0, world=1)
    assert after["loss"] == pytest.approx(before["loss"])
    assert after["accuracy"] == pytest.approx(before["accuracy"] * 30 / 31)


def test_a_model_starts_from_another_or_from_its_parts(
    trained: Classifier, trained_classifier: Trained, tmp_path: Path
) -> None:
    folder = str(trained_classifier.folder)
    files = write_labelled(tmp_path, {"train": 5, "dev": 2})
    whole = {"steps": 1, "optimizer": {"rate": 1e-9}, "start_from": folder}
    same = {"pooling": {"kind": "attention"}}
    silent(classifying_recipe(tmp_path, data=files, train=whole, model=same), tmp_path / "whole")
    torch.testing.assert_close(regard.load(tmp_path / "whole").model.state_dict(), trained.model.state_dict())
    start = {"steps": 1, "optimizer": {"rate": 1e-9}, "start": {"model": folder, "parts": ["words", "encoder"]}}
    silent(classifying_recipe(tmp_path, data=files, train=start), tmp_path / "parts")
    new = regard.load(tmp_path / "parts")
    torch.testing.assert_close(new.model.encoder.state_dict(), trained.model.encoder.state_dict())
    (tmp_path / "train.tsv").write_text("odd\tfilm\ngood\tfilm\n", encoding="utf-8")
    with pytest.raises(ModelError, match="this model does not know the labels 'odd' of the training text; take over"):
        silent(classifying_recipe(tmp_path, data=files, train=whole, model=same), tmp_path / "third")


def test_what_cannot_be_trained_is_refused(tmp_path: Path) -> None:
    files = write_labelled(tmp_path)
    encoder = {**TABLES["transformer"], "position": "learned", "longest": 4}
    with pytest.raises(DataError) as refusal:
        prepared(tmp_path, data=files, model={"encoder": encoder})
    said = str(refusal.value)
    assert said.startswith(f"data.train: {tmp_path / 'train.tsv'}:")
    assert said.endswith("are model.encoder.longest = 4 learned positions; shorten it, or raise model.encoder.longest")
    (tmp_path / "train.tsv").write_text("good\tfine\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"data\.train: 1 different label, and nothing to choose from; give"):
        prepared(tmp_path, data=files)
    (tmp_path / "train.tsv").write_text("good fine\n", encoding="utf-8")
    with pytest.raises(DataError, match="1 line without a text or a label: refused"):
        prepared(tmp_path, data=files)


def test_settings_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"model\.pooling\.score"):
        classifying_recipe(tmp_path, model={"pooling": {"kind": "max", "score": "dot"}})
    with pytest.raises(RecipeError, match=r"train\.validation\.metric = 'f1' is not allowed; allowed are .*'macro_f1'"):
        classifying_recipe(tmp_path, train={"validation": {"metric": "f1"}})


def test_a_bad_batch_is_described_in_words(tmp_path: Path) -> None:
    task = prepared(tmp_path)
    batch, _ = next(task.batches(CorpusPosition()))
    first = task.describe_batch(batch)[0]
    assert first["labels"] == task._train[batch.examples[0]].labels
