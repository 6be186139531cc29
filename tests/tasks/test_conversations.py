"""Classifying what is said in conversations, through the real commands and in Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from classifying_runs import classifying_recipe, write_conversations
from command_line import Trained, regard
from hypothesis import given, settings
from hypothesis import strategies as st

import regard as library
from regard.checkpoint import load_weights
from regard.data.labelled import LabelledCorpora, load_labelled
from regard.errors import DataError, RecipeError, UsageError
from regard.inspect import Inspection, SetWeight, changed
from regard.recipe import ClassifyingData, RecurrentEncoding
from regard.tasks.classifier import Classifier
from regard.tasks.classifying import ClassifyingTask
from regard.train import run

SAID = [("A", "is it ?"), ("B", "yes ."), ("A", "it is ."), ("B", "yes ."), ("A", "is it ?"), ("B", "yes .")]
ACTS = ["question", "answer", "statement", "agreement", "question", "answer"]


@pytest.fixture(scope="module")
def trained(trained_converser: Trained) -> Classifier:
    classifier: Classifier = library.load(trained_converser.folder, device="cpu")
    return classifier


def lines(said: list[tuple[str, str]]) -> bytes:
    return "".join(f"{speaker}\t{text}\n" for speaker, text in said).encode()


def test_the_same_words_have_another_act_after_other_words(trained: Classifier, trained_converser: Trained) -> None:
    assert "train: 314 texts in " in trained_converser.err
    assert ", 40 conversations, " in trained_converser.err
    assert [found.label for found in trained.classify_conversation(SAID)] == ACTS
    assert trained.classify_conversation([]) == []
    first = trained.classify(["yes .", "is it ?"])  # each by itself
    assert first[0].probabilities == pytest.approx(trained.classify_conversation([SAID[1]])[0].probabilities, abs=1e-5)


@settings(max_examples=5)
@given(said=st.lists(st.sampled_from(SAID), min_size=1, max_size=7), data=st.data())
def test_a_conversation_that_arrives_in_pieces_has_the_same_labels(
    trained: Classifier, said: Any, data: st.DataObject
) -> None:
    whole = trained.classify_conversation(said)
    cut = data.draw(st.integers(0, len(said)))
    pieces = trained.classify_conversation(said[:cut]) + trained.classify_conversation(said[cut:], said[:cut])
    for one, other in zip(whole, pieces, strict=True):
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-5)


def test_scores_are_of_conversations(trained: Classifier) -> None:
    score = trained.evaluate("test")[0]
    assert (score.name, score.value) == ("accuracy", 100)
    assert score.signature == "texts:48|labels:4|conversations:8|bootstrap:1000"


def test_looking_shows_which_texts_before_were_attended_to(
    trained: Classifier, trained_converser: Trained, tmp_path: Path
) -> None:
    seen = trained.inspect(lines(SAID[:4]).decode())
    assert seen.title == "yes ."
    assert seen.labels["earlier"] == ("A: it is .", "B: yes .")
    weights = seen["context.attention.weights"]
    assert weights.axes == ("earlier",)
    np.testing.assert_allclose(weights.values.sum(), 1, atol=1e-5)
    assert weights.values[0] > 0.5  # what was said just before decides
    # A change names the text that stands in its place.
    with changed(trained, [SetWeight("context.attention.weights", key=1, value=0.9)]):
        other = trained.inspect(lines(SAID[:4]).decode())["context.attention.weights"]
    np.testing.assert_allclose(other.values, [0.1, 0.9], atol=1e-5)
    assert seen.shown == ("labels", "context.attention.weights", "pooling.weights")
    assert seen["encoder.stack.layers.0.ahead.gates.input"].axes == ("source", "feature")
    assert seen["labels"].texts is not None
    assert seen["labels"].texts[0] == "agreement"
    alone = trained.inspect("A\tis it ?")
    assert alone.shown == ("labels", "pooling.weights")
    told = regard("look", trained_converser.folder, lines(SAID[:2]).decode(), "-o", tmp_path / "look.json")
    assert told.code == 0, told.err
    again = Inspection.from_json((tmp_path / "look.json").read_text(encoding="utf-8"))
    assert again.labels["earlier"] == ("A: is it ?",)
    assert "A:␣is␣it␣?  1.00" in regard("look", trained_converser.folder, lines(SAID[:2]).decode()).out
    with pytest.raises(DataError, match=r"line 2: there is no speaker with a tab after it; write the speaker, a tab"):
        trained.inspect("A\tis it ?\nyes")
    with pytest.raises(UsageError, match="the text is empty"):
        trained.inspect("A\tis it ?\nB\t ")


def test_outputs_are_those_of_the_last_text_given_those_before_it(trained: Classifier) -> None:
    outputs = trained.outputs(lines(SAID[:4]).decode())
    assert [outputs.name(choice) for choice in outputs.chosen] == ["agreement"]
    wanted = trained.classify_conversation(SAID[:4])[-1].probabilities
    shares = outputs.probabilities(0, without=[(), (0,), (0, 1)])
    assert shares[0].tolist() == pytest.approx([wanted[label] for label in trained.labels.tags], abs=1e-5)
    (other,) = trained.classify_conversation([("B", ".")], SAID[:3])
    assert shares[1].tolist() == pytest.approx([other.probabilities[label] for label in trained.labels.tags], abs=1e-5)
    with library.record(trained, "words.output") as seen:
        outputs.log_probs(0)
    assert [tuple(tensor.shape[:2]) for tensor in seen["words.output"]] == [(1, 2)]  # those before are not read again


def test_lines_of_conversations_are_answered_line_for_line(trained_converser: Trained, tmp_path: Path) -> None:
    folder, file = trained_converser.folder, tmp_path / "said.tsv"
    file.write_bytes(lines(SAID[:2]) + b"\n\n" + lines(SAID[1:2]))
    told = regard("classify", folder, stdin=file.read_bytes())
    assert told.code == 0, told.err
    first = told.out.splitlines()
    assert first[:4] == ["question", "answer", "", ""]
    # A blank line and another file begin a conversation: nothing was said before.
    assert regard("classify", folder, file, file).out == told.out * 2
    # Columns after the text, such as the true acts, are not read.
    acts = "".join(f"{speaker}\t{text}\tanswer\n" for speaker, text in SAID)
    assert regard("classify", folder, stdin=acts.encode()).out.splitlines() == ACTS
    told = regard("classify", folder, "--probabilities", stdin=lines(SAID[:1]))
    assert told.out.startswith("question 0.9")


def test_lines_in_small_pieces_are_answered_as_the_whole(
    trained_converser: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = regard("classify", trained_converser.folder, "--probabilities", stdin=lines(SAID)).out
    monkeypatch.setattr("regard.cli.lines.AT_ONCE", 1)
    assert regard("classify", trained_converser.folder, "--probabilities", stdin=lines(SAID)).out == whole


def test_what_is_wrong_is_named_after_the_lines_before_it(
    trained_converser: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = regard("classify", trained_converser.folder, stdin=lines(SAID[:2]) + b"no tab\n" + lines(SAID))
    assert (told.code, told.out) == (2, "question\nanswer\n")
    assert told.err == (
        "regard: standard input, line 3: there is no speaker with a tab after it; write the speaker, a tab and the "
        "text\n"
    )
    monkeypatch.setattr(RecurrentEncoding, "learned_positions", 20)
    told = regard("classify", trained_converser.folder, stdin=lines([*SAID[:1], ("B", "yes " * 21)]))
    assert (told.code, told.out) == (2, "question\n")
    assert "standard input, line 2: a sentence of 21 words" in told.err


def test_calls_with_something_else_are_refused_in_words(trained: Classifier, trained_classifier: Trained) -> None:
    with pytest.raises(UsageError, match=r"utterances: 'yes' is not a pair of a speaker and a text, such as"):
        trained.classify_conversation(["yes"])
    with pytest.raises(UsageError, match=r"before: \('A', 1\) is not a pair of a speaker and a text, such as"):
        trained.classify_conversation([("A", "yes")], [("A", 1)])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="utterances = 'yes' is a single text, but a list of utterances"):
        trained.classify_conversation("yes")
    single = library.load(trained_classifier.folder, device="cpu")
    with pytest.raises(UsageError, match="this classifier was trained on single texts"):
        single.classify_conversation(["yes"])


def test_without_context_and_speakers_the_same_files_train_a_plain_classifier(tmp_path: Path) -> None:
    files = write_conversations(tmp_path) | {"speaker_column": 0}
    recipe = classifying_recipe(tmp_path, data=files, train={"steps": 20, "validation": {"every": 20}})
    run(recipe, tmp_path / "model", reporter=lambda event: None)
    assert not [name for name in load_weights(tmp_path / "model") if name.startswith("context")]
    told = regard("classify", tmp_path / "model", stdin=b"is it ?\n\nyes .\n")
    assert told.out.splitlines()[1] == ""
    plain = library.load(tmp_path / "model", device="cpu")
    assert [found.label for found in plain.classify_conversation(["is it ?", "yes ."])] == [
        found.label for found in plain.classify(["is it ?", "yes ."])
    ]
    assert "conversations:8" in plain.evaluate("dev")[0].signature
    assert "context.attention.weights" not in plain.inspect("is it ?\nyes .")


def test_a_run_that_goes_on_ends_in_the_same_bits(tmp_path: Path) -> None:
    tables: dict[str, Any] = {"data": write_conversations(tmp_path), "model": {"dropout": 0.2}}
    tables["model"]["context"] = {"kind": "attention", "reach": 2}
    whole = classifying_recipe(tmp_path, **tables, train={"steps": 8, "validation": {"every": 3}})
    half = classifying_recipe(tmp_path, **tables, train={"steps": 4, "validation": {"every": 3}})
    run(whole, tmp_path / "whole", reporter=lambda event: None)
    run(half, tmp_path / "halves", reporter=lambda event: None)
    run(whole, tmp_path / "halves", resume=True, reporter=lambda event: None)
    ours, theirs = (load_weights(tmp_path / name) for name in ("halves", "whole"))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    task = ClassifyingTask.prepare(whole, tmp_path / "whole", lambda line: None)
    scores = task.validate(task.build_model().eval(), decode=False, rank=0, world=1)
    assert set(scores) == {"loss", "accuracy", "macro_f1", "micro_f1"}


def read(folder: Path, train: str, **settings: Any) -> LabelledCorpora:
    (folder / "train.tsv").write_text(train, encoding="utf-8")
    columns = {"conversations": True, "speaker_column": 1, "text_column": 2, "label_column": 3} | settings
    return load_labelled(ClassifyingData(train=[str(folder / "train.tsv")], **columns), 1)


def test_blank_lines_end_conversations_and_missing_speakers_are_named_by_line(tmp_path: Path) -> None:
    corpora = read(tmp_path, "\nA\thi\tx\nB\thello\ty\n\n\nB\tbye\tx\n")
    found = [(text.conversation, text.speaker, text.words[0]) for text in corpora.texts("train")]
    assert found == [(1, "A", "hi"), (1, "B", "hello"), (2, "B", "bye")]
    assert corpora.report.parts["train"].endswith(
        "3 texts in " + str(tmp_path / "train.tsv") + ", 2 conversations, 3 words"
    )
    together = read(tmp_path, "A\thi\tx\nB\thello\ty\nB\tbye\tx\n")
    assert together.fingerprint != corpora.fingerprint
    (line,) = [each.line() for each in read(tmp_path, "A\thi\tx\n \thi\tx\nA\tx\n").report.findings]
    assert line.replace(f"{tmp_path}/", "").startswith(
        "train: 2 lines without a text or a label: refused; first train.tsv:2 (no speaker); train.tsv:3 (2 columns); "
        "see data.text_column = 2, data.label_column = 3, data.speaker_column = 1 for TSV"
    )
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "hi", "label": "x"}), encoding="utf-8")
    files = {"train": [str(tmp_path / "a.jsonl")], "conversations": True, "speaker_column": 1}
    (line,) = [each.line() for each in load_labelled(ClassifyingData(**files), 1).report.findings]
    assert "a.jsonl:1 (no column of a speaker, since this is not TSV)" in line


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (
            {"model": {"context": {"kind": "attention"}}},
            r"model\.context\.kind = 'attention' is for conversations; set",
        ),
        ({"data": {"train": ["a"], "speaker_column": 1}}, "speaker_column"),
        ({"data": {"train": ["a"], "conversations": True, "phrases": True}}, "phrases = true takes texts apart, and"),
        ({"model": {"context": {"reach": 3}}}, "reach"),
        (
            {
                "data": {"train": ["a"], "dev": ["b"], "conversations": True},
                "model": {"context": {"kind": "attention"}},
                "train": {"shapes": 4},
            },
            "train.shapes = 4: stretches of conversations do not come in few shapes; leave it out",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(tables: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=said):
        classifying_recipe(tmp_path, **tables)
