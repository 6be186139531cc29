"""Trained language models in use: they write, and say how likely they find a text."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from language_runs import CARRYING, MODELS, language_recipe

import regard
from regard.data.segments import reading_segments
from regard.data.text import Text
from regard.errors import DataError, ModelError, UsageError
from regard.models.language import LanguageModel
from regard.recipe import LanguageDecoding
from regard.tasks import load_translator, load_writer
from regard.tasks.writer import Writer
from regard.tokens import BEGIN, END
from regard.train import run


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("writers")
    for kind in MODELS:
        run(language_recipe(place, kind), place / kind, reporter=lambda event: None)
    return {kind: place / kind for kind in MODELS}


@pytest.fixture(scope="module")
def writers(folders: dict[str, Path]) -> dict[str, Writer]:
    return {kind: load_writer(folder, device="cpu") for kind, folder in folders.items()}


LINES = ["the cat sees a dog .", "", "a red dog", "an unheard thing"]


@torch.no_grad()
def token_by_token(model: LanguageModel, tokens: list[int], first: int) -> list[float]:
    """Log-probabilities by advancing one token at a time over all logits."""
    from regard.data import Padded

    nothing = torch.zeros(1, 0, dtype=torch.long)
    state = model.start(Padded(nothing, nothing.new_zeros(1)), len(tokens))
    found = []
    for before, token in zip([first, *tokens], tokens, strict=False):
        features, state = model.advance(torch.tensor([[before]]), state)
        logits = model.readout_of(state).logits(features).double()[0, 0]
        found.append(logits.log_softmax(-1)[token].item())
    return found


@pytest.mark.spread(2)
@pytest.mark.parametrize("kind", CARRYING)
def test_a_score_is_that_of_one_token_after_another(writers: dict[str, Writer], kind: str) -> None:
    writer = writers[kind]
    scored = writer.score(LINES)
    expected = token_by_token(writer.model, scored.text.stream.tolist(), END)
    assert scored.log_probs.tolist() == pytest.approx(expected, abs=1e-5)
    assert scored.likelihood.log_prob == pytest.approx(sum(expected), abs=1e-4)


@pytest.mark.parametrize("kind", MODELS)
def test_line_by_line_nothing_before_counts(writers: dict[str, Writer], kind: str) -> None:
    writer = writers[kind]
    text = Text("test", writer.recipe.data, LINES)
    scored = writer.score_text(text, context="lines", rows=3)
    expected = [
        value for line in LINES for value in token_by_token(writer.model, [*writer.tokenizer.encode(line), END], BEGIN)
    ]
    assert scored.log_probs.tolist() == pytest.approx(expected, abs=1e-5)
    assert "context:lines|" in scored.scores[0].signature


def test_what_is_counted(writers: dict[str, Writer]) -> None:
    scored = writers["recurrent"].score(LINES)
    found = scored.likelihood
    assert (found.tokens, found.words, found.lines, found.unknown, found.ends) == (12 + 4, 12, 4, 3, True)
    assert found.characters == sum(map(len, LINES))
    assert scored.scores[0].value == pytest.approx(math.exp(-scored.log_probs.sum() / 16), rel=1e-5)
    assert "vocabulary:14 words|context:stream, carried|rows:1|regard:" in scored.scores[0].signature
    assert writers["recurrent"].score("\n".join(LINES)).likelihood == found


def test_segments_that_are_apart_are_said(tmp_path: Path) -> None:
    recipe = language_recipe(tmp_path, "transformer", model={"memory": 0}, train={"steps": 1})
    run(recipe, tmp_path / "model", reporter=lambda event: None)
    signature = load_writer(tmp_path / "model", device="cpu").score(LINES).scores[0].signature
    assert "context:stream, segments of 7 apart" in signature


def test_learned_positions_end_somewhere(tmp_path: Path) -> None:
    model = {"memory": 0, "position": "learned", "longest": 9}
    recipe = language_recipe(tmp_path, "transformer", model=model, train={"steps": 1})
    run(recipe, tmp_path / "model", reporter=lambda event: None)
    writer = load_writer(tmp_path / "model", device="cpu")
    assert "".join(writer.generate("the cat", tokens=7))
    with pytest.raises(UsageError, match="a prompt of 2 tokens and 8 more need 10 positions, but this model has"):
        writer.generate("the cat", tokens=8)
    assert writer.score(LINES).likelihood.tokens == 16


@pytest.mark.parametrize("kind", MODELS)
def test_surprisals_go_with_tokens(writers: dict[str, Writer], kind: str) -> None:
    found = writers[kind].surprisal("the cat\na thing")
    assert [token for token, _ in found] == ["the", "cat", "</s>", "a", "<unk>", "</s>"]
    scored = writers[kind].score("the cat\na thing")
    assert sum(bits for _, bits in found) == pytest.approx(-scored.likelihood.log_prob / math.log(2))
    assert [line for line, _, _ in scored.surprisals()] == [1, 1, 1, 2, 2, 2]


def test_more_rows_are_the_same_but_for_their_beginnings(writers: dict[str, Writer]) -> None:
    one = writers["ngram"].score(LINES * 5, rows=1)
    several = writers["ngram"].score(LINES * 5, rows=4)
    np.testing.assert_allclose(one.log_probs, several.log_probs, atol=1e-6)
    told: list[tuple[int, int]] = []
    writers["recurrent"].score(LINES, on_progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (16, 16)


@given(lines=st.integers(1, 9), rows=st.one_of(st.integers(1, 60), st.just(10**8)))
@settings(max_examples=30)
def test_the_signature_has_the_rows_that_were_read(writers: dict[str, Writer], lines: int, rows: int) -> None:
    writer = writers["ngram"]
    text = Text("test", writer.recipe.data, ["the cat sees"] * lines)
    scored = writer.score_text(text, context="stream", rows=rows)
    segments = reading_segments(scored.text, "stream", rows=rows, segment=writer.segment)
    first, _ = next(segments.once())
    assert f"|context:stream, carried|rows:{len(first.given.lengths)}|" in scored.scores[0].signature
    by_line = writer.score_text(text, context="lines", rows=rows)
    assert by_line.scores == writer.score_text(text, context="lines").scores


@pytest.mark.spread(2)
@pytest.mark.parametrize("kind", MODELS)
def test_writing_is_a_function_of_seed_and_sample(writers: dict[str, Writer], kind: str) -> None:
    writer = writers[kind]

    def written(tokens: int, sample: int = 0, **changes: object) -> str:
        decoding = LanguageDecoding(**changes)  # type: ignore[arg-type]
        return "".join(writer.generate("the cat", tokens=tokens, sample=sample, decoding=decoding))

    whole = written(30)
    assert whole == written(30)
    assert whole.startswith(written(12))
    assert len({written(30), written(30, sample=1), written(30, seed=2)}) == 3
    assert written(8, method="greedy") == written(8, top_k=1) == written(8, temperature=1e-6)
    tokens = whole.replace("\n", " \n ").split(" ")
    assert set(tokens) <= {*writer.tokenizer.vocabulary.tokens, "\n", ""}


@settings(max_examples=10)
@given(st.integers(1, 40))
def test_as_many_tokens_as_were_asked_for(writers: dict[str, Writer], count: int) -> None:
    text = "".join(writers["recurrent"].generate("the", tokens=count))
    assert len(text.replace("\n", " </s> ").split()) == count


def test_a_greedy_text_is_the_likeliest_at_every_step(writers: dict[str, Writer]) -> None:
    writer = writers["recurrent"]
    greedy = LanguageDecoding(method="greedy")
    text = "".join(writer.generate("a", tokens=1, decoding=greedy)).strip() or "</s>"
    likely = {
        token: token_by_token(writer.model, [*writer.prompt("a").tokens, token], END)[-1]
        for token in range(3, writer.tokenizer.size)
    }
    assert writer.tokenizer.vocabulary[max(likely, key=likely.__getitem__)] == text


def test_lines_apart_begin_anew(writers: dict[str, Writer], folders: dict[str, Path]) -> None:
    writer = load_writer(folders["recurrent"], device="cpu")
    recipe = writer.recipe.model_copy(update={"data": writer.recipe.data.model_copy(update={"context": "lines"})})
    lines = "".join(Writer(recipe, writer.model, writer.tokenizer).generate(tokens=60)).split("\n")
    assert len(lines) > 1


def test_prompts_of_unknown_words(writers: dict[str, Writer]) -> None:
    writer = writers["recurrent"]
    assert writer.prompt("the zebra sees").unknown == ("zebra",)
    assert writer.prompt("").tokens == []
    assert writer.prompt("the cat\na") == writer.prompt("the cat\na")
    assert writer.prompt("the\na").tokens == [*writer.tokenizer.encode("the"), END, *writer.tokenizer.encode("a")]
    with pytest.raises(DataError, match=r"^prompt, line 2: a NUL character at character 4 of the line, so this is no"):
        writer.prompt("the\ncat\0 sees")
    with pytest.raises(UsageError, match="prompt 'Cat': the model knows none of its words; near 'Cat' are 'cat'"):
        writer.generate("Cat")
    with pytest.raises(UsageError, match=r"prompt 'q w': the model knows none of its words\. Write it as"):
        writer.generate("q w")
    with pytest.raises(UsageError, match="tokens = 0: ask for at least one"):
        writer.generate(tokens=0)


def test_a_cache_prefers_what_was_said_before(writers: dict[str, Writer]) -> None:
    plain = writers["recurrent"]
    cached = plain.with_cache(20, theta=0.0, share=0.3)
    text = ["red red red red red red red red"]
    assert cached.score(text).likelihood.log_prob > plain.score(text).likelihood.log_prob
    assert "cache:20 words, theta 0, share 0.3" in cached.score(text).scores[0].signature
    assert "".join(cached.generate("the", tokens=5))


def test_a_model_is_loaded_as_what_it_is_for(folders: dict[str, Path]) -> None:
    assert isinstance(regard.load(folders["recurrent"], device="cpu"), Writer)
    with pytest.raises(ModelError, match="this model is for language, and a model for translation is needed here"):
        load_translator(folders["recurrent"])
    with pytest.raises(UsageError, match="is a language model, which writes alone; name one folder"):
        regard.load(folders["recurrent"], folders["window"])
    with pytest.raises(UsageError, match=r"a trained model stays as it is; only decode\.\* can be changed"):
        load_writer(folders["recurrent"], changes=["seed=2"])
    assert load_writer(folders["recurrent"], device="cpu", changes=["decode.top_k=3"]).recipe.decode.top_k == 3


def test_what_passes_can_be_recorded(writers: dict[str, Writer]) -> None:
    with regard.record(writers["copying"], "share") as seen:
        writers["copying"].score(["the cat"])
    assert seen


TEXT = "the cat\na red dog"


@pytest.mark.parametrize("kind", MODELS)
def test_an_inspection_says_what_scoring_says(writers: dict[str, Writer], kind: str) -> None:
    writer = writers[kind]
    text = TEXT.replace("\n", " ") if kind == "ngram" else TEXT  # that reads line by line
    seen = writer.inspect(text)
    assert seen.labels["target"] == (*text.replace("\n", " ∎ ").split(" "), "∎")
    assert seen.labels["past"] == ("▸", *seen.labels["target"][:-1])
    assert seen.words["target"] == ((0, 1, 2, 3, 4, None) if kind == "ngram" else (0, 1, None, 2, 3, 4, None))
    bits = [value for _, value in writer.surprisal(text)]
    np.testing.assert_allclose(seen["surprisals"].values, bits, rtol=1e-4)
    assert seen.shown[:2] == ("surprisals", "candidates")
    attention = {name for name, array in seen.items() if "head" in array.axes}
    assert set(seen.shown[2:]) == attention
    assert bool(attention) == (kind in ("attentive", "copying", "transformer"))
    assert bool(seen.note) == (kind in ("ngram", "window"))


def test_attention_gates_and_states_are_there(writers: dict[str, Writer]) -> None:
    copying, recurrent = (writers[kind].inspect("the cat") for kind in ("copying", "recurrent"))
    assert copying["attention.weights"].axes == ("head", "target", "past+sentinel")
    assert copying["share"].values.shape == (3, 1)
    assert recurrent["stack.layers.0.ahead.gates.forget"].axes == ("past", "feature")
    assert recurrent["stack.layers.0.ahead.memory"].values.shape == (3, 7)
    cached = writers["recurrent"].with_cache(5).inspect("the cat the cat")
    assert cached["weights"].axes == ("head", "target", "past")


def test_a_table_has_nothing_inside(writers: dict[str, Writer]) -> None:
    seen = writers["ngram"].inspect("the cat")
    assert list(seen) == ["probabilities", "surprisals", "candidates"]
    assert seen.note == "this model has no attention, gates or states inside: only its candidates"


@pytest.mark.parametrize(
    ("kind", "texts", "message"),
    [
        ("recurrent", ("a", "b"), "a language model reads a single text, not 2; put it between one pair of quotes"),
        ("recurrent", (" ",), "the text is empty: there is nothing to look at; give at least one word"),
        (
            "ngram",
            ("a\nb",),
            "this model reads each line by itself (data.context = 'lines'); give a text of one line",
        ),
    ],
)
def test_what_cannot_be_inspected_is_said(
    writers: dict[str, Writer], kind: str, texts: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        writers[kind].inspect(*texts)
    assert str(caught.value) == message


@pytest.mark.parametrize("kind", [*MODELS])
@pytest.mark.spread(3)
@pytest.mark.parametrize("decoding", [{"method": "greedy"}, {"method": "sample", "temperature": 0.6, "top_k": 4}])
def test_to_go_on_token_by_token_is_to_generate(
    writers: dict[str, Writer], kind: str, decoding: dict[str, object]
) -> None:
    writer, written = writers[kind], list[int]()
    for count in range(6):
        seen = writer.continuations("the cat", written, sample=3, decoding=decoding)
        assert str(seen["text"].texts) == "the cat" + "".join(
            writer._shown(iter(written), writer.prompt("the cat").tokens)
        )
        chances = seen["candidates"].values
        assert (np.diff(chances[:10]) <= 0).all()
        assert chances.sum() <= 1 + 1e-5
        assert len(seen.labels["past"]) == 3 + count or writer.recipe.data.context == "lines"
        written.append(int(seen["tokens"].values[int(seen["next"].values)]))
    expected = "".join(writer.generate("the cat", tokens=6, sample=3, decoding=decoding))
    assert "".join(writer._shown(iter(written), writer.prompt("the cat").tokens)) == expected


def test_what_may_come_next_is_what_the_text_is_scored_by(writers: dict[str, Writer]) -> None:
    """The probability of each candidate is that of the token in the text that it would make; parts sum to it."""
    for kind in ("copying", "attentive", "recurrent"):
        for writer in (writers[kind], writers[kind].with_cache(5, share=0.3)):
            seen = writer.continuations("the cat sees the", count=3, decoding={"method": "sample"})
            names = seen["candidates"].texts
            assert names is not None
            never = 1 - sum(writer.continuations("the cat sees the", count=99)["candidates"].values.tolist())
            assert never == pytest.approx(0, abs=1e-5)
            for rank, name in enumerate(names.tolist()):
                inspected = writer.inspect(f"the cat sees the {name}" if name != "∎" else "the cat sees the")
                probability = inspected["probabilities"].values[4]
                parts = seen["parts"].values[rank] if "parts" in seen else np.array([probability])
                assert parts.sum() == pytest.approx(probability, rel=1e-4)
                # Tokens that are never written have their share.
                assert seen["candidates"].values[rank] == pytest.approx(probability, rel=0.5)
            for part in ("copied", "cache"):
                if part in seen:
                    own = writer.inspect("the cat sees the red")[part].values[4]
                    np.testing.assert_allclose(seen[part].values, own, atol=1e-6)
    looked = writers["attentive"].continuations("the cat sees the")["attention.weights"]
    assert (looked.axes, looked.values.shape) == (("head", "past"), (1, 5))


def test_what_copies_says_from_where(writers: dict[str, Writer]) -> None:
    text = "the cat sees the cat and the dog ."
    for writer, parts in (
        (writers["copying"], ("vocabulary", "copied")),
        (writers["copying"].with_cache(4), ("vocabulary", "copied", "cache")),
        (writers["recurrent"].with_cache(4), ("vocabulary", "cache")),
    ):
        seen = writer.inspect(text)
        assert seen.labels["part"] == parts
        np.testing.assert_allclose(seen["parts"].values.sum(1), seen["probabilities"].values, atol=1e-6)
        for place, part in enumerate(parts[1:], 1):
            read = ("", *text.split())
            for at, word in enumerate(text.split()):
                same = [position for position, other in enumerate(read[: at + 1]) if other == word]
                copied = seen[part].values[at]
                assert copied[same].sum() == pytest.approx(seen["parts"].values[at, place], abs=1e-6)
                assert not copied[at + 1 :].any()
    assert "parts" not in writers["recurrent"].inspect(text)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"written": [99]}, "written[0] = 99: this model has 14 tokens, counted from 0"),
        ({"written": [-1]}, "written[0] = -1: this model has 14 tokens, counted from 0"),
        ({"count": 0}, "count = 0: ask for at least one"),
        ({"written": [5] * 600}, "a text of 601 tokens is too long to look at; give one of at most 512"),
        ({"prompt": "unheard"}, "the model knows none of its words"),
    ],
)
def test_what_cannot_go_on_is_said(writers: dict[str, Writer], given: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        writers["recurrent"].continuations(**given)  # type: ignore[arg-type]


def test_a_score_is_an_inspection(writers: dict[str, Writer]) -> None:
    scored = writers["recurrent"].score(LINES)
    seen = scored.inspection("a title")
    assert list(zip(seen.labels["target"], seen["surprisals"].values.tolist(), strict=True)) == [
        (token, pytest.approx(bits, rel=1e-5)) for _, token, bits in scored.surprisals()
    ]
    np.testing.assert_allclose(np.exp2(-seen["surprisals"].values), seen["probabilities"].values, rtol=1e-4)


@pytest.mark.parametrize("kind", [*MODELS])
def test_embeddings_are_those_of_the_tokens(writers: dict[str, Writer], kind: str) -> None:
    writer = writers[kind]
    found = writer.embeddings()
    if kind == "ngram":
        assert found == {}
        return
    vectors = found["tokens"]
    assert list(vectors.words) == list(writer.tokenizer.vocabulary.tokens)
    weight = next(part for name, part in writer.model.state_dict().items() if "embedding" in name)
    np.testing.assert_array_equal(vectors["cat"], weight[writer.tokenizer.vocabulary.find("cat")])
    vectors.matrix[:] = 0  # a copy
    assert weight.abs().sum() > 0
