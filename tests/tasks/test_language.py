"""The language task: its text on disk, its loss with carried state, and models that are counted."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from language_runs import CARRYING, MODELS, language_recipe, write_text

from regard.checkpoint import ModelFolder, load_weights
from regard.data import CorpusPosition
from regard.data.stream import prepare_text
from regard.errors import DataError, ModelError, RecipeError
from regard.models import LanguageModel
from regard.tasks.language import LanguageTask, NgramTask, prepare_language
from regard.tokens import END, UNKNOWN
from regard.train import Ended, Event, Validated, run


def prepared(folder: Path, kind: str = "recurrent", **tables: object) -> LanguageTask:
    recipe = language_recipe(folder, kind, **tables)
    return prepare_language(recipe, folder / "model", lambda line: None)


def silent(recipe: object, out: Path, **options: bool) -> Ended:
    return run(recipe, out, reporter=lambda event: None, **options)  # type: ignore[arg-type]


def test_the_stream_is_the_text(tmp_path: Path) -> None:
    recipe = language_recipe(tmp_path)
    found = prepare_text(recipe, tmp_path / "cache")
    lines = (tmp_path / "train.txt").read_text().split("\n")[:-1]
    expected = [token for line in lines for token in (*found.tokenizer.encode(line), END)]
    assert found.parts["train"].stream.tolist() == expected
    assert len(found.parts["train"].ends("lines")) == len(lines)
    assert len(found.parts["train"].ends("documents")) == 1 + sum(not line for line in lines)
    assert any(line.startswith("train: ") and line.endswith("none of them unknown") for line in found.report.lines())
    # The second time nothing is rewritten.
    stamp = next((tmp_path / "cache").iterdir()).stat().st_mtime_ns
    again = prepare_text(recipe, tmp_path / "cache")
    assert (again.fingerprint, again.cache) == (found.fingerprint, found.cache)
    assert found.cache.stat().st_mtime_ns == stamp


def test_unknown_words_are_counted_and_what_stands_for_them_is_one(tmp_path: Path) -> None:
    recipe = language_recipe(tmp_path, tokens={"unknown": "cat"})
    found = prepare_text(recipe, tmp_path / "cache")
    lines = (tmp_path / "dev.txt").read_text()
    assert "cat" not in found.tokenizer.vocabulary
    assert int((found.parts["dev"].stream == UNKNOWN).sum()) == lines.split().count("cat")
    assert found.tokenizer.decode([UNKNOWN]) == "cat"


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    with pytest.raises(DataError, match="the data cache cannot be written or read"):
        prepare_text(language_recipe(tmp_path), tmp_path / "cache")


@torch.no_grad()
def plain_loss(task: LanguageTask, model: LanguageModel, rows: int) -> float:
    """The development text in as many rows, each read from its beginning at once."""
    assert task._dev is not None
    stream = torch.from_numpy(task._dev.stream.astype(np.int64))
    total, length = 0.0, -(-len(stream) // rows)
    for start in range(0, len(stream), length):
        wanted = stream[start : start + length]
        before = stream[start - 1 : start] if start else torch.tensor([END])
        given = torch.cat([before, wanted[:-1]])[None]
        reading = model.read(given, model.resume(model.blank(1), given.shape[1]))
        logits = model.readout_of(reading.state).logits(reading.features).double()
        total -= logits.log_softmax(-1)[0].gather(-1, wanted[:, None]).sum().item()
    return total / len(stream)


@pytest.mark.parametrize("kind", CARRYING)
def test_validation_carries_state_from_segment_to_segment(tmp_path: Path, kind: str) -> None:
    task = prepared(tmp_path, kind)
    model = task.build_model().eval()
    found = task.validate(model, decode=False, rank=0, world=1)
    assert found["loss"] == pytest.approx(plain_loss(task, model, rows=4), rel=1e-5)
    assert found["perplexity"] == pytest.approx(math.exp(found["loss"]))


@pytest.mark.parametrize("context", ["stream", "documents", "lines"])
def test_the_objective_goes_on_where_it_ended(tmp_path: Path, context: str) -> None:
    task = prepared(tmp_path, model={"dropout": {}}, data={"context": context})
    model = task.build_model()
    carry, total, targets = None, 0.0, 0
    for batch, after in task.batches(CorpusPosition()):
        loss, carry = task.objective(model, batch, carry)
        total, targets = total + loss.item(), targets + batch.count
        if after.epoch:
            break
    assert targets == len(task._train) == task.tokens_in_pass
    assert 0.5 < total / targets / math.log(task.tokenizer.size) < 1.5
    assert task.passes(after) == 1.0


def test_without_development_text_nothing_is_measured(tmp_path: Path) -> None:
    write_text(tmp_path)
    task = prepared(tmp_path, data={"dev": []})
    assert task.validate(task.build_model(), decode=False, rank=0, world=1) == {}


def test_a_batch_in_words(tmp_path: Path) -> None:
    task = prepared(tmp_path, data={"context": "lines"})
    batch, _ = next(iter(task.batches(CorpusPosition())))
    lines = (tmp_path / "train.txt").read_text().split("\n")
    assert all(row["text"] in lines for row in task.describe_batch(batch))


@pytest.mark.spread(2)
@pytest.mark.parametrize("kind", MODELS)
def test_every_rung_trains_by_the_same_command(tmp_path: Path, kind: str) -> None:
    events: list[Event] = []
    ended = run(language_recipe(tmp_path, kind), tmp_path / "model", reporter=events.append)
    assert ended.reason == "steps"
    losses = [event.metrics["loss"] for event in events if isinstance(event, Validated)]
    assert ended.best == losses[-1] < (losses[0] if kind != "ngram" else math.log(14))
    assert load_weights(tmp_path / "model")


def test_counting_is_one_step_and_is_not_repeated(tmp_path: Path) -> None:
    recipe = language_recipe(tmp_path, "ngram")
    first = silent(recipe, tmp_path / "model")
    assert first.step == 1
    assert first.message.startswith("counted, ")
    before = load_weights(tmp_path / "model")
    again = silent(recipe, tmp_path / "model", resume=True)
    assert again.message.startswith("the model is already counted; the loss is ")
    assert again.best == first.best
    after = load_weights(tmp_path / "model")
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_counting_can_be_stopped(tmp_path: Path) -> None:
    from regard.train.ngram_run import count

    class Slow(NgramTask):
        def count(self, on_progress: Callable[[int], None]) -> LanguageModel:
            on_progress(1)
            raise AssertionError("it goes on though it was asked to stop")

    recipe = language_recipe(tmp_path, "ngram")
    task = Slow.prepare(recipe, tmp_path / "model", lambda line: None)
    (event,) = count(task, ModelFolder(tmp_path / "model"), interrupted=lambda: True)
    assert isinstance(event, Ended)
    assert event.reason == "interrupted"
    assert "starts over with --resume" in event.message


def test_other_text_is_refused_when_a_run_goes_on(tmp_path: Path) -> None:
    recipe = language_recipe(tmp_path)
    silent(recipe, tmp_path / "model")
    (tmp_path / "train.txt").write_text("something else\n")
    with pytest.raises(DataError, match="has changed since this run was begun"):
        silent(recipe, tmp_path / "model", resume=True)


def test_a_model_to_start_from_brings_its_words(tmp_path: Path) -> None:
    silent(language_recipe(tmp_path), tmp_path / "first")
    recipe = language_recipe(tmp_path, train={"steps": 2, "start_from": str(tmp_path / "first")})
    (tmp_path / "train.txt").write_text("another cat\n")
    silent(recipe, tmp_path / "second")
    assert (tmp_path / "first/tokenizer.json").read_text() == (tmp_path / "second/tokenizer.json").read_text()
    missing = language_recipe(tmp_path, train={"steps": 2, "start_from": str(tmp_path / "none")})
    with pytest.raises(ModelError, match=r"train\.start_from: .*none: no such folder"):
        silent(missing, tmp_path / "third")


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"data": {"train": []}}, "train is missing: name a text file, or choose corpus = 'library'"),
        ({"data": {"corpus": "topics"}}, "train names files, but corpus is 'topics'"),
        ({"data": {"context": "documents", "documents": "none"}}, "context = 'documents' must know where documents"),
        ({"data": {"context": "lines", "end_of_line": False}}, "context = 'lines' must know where lines end"),
        ({"data": {"context": "lines", "vary": True}}, "vary = true is for a stream, but context = 'lines' has pieces"),
        ({"tokens": {"kind": "bpe", "dropout": 0.1}}, "tokens.dropout = 0.1 is not used by task = 'language'"),
        ({"data": {"segment": 100}}, "has no room for a row of data.segment = 100; raise train.batch_tokens"),
        ({"data": {"dev": []}, "train": {"steps": 1, "validation": {"patience": 1}}}, "needs development text"),
        ({"train": {"steps": 1, "validation": {"metric": "bleu"}}}, "train.validation.metric = 'bleu' is not allowed"),
        ({"train": {"steps": 1, "pack": True}}, "unknown setting 'train.pack'; known here, nearest first"),
        ({"train": {"steps": 1, "r_drop": 1.0}}, "unknown setting 'train.r_drop'; known here, nearest first"),
        ({"tokens": {"kind": "bpe", "unknown": "<unk>"}}, "unknown = '<unk>' must be one word, and kind 'words'"),
        ({"tokens": {"unknown": "two words"}}, "unknown = 'two words' must be one word"),
        ({"model": {"kind": "lstm"}}, "model.kind = 'lstm' is not allowed; allowed are"),
        ({"data": {"examples": 3}}, "unknown setting 'data.examples'; known here, nearest first"),
    ],
)
def test_recipes_that_contradict_themselves(tmp_path: Path, tables: dict[str, object], words: str) -> None:
    with pytest.raises(RecipeError) as refusal:
        language_recipe(tmp_path, **tables)
    assert words in str(refusal.value)


def test_learned_positions_must_hold_a_segment(tmp_path: Path) -> None:
    with pytest.raises(RecipeError) as refusal:
        language_recipe(tmp_path, "transformer", model={"memory": 0, "position": "learned", "longest": 5})
    assert "model.longest = 5 learned positions are too few for data.segment = 7; raise" in str(refusal.value)


def test_an_ngram_model_is_counted_line_by_line(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"an n-gram model is counted line by line; set data\.context = 'lines'"):
        language_recipe(tmp_path, "ngram", data={"context": "stream"})
