"""The pre-training task: training and its resumption, the trained encoder, what it refuses, and models that start
from it."""

import gzip
import random
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from classifying_runs import classifying_recipe, write_labelled
from command_line import Trained
from model_strategies import ENCODERS as TABLES
from parsing_task import RECIPE as PARSING
from parsing_task import write_treebank
from pretraining_runs import PEOPLE, PLACES, VERBS, pretraining_recipe, write_text
from tagging_runs import tagging_recipe, write_columns
from torch_layers import randomize
from train_processes import begin

import regard
from regard.checkpoint import load_weights
from regard.data import CorpusPosition
from regard.data.sentences import NumberedSentences
from regard.errors import DataError, ModelError, RecipeError, UsageError
from regard.recipe import Recipe, WordTable, change_section, read_recipe
from regard.tasks.pretrained_encoder import Filled, PretrainedEncoder
from regard.tasks.pretraining import PlainSentences, PretrainingTask
from regard.tasks.tagging import TaggingTask
from regard.tokens import UNKNOWN
from regard.tokens.word_vocabulary import WordVocabulary
from regard.train import Ended, run
from regard.train.learner import Learner
from regard.train.ranks import Ranks
from regard.vectors import Vectors


def silent(recipe: Recipe, out: Path, **options: bool) -> Ended:
    return run(recipe, out, reporter=lambda event: None, **options)  # type: ignore[arg-type]


def prepared(folder: Path, **tables: Any) -> PretrainingTask:
    recipe = pretraining_recipe(folder, **tables)
    return PretrainingTask.prepare(recipe, folder / "model", lambda line: None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def trained(trained_encoder: Trained) -> PretrainedEncoder:
    encoder: PretrainedEncoder = regard.load(trained_encoder.folder, device="cpu")
    return encoder


def test_it_learns_what_may_stand_where(trained: PretrainedEncoder) -> None:
    person, verb, both, listed, plain = trained.fill(
        ["___ sees the film in Rome .", "Ida ___ the plot in Oslo .", "Emil ___ the plot in ___ .", ["___"], "Ida"]
    )
    assert person.words[0] in PEOPLE
    assert verb.words[1] in VERBS
    assert (both.words[1] in VERBS, both.words[5] in PLACES) == (True, True)
    assert person.text.endswith(" sees the film in Rome .")
    assert (len(both.guesses), len(listed.words), plain) == (2, 1, Filled(("Ida",), ()))
    shares = [share for _, share in person.guesses[0]]
    assert (len(shares), shares) == (5, sorted(shares, reverse=True))
    assert {word for word, _ in person.guesses[0][:3]} == set(PEOPLE)
    (one,) = trained.fill(["___ sees"], guesses=100)
    assert sum(share for _, share in one.guesses[0]) == pytest.approx(1, abs=1e-5)
    assert not {word for word, _ in one.guesses[0]} & {"<pad>", "<unk>", "<s>", "</s>"}


def test_batch_mates_change_nothing(trained: PretrainedEncoder) -> None:
    sentences = ["___ sees the film in Rome .", "the ___", "Anna hears ___ plot in ___ . " * 3]
    for text, found in zip(sentences, trained.fill(sentences), strict=True):
        (alone,) = trained.fill([text])
        assert alone.words == found.words
        for one, other in zip(alone.guesses, found.guesses, strict=True):
            assert [share for _, share in one] == pytest.approx([share for _, share in other], abs=1e-5)


def test_its_scores_on_held_out_text_have_signatures(trained: PretrainedEncoder) -> None:
    perplexity, accuracy = trained.evaluate("test")
    assert 1 < perplexity.value < 3
    assert 50 < accuracy.value < 100
    assert perplexity.signature == f"masked:0.15|words:{perplexity.signature.split(':')[2].split('|')[0]}|known:17"


def test_looking_shows_how_each_word_is_guessed(trained: PretrainedEncoder) -> None:
    seen = trained.inspect("Anna sees the ___ in Unknown .")
    assert seen.labels["source"] == ("Anna", "sees", "the", "___", "in", "Unknown", ".")
    texts = seen["candidates"].texts
    assert texts is not None
    assert texts[3, 0] in ("film", "plot")
    assert seen["probabilities"].values[2] > 0.8
    # There is no probability of a blank, nor of what the model does not know.
    assert seen["probabilities"].values[[3, 5]].tolist() == [0, 0]
    assert seen["encoder.stack.layers.0.ahead.gates.input"].axes == ("source", "feature")
    # A word is guessed as `fill` guesses it.
    (filled,) = trained.fill(["Anna ___ the ___ in Unknown ."], guesses=1)
    assert texts[1, 0] == filled.guesses[0][0][0]


def test_it_shows_itself(trained: PretrainedEncoder) -> None:
    assert repr(trained).startswith("<PretrainedEncoder: pretraining, parameters ")
    assert repr(trained).endswith("guesses masked words, words 17, on cpu>")
    found = Filled(("Anna",), ((("Anna", 0.5),),))
    assert repr(found) == "<Filled: Anna>"
    assert "0.5000" in found._repr_html_()


def test_calls_with_something_else_are_refused_in_words(trained: PretrainedEncoder) -> None:
    folder = Path(trained.recipe.data.train[0]).parent / "model"
    with pytest.raises(
        UsageError, match="sentences = 'a ___' is a single text, but a list of sentences, each a text or"
    ):
        trained.fill("a ___")
    with pytest.raises(UsageError, match="guesses = 0: give at least 1"):
        trained.fill(["a ___"], guesses=0)
    with pytest.raises(UsageError, match="a pre-trained encoder reads a single sentence, not 2"):
        trained.inspect("Anna", "Rome")
    with pytest.raises(UsageError, match="is a pre-trained encoder, which works alone; name one folder"):
        regard.load(folder, folder)
    with pytest.raises(UsageError, match="--set 'seed=2': a pre-trained encoder stays as it is; leave it out"):
        regard.load(folder, changes=["seed=2"])
    recipe = trained.recipe.model_copy(update={"data": trained.recipe.data.model_copy(update={"test": []})})
    without = PretrainedEncoder(recipe, trained.model, trained.vocabulary)
    with pytest.raises(UsageError, match=r"the model's recipe names no test text \(data\.test\); set it in the recipe"):
        without.evaluate("test")


@pytest.mark.spread(3)
@pytest.mark.parametrize("kind", [*TABLES, "both directions"])
def test_every_encoder_trains_fills_and_is_looked_into(kind: str, tmp_path: Path) -> None:
    table = TABLES[kind] if kind in TABLES else {**TABLES["recurrent"], "bidirectional": True}
    task = prepared(tmp_path, model={"encoder": table})
    model = task.build_model()
    randomize(model)
    batch, _ = next(task.batches(CorpusPosition()))
    loss, _ = task.objective(model, batch, None)
    gradients = torch.autograd.grad(loss, [*model.parameters()], allow_unused=True)
    assert all(each is None or each.isfinite().all() for each in gradients)
    encoder = PretrainedEncoder(task.recipe, model, task.vocabulary)
    assert encoder.fill(["Anna ___ Rome ."])[0].words[1] in task.vocabulary.vocabulary.tokens
    seen = encoder.inspect("Anna sees Rome .")
    assert any("head" in array.axes for array in seen.values()) == (kind == "transformer")
    shares = [batch.rows(rank, 3) for rank in range(3)]
    parts = [task.objective(model.eval(), share, None)[0] for share in shares]
    torch.testing.assert_close(torch.stack(parts).sum(), task.objective(model, batch, None)[0], rtol=1e-4, atol=1e-3)
    # As several processes validate it, and as one does.
    found = task.validate(model, decode=False, rank=0, world=1)
    assert found["perplexity"] == pytest.approx(np.exp(found["loss"]))


def test_filled_shapes_are_few_and_change_nothing(tmp_path: Path) -> None:
    plain, filled = prepared(tmp_path), prepared(tmp_path, train={"shapes": 2})
    model, shapes = plain.build_model().eval(), set()
    for (batch, after), _ in zip(filled.batches(CorpusPosition()), range(40), strict=False):
        shapes.add(tuple(batch.words.shape))
        rows = [batch.rows(row, len(batch.words)) for row in range(len(batch.examples))]
        parts = torch.stack([plain.objective(model, row, None)[0] for row in rows])
        torch.testing.assert_close(filled.objective(model, batch, None)[0], parts.sum(), rtol=1e-4, atol=1e-3)
        if after.epoch:
            break
    assert len(shapes) <= 2


def test_a_run_that_goes_on_ends_in_the_same_bits(tmp_path: Path) -> None:
    write_text(tmp_path)
    Vectors(["anna", "unseen"], np.eye(2, 12, dtype=np.float32)).save(tmp_path / "vectors")
    words = {"vectors": {"file": str(tmp_path / "vectors")}, "dropout": 0.2}
    tables: dict[str, Any] = {"words": words, "model": {"dropout": 0.2}}
    halves = {steps: {"steps": steps, "validation": {"every": 9}} for steps in (13, 30)}
    whole, half = (pretraining_recipe(tmp_path, train=halves[steps], **tables) for steps in (30, 13))
    silent(whole, tmp_path / "whole")
    silent(half, tmp_path / "halves")
    silent(whole, tmp_path / "halves", resume=True)
    ours, theirs = (load_weights(tmp_path / name) for name in ("halves", "whole"))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert regard.load(tmp_path / "halves").vocabulary.unseen == 2
    (tmp_path / "train.txt").write_text("Anna sees Rome .\n" * 9, encoding="utf-8")
    with pytest.raises(DataError, match="the training, development or test text, or a setting of"):
        silent(whole, tmp_path / "halves", resume=True)


def test_long_lines_become_several_sentences_and_blank_ones_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a b c d e\n\n  \nf\n", encoding="utf-8")
    with gzip.open(tmp_path / "b.txt.gz", "wt", encoding="utf-8") as file:
        file.write("g\n")
    recipe = pretraining_recipe(
        tmp_path, data={"train": [str(tmp_path / name) for name in ("a.txt", "b.txt.gz")], "longest": 2}
    )
    assert [*PlainSentences(recipe.data, "train")] == [("a", "b"), ("c", "d"), ("e",), ("f",), ("g",)]


def test_a_large_text_is_not_held_in_memory(tmp_path: Path) -> None:
    """What numbers take is a share of the text; the words themselves would take ten times as much."""
    line = " ".join(f"word{number % 50}" for number in range(40)) + "\n"
    (tmp_path / "large.txt").write_text(line * 6000, encoding="utf-8")
    recipe = pretraining_recipe(tmp_path, data={"train": [str(tmp_path / "large.txt")]})
    vocabulary = WordVocabulary.learn(recipe.words, PlainSentences(recipe.data, "train"))
    tracemalloc.start()
    numbered = NumberedSentences.of(PlainSentences(recipe.data, "train"), vocabulary)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(numbered) == 6000
    assert most < 3 * len(line) * 6000


@pytest.mark.parametrize(
    ("tables", "line"),
    [
        (
            {"train": {"masked": 0.3}, "model": {"encoder": {"kind": "recurrent", "bidirectional": False}}},
            r"train\.masked = 0\.3 is for encoders that read in both directions, and this one learns to guess the next",
        ),
        (
            {"model": {"encoder": {"kind": "transformer", "position": "learned", "longest": 9}}},
            r"model\.encoder\.longest = 9 learned positions are too few for data\.longest = 128; raise",
        ),
        ({"train": {"masked": 0.0}}, r"train\.masked"),
        ({"data": {"train": []}}, "train is missing: name a text file"),
        ({"train": {"validation": {"metric": "f1"}}}, r"train\.validation\.metric = 'f1' is not allowed"),
    ],
)
def test_settings_that_cannot_be_are_refused(tables: dict[str, Any], line: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=line):
        pretraining_recipe(tmp_path, **tables)


def test_text_whose_words_are_all_rare_is_refused(tmp_path: Path) -> None:
    line = r"words\.least = 999: no word of the training text occurs so often, so none can be guessed"
    with pytest.raises(DataError, match=line):
        prepared(tmp_path, words={"least": 999})


def test_a_bad_batch_is_described_in_words(tmp_path: Path) -> None:
    task = prepared(tmp_path)
    batch, _ = next(task.batches(CorpusPosition()))
    described = task.describe_batch(batch)
    assert described[0]["example"] == batch.examples[0]
    assert " ".join(described[0]["words"]) in (tmp_path / "train.txt").read_text(encoding="utf-8").splitlines()
    assert sum(len(row["wanted"]) for row in described) == batch.count


# Models that start from it.

PARTS = {"parts": ["words", "encoder"]}
STILL = {"steps": 1, "optimizer": {"rate": 1e-9}}
"""One step that changes next to nothing."""


def started(folder: Path, encoder: Trained, **train: Any) -> Recipe:
    """A recipe of a tagger that starts from the encoder, with words that the encoder does not know."""
    files = write_columns(folder, {"train": 30, "dev": 8})
    train_file = Path(files["train"][0])
    text = train_file.read_text(encoding="utf-8")
    train_file.write_text(text + "\nMars x B-LOC\nrome x B-LOC\nanna x O\n", encoding="utf-8")
    start = {"model": str(encoder.folder), **PARTS, **train.pop("start", {})}
    return tagging_recipe(folder, data=files, train={**STILL, **train, "start": start})


def test_a_tagger_starts_with_its_weights_and_learns_words_of_its_own(
    trained_encoder: Trained, trained: PretrainedEncoder, tmp_path: Path
) -> None:
    recipe = started(tmp_path, trained_encoder)
    silent(recipe, tmp_path / "model")
    tagger = regard.load(tmp_path / "model")
    ours, theirs = load_weights(tmp_path / "model"), load_weights(trained_encoder.folder)
    known = trained.vocabulary.size
    for name, weight in theirs.items():
        if name.startswith(("encoder.", "words.")):
            mine = ours[name][:known] if name == "words.embedding.vectors" else ours[name]
            torch.testing.assert_close(mine, weight)
    # Each new word is read as it was read before: 'rome' as unknown, since only lower case is looked up otherwise.
    new = {word: tagger.vocabulary.find(word) for word in ("Mars", "rome", "and")}
    assert min(new.values()) >= known
    vectors = ours["words.embedding.vectors"]
    for number in new.values():
        torch.testing.assert_close(vectors[number], theirs["words.embedding.vectors"][UNKNOWN])
    assert tagger.vocabulary.find("Anna") == trained.vocabulary.find("Anna")


def test_a_started_model_reads_every_sentence_as_the_encoder_did(
    trained_encoder: Trained, trained: PretrainedEncoder, tmp_path: Path
) -> None:
    recipe = started(tmp_path, trained_encoder)
    task = TaggingTask.prepare(recipe, tmp_path / "model", lambda line: None)  # type: ignore[arg-type]
    learner = Learner(task, torch.device("cpu"), Ranks())
    learner.start_from_parts(recipe.train.start)
    sentences = [["Anna", "Mars", "rome", "sees", "."], ["anna", "never", "heard"]]
    found = []
    for model, vocabulary in ((learner.model, task.vocabulary), (trained.model, trained.vocabulary)):
        batch = NumberedSentences.of(sentences, vocabulary).pick(np.arange(2))
        with torch.no_grad():
            found.append(model.eval().encoder.encode(model.words(batch), batch.lengths).features[batch.keep])  # type: ignore[operator, union-attr]
    torch.testing.assert_close(*found)


def test_words_that_grow_stand_before_those_of_the_file_and_start_as_they_were_read() -> None:
    table = WordTable(width=2)
    known = WordVocabulary.learn(table, [["a", "b", "b"]], others=["file", "more"])
    grown = known.grown([["File", "a", "new"], ["new"]])
    assert grown.vocabulary.tokens == ("b", "a", "new", "File", "file", "more")
    assert (grown.unseen, grown.size) == (2, known.size + 2)
    assert grown.sources == (UNKNOWN, known.find("file"))
    lower = WordVocabulary.learn(WordTable(width=2, lowercase=True, least=2), [["a", "a"]])
    assert lower.grown([["A", "New", "new", "once"]]).vocabulary.tokens == ("a", "new")


def test_a_classifier_and_a_parser_start_from_it(
    trained_encoder: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    theirs = load_weights(trained_encoder.folder)
    start = {"model": str(trained_encoder.folder), **PARTS}
    encoder = {"kind": "recurrent", "embedding": 16, "hidden": 8}
    words = {"characters": {"kind": "cnn", "embedding": 4, "width": 4}}
    labelled = write_labelled(tmp_path, {"train": 20, "dev": 5})
    silent(
        classifying_recipe(
            tmp_path, data=labelled, words=words, model={"encoder": encoder}, train={**STILL, "start": start}
        ),
        tmp_path / "classifier",
    )
    write_treebank(tmp_path)
    Path("parser.toml").write_text(PARSING, encoding="utf-8")
    parser = read_recipe("parser.toml", ["model.encoder.hidden=8"])
    silent(change_section(parser, {"train": {**STILL, "start": start}}), tmp_path / "parser")
    for folder in ("classifier", "parser"):
        ours = load_weights(tmp_path / folder)
        same = [name for name in theirs if name.startswith(("encoder.", "words.characters."))]
        assert same
        for name in same:
            torch.testing.assert_close(ours[name], theirs[name])
        model = regard.load(tmp_path / folder)
        assert [*model.model.named_modules()]


def test_frozen_parts_thaw_and_the_run_goes_on_to_the_same_bits(trained_encoder: Trained, tmp_path: Path) -> None:
    theirs = load_weights(trained_encoder.folder)
    quick = {"optimizer": {"rate": 0.02}, "validation": {"every": 3}, "start": {"frozen_steps": 6}}
    recipes = {steps: started(tmp_path, trained_encoder, **quick, steps=steps) for steps in (4, 6, 9, 12)}
    silent(recipes[12], tmp_path / "whole")
    for steps in (4, 6, 9, 12):
        silent(recipes[steps], tmp_path / "pieces", resume=True)
        ours = load_weights(tmp_path / "pieces", "current")
        moved = {
            name
            for name, weight in theirs.items()
            if name.startswith(("encoder.", "words.")) and not torch.equal(ours[name][: len(weight)], weight)
        }
        assert bool(moved) == (steps > 6)
    whole, pieces = (load_weights(tmp_path / name, "current") for name in ("whole", "pieces"))
    assert all(torch.equal(whole[name], pieces[name]) for name in whole)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("what", ["encoder", "tagger"])
def test_killed_at_random_moments_it_ends_in_the_same_bits(what: str, trained_encoder: Trained, tmp_path: Path) -> None:
    quick = {"steps": 80, "optimizer": {"rate": 0.02}, "validation": {"every": 7}}
    frozen = {"start": {"frozen_steps": 40}}
    tagger = started(tmp_path, trained_encoder, **quick, **frozen)
    recipe = pretraining_recipe(tmp_path, train=quick) if what == "encoder" else tagger
    silent(recipe, tmp_path / "whole")
    draw, process = random.Random(1), None
    for pause in [*(draw.uniform(0.5, 2.0) for _ in range(6)), 120.0]:
        process = begin(_go_on, recipe, tmp_path / "pieces")
        process.join(timeout=pause)
        process.kill()
        process.join(timeout=60)
    assert process is not None
    assert process.exitcode == 0
    whole, pieces = (load_weights(tmp_path / name, "current") for name in ("whole", "pieces"))
    assert all(torch.equal(whole[name], pieces[name]) for name in whole)


def _go_on(recipe: Recipe, folder: Path) -> None:
    torch.set_num_threads(1)
    silent(recipe, folder, resume=True)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "all is frozen": (
        {"start": {"parts": ["words", "encoder", "project", "output"], "frozen_steps": 3}},
        "train.start.frozen_steps = 3: words, encoder, project, output are all that is trained, so that nothing",
    ),
    "no part has this rate": (
        {"optimizer": {"part_rates": ["encoders=0.5"]}},
        "train.optimizer.part_rates: this model has no part 'encoders'; its parts are ",
    ),
    "another shape": (
        {"words": {"width": 13, "characters": {"kind": "cnn", "embedding": 4, "width": 5}}},
        "; settings that differ: width = 13, there 12, characters.width = 5, there 4",
    ),
    "nothing is left": (
        {"optimizer": {"part_rates": [f"{part}=0" for part in ("words", "encoder", "project", "output")]}},
        "nothing is left to be trained; give a part a factor above 0",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused_with_the_setting(case: str, trained_encoder: Trained, tmp_path: Path) -> None:
    changes, line = REFUSED[case]
    words = {name: changes[name] for name in changes if name == "words"}
    train = {name: changes[name] for name in changes if name != "words"}
    recipe = change_section(started(tmp_path, trained_encoder, **train), words)
    with pytest.raises(ModelError) as refusal:
        silent(recipe, tmp_path / "model")
    assert line in str(refusal.value)


def test_words_looked_up_otherwise_are_refused(trained_encoder: Trained, tmp_path: Path) -> None:
    recipe = started(tmp_path, trained_encoder)
    with pytest.raises(ModelError) as refusal:
        silent(change_section(recipe, {"words": {"lowercase": True}}), tmp_path / "model")
    assert str(refusal.value) == (
        f"train.start: {trained_encoder.folder}: its words are looked up with words.lowercase = false; set it here too"
    )


@pytest.mark.parametrize(("part", "kind"), [("words.embedding", "lstm"), ("words.characters", "cnn")])
def test_another_spelling_can_stand_beside_its_words(
    part: str, kind: str, trained_encoder: Trained, tmp_path: Path
) -> None:
    """Characters are those of the task's text where only word vectors are taken over, and the other way around."""
    recipe = started(tmp_path, trained_encoder, start={"parts": [part]})
    changed = change_section(recipe, {"words": {"characters": {"kind": kind, "embedding": 4, "width": 4}}})
    task = TaggingTask.prepare(changed, tmp_path / "model", lambda line: None)  # type: ignore[arg-type]
    assert ("M" in task.vocabulary.characters) == (part == "words.embedding")
    assert ("hears" in task.vocabulary.vocabulary) == (part == "words.embedding")


def test_words_that_only_the_plain_text_has_are_tagged_like_their_kind(tmp_path: Path) -> None:
    """The labelled text does not have them: only the plain text tells that they stand where persons and places do."""
    spelling = {"characters": {"kind": "none"}}
    plain = pretraining_recipe(tmp_path, words=spelling, train={"steps": 150, "validation": {"every": 150}})
    silent(plain, tmp_path / "encoder")
    block = "{} x B-PER\nsees x O\nthe x O\nfilm x O\nin x O\n{} x B-LOC\n. x O\n"
    labelled = block.format("Anna", "Rome") + "\n" + block.format("Emil", "Oslo")
    (tmp_path / "few.conll").write_text(labelled, encoding="utf-8")
    start = {"model": str(tmp_path / "encoder"), "parts": ["words", "encoder"], "frozen_steps": 40}
    train = {"steps": 40, "validation": {"every": 40}, "start": start}
    few = {"train": [str(tmp_path / "few.conll")]}
    silent(tagging_recipe(tmp_path, data=few, words=spelling, train=train), tmp_path / "tagger")
    (found,) = regard.load(tmp_path / "tagger", device="cpu").tag(["Ida hears the plot in Lima ."])
    assert found.spans == [("Ida", "PER"), ("Lima", "LOC")]
