"""A glossary: terms are found where they stand, and the output has what they become."""

import re
from pathlib import Path

import pytest
import torch
from command_line import Trained, regard
from decoding_toys import apart
from hypothesis import given, settings
from hypothesis import strategies as st

import regard as library
from regard import recipe
from regard.errors import DataError, UsageError
from regard.models import build_model
from regard.recipe import Decoding
from regard.tasks import Translator
from regard.tasks.glossary import Glossary, GlossaryEntry
from regard.tokens import UNKNOWN, train_tokenizer

SOURCES = ["eins", "zwei", "rot", "blau", "und", "Haus"]
texts = st.lists(st.sampled_from(SOURCES), min_size=1, max_size=4).map(" ".join)
texts_with_new_words = st.sampled_from(["", "red", "one red house", "Käsekuchen", "the blue Tür"])
wanted_terms = st.lists(st.sampled_from(["house", "red house", "Käsekuchen", "one", "blue Tür red"]), max_size=3)


@pytest.fixture(scope="module")
def translator(trained: Trained) -> Translator:
    return library.load(trained.folder)


def read(tmp_path: Path, content: str, **options: bool) -> Glossary:
    path = tmp_path / "terms.tsv"
    path.write_text(content, encoding="utf-8")
    return Glossary.read(path, **options)


def found(glossary: Glossary, text: str) -> list[str]:
    return [entry.target for entry in glossary.find(text)]


def test_terms_are_whole_words_and_the_longest_is_meant(tmp_path: Path) -> None:
    glossary = read(tmp_path, "Haus\tbuilding\nrotes Haus\tred building\n\nC++\tC plus plus\n")
    assert len(glossary) == 3
    assert found(glossary, "Das rotes  Haus, ein Haus.") == ["red building", "building"]
    assert found(glossary, "Rathaus Haustür haus rotes") == []
    assert found(glossary, "Haus/Haus (C++)") == ["building", "building", "C plus plus"]
    assert found(glossary, "") == []


def test_case_is_ignored_on_demand(tmp_path: Path) -> None:
    content = "Haus\tBuilding\nSTRASSE\tstreet\n"
    assert found(read(tmp_path, content), "HAUS haus Straße") == []
    assert found(read(tmp_path, content, ignore_case=True), "HAUS haus Straße") == ["Building", "Building", "street"]


@given(st.dictionaries(st.text("ab", min_size=1, max_size=2), st.just("x"), min_size=1), st.text("ab ,", max_size=12))
def test_what_is_found_stands_in_the_text_as_words(terms: dict[str, str], text: str) -> None:
    glossary = Glossary([GlossaryEntry(source, target) for source, target in terms.items()])
    words = [word for word in re.findall(r"\w+", text) if word in terms]
    assert [entry.source for entry in glossary.find(text)] == words


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Haus\thouse\nTür\n", r":2: 1 column instead of 2; a line is a term of the source, one tab character "),
        ("a\tb\tc\n", r":1: 3 columns instead of 2; a line is a term of the source, one tab character "),
        ("a\t \n", r":1: there is no target term; write one, or remove the line$"),
        ("\tb\n", r":1: there is no source term; write one, or remove the line$"),
        (
            "Haus\thouse\n\nHaus\thome\n",
            r":3: 'Haus' is to become 'home', but line 1 has 'house'; decide for one of them$",
        ),
    ],
)
def test_lines_that_say_nothing_are_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, content)


@given(st.lists(st.tuples(texts, wanted_terms), min_size=1, max_size=4), st.integers(1, 5))
@settings(max_examples=10)
def test_outputs_contain_every_term(translator: Translator, some: list[tuple[str, list[str]]], beam: int) -> None:
    given_texts, terms = [text for text, _ in some], [each for _, each in some]
    for best, each in zip(translator.translate(given_texts, beam=beam, terms=terms), terms, strict=True):
        assert apart(best.text.split(), [tuple(term.split()) for term in each]), best.text


def test_without_terms_nothing_changes(translator: Translator) -> None:
    plain = translator.translate(["eins zwei", "Haus"])
    for terms in ([[], []], [[], ["blue"]]):
        forced = translator.translate(["eins zwei", "Haus"], terms=terms)
        assert forced[0].tokens == plain[0].tokens
        assert forced[0].score == pytest.approx(plain[0].score, abs=1e-5)  # batches of other sizes round otherwise
    assert "blue" in forced[1].text.split()


def test_words_that_the_model_does_not_know_are_written(translator: Translator) -> None:
    assert translator.target_tokenizer.encode("Käsekuchen") == [UNKNOWN]
    best = translator.translate(["eins und zwei"], beam=3, n_best=2, terms=[["Käsekuchen two"]])[0]
    assert all("Käsekuchen two" in output.text for output in (best, *best.others))


@pytest.mark.parametrize("terms", [None, [[], []], [["two"], []]])
def test_prefixes_of_words_that_the_model_does_not_know_are_written(
    translator: Translator, terms: list[list[str]] | None
) -> None:
    prefixes = ["blue Käsekuchen", "Quark"]
    found = translator.translate(["eins", "zwei"], prefixes=prefixes, terms=terms, beam=3, n_best=2)
    for best, prefix in zip(found, prefixes, strict=True):
        assert all(f"{output.text} ".startswith(f"{prefix} ") for output in (best, *best.others))


def test_progress_counts_texts_with_terms_and_without(translator: Translator) -> None:
    seen: list[tuple[int, int]] = []
    terms = [[], ["two"], [], ["one", "blue"]]
    translator.translate(["eins", "zwei", "Haus", "eins zwei"], terms=terms, on_progress=lambda *it: seen.append(it))
    assert {total for _, total in seen} == {4}
    counts = [done for done, _ in seen]
    assert counts == sorted(counts)
    assert {2, 4} <= set(counts)


def test_what_does_not_go_together_is_refused(translator: Translator) -> None:
    with pytest.raises(UsageError, match=r"^1 lists of terms for 2 texts: give one for each, empty if need be$"):
        translator.translate(["eins", "zwei"], terms=[["x"]])
    for terms in (None, [["x"], []]):
        with pytest.raises(UsageError, match=r"^1 prefixes for 2 texts: give one for each, empty if need be$"):
            translator.translate(["eins", "zwei"], terms=terms, prefixes=["one"])
    with pytest.raises(UsageError, match=r"^forced terms need a search: decode\.method = 'sample' draws"):
        translator.translate(["eins"], terms=[["x"]], decoding=Decoding(method="sample"))


@given(st.lists(st.tuples(texts, texts_with_new_words, wanted_terms), min_size=1, max_size=3), st.integers(1, 5))
@settings(max_examples=10)
def test_outputs_begin_with_their_prefixes_and_contain_every_term(
    translator: Translator, some: list[tuple[str, str, list[str]]], beam: int
) -> None:
    given_texts, prefixes, terms = (list(side) for side in zip(*some, strict=True))
    found = translator.translate(given_texts, beam=beam, prefixes=prefixes, terms=terms)
    for best, (_, prefix, each) in zip(found, some, strict=True):
        assert best.text.startswith(prefix)
        assert apart(best.text.split(), [tuple(term.split()) for term in each]), best.text


def test_prefixes_of_texts_without_terms_are_forced_as_ever(translator: Translator) -> None:
    plain = translator.translate(["eins zwei"], prefixes=["blue house"])
    forced = translator.translate(["eins zwei", "Haus"], prefixes=["blue house", ""], terms=[[], ["red"]])
    assert forced[0] == plain[0]
    assert forced[1] == translator.translate(["Haus"], terms=[["red"]])[0]


def test_the_command(trained: Trained, tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("haus\tcastle Neuschwanstein\n", encoding="utf-8")
    stdin = b"eins Haus\n\neins zwei\n"
    plain = regard("translate", trained.folder, stdin=stdin).out.split("\n")
    told = regard("translate", trained.folder, "--glossary", path, stdin=stdin)
    assert told.out.split("\n") == plain
    assert told.err == (
        "glossary: none of its 1 term found in 2 lines; 1 more in other case, such as 'haus': --ignore-case finds "
        "them\n"
    )
    told = regard("translate", trained.folder, "--glossary", path, "--ignore-case", stdin=stdin)
    assert (told.code, told.err) == (0, "glossary: 1 term found in 1 of 2 lines, 1 of 1 different ones\n")
    lines = told.out.split("\n")
    assert "castle Neuschwanstein" in lines[0]
    assert lines[1:] == plain[1:]
    drawn = ["--set", "decode.method=sample"]
    told = regard("translate", trained.folder, "--glossary", path, *drawn, stdin=stdin)
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        "regard: forced terms need a search: decode.method = 'sample' draws at random and may never produce them; "
        "set decode.method to 'beam' or 'greedy'\n"
    )
    told = regard("translate", trained.folder, "--ignore-case", stdin=stdin)
    assert told.code == 2
    assert told.err == "regard: --ignore-case needs --glossary FILE\n"
    path.write_text("haus\n", encoding="utf-8")
    told = regard("translate", trained.folder, "--glossary", path, stdin=stdin)
    assert told.code == 2
    assert told.err.startswith(f"regard: {path}:1: 1 column instead of 2; ")


@pytest.fixture(scope="module")
def untrained() -> Translator:
    """A model of subwords that writes anything."""
    texts = ["the red house is a house", "houses and reddish doors", "a blue door, the red one."]
    subwords = train_tokenizer(recipe.TokenizerSettings(kind="bpe", size=60), texts)
    layers = {"encoder_layers": 1, "decoder_layers": 1}
    model = {"kind": "transformer", "width": 16, "heads": 2, "feedforward": 16, "copying": True, **layers}
    parsed = recipe.parse_recipe({"data": {"corpus": "copy"}, "model": model, "train": {"steps": 1}})
    torch.manual_seed(5)
    built = build_model(parsed.model, subwords.size, subwords.size)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.mul_(4)
    return Translator(parsed, built, subwords, subwords)


@given(st.lists(st.sampled_from(["house", "red door", "Zürich", "blue", "a ☃ b", "the"]), min_size=1, max_size=2))
@settings(max_examples=2)
def test_terms_are_words_of_their_own_among_subwords(untrained: Translator, terms: list[str]) -> None:
    best = untrained.translate(["the reddish house ☃"], terms=[terms])[0]
    for term in terms:
        assert re.search(rf"(?<!\w){re.escape(term)}(?!\w)", best.text), best.text


@pytest.mark.spread(2)
@pytest.mark.parametrize("prefix", ["the red house", "the reddish houses", "a house", "Zür"])
def test_a_word_of_a_prefix_that_begins_with_a_term_is_not_that_term(untrained: Translator, prefix: str) -> None:
    terms = ["red", "house"]
    best = untrained.translate(["the reddish house ☃"], prefixes=[prefix], terms=[terms])[0]
    assert best.text.startswith(prefix)
    for term in terms:
        assert re.search(rf"(?<!\w){re.escape(term)}(?!\w)", best.text), best.text
