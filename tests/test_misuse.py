"""Every misuse of the public surface is a RegardError."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch
from command_line import Trained
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import regard
from regard import attention
from regard.errors import RecipeError, RegardError, UsageError
from regard.misuse import explained, fits, in_words

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.just(10**20),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=3),
    st.just(Path("nowhere")),
    st.lists(st.one_of(st.none(), st.integers(-2, 2), st.text(max_size=3)), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(-2, 2), max_size=2),
    st.builds(object),
    st.sampled_from([torch.zeros(2), torch.zeros(2, 3), torch.ones(2, 2, dtype=torch.bool), np.zeros((2, 2))]),
)
"""What people pass by mistake."""

SIMPLE: dict[str, Callable[..., Any]] = {
    "load": regard.load,
    "read_recipe": regard.read_recipe,
    "parse_recipe": regard.parse_recipe,
    "write_recipe": regard.write_recipe,
    "taps": regard.taps,
    "Decoding": regard.Decoding,
    "LanguageDecoding": regard.LanguageDecoding,
    "Vectors": regard.Vectors,
    "Vectors.load": regard.Vectors.load,
    "Vectors.save": regard.Vectors(["a"], np.ones((1, 2), np.float32)).save,
    "attend": regard.attend,
    "Heads": attention.Heads,
    "heads": attention.Heads(4, 2),
    "heads.remember": attention.Heads(4, 2, source_width=3).remember,
    "heads.look": partial(attention.Heads(4, 2, source_width=3).look, torch.zeros(1, 2, 4)),
    "Attention": attention.Attention(attention.ScaledDot()),
    **{name: getattr(attention, name) for name in ("causal", "window", "padding", "combine")},
    **{name: getattr(attention, name) for name in ("softmax", "sparsemax", "entmax15", "proportional")},
    **{
        name: getattr(attention, name) for name in ("Additive", "Concatenation", "Multiplicative", "Cosine", "Gaussian")
    },
}
NAMES = {
    "Decoding": list(regard.Decoding.model_fields),
    "LanguageDecoding": list(regard.LanguageDecoding.model_fields),
    "heads": ["mask", "bias", "cache", "distances"],
    "heads.look": ["memory", "mask", "bias"],
    "Attention": ["mask", "bias", "causal", "prepared"],
    "attend": ["score", "normalizer", "mask", "bias", "prepared", "scores"],
    "window": ["size", "causal", "keys"],
    "Additive": ["hidden", "heads"],
    "Concatenation": ["hidden", "heads"],
    "read_recipe": ["changes", "kind"],
}


@pytest.fixture(autouse=True)
def _unchecked() -> Iterator[None]:
    """Without the checks of shapes that tests have and users do not."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def only_refused(call: Callable[[], Any]) -> None:
    """Whatever comes of it, nothing but a RegardError is raised."""
    with suppress(RegardError):
        call()


@pytest.mark.parametrize("name", SIMPLE)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_junk_is_refused_in_words(
    name: str, data: st.DataObject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = data.draw(st.lists(JUNK, max_size=3))
    named = data.draw(st.dictionaries(st.sampled_from([*NAMES.get(name, []), "beem"]), JUNK, max_size=2))
    only_refused(lambda: SIMPLE[name](*arguments, **named))


METHODS = ["most_similar", "analogy", "odd_one_out", "similarity", "place", "unit", "first", "__getitem__"]


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=15)
@given(arguments=st.lists(JUNK | st.sampled_from(["one", ["one", "two", "three"]]), max_size=3), top=JUNK)
def test_junk_given_to_vectors_is_refused_in_words(method: str, arguments: list[Any], top: Any) -> None:
    vectors = regard.Vectors(["one", "two", "three"], np.eye(3, dtype=np.float32))
    named = {"top": top} if method in ("most_similar", "analogy") else {}
    only_refused(lambda: getattr(vectors, method)(*arguments, **named))


SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(lambda shape: torch.zeros(shape))


@given(query=SHAPES, key=SHAPES, value=SHAPES, mask=st.none() | SHAPES.map(lambda each: each == 0))
def test_shapes_that_do_not_fit_are_refused_in_words(query: Any, key: Any, value: Any, mask: Any) -> None:
    heads = attention.Heads(4, 2)
    crossing = attention.Heads(4, 2, source_width=3)
    only_refused(lambda: attention.Attention(attention.ScaledDot())(query, key, value, mask=mask))
    only_refused(lambda: attention.Attention(attention.Additive(4, 4, hidden=2))(query, key, value, mask=mask))
    only_refused(lambda: heads(query, mask=mask))
    only_refused(lambda: crossing.look(query, crossing.remember(key), mask=mask))


TRANSLATING = ["translate", "score", "align", "inspect", "into", "evaluate"]
SETTINGS = ["beam", "n_best", "decoding", "prefixes", "terms", "beem", "layer", "head", "threshold", "units", "links"]


@pytest.fixture(scope="module")
def model(trained: Trained) -> regard.Translator:
    translator: regard.Translator = regard.load(trained.folder, device="cpu")
    return translator


@pytest.mark.parametrize("method", TRANSLATING)
@settings(max_examples=15)
@given(data=st.data())
def test_junk_given_to_translators_is_refused_in_words(
    method: str, data: st.DataObject, model: regard.Translator
) -> None:
    values = JUNK | st.sampled_from(["rot", ["rot"], [["red"]]])
    arguments = data.draw(st.lists(values, max_size=2))
    named = data.draw(st.dictionaries(st.sampled_from(SETTINGS), values, max_size=2))
    only_refused(lambda: getattr(model, method)(*arguments, **named))


@given(first=JUNK, second=JUNK, third=JUNK)
def test_junk_given_to_recordings_is_refused_in_words(first: Any, second: Any, third: Any) -> None:
    def enter() -> None:
        with regard.record(first, second), regard.intervene(first, second, third):
            pass

    only_refused(enter)


@settings(max_examples=8)
@given(first=JUNK, second=JUNK)
def test_junk_to_train_is_refused_in_words(first: Any, second: Any) -> None:
    for function in (regard.run, regard.learn_vectors):
        only_refused(lambda function=function: function(first, second))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda model: model.translate(["rot"], beem=1),
            "Translator.translate: got an unexpected keyword argument 'beem'; its arguments are 'beam', ",
        ),
        (
            lambda model: model.translate(["rot"], decoding=5),
            'decoding is 5 of type int, but settings are needed: {"method": "sample"} or Decoding(method="sample")',
        ),
        (
            lambda model: model.translate(["rot"], decoding={"beem": 1}),
            "decoding: unknown setting 'beem'; known here, nearest first: 'beam', ",
        ),
        (
            lambda _: regard.Decoding(beam=-1),
            "decoding: beam = -1: must be greater than or equal to 1",
        ),
        (lambda _: regard.Decoding(5), "Decoding: settings are given by name, as in kind='…', not as 5"),
        (
            lambda _: regard.attend(torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(2, 3), score="dot"),
            "score = 'dot' is a name, but a score is needed, such as Dot(…), or a function",
        ),
        (
            lambda _: regard.attend(torch.zeros(2, 3), torch.zeros(4, 3), torch.zeros(5, 3)),
            'attend: these shapes do not fit: query (2, 3), key (4, 3), value (5, 3); in query "... Q Dq", ',
        ),
        (
            lambda _: attention.Heads(16, 4)(torch.zeros(2, 3, 5)),
            'Heads: these shapes do not fit: x (2, 3, 5); in x "B Q E", equal names are equal numbers (mat1 and mat2',
        ),
        (
            lambda _: attention.Heads(16, 4)(torch.zeros(2, 3, 16), mask=torch.ones(5, 5, dtype=torch.bool)),
            "Attention: these shapes do not fit: query (2, 4, 3, 4), key (2, 4, 3, 4), value (2, 4, 3, 4), mask (5, 5)",
        ),
        (
            lambda _: attention.Heads(16, 4)(torch.zeros(2, 3, 16), mask=torch.ones(3, 3)),
            'Attention: mask is a Tensor of torch.float32 and shape (3, 3), but a tensor "..." of booleans is needed',
        ),
        (
            lambda _: attention.Attention("scaled_dot")(*[torch.zeros(2, 4, 3, 8)] * 3),
            "score = 'scaled_dot' is a name, but a score is needed",
        ),
        (
            lambda _: attention.Attention(torch.matmul)(
                torch.zeros(2, 4, 3, 8), torch.zeros(2, 4, 5, 8), torch.zeros(2, 4, 6, 8)
            ),
            "Attention: 5 keys and 6 values; each key needs a value, and no more",
        ),
        (
            lambda _: regard.attend([1.0], torch.zeros(4, 3), torch.zeros(5, 3)),
            'attend: query is [1.0] of type list, but a tensor "... Q Dq" of floats is needed',
        ),
        (
            lambda _: regard.attend(*[torch.zeros(2, 3)] * 3, mask=torch.full((2, 2), -torch.inf)),
            "mask is a tensor of torch.float32, but True where a query may attend to a key is needed; what is",
        ),
        (lambda _: regard.run({"task": "language"}, "x"), "run trains recipes of models, not {'task': 'language'}; "),
        (lambda _: regard.Vectors.load(5), "Vectors.load: path is 5 of type int, but a text or a path is needed"),
        (lambda model: regard.intervene(model, "*", 5).__enter__(), "intervene: change is 5, but a function of a tens"),
        (
            lambda _: attention.Additive("4", 3, hidden=2),
            "Additive: query_width is '4' of type str, but a whole number is needed",
        ),
    ],
)
def test_what_is_said(call: Callable[[Any], Any], says: str, model: regard.Translator) -> None:
    with pytest.raises(RegardError) as refusal:
        call(model)
    assert says in str(refusal.value)


def test_a_bug_stays_a_bug() -> None:
    @explained
    def half(number: int) -> float:
        return 1 / (number - number)

    with pytest.raises(ZeroDivisionError):
        half(3)
    with pytest.raises(UsageError, match="half: number is 'x' of type str, but a whole number is needed"):
        half("x")


def test_shapes_without_names_and_lists_of_lists_are_said() -> None:
    @explained
    def add(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return one + other

    with pytest.raises(UsageError, match=r"add: these shapes do not fit: one \(2,\), other \(3,\) \(The size "):
        add(torch.zeros(2), torch.zeros(3))
    assert in_words(Sequence[str]) == "a list of texts"
    assert in_words(Sequence[tuple[str, str] | str]) == "a list of tuples of texts or texts"
    assert in_words(tuple[int, ...]) == "a tuple of whole numbers"
    assert in_words(list[Any] | None) == "a list of anything"


def test_memory_that_does_not_suffice_is_said() -> None:
    @explained
    def fill(number: int) -> torch.Tensor:
        return torch.empty(number)

    with pytest.raises(UsageError, match="fill: more than fits"):
        fill(10**18)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("inductor: no kernel")])
def test_training_sees_what_stopped_attention(error: Exception) -> None:
    """It makes batches smaller, or does without the compiler."""

    def fails(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        raise error

    queries = torch.zeros(1, 1, 2, 4)
    with pytest.raises(type(error), match=str(error)):
        attention.Attention(fails)(queries, queries, queries)
    with pytest.raises(type(error), match=str(error)):
        attention.Heads(4, 2, score=fails)(torch.zeros(1, 2, 4))


@pytest.mark.parametrize(
    ("value", "annotation", "does"),
    [(True, int, False), (np.int64(3), int, True), ("a", list[str], False), (["a"], list[str], True), (3, float, True)],
)
def test_what_fits(value: Any, annotation: Any, does: bool) -> None:
    assert fits(value, annotation) == does


def test_a_recipe_error_is_one_in_python_too() -> None:
    with pytest.raises(RecipeError, match="model: width = 0"):
        regard.recipe.TransformerModel(kind="transformer", width=0)


def test_a_method_of_another_task_is_refused_with_ones_own(model: regard.Translator) -> None:
    with pytest.raises(UsageError) as refusal:
        model.classify(["eins"])  # type: ignore[attr-defined]
    assert isinstance(refusal.value, AttributeError)
    assert str(refusal.value) == (
        "Translator: has no method `classify`: it is a model for translation, and one for classifying is needed; its "
        "own are `translate`, `evaluate`, `score`, `align`"
    )
    with pytest.raises(AttributeError, match="'Translator' object has no attribute 'nothing'"):
        model.nothing  # type: ignore[attr-defined]  # noqa: B018
