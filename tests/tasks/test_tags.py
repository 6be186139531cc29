"""Several languages in one model: a tag is one token, and says what to write."""

import random
from pathlib import Path

import pytest
from command_line import regard
from hypothesis import given
from hypothesis import strategies as st

import regard as library
from regard import recipe
from regard.data.language_tags import encode_tagged
from regard.decode import decode_all
from regard.errors import DataError, UsageError
from regard.recipe import TranslationRecipe, parse_recipe
from regard.tasks import Translator
from regard.tasks.translation import _spread
from regard.tokens import TOKENIZERS, load_tokenizer, save_tokenizer, train_tokenizer
from regard.train import run

FRENCH = {"one": "un", "two": "deux", "red": "rouge", "blue": "bleu"}
GERMAN = {"one": "eins", "two": "zwei", "red": "rot", "blue": "blau"}


@pytest.mark.parametrize("kind", TOKENIZERS)
@given(text=st.one_of(st.text(), st.sampled_from(["<2de>", "ab <2de> c", "2de", "<2de><2fr>"])))
def test_a_tag_is_one_token_and_no_text_is_one(kind: str, text: str) -> None:
    plain = train_tokenizer(recipe.TokenizerSettings(kind=kind, size=400), ["ab <2de> c d e", "<2de>"])
    tagged = plain.with_tags(["de", "fr"])
    assert (tagged.size, tagged.vocabulary.tags) == (plain.size + 2, ("de", "fr"))
    assert tagged.vocabulary[-2:] == ("<2de>", "<2fr>")
    assert tagged.encode(text) == plain.encode(text)
    (row,) = encode_tagged(tagged, [text], ["fr"])
    assert row == [plain.size + 1, *plain.encode(text)]
    assert [tagged.vocabulary.is_tag(token) for token in row] == [True] + [False] * len(row[1:])
    assert tagged.decode(row) == plain.decode(plain.encode(text))
    assert encode_tagged(tagged, [text], [""]) == [plain.encode(text)]


def test_tags_are_saved(tmp_path: Path) -> None:
    plain = train_tokenizer(recipe.TokenizerSettings(kind="words"), ["a b"])
    save_tokenizer(plain.with_tags(["de"]), tmp_path / "t.json")
    again = load_tokenizer(tmp_path / "t.json")
    assert (again.vocabulary.tags, again.encode("a <2de>")) == (("de",), plain.encode("a <2de>"))
    save_tokenizer(plain, tmp_path / "u.json")
    assert "tags" not in (tmp_path / "u.json").read_text()


def write(folder: Path, name: str, table: dict[str, str]) -> list[str]:
    rng = random.Random(1)
    rows = [rng.choices(list(table), k=1 + line % 2) for line in range(60)]
    paths = [folder / f"{name}.en", folder / f"{name}.other"]
    paths[0].write_text("".join(" ".join(row) + "\n" for row in rows), encoding="utf-8")
    paths[1].write_text("".join(" ".join(table[word] for word in row) + "\n" for row in rows), encoding="utf-8")
    return [str(path) for path in paths]


def recipe_in(folder: Path, **changes: object) -> TranslationRecipe:
    files = [*write(folder, "de", GERMAN), *write(folder, "fr", FRENCH)]
    tables = {
        "data": {"train": files, "dev": files, "test": files, "tags": ["de", "fr"]},
        "tokens": {"source": {"kind": "words"}, "target": {"kind": "words"}},
        "model": {"kind": "recurrent", "cell": "gru", "embedding": 16, "hidden": 24, "attention": {"hidden": 16}},
        "train": {
            "steps": 90,
            "batch_tokens": 256,
            "threads": 1,
            "label_smoothing": 0.0,
            "optimizer": {"rate": 2e-2},
            "schedule": {"kind": "cosine", "warmup": 10},
            "validation": {"every": 90},
        },
    }
    return parse_recipe(tables | changes, kind=TranslationRecipe)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tags")
    run(recipe_in(place), place / "model")
    return place / "model"


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return library.load(folder)


@pytest.mark.long
def test_one_model_writes_what_it_is_told(translator: Translator) -> None:
    assert translator.tags == ("de", "fr")
    for tag, table in (("de", GERMAN), ("fr", FRENCH)):
        assert [best.text for best in translator.into(tag).translate(list(table))] == list(table.values())
    assert "rouge" in translator.into("fr").translate(["blue"], terms=[["rouge"]])[0].text


def test_everything_else_knows_the_tag(translator: Translator) -> None:
    french = translator.into("fr")
    right, wrong = (each.score(["one red"], ["un rouge"])[0].log_prob for each in (french, translator.into("de")))
    assert right > wrong
    assert french.align(["one red"], ["un rouge"])[0] <= {(0, 0), (0, 1), (1, 0), (1, 1)}
    seen = french.inspect("one red", "un rouge")
    assert seen.labels["source"][:3] == ("<2fr>", "one", "red")
    assert seen.words["source"] == (None, 0, 1, None)
    assert seen[seen.shown[0]].values.shape[-1] == len(seen.labels["source"])


def test_a_tag_must_be_known_and_given(translator: Translator) -> None:
    with pytest.raises(UsageError, match=r"^'dd' is not a tag of this model; its tags are 'de' or 'fr'$"):
        translator.into("dd")
    with pytest.raises(
        UsageError,
        match=r"^this model writes several languages; say which by --to, or in Python by into: 'de' or 'fr'$",
    ):
        translator.translate(["one"])


def test_a_model_of_one_language_takes_no_tag(translator: Translator) -> None:
    plain = Translator(
        translator.recipe, translator.model, translator.source_tokenizer.with_tags([]), translator.target_tokenizer
    )
    with pytest.raises(
        UsageError,
        match=r"^'de': this model was trained without tags \(data\.tags\), so it writes but one language; name none$",
    ):
        plain.into("de")
    assert plain.into(None) is plain


def test_the_commands(folder: Path, tmp_path: Path) -> None:
    told = regard("translate", folder, "--to", "fr", stdin=b"red\n")
    assert (told.code, told.out, told.err) == (0, "rouge\n", "")
    told = regard("translate", folder, stdin=b"one red\n")
    assert told.code == 2
    assert told.err.startswith("regard: this model writes several languages; say which by --to")
    both, french = (regard("evaluate", folder, *options, "-o", tmp_path / "out") for options in ([], ["--to", "fr"]))
    assert (both.code, french.code) == (0, 0)
    # Of both together each is told apart, with the numbers it has alone.
    alone, together = (
        next(line for line in told.out.split("\n") if name in line).split(name)
        for told, name in zip((french, both), ("BLEU ", "BLEU fr "), strict=True)
    )
    assert alone[1] == together[1]
    assert ("BLEU de " in both.out, "BLEU fr " in french.out) == (True, False)
    assert len((tmp_path / "out").read_text().split("\n")) == 61
    pairs = [folder.parent / "fr.en", folder.parent / "fr.other"]
    assert regard("evaluate", folder, *pairs, "--to", "fr").code == 0
    told = regard("evaluate", folder, "--to", "it")
    assert (told.code, told.err) == (2, "regard: 'it' is not a tag of this model; its tags are 'de' or 'fr'\n")
    assert regard("score", folder, *pairs, "--to", "fr").code == 0
    told = regard("score", folder, "--to", "it")
    assert (told.code, told.err) == (2, "regard: 'it' is not a tag of this model; its tags are 'de' or 'fr'\n")
    each = [regard("score", folder, *options).out.split("\n")[:-1] for options in ([], ["--to", "de"], ["--to", "fr"])]
    assert len(each[2]) == 60
    assert sorted(each[0]) == sorted(each[1] + each[2])
    assert regard("align", folder, *pairs, "--to", "fr").code == 0
    assert regard("look", folder, "one", "--to", "fr").code == 0


def test_a_shared_vocabulary_has_the_tags_once(tmp_path: Path) -> None:
    bpe = {"source": {"kind": "bpe", "size": 60, "dropout": 0.1}, "shared": True}
    model = {"kind": "transformer", "width": 16, "heads": 2, "feedforward": 16, "tie": "all", "copying": True}
    short = recipe_in(tmp_path, tokens=bpe, model=model, train={"steps": 3, "threads": 1, "batch_tokens": 128})
    run(short, tmp_path / "model")
    translator = library.load(tmp_path / "model")
    assert translator.source_tokenizer.vocabulary.tags == translator.target_tokenizer.vocabulary.tags == ("de", "fr")
    assert isinstance(translator.into("de").translate(["one red"])[0].text, str)
    other = recipe_in(tmp_path, tokens=bpe, model=model)
    started = {"steps": 1, "start_from": str(tmp_path / "model")}
    other = parse_recipe(other.model_dump() | {"train": started}, kind=TranslationRecipe)
    run(other, tmp_path / "second")
    data = other.data.model_copy(update={"tags": ["de", "it"]})
    with pytest.raises(
        DataError, match=r"^data\.tags: 'it' is not a tag of the model to start from; its tags are 'de' or 'fr'$"
    ):
        run(other.model_copy(update={"data": data}), tmp_path / "third")


def test_a_model_with_tags_starts_no_run_without_them(folder: Path, tmp_path: Path) -> None:
    files = write(tmp_path, "fr", FRENCH)
    untagged = recipe_in(tmp_path, data={"train": files, "dev": files}, train={"steps": 1, "start_from": str(folder)})
    with pytest.raises(DataError) as caught:
        run(untagged, tmp_path / "model")
    assert str(caught.value) == (
        "data.tags: the model to start from writes the languages 'de' or 'fr', each told by a tag, and this recipe has "
        'no tags; say which language its target text is in: data.tags = ["de"]'
    )
    data = untagged.data.model_copy(update={"tags": ["fr"]})
    run(untagged.model_copy(update={"data": data}), tmp_path / "tagged")
    assert library.load(tmp_path / "tagged").into("fr").translate(["blue"])[0].text == "bleu"


@given(count=st.integers(0, 200), examples=st.integers(0, 250))
def test_what_a_validation_decodes_is_spread_over_the_languages(count: int, examples: int) -> None:
    places = _spread(count, examples, tagged=True)
    assert len(places) == min(examples or count, count)
    assert list(places) == sorted(set(places))
    assert all(0 <= place < count for place in places)
    halves = [sum(place < count / 2 for place in places), sum(place >= count / 2 for place in places)]
    assert abs(halves[0] - halves[1]) <= 1
    assert list(_spread(count, examples, tagged=False)) == list(range(count))[: examples or None]


def test_a_validation_decodes_both_languages(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[list[int]] = []

    def spy(session: object, sources: list[list[int]], *rest: object, **options: object) -> object:
        decoded.extend(sources)
        return decode_all(session, sources, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("regard.tasks.translation.decode_all", spy)
    short = {"steps": 1, "start_from": str(folder), "validation": {"metric": "accuracy", "examples": 6}}
    run(recipe_in(tmp_path, train=short), tmp_path / "model")
    tags = [library.load(folder).source_tokenizer.vocabulary[row[0]] for row in decoded]
    assert tags == ["<2de>"] * 3 + ["<2fr>"] * 3
