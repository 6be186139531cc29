"""A translator that copies: names and numbers it has never seen pass through, and everything else works as before."""

from pathlib import Path

import pytest
from copying_task import copying_recipe, corpus
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.decode import decode_all
from regard.decode.export import check_can_export
from regard.errors import RecipeError, UsageError
from regard.metrics import accuracy
from regard.models import Ensemble, build_model
from regard.recipe import Decoding, parse_recipe
from regard.tasks import Translator, load
from regard.tokens import UNKNOWN
from regard.train import run

UNSEEN = corpus(3, 60)
names = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("copying")
    run(copying_recipe(place, "recurrent", steps=70), place / "model")
    return place / "model"


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return load(folder)


def correct(translator: Translator) -> float:
    found = translator.translate([source for source, _ in UNSEEN])
    return accuracy([best.text for best in found], [target for _, target in UNSEEN]).value


def test_names_and_numbers_that_were_never_seen_pass_through(translator: Translator) -> None:
    assert translator.target_tokenizer.encode("Difjkb") == [UNKNOWN]
    assert correct(translator) == 1.0


@pytest.mark.long
@pytest.mark.parametrize(("model", "train"), [("coverage", {"coverage": 0.3}), ("transformer", {"r_drop": 0.0})])
def test_every_kind_of_model_learns_to_pass_them_through(model: str, train: dict[str, float], tmp_path: Path) -> None:
    run(copying_recipe(tmp_path, model, steps=200, **train), tmp_path / "model")
    assert correct(load(tmp_path / "model")) == 1.0


@pytest.mark.long
def test_without_copying_they_are_lost(tmp_path: Path) -> None:
    run(copying_recipe(tmp_path, "recurrent", steps=40, copying=False), tmp_path / "model")
    assert correct(load(tmp_path / "model", changes=["decode.unknown=keep"])) == 0.0


@settings(max_examples=15)
@given(names, names)
def test_whatever_the_names_are(translator: Translator, first: str, second: str) -> None:
    best = translator.translate([f"today {first} sees {second}"])[0]
    assert best.text == f"heute {second} {first} sieht"


def test_every_search_scores_what_it_writes(translator: Translator) -> None:
    sources = [source for source, _ in UNSEEN[:6]]
    plain = translator.translate(sources)
    for how in ({"beam": 4, "n_best": 3}, {"method": "sample", "n_best": 2}, {"risk": "chrf", "candidates": 4}):
        found = translator.translate(sources, decoding=Decoding.model_validate(how))
        for best in found:
            for output in (best, *best.others):
                # An unknown word that is not copied, but written as unknown, reads like no word.
                if "\ufffd" not in output.text and output.finished:
                    scored = translator.score([output.source], [output.text])[0]
                    assert scored.log_prob == pytest.approx(output.log_prob, abs=1e-3)
    assert [best.text for best in translator.translate(sources, beam=5)] == [best.text for best in plain]


def test_scores_name_the_words_that_are_copied(translator: Translator) -> None:
    scored = translator.score(["Abcxyz sees Abcxyz here"], ["Abcxyz hier Abcxyz sieht"])[0]
    assert scored.tokens == ("Abcxyz", "hier", "Abcxyz", "sieht", "</s>")
    assert scored.log_prob > -1.0
    other = translator.score(["Abcxyz sees Abcxyz here"], ["Abcxyz hier Qrstuv sieht"])[0]
    assert other.tokens[2] == "<unk>"
    assert other.log_prob < scored.log_prob


def test_a_prefix_may_have_words_of_the_source(translator: Translator) -> None:
    best = translator.translate(["today Abcxyz sees 31415"], prefixes=["heute Abcxyz"])[0]
    assert best.text.startswith("heute Abcxyz ")


def test_it_can_be_looked_at(translator: Translator) -> None:
    seen = translator.inspect("today Abcxyz sees 31415")
    assert seen.labels["target"][:2] == ("heute", "31415")
    assert seen[seen.shown[0]].values.shape == (1, 5, 5)
    assert seen["gate.share"].axes == ("target", "feature")
    texts = seen["candidates"].texts
    assert texts is not None
    assert texts[1, 0] == "31415"  # a word beyond the vocabulary has its own name
    links = translator.align(["today Abcxyz sees 31415"], ["heute 31415 Abcxyz sieht"])[0]
    assert {(1, 2), (3, 1)} <= links


def test_several_write_together_if_all_of_them_copy(folder: Path, translator: Translator) -> None:
    both = load(folder, folder)
    assert correct(both) == 1.0
    silent = build_model(
        translator.recipe.model.model_copy(update={"copying": False}),
        translator.source_tokenizer.size,
        translator.target_tokenizer.size,
    )
    with pytest.raises(
        UsageError,
        match=r"^models that copy words of their source cannot be combined with models that do not, because they "
        r"have words outside the vocabulary; leave out those that differ in model\.copying$",
    ):
        Ensemble([translator.model, silent])


def test_ctranslate2_refuses(tmp_path: Path) -> None:
    recipe = copying_recipe(tmp_path, "transformer", steps=1)
    with pytest.raises(
        UsageError, match=r"^model\.copying = True: CTranslate2 cannot run such a model, only those with False; use it"
    ):
        check_can_export(recipe.model)


def test_a_model_that_copies_must_know_the_words(translator: Translator) -> None:
    with pytest.raises(
        UsageError,
        match=r"^this model copies words of its source \(model\.copying\), so its source must contain them: give a "
        r"regard\.data\.batch\.Worded$",
    ):
        decode_all(translator.model, [[4, 5]], Decoding())


RECIPE = {"data": {"corpus": "copy"}, "train": {"steps": 1}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"model": {"kind": "recurrent", "copying": True, "attention": {"score": "none"}}},
            r"\[model\] copying needs attention to the source; set attention\.score, or copying = false",
        ),
        (
            {"model": {"kind": "recurrent", "attention": {"score": "none", "coverage": True}}},
            r"attention\.coverage needs attention to the source; set attention\.score, or attention\.coverage = false",
        ),
        (
            {"model": {"kind": "transformer"}, "train": {"steps": 1, "coverage": 1.0}},
            r"train\.coverage = 1\.0 needs a recurrent model that knows where it has looked; set "
            r"model\.attention\.coverage = true, or train\.coverage = 0\.0",
        ),
        (
            {
                "model": {"kind": "transformer", "copying": True},
                "tokens": {"source": {"kind": "words"}, "target": {"kind": "bpe"}},
            },
            r"model\.copying needs both sides split alike, but tokens\.source has kind = 'words' and lowercase = "
            r"False, tokens\.target 'bpe' and False; set tokens\.shared",
        ),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse_recipe(RECIPE | changes)
