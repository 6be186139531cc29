"""The tagging task: training and its resumption, validation, the trained tagger, and what it refuses."""

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
import torch
from command_line import Trained
from language_runs import language_recipe
from model_strategies import ENCODERS as TABLES
from tagging_runs import tagging_recipe, write_columns
from torch_layers import randomize

import regard
from regard.checkpoint import load_weights
from regard.data import CorpusPosition
from regard.data.tagged_batch import NumberedTagged, TaggedBatch
from regard.errors import DataError, ModelError, RecipeError, UsageError
from regard.recipe import Recipe
from regard.tasks.tagger import Tagged, Tagger
from regard.tasks.tagging import TaggingTask
from regard.tokens import UNKNOWN
from regard.tokens.tag_set import TagSet
from regard.train import Ended, run
from regard.vectors import Vectors


def silent(recipe: Recipe, out: Path, **options: bool) -> Ended:
    return run(recipe, out, reporter=lambda event: None, **options)  # type: ignore[arg-type]


def prepared(folder: Path, **tables: object) -> TaggingTask:
    return TaggingTask.prepare(tagging_recipe(folder, **tables), folder / "model", lambda line: None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def trained(trained_tagger: Trained) -> Tagger:
    tagger: Tagger = regard.load(trained_tagger.folder, device="cpu")
    return tagger


def test_it_learns_and_writes_tags_of_the_data(trained: Tagger) -> None:
    first, empty, listed = trained.tag(["the Anna Emil .", "", ["Rome", "."]])
    assert first.tags == ("O", "B-PER", "I-PER", "O")
    assert first.spans == [("Anna Emil", "PER")]
    assert all(share > 0.9 for share in first.probabilities)
    assert (empty.words, empty.tags) == ((), ())
    assert trained.tag(["Rome ."], probabilities=False) == [Tagged(("Rome", "."), listed.tags, ())]
    assert listed.tags == ("B-LOC", "O")
    assert set(trained.tags.tags) == {"O", *(f"{prefix}-{kind}" for prefix in "BES" for kind in ("PER", "LOC"))}


def test_its_scores_on_held_out_text_have_signatures(trained: Tagger) -> None:
    scores = trained.evaluate("test")
    assert [score.name for score in scores] == ["F1", "precision", "recall", "accuracy"]
    assert scores[0].value == 100
    assert scores[0].signature.startswith("conlleval|sentences:30|")


def test_batch_mates_and_length_change_nothing(trained: Tagger) -> None:
    sentences = ["Anna .", "the Rome Oslo . Ida .", "Lima"]
    together = trained.tag(sentences)
    for text, found in zip(sentences, together, strict=True):
        (alone,) = trained.tag([text])
        assert alone.tags == found.tags
        assert alone.probabilities == pytest.approx(found.probabilities, abs=1e-5)


def test_a_very_long_sentence_and_unknown_words_are_tagged(trained: Tagger) -> None:
    words = ["Anna", "unheard", "."] * 1700
    (found,) = trained.tag([words])
    assert len(found.tags) == 5100
    assert found.tags[0] == "B-PER"


def test_looking_shows_tags_candidates_and_what_is_inside(trained: Tagger) -> None:
    seen = trained.inspect("the Anna Emil .")
    assert seen.labels["source"] == ("the", "Anna", "Emil", ".")
    assert seen["tags"].texts is not None
    assert seen["tags"].texts.tolist() == ["O", "B-PER", "E-PER", "O"]
    assert seen["marginals"].axes == ("source", "tag")
    np.testing.assert_allclose(seen["marginals"].values.sum(1), 1, atol=1e-4)
    np.testing.assert_allclose(seen["candidates"].values[:, 0], seen["tags"].values, atol=1e-4)
    assert seen["encoder.stack.layers.0.ahead.gates.input"].axes == ("source", "feature")
    assert seen.shown == ("tags", "candidates")
    with regard.record(trained, "scores") as recorded:
        trained.tag(["the Anna Emil ."])
    assert recorded.last("scores").shape == (1, 4, 7)


def test_it_shows_itself(trained: Tagger) -> None:
    assert repr(trained).startswith("<Tagger: tagging, parameters ")
    assert repr(trained).endswith("words 14, tags 7, on cpu>")
    assert "encoder.output" in trained._repr_html_()
    found = Tagged(("Anna",), ("B-PER",), (0.5,))
    assert repr(found) == "<Tagged: Anna/B-PER>"
    assert "0.5000" in found._repr_html_()


def test_calls_with_something_else_are_refused_in_words(trained: Tagger, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="sentences = 'Anna' is a single text, but a list of sentences, each a text or"
    ):
        trained.tag("Anna")
    with pytest.raises(UsageError, match=r"sentences\[0\]\[0\] = 1 is of type int, but a list of sentences"):
        trained.tag([[1]])  # type: ignore[list-item]
    with pytest.raises(
        UsageError, match=r"sentences\[0\]: '' is not a word; a word has no tab or line end and is not empty"
    ):
        trained.tag([["Anna", ""]])
    with pytest.raises(UsageError, match="a tagger reads a single sentence, not 2; put it between one pair of quotes"):
        trained.inspect("Anna", "Rome")
    with pytest.raises(UsageError, match="the sentence is empty"):
        trained.inspect(" ")
    with pytest.raises(UsageError, match="a sentence of 513 words is too long to look at; give one of at most 512"):
        trained.inspect("Anna " * 513)


def test_loading_says_what_a_tagger_does_not_take(trained: Tagger, tmp_path: Path) -> None:
    folder = Path(trained.recipe.data.train[0]).parent / "model"
    with pytest.raises(UsageError, match="is a tagger, which works alone; name one folder"):
        regard.load(folder, folder)
    with pytest.raises(UsageError, match="--set 'seed=2': a tagger stays as it is; leave it out"):
        regard.load(folder, changes=["seed=2"])
    recipe = trained.recipe.model_copy(update={"data": trained.recipe.data.model_copy(update={"test": []})})
    without = Tagger(recipe, trained.model, trained.vocabulary, trained.tags)
    with pytest.raises(UsageError, match=r"the model's recipe names no test text \(data\.test\); tag a file with"):
        without.evaluate("test")


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("output", ["softmax", "crf"])
def test_every_encoder_and_output_trains(kind: str, output: str, tmp_path: Path) -> None:
    characters = {"kind": "none"} if output == "softmax" else {"kind": "lstm", "embedding": 4, "width": 4}
    task = prepared(tmp_path, model={"encoder": TABLES[kind], "output": output}, words={"characters": characters})
    model = task.build_model()
    randomize(model)
    batch, _ = next(task.batches(CorpusPosition()))
    loss, _ = task.objective(model, batch, None)
    gradients = torch.autograd.grad(loss, [*model.parameters()], allow_unused=True)
    assert all(each is None or each.isfinite().all() for each in gradients)
    # Looking inside works whatever the encoder is.
    seen = Tagger(task.recipe, model, task.vocabulary, task.tags).inspect("Anna sees Rome .")
    assert seen["marginals"].values.shape == (4, len(task.tags.tags))
    assert not any("spelling" in array.axes or "character" in array.axes for array in seen.values())
    assert any("head" in array.axes for array in seen.values()) == (kind == "transformer")
    # Shares of several processes sum to the whole, whatever fills a shape.
    shares = [batch.rows(rank, 3) for rank in range(3)]
    assert sum(share.count for share in shares) == batch.count == int(batch.sentences.lengths.sum())
    parts = [task.objective(model.eval(), share, None)[0] for share in shares]
    torch.testing.assert_close(torch.stack(parts).sum(), task.objective(model, batch, None)[0], rtol=1e-4, atol=1e-3)


def _tensors(batch: TaggedBatch) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        found.append(tensor)
        return tensor

    batch.map(keep)
    return found


def test_filled_shapes_are_few_and_change_nothing(tmp_path: Path) -> None:
    plain, filled = prepared(tmp_path), prepared(tmp_path, train={"shapes": 2})
    model, rows = plain.build_model().eval(), NumberedTagged.of(plain._train, plain.vocabulary, plain.tags)
    shapes = set()
    for (batch, after), _ in zip(filled.batches(CorpusPosition()), range(40), strict=False):
        shapes.add(tuple(tensor.shape for tensor in _tensors(batch)))
        alone = [plain._train[example] for example in batch.examples]
        expected = plain.objective(model, rows.pick(np.array(batch.examples)), None)[0]
        torch.testing.assert_close(filled.objective(model, batch, None)[0], expected, rtol=1e-4, atol=1e-3)
        assert batch.count == sum(len(each.words) for each in alone)
        if after.epoch:
            break
    assert len(shapes) <= 8


def test_a_run_that_goes_on_ends_in_the_same_bits(tmp_path: Path) -> None:
    write_columns(tmp_path)
    vectors = Vectors(["anna", "unseen"], np.eye(2, 12, dtype=np.float32))
    vectors.save(tmp_path / "vectors")
    tables = {
        "words": {"vectors": {"file": str(tmp_path / "vectors")}, "dropout": 0.2},
        "model": {"dropout": 0.2},
    }
    whole = tagging_recipe(tmp_path, train={"steps": 8, "validation": {"every": 3}}, **tables)
    half = tagging_recipe(tmp_path, train={"steps": 4, "validation": {"every": 3}}, **tables)
    silent(whole, tmp_path / "whole")
    silent(half, tmp_path / "halves")
    # A run that goes on has its words itself.
    (tmp_path / "vectors").rename(tmp_path / "gone")
    silent(whole, tmp_path / "halves", resume=True)
    ours, theirs = (load_weights(tmp_path / name) for name in ("halves", "whole"))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    rows = sum(len(theirs[f"words.embedding.{part}"]) for part in ("vectors", "fixed"))
    assert regard.load(tmp_path / "halves").vocabulary.find("Unseen") == rows - 1
    (tmp_path / "dev.conll").write_text("Anna x O\n", encoding="utf-8")
    with pytest.raises(DataError, match="the training, development or test text, or a setting of"):
        silent(whole, tmp_path / "halves", resume=True)


def test_a_tag_never_seen_in_training_counts_as_wrong_and_leaves_the_loss_alone(tmp_path: Path) -> None:
    task = prepared(tmp_path)
    model = task.build_model().eval()
    before = task.validate(model, decode=False, rank=0, world=1)
    dev = tmp_path / "dev.conll"
    dev.write_text(dev.read_text(encoding="utf-8") + "\nMars x B-PLANET\n", encoding="utf-8")
    files = {part: [str(tmp_path / f"{part}.conll")] for part in ("train", "dev")}
    after = prepared(tmp_path, data=files).validate(model, decode=False, rank=0, world=1)
    assert after["loss"] == pytest.approx(before["loss"])
    assert after["accuracy"] < before["accuracy"]


def test_parts_of_another_tagger_start_one_with_its_words(trained: Tagger, tmp_path: Path) -> None:
    folder = str(Path(trained.recipe.data.train[0]).parent / "model")
    write_columns(tmp_path, {"train": 3, "dev": 2})
    files = {part: [str(tmp_path / f"{part}.conll")] for part in ("train", "dev")}
    start = {"steps": 1, "optimizer": {"rate": 1e-9}, "start": {"model": folder, "parts": ["words", "encoder"]}}
    silent(tagging_recipe(tmp_path, data=files, train=start), tmp_path / "model")
    new = regard.load(tmp_path / "model")
    assert new.vocabulary.vocabulary.tokens == trained.vocabulary.vocabulary.tokens
    torch.testing.assert_close(new.model.encoder.state_dict(), trained.model.encoder.state_dict())
    whole = {"steps": 1, "optimizer": {"rate": 1e-9}, "start_from": folder}
    same = {"scheme": "iobes", "forbid": True}
    silent(tagging_recipe(tmp_path, data=files, train=whole, model=same), tmp_path / "whole")
    torch.testing.assert_close(regard.load(tmp_path / "whole").model.state_dict(), trained.model.state_dict())
    (tmp_path / "train.conll").write_text("Mars x B-PLANET\n", encoding="utf-8")
    with pytest.raises(
        ModelError, match="this model does not know the tags 'S-PLANET' of the training text; take over"
    ):
        silent(tagging_recipe(tmp_path, data=files, train=whole, model=same), tmp_path / "third")
    start["start"] = {"model": str(tmp_path / "nowhere"), "parts": ["words"]}
    with pytest.raises(ModelError, match=r"train\.start: .*nowhere"):
        silent(tagging_recipe(tmp_path, data=files, train=start), tmp_path / "fourth")


def test_words_and_layers_of_a_language_model_start_a_tagger(tmp_path: Path) -> None:
    for kind in ("words", "characters"):
        silent(language_recipe(tmp_path, tokens={"kind": kind}, train={"steps": 1}), tmp_path / kind)
    encoder = {"kind": "recurrent", "embedding": 6, "hidden": 7, "bidirectional": False}
    start = {"model": str(tmp_path / "words"), "parts": ["words.embedding=input.embedding", "encoder.stack=stack"]}
    tables = {"model": {"encoder": encoder}, "words": {"width": 6}}
    train = {"steps": 1, "optimizer": {"rate": 1e-9}}
    silent(tagging_recipe(tmp_path, train=train | {"start": start}, **tables), tmp_path / "tagger")
    ours, theirs = load_weights(tmp_path / "tagger"), load_weights(tmp_path / "words")
    vectors, known = ours["words.embedding.vectors"], theirs["input.embedding.vectors"]
    torch.testing.assert_close(vectors[: len(known)], known)
    # Words that the language model does not know start as it reads them: as unknown ones.
    torch.testing.assert_close(vectors[len(known) :], known[UNKNOWN].expand(len(vectors) - len(known), -1))
    assert [key for key in ours if key.startswith("encoder.stack")]
    for key in (key for key in theirs if key.startswith("stack.")):
        torch.testing.assert_close(ours[f"encoder.{key}"], theirs[key])
    assert regard.load(tmp_path / "tagger").vocabulary.find("hears") != UNKNOWN
    start["model"] = str(tmp_path / "characters")
    with pytest.raises(ModelError, match="of kind 'characters', and words are needed here; leave the part out"):
        silent(tagging_recipe(tmp_path, train=train | {"start": start}, **tables), tmp_path / "other")


@pytest.mark.parametrize(
    ("tables", "wish"),
    [
        ({"model": {"scheme": "iobes"}}, "model.scheme = 'iobes'"),
        ({"model": {"forbid": True}}, "model.forbid = true"),
        ({"train": {"validation": {"metric": "f1"}}}, "train.validation.metric = 'f1'"),
    ],
)
def test_wishes_for_spans_are_refused_where_tags_are_of_single_words(
    tables: dict[str, object], wish: str, tmp_path: Path
) -> None:
    files = write_columns(tmp_path)
    with pytest.raises(DataError) as refusal:
        prepared(tmp_path, data=files | {"tag_column": 2}, **tables)
    assert str(refusal.value) == (
        f"{wish} is for tags that mark spans of words, but those of the data do not; leave it out"
    )
    assert prepared(tmp_path, data=files | {"tag_column": 2}).tags == TagSet(("x",), "none", "none")


def test_learned_positions_end_somewhere(tmp_path: Path) -> None:
    encoder = {**TABLES["transformer"], "position": "learned", "longest": 4}
    with pytest.raises(DataError) as refusal:
        prepared(tmp_path, model={"encoder": encoder})
    said = str(refusal.value)
    assert said.startswith(f"data.train: {tmp_path / 'train.conll'}:")
    assert said.endswith("are model.encoder.longest = 4 learned positions; shorten it, or raise model.encoder.longest")
    task = prepared(tmp_path, model={"encoder": encoder | {"longest": 40}})
    tagger = Tagger(task.recipe, task.build_model(), task.vocabulary, task.tags)
    with pytest.raises(
        UsageError, match=r"a sentence of 41 words, but this model has learned 40 positions .*; split it"
    ):
        tagger.tag(["the " * 41])


def test_bad_files_are_refused_before_training(tmp_path: Path) -> None:
    files = write_columns(tmp_path)
    with (tmp_path / "train.conll").open("a", encoding="utf-8") as file:
        file.write("\nAnna x I-PER\n")
    with pytest.raises(DataError, match="1 tag breaking the scheme iob2: refused"):
        prepared(tmp_path, data=files)
    with pytest.raises(DataError, match=r"words\.vectors\.file: .*missing"):
        prepared(tmp_path, data=files | {"broken": "replace"}, words={"vectors": {"file": str(tmp_path / "missing")}})


def test_settings_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="forbid"):
        tagging_recipe(tmp_path, model={"output": "softmax", "forbid": True})
    with pytest.raises(RecipeError, match=r"train\.validation\.metric = 'bleu' is not allowed; allowed are .*'f1'"):
        tagging_recipe(tmp_path, train={"validation": {"metric": "bleu"}})


def test_damaged_tags_are_named(tmp_path: Path) -> None:
    file = tmp_path / "tags.json"
    TagSet(("O", "B-X"), "iob2", "iobes").save(file)
    assert TagSet.load(file) == TagSet(("O", "B-X"), "iob2", "iobes")
    file.write_text('{"format": 1, "tags": ["O"], "scheme": "x", "learned": "iob2"}')
    with pytest.raises(ModelError, match=r"tags\.json: these tags are damaged \(a tag is not text, or a scheme"):
        TagSet.load(file)
    file.write_text('{"format": 2}')
    with pytest.raises(ModelError, match="the format 2 of these tags is not known here; this version reads format 1"):
        TagSet.load(file)
    with pytest.raises(ModelError, match=r"labels\.json: is missing; a model folder holds the labels it was trained"):
        TagSet.load(tmp_path / "labels.json")


def test_a_bad_batch_is_described_in_words(tmp_path: Path) -> None:
    task = prepared(tmp_path)
    batch, _ = next(task.batches(CorpusPosition()))
    first = task.describe_batch(batch)[0]
    assert first["example"] == batch.examples[0]
    assert first["words"] == task._train[batch.examples[0]].words


def test_the_tags_are_the_best_way_through_scores_and_transitions(trained: Tagger) -> None:
    """Of all sequences, by the numbers that an inspection shows; and each marginal by their sums."""
    text = "Anna sees Oslo"
    seen = trained.inspect(text)
    scores, steps = seen["scores"].values.astype(float), seen["transitions"].values.astype(float)
    assert (seen.labels["before"][1:], seen.labels["after"][:-1]) == (trained.tags.tags, trained.tags.tags)
    size, every = len(trained.tags.tags), dict[tuple[int, ...], float]()
    for tags in product(range(size), repeat=3):
        path = [0, *(1 + tag for tag in tags)]
        moves = [steps[before, after - 1] for before, after in pairwise(path)] + [steps[path[-1], size]]
        every[tags] = sum(moves) + sum(scores[place, tag] for place, tag in enumerate(tags))
    possible = {tags: score for tags, score in every.items() if not np.isnan(score)}
    assert 0 < len(possible) < len(every)  # forbidden ones have no number
    best = max(possible, key=possible.__getitem__)
    texts = seen["tags"].texts
    assert texts is not None
    assert tuple(texts) == tuple(trained.tags.tags[tag] for tag in best)
    total = np.logaddexp.reduce([*possible.values()])
    for place, tag in product(range(3), range(size)):
        inside = [score for tags, score in possible.items() if tags[place] == tag]
        share = np.exp(np.logaddexp.reduce(inside) - total) if inside else 0.0
        assert seen["marginals"].values[place, tag] == pytest.approx(share, abs=1e-4)
    (found,) = trained.tag([text])
    spans = seen["spans"].texts
    assert spans is not None
    assert [(words, kind) for kind, words in spans.tolist()] == found.spans
    assert seen["spans"].values.tolist() == [[0, 0], [2, 2]]


def test_tags_that_are_chosen_one_by_one_have_no_transitions(tmp_path: Path) -> None:
    silent(tagging_recipe(tmp_path, model={"output": "softmax"}, train={"steps": 2}), tmp_path / "model")
    seen = regard.load(tmp_path / "model", device="cpu").inspect("Anna sees Oslo .")
    assert "transitions" not in seen
    shares = np.exp(seen["scores"].values.astype(float))
    np.testing.assert_allclose(shares / shares.sum(1, keepdims=True), seen["marginals"].values, atol=1e-5)
