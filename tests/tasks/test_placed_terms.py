"""Terms of a glossary stand where the model wrote other words for them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from command_line import Trained, regard
from hypothesis import given
from hypothesis import strategies as st

import regard as library
from regard.inspect import WordWeights
from regard.tasks import Translation, Translator
from regard.tasks.glossary import FoundTerm, Glossary, GlossaryEntry
from regard.tasks.placed_terms import place_terms, translate_with_terms
from regard.tokens.segmentation import smallest_parts_of


@pytest.fixture(scope="module")
def translator(trained: Trained) -> Translator:
    loaded: Translator = library.load(trained.folder)
    return loaded


def weights(source: str, output: str, links: dict[int, int | tuple[int, float]]) -> WordWeights:
    """Each part of an output looks at one of the source, with weight 0.9 or the given one, or else at END."""
    found = np.zeros((len(smallest_parts_of(output)), len(smallest_parts_of(source))))
    for target, link in links.items():
        place, weight = link if isinstance(link, tuple) else (link, 0.9)
        found[target, place] = weight
    return WordWeights(found, 1 - found.sum(axis=1) - 1e-9)


def terms(source: str, **entries: str) -> list[FoundTerm]:
    return Glossary([GlossaryEntry(*entry) for entry in entries.items()]).find(source)


HOUSE = "Das Haus ist rot."


@pytest.mark.parametrize(
    ("output", "links", "entries", "expected"),
    [
        # The word that was written for the term goes; what stands beside it stays.
        ("The house is red.", {0: 0, 1: 1, 2: 2, 3: 3, 4: 4}, {"Haus": "building"}, "The building is red."),
        # An article that looked at the noun a little is not part of it.
        ("The house is red.", {0: (1, 0.4), 1: 1, 2: 2, 3: 3}, {"Haus": "building"}, "The building is red."),
        # Several words for one, and several terms.
        ("The dwelling place is red.", {1: 1, 2: 1, 4: 3}, {"Haus": "house", "rot": "blue"}, "The house is blue."),
        # What the model wrote by itself stays.
        ("The house is red.", {0: 1, 1: 3}, {"Haus": "house"}, "The house is red."),
        # Where it should stand, and as often as the source has it.
        ("The house is red.", {1: 1, 3: 3}, {"Haus": "house", "rot": "house"}, "The house is house."),
        # No word was written for it.
        ("It is red.", {1: 2, 2: 3}, {"Haus": "building"}, None),
        ("", {}, {"Haus": "building"}, None),
    ],
)
def test_a_term_takes_the_place_of_what_was_written_for_it(
    output: str, links: dict[int, int | tuple[int, float]], entries: dict[str, str], expected: str | None
) -> None:
    assert place_terms(HOUSE, output, terms(HOUSE, **entries), weights(HOUSE, output, links)) == expected


def test_terms_stand_where_their_own_word_was_written() -> None:
    source, output = "Haus Haus", "house house"
    found = terms(source, Haus="building")
    assert place_terms(source, output, found, weights(source, output, {0: 0, 1: 1})) == "building building"


def test_scripts_without_blanks() -> None:
    source, output = "Tokyo", "私は東京都に行く。"
    found = place_terms(source, output, terms(source, Tokyo="トウキョウ"), weights(source, output, {2: 0, 3: 0, 4: 0}))
    assert found == "私はトウキョウに行く。"


words = st.lists(st.sampled_from(["a", "b", "c", "the", "red"]), min_size=1, max_size=5)


@given(words, words, st.data())
def test_all_terms_are_there_and_other_words_keep_their_order(
    source: list[str], output: list[str], data: st.DataObject
) -> None:
    places = st.dictionaries(st.integers(0, len(output) - 1), st.integers(0, len(source) - 1))
    looked = weights(" ".join(source), " ".join(output), dict(data.draw(places)))
    found = terms(" ".join(source), a="new", b="the red")
    text = place_terms(" ".join(source), " ".join(output), found, looked)
    if text is not None:
        assert text.count("new") == source.count("a")
        assert text.count("the red") >= source.count("b")
        rest = iter(output)
        assert all(word in rest for word in text.replace("the red", "").replace("new", "").split())


def test_texts_with_terms(translator: Translator) -> None:
    texts = ["eins Haus", "zwei", "", "blau und rot"]
    glossary = Glossary([GlossaryEntry("Haus", "castle"), GlossaryEntry("rot", "Käsekuchen")])
    asked: list[object] = []

    def write(some: Sequence[str], forced: Sequence[Sequence[str]] | None) -> list[Translation]:
        asked.append(forced)
        return translator.translate(some, beam=3, n_best=3, terms=forced)

    found = translate_with_terms(translator, texts, [glossary.find(text) for text in texts], write)
    plain = translator.translate(texts, beam=3, n_best=3)
    assert [one.source for one in found] == texts
    assert (found[1], found[2]) == (plain[1], plain[2])
    for one, term in ((found[0], "castle"), (found[3], "Käsekuchen")):
        outputs = [output.text for output in (one, *one.others)]
        assert all(term in text for text in outputs)
        assert len(set(outputs)) == len(outputs)
    assert asked[0] is None


def test_models_without_attention_must_write_their_terms(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(translator.model), "cross_taps", ())
    found = translate_with_terms(
        translator,
        ["eins Haus"],
        [Glossary([GlossaryEntry("Haus", "castle")]).find("eins Haus")],
        lambda some, forced: translator.translate(some, terms=forced),
    )
    assert found == translator.translate(["eins Haus"], terms=[["castle"]])


def test_the_command_replaces_the_model_s_own_word(trained: Trained, tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("Haus\tcastle Neuschwanstein\n", encoding="utf-8")
    told = regard("translate", trained.folder, "--glossary", path, "--n-best", 2, stdin=b"eins Haus\n")
    assert told.code == 0
    assert all(line.split("\t")[1].count("castle Neuschwanstein") == 1 for line in told.out.splitlines())
