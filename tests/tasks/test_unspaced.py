"""Scripts without blanks: links, glossaries and markup of characters and of the user's own words."""

from functools import cache, partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard import recipe
from regard.errors import UsageError
from regard.inspect import WordWeights
from regard.models import build_model
from regard.tasks import Translator
from regard.tasks.glossary import Glossary, GlossaryEntry, GlossaryUse
from regard.tasks.labels import blocks_of, units_of_tokens
from regard.tasks.markup import Marked, origins_of, restore
from regard.tokens import Tokenizer, train_tokenizer
from regard.tokens.segmentation import spans_of

JAPANESE = ["私は東京に行きます。", "東京は大きい。", "東京タワーに行く", "明日は東京です", "私は学生です。"] * 3
SEGMENTED = ["私 は 東京 に 行き ます 。", "東京 は 大きい 。", "東京 タワー に 行く", "私 は 学生 です 。"] * 3
ENGLISH = ["I go to Tokyo.", "Tokyo is big.", "to Tokyo Tower", "tomorrow in Tokyo", "I am a student."]
KINDS = ["bpe", "unigram", "characters", "bytes"]
THAI = ["ฉันไปโรงเรียน", "ฉันกินน้ำ", "น้ำ"]


def translator(source: list[str], target: list[str], kind: str = "bpe") -> Translator:
    """A model that has learned nothing, of tokens that have."""
    learn = partial(train_tokenizer, recipe.TokenizerSettings(kind=kind, size=90))
    layers = {"encoder_layers": 1, "decoder_layers": 1}
    model = {"kind": "transformer", "width": 16, "heads": 2, "feedforward": 16, **layers}
    parsed = recipe.parse_recipe({"data": {"corpus": "copy"}, "model": model, "train": {"steps": 1}})
    torch.manual_seed(5)
    reader, writer = learn(source), learn(target)
    built = build_model(parsed.model, reader.size, writer.size)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.mul_(4)
    return Translator(parsed, built, reader, writer)


@pytest.fixture(scope="module")
def from_japanese() -> Translator:
    return translator(JAPANESE, ENGLISH)


def counts(text: str) -> int:
    return len(spans_of(text))


@given(st.sampled_from(JAPANESE + THAI + SEGMENTED + ENGLISH + ["", " ", "東京 Tower☃"]))
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
def test_every_word_has_tokens_and_words_that_share_one_are_a_block(kind: str, text: str) -> None:
    tokenizer = tokenizer_of(kind)
    covered = units_of_tokens(tokenizer, text)
    assert {unit for each in covered for unit in each} == set(range(counts(text)))
    tokens, blocks = blocks_of(tokenizer, text, "auto")
    assert len(tokens) == len(tokenizer.pieces(text)) + 1
    for each, block in zip(covered, tokens, strict=False):
        assert {blocks[unit] for unit in each} == ({block} if each else set())
    assert blocks == sorted(blocks)


@cache
def tokenizer_of(kind: str) -> Tokenizer:
    return train_tokenizer(recipe.TokenizerSettings(kind=kind, size=300), JAPANESE + THAI + ENGLISH)


def test_text_with_blanks_has_the_words_of_its_pieces() -> None:
    for tokenizer in map(tokenizer_of, KINDS):
        for text in (" I go  to\tTokyo. ", "a", *ENGLISH):
            words = [each[0] for each in units_of_tokens(tokenizer, text)]
            assert words == [piece.word for piece in tokenizer.pieces(text)]


@pytest.mark.parametrize(("source", "target"), [(JAPANESE, ENGLISH), (ENGLISH, JAPANESE), (THAI, ENGLISH)])
def test_links_are_of_characters(source: list[str], target: list[str]) -> None:
    model = translator(source, target)
    texts = source[:3], target[:3]
    found = model.align(*texts)
    assert any(len({one for one, _ in links}) > 1 or len({other for _, other in links}) > 1 for links in found)
    for links, one, other in zip(found, *texts, strict=True):
        assert all(left < counts(one) and right < counts(other) for left, right in links)
        _, blocks = blocks_of(model.source_tokenizer, one, "auto")
        for left, right in links:  # what shares a token has the same links
            assert {(word, right) for word in range(len(blocks)) if blocks[word] == blocks[left]} <= links
    weights = list(model.word_weights(*texts))
    assert [each.weights.shape for each in weights] == [
        (counts(other), counts(one)) for one, other in zip(*texts, strict=True)
    ]


def test_words_of_the_user_s_own(from_japanese: Translator) -> None:
    own = {"私は東京に行きます。": ["私", "は", "東京", "に", "行きます", "。"]}
    pair = ["私は東京に行きます。"], ["I go to Tokyo."]
    (links,) = from_japanese.align(*pair, units=(own.__getitem__, "blanks"))
    assert all(source < 6 and target < 4 for source, target in links)
    (whole,) = from_japanese.align(*pair, units="blanks")
    assert {source for source, _ in whole} <= {0}
    with pytest.raises(UsageError, match=r"^units: the function gave '東京タワー' for the text "):
        from_japanese.align(*pair, units=(lambda text: ["東京タワー"], "auto"))


def test_terms_are_found_in_text_without_blanks() -> None:
    entries = [GlossaryEntry("東京", "Tokyo"), GlossaryEntry("東京タワー", "Tokyo Tower"), GlossaryEntry("น้ำ", "water")]
    use = GlossaryUse(Glossary([*entries, GlossaryEntry("Log", "Protokoll")]))
    found = [
        [entry.target for entry in use.find(text)] for text in ("東京に行く", "東京タワー、東京", "กินน้ำ", "น", "LOG")
    ]
    assert found == [["Tokyo"], ["Tokyo Tower", "Tokyo"], ["water"], [], []]
    assert use.line() == (
        "glossary: 4 terms found in 3 of 5 lines, 3 of 4 different ones; 1 more in other case, such as 'Log': "
        "--ignore-case finds them"
    )


def test_terms_are_words_of_text_that_was_segmented() -> None:
    glossary = Glossary([GlossaryEntry("京都", "Kyoto"), GlossaryEntry("東京", "Tokyo")])
    assert not glossary.find("東京都 に 行く")
    assert [entry.target for entry in glossary.find("東京 と 京都 に 行く")] == ["Tokyo", "Kyoto"]


@pytest.mark.parametrize(("target", "blank"), [(JAPANESE, False), (SEGMENTED, True)])
def test_terms_are_written_as_the_target_is(target: list[str], blank: bool) -> None:
    model = translator(ENGLISH, target)
    ((_, term),), _ = model._forced([["", "東京"]], model._read(["Tokyo"]))
    assert "".join(model.target_tokenizer.vocabulary[token] for token in term) == (" 東京" if blank else "東京")
    follows = model.target_tokenizer.encode_within("は")[0]
    assert (follows in model._continuing) == blank
    for best in model.translate(ENGLISH, terms=[["東京"]] * len(ENGLISH)):
        assert "東京" in best.text


def uniform(marked: Marked, output: str, **most: int) -> WordWeights:
    """Equal weights, but for the target units named."""
    weights = np.full((counts(output), counts(marked.plain)), 0.1)
    for target, source in most.items():
        weights[int(target[1:]), source] = 0.9
    return WordWeights(weights, np.zeros(len(weights)))


def test_tags_enclose_characters() -> None:
    marked, output = Marked.of("私は<b>東京</b>に行く"), "I go to Tokyo"
    origins = origins_of(marked, output, uniform(marked, output, t0=0, t1=5, t2=4, t3=3))
    assert restore(marked, output, origins) == "I go to <b>Tokyo</b>"
    marked, output = Marked.of("to <b>Tokyo</b> Tower"), "東京タワーへ"
    origins = origins_of(marked, output, uniform(marked, output, t0=1, t1=1, t2=2, t3=2, t4=2, t5=0))
    assert restore(marked, output, origins) == "<b>東京</b>タワーへ"


def test_tags_that_nothing_is_linked_to_enclose_what_looked_there_most() -> None:
    marked, output = Marked.of("<b>東京</b>に行く"), "go: Tokyo"
    weights = np.array([[0.1, 0.1, 0.2, 0.6, 0.6], [0.4, 0.4, 0.5, 0.5, 0.5], [0.3, 0.3, 0.6, 0.6, 0.6]])
    origins = origins_of(marked, output, WordWeights(weights, np.zeros(3)))
    assert restore(marked, output, origins) == "go: <b>Tokyo</b>"
    even = WordWeights(np.array([[0.1, 0.1, 0.3, 0.3, 0.2]] * 3), np.zeros(3))
    assert restore(marked, output, origins_of(marked, output, even)) == "<b></b>go: Tokyo"


def test_a_tag_inside_a_token_encloses_what_the_token_became() -> None:
    marked, output = Marked.of("設定<b>ファイル</b>を"), "file of settings"
    weights = np.array([[0.8] * 6 + [0.2], [0.1] * 6 + [0.9], [0.1] * 6 + [0.9]])
    origins = origins_of(marked, output, WordWeights(weights, np.zeros(3)))
    assert restore(marked, output, origins) == "<b>file</b> of settings"


def test_an_inspection_counts_the_same_words(from_japanese: Translator) -> None:
    seen = from_japanese.inspect("東京に", "to Tokyo")
    assert "".join(seen.labels["source"][:-1]).strip() == "東京に"
    assert seen.words["source"][0] == 0
    assert seen.words["source"][-1] is None
    assert set(seen.words["target"]) == {0, 1, None}
