"""Language models write, with the steps of translators, what they would write token by token with nothing around."""

from collections.abc import Iterator, Sequence

import pytest
import torch
from decoding_toys import repeating
from hypothesis import given
from hypothesis import strategies as st
from language_strategies import TINY, every_language_generator, few, rows, tiny_language_model
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from regard.decode import Session, session
from regard.decode.captured import FAILURES, CapturedStepping
from regard.decode.generate import Text, go_on, step
from regard.decode.sampling import draw, likely_tokens, uniform_numbers
from regard.decode.stepping import Stepping
from regard.graphs import Work
from regard.models import LanguageModel, build_language_model
from regard.recipe import LanguageDecoding
from regard.tap import intervene, record
from regard.tokens.vocabulary import BEGIN, END, PAD

CPU = torch.device("cpu")
NEVER = (PAD, BEGIN)
GREEDY, DRAWN = LanguageDecoding(method="greedy"), LanguageDecoding()
WAYS = [GREEDY, DRAWN, LanguageDecoding(temperature=0.7, top_k=5, top_p=0.9, min_p=0.05, seed=3)]


@torch.no_grad()
def plainly(
    model: LanguageModel,
    tokens: Sequence[int],
    how: LanguageDecoding,
    never: Sequence[int],
    begin: int | None,
    count: int,
    sample: int,
) -> Iterator[int]:
    """The same in a loop that shares only the draw, as it is written down."""
    state, unread = model.start(rows(1), len(tokens) + count), list(tokens)
    for uniform in uniform_numbers(how.seed, [sample], 1, count)[0]:
        features, state = model.advance(torch.tensor([unread]), state)
        logits = model.readout_of(state).logits(features[:, -1:]).float()[0, 0]
        logits[list(never)] = -torch.inf
        token = int(logits.argmax())
        if how.method == "sample":
            tempered = logits.log_softmax(-1)
            probs = ((tempered - tempered.max()) / how.temperature).softmax(-1)
            likely = likely_tokens(probs, top_k=how.top_k, top_p=how.top_p, min_p=how.min_p)
            token = int(draw(probs.masked_fill(~likely, 0.0), uniform))
        yield token
        unread = [token]
        if token == END and begin is not None:
            unread, state = [begin], model.start(rows(1), count)


@every_language_generator
@few
@given(data=st.data())
def test_a_text_is_what_a_plain_loop_writes(name: str, data: st.DataObject) -> None:
    model, how = tiny_language_model(name), data.draw(st.sampled_from(WAYS))
    prompt = data.draw(st.lists(st.integers(2, 9), min_size=1, max_size=4), "prompt")
    begin = data.draw(st.sampled_from([None, BEGIN]))
    asked = how, NEVER, begin
    count, sample = data.draw(st.integers(1, 12), "tokens"), data.draw(st.integers(0, 9), "sample")
    expected = list(plainly(model, prompt, *asked, count, sample))
    assert list(go_on(model, prompt, *asked, tokens=count, sample=sample)) == expected
    # However many steps there are between two looks at what was written.
    for stepping in (CapturedStepping(CPU, None, data.draw(st.integers(1, 5), "every")), repeating()):
        assert list(go_on(model, prompt, *asked, tokens=count, sample=sample, stepping=stepping)) == expected


@every_language_generator
def test_captured_is_uncaptured_and_again(name: str) -> None:
    model = tiny_language_model(name)
    if not model.has_fixed_shapes:
        return
    for how, begin in ((GREEDY, None), (DRAWN, BEGIN)):
        asked = how, NEVER, begin
        texts = [list(plainly(model, [2, 5], *asked, 11, sample)) for sample in range(2)]
        captured, graphs = repeating(), list[int]()
        for _ in range(2):
            found = [
                list(go_on(model, [2, 5], *asked, tokens=11, sample=sample, stepping=captured)) for sample in (0, 1)
            ]
            assert found == texts
            graphs.append(captured.count)
        assert graphs[0] > 0
        assert graphs[0] == graphs[1] or begin is not None


@pytest.mark.parametrize("name", ["recurrent-lstm-none", "window-plain-own", "transformer-rotary"])
def test_models_whose_state_does_not_grow_have_one_step_to_capture(name: str) -> None:
    model, stepping = tiny_language_model(name), repeating()
    assert len(list(go_on(model, [2], DRAWN, NEVER, tokens=15, stepping=stepping))) == 15
    assert stepping.count == (15 if name.startswith("transformer") else 2)  # the beginning, and a step
    before = stepping.count
    for changed in (DRAWN.model_copy(update={"seed": 7}), DRAWN):
        list(go_on(model, [2], changed, NEVER, tokens=12, stepping=stepping))
        assert stepping.count == before


@few
@given(st.integers(1, 30), st.integers(1, 3))
def test_what_comes_once_is_not_captured(tokens: int, texts: int) -> None:
    model, patient = tiny_language_model("transformer-rotary"), repeating(patient=True)
    for number in range(texts):
        found = list(go_on(model, [2], DRAWN, NEVER, tokens=tokens, sample=number, stepping=patient))
        assert found == list(plainly(model, [2], DRAWN, NEVER, None, tokens, number))
        assert patient.count == (tokens if number else 0)
    recurrent, patient = tiny_language_model("recurrent-lstm-none"), repeating(patient=True)
    list(go_on(recurrent, [2], DRAWN, NEVER, tokens=tokens, stepping=patient))
    assert patient.count == (tokens > 2)


def test_where_capturing_fails_the_text_is_the_same() -> None:
    model = tiny_language_model("transformer-rotary")
    refusing = repeating(refused="operation not permitted when stream is capturing")
    found = list(go_on(model, [2], DRAWN, NEVER, tokens=9, stepping=refusing))
    assert found == list(plainly(model, [2], DRAWN, NEVER, None, 9, 0))
    assert (refusing.failures, refusing.count) == (FAILURES, 0)


@pytest.mark.parametrize("name", ["recurrent-lstm-none", "transformer-rotary", "cache copying-sentinel-dot"])
def test_texts_that_are_written_in_turns_are_as_one_after_the_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_language_model(name)
    held, captured = Session(model), repeating()
    monkeypatch.setattr(Session, "stepping_of_text", lambda *_: captured)
    texts = [go_on(held, [2], DRAWN, NEVER, tokens=9, sample=sample) for sample in range(3)]
    found = [list(each) for each in zip(*zip(*texts, strict=True), strict=True)]
    assert found == [list(plainly(model, [2], DRAWN, NEVER, None, 9, sample)) for sample in range(3)]
    with held.alone() as is_alone:
        assert is_alone
        with held.alone() as is_alone_too:
            assert not is_alone_too
    given_up = go_on(held, [2], DRAWN, NEVER, tokens=9)
    next(given_up)
    del given_up
    with held.alone() as is_alone:
        assert is_alone


class Graphs:
    """Graphs of a CUDA device, as far as they can be had without one."""

    def __init__(self, device: torch.device) -> None:
        pass

    def __call__(self, work: Work) -> Work:
        return work

    def warm_up(self, work: Work) -> None:
        work()


def test_which_texts_are_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "device", torch.device("cuda"))
    monkeypatch.setattr(session, "CudaGraphs", Graphs)
    trained, counted = tiny_language_model("recurrent-lstm-none"), tiny_language_model("ngram-add_k")
    assert isinstance(Session(trained).stepping_of_text(trained, DRAWN), CapturedStepping)
    assert type(Session(counted).stepping_of_text(counted, DRAWN)) is Stepping
    assert Session(counted).why_eager(DRAWN) is None
    with record(trained, "output"):
        assert type(Session(trained).stepping_of_text(trained, DRAWN)) is Stepping
        assert str(Session(trained).why_eager(DRAWN)).endswith("a tap is watched")


@pytest.mark.parametrize("name", ["recurrent-lstm-none", "transformer-rotary"])
def test_what_passes_while_a_text_is_written_can_be_recorded_and_replaced(name: str) -> None:
    model = tiny_language_model(name)
    usual = list(go_on(Session(model), [2], GREEDY, NEVER, tokens=6))
    with record(model, "output") as seen:
        assert list(go_on(Session(model), [2], GREEDY, NEVER, tokens=6)) == usual
    assert [part.shape[:2] for part in seen["output"]] == [(1, 1)] * 6
    with intervene(model, "output", torch.neg):
        assert list(go_on(Session(model), [2], GREEDY, NEVER, tokens=6)) != usual


@pytest.mark.parametrize("precision", ["float32", "tf32", "bfloat16", "int8"])
@pytest.mark.parametrize(
    "name",
    ["recurrent-lstm-none", "window-one", "attentive-dot", "copying-sentinel-dot", "transformer-rotary", "ngram-add_k"],
)
def test_texts_are_written_in_every_number_format(name: str, precision: str) -> None:
    model = tiny_language_model(name)
    held = Session(model if name.startswith("ngram") else build_language_model(TINY[name], 11).eval())
    how = LanguageDecoding(precision=precision)  # type: ignore[arg-type]
    found = list(go_on(held, [2, 5], how, NEVER, tokens=8))
    assert found == list(go_on(held, [2, 5], how, NEVER, tokens=8))
    assert all(token not in NEVER for token in found)


@every_language_generator
def test_no_step_waits_for_a_number_from_the_device(name: str) -> None:
    """Fake tensors have no values, so reading one fails. Steps that read values could not be captured as graphs."""
    if name not in TINY:
        return
    with FakeTensorMode(), torch.inference_mode():
        model = build_language_model(TINY[name], 11).eval()
        text = Text.of(CPU, [2, 5], WAYS[2], NEVER, 5, 0)
        for _ in range(4):
            text = step(model, text)
        assert isinstance(text.written, FakeTensor)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["recurrent-lstm-none", "copying-sentinel-dot", "transformer-rotary"])
@pytest.mark.parametrize("how", [GREEDY, DRAWN])
def test_graphs_write_the_tokens_of_steps_one_by_one(name: str, how: LanguageDecoding) -> None:
    model = build_language_model(TINY[name], 11).cuda().eval()
    held, plain = Session(model), Stepping(torch.device("cuda"))
    for sample in (0, 0, 1):
        expected = list(go_on(model, [2, 5], how, NEVER, tokens=12, sample=sample, stepping=plain))
        assert list(go_on(held, [2, 5], how, NEVER, tokens=12, sample=sample)) == expected
    assert held.why_eager(how) is None
