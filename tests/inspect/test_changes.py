"""Changes that can be named: rows stay distributions, what is masked stays masked, and pieces are as the whole."""

import pytest
import torch
from command_line import Trained
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

import regard
from regard.errors import UsageError
from regard.inspect import (
    Permute,
    SetGate,
    SetWeight,
    Silence,
    Temper,
    Uniform,
    changed,
    changed_outputs,
    gradient_norms,
)
from regard.inspect.changes import CHANGES, Change, ChangeAttention, as_python
from regard.tap import Tap

KINDS = [Silence, Uniform, Temper, Permute, SetWeight]


class Looking(nn.Module):
    """A model that is nothing but its taps."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = Tap("row", "head", "target", "source")
        self.pooling = Tap("row", "source")
        self.gate = Tap("row", "step", "feature")


def causal(rows: int, heads: int, places: int, seed: int = 0) -> Tensor:
    drawn = torch.rand(rows, heads, places, places, generator=torch.Generator().manual_seed(seed)) + 0.01
    seen = drawn.tril()
    return seen / seen.sum(-1, keepdim=True)


@st.composite
def changes_of_attention(draw: st.DrawFn, heads: int = 3, places: int = 5) -> ChangeAttention:
    kind = draw(st.sampled_from(KINDS))
    where = {
        "head": draw(st.none() | st.integers(0, heads - 1)),
        "query": draw(st.none() | st.integers(0, places - 1)),
    }
    more = {
        Temper: {"temperature": draw(st.floats(0.1, 9))},
        Permute: {"seed": draw(st.integers(0, 9))},
        SetWeight: {"key": draw(st.integers(0, places - 1)), "value": draw(st.floats(0, 1))},
    }
    return kind("weights", **where, **more.get(kind, {}))  # type: ignore[no-any-return]


@given(changes_of_attention(), st.integers(0, 9))
def test_rows_keep_their_sum_and_nothing_masked_is_seen(change: ChangeAttention, seed: int) -> None:
    old, model = causal(2, 3, 5, seed), Looking()
    with changed(model, [change]):
        new = model.weights(old)
    assert torch.isfinite(new).all()
    assert not new[old == 0].any()
    told = torch.zeros(3, 5, dtype=torch.bool)
    told[slice(None) if change.head is None else change.head, slice(None) if change.query is None else change.query] = (
        True
    )
    assert torch.equal(new[:, ~told], old[:, ~told])
    if isinstance(change, Silence):
        assert not new[:, told].any()
    else:
        torch.testing.assert_close(new.sum(-1), old.sum(-1))


@given(changes_of_attention(), st.sampled_from([[1, 1, 1, 1, 1], [2, 3], [4, 1]]))
def test_one_position_after_another_is_all_at_once(change: ChangeAttention, pieces: list[int]) -> None:
    old, model = causal(1, 3, 5), Looking()
    with changed(model, [change]):
        whole = model.weights(old)
    with changed(model, [change]):
        parts = torch.cat([model.weights(part) for part in old.split(pieces, 2)], 2)
    torch.testing.assert_close(parts, whole)


def test_what_each_makes_of_a_row() -> None:
    model, row = Looking(), torch.tensor([0.5, 0.3, 0.2, 0.0]).view(1, 1, 1, 4)

    def of(change: Change) -> Tensor:
        with changed(model, [change]):
            return model.weights(row).flatten()

    torch.testing.assert_close(of(Uniform("weights")), torch.tensor([1 / 3, 1 / 3, 1 / 3, 0.0]))
    torch.testing.assert_close(of(SetWeight("weights", key=0, value=0.0)), torch.tensor([0.0, 0.6, 0.4, 0.0]))
    torch.testing.assert_close(of(SetWeight("weights", key=2, value=0.5)), torch.tensor([0.3125, 0.1875, 0.5, 0.0]))
    torch.testing.assert_close(of(SetWeight("weights", key=3, value=0.5)), row.flatten())
    torch.testing.assert_close(of(Temper("weights", temperature=0.5)), torch.tensor([0.25, 0.09, 0.04, 0.0]) / 0.38)
    assert sorted(of(Permute("weights", seed=3)).tolist()) == sorted(row.flatten().tolist())
    assert any(not torch.equal(of(Permute("weights", seed=seed)), row.flatten()) for seed in range(5))


def test_pooling_has_neither_head_nor_query() -> None:
    model, row = Looking(), torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    with changed(model, [SetWeight("pooling", key=0, value=1.0)]):
        assert torch.equal(model.pooling(row), torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))


def test_gates_are_set_at_a_step_or_everywhere() -> None:
    model, steps = Looking(), torch.full((1, 3, 2), 0.5)
    with changed(model, [SetGate("gate", value=1.0, unit=1, step=2), SetGate("gate", value=0.0, unit=0)]):
        found = torch.cat([model.gate(step) for step in steps.split(1, 1)], 1)
    assert found.tolist() == [[[0.0, 0.5], [0.0, 0.5], [0.0, 1.0]]]


def test_several_places_by_a_pattern_each_count_for_themselves() -> None:
    both = nn.ModuleDict({"first": Looking(), "second": Looking()})
    with changed(both, [SetWeight("*.weights", query=1, key=0)]):
        for part in both.values():
            old = causal(1, 1, 3)[0, 0]
            assert part.weights(old[None, None])[0, 0, :, 0].tolist() == pytest.approx([1.0, 1.0, float(old[2, 0])])


@given(changes_of_attention())
def test_a_change_is_shown_as_the_call_that_makes_it(change: ChangeAttention) -> None:
    assert eval(repr(change), dict(CHANGES)) == change
    call = f"inspect({'a b'!r}, {chr(10)!r})"
    compile(as_python("regard.load(\"runs/o'clock\").into('de')", call, [change]), "shown", "exec")


def test_a_program_says_what_it_needs() -> None:
    told = as_python(
        "regard.load('m')", "outputs('a')", [Silence("x")], name="outputs", after=["f(outputs)"], used={"b.c": ["f"]}
    )
    assert told.splitlines() == [
        "import regard",
        "from b.c import f",
        "from regard.inspect import Silence, changed",
        "",
        "model = regard.load('m')",
        "changes = [",
        "    Silence('x'),",
        "]",
        "with changed(model, changes):",
        "    outputs = model.outputs('a')",
        "f(outputs)",
    ]


@pytest.mark.parametrize(
    "change", [SetWeight("decoder.*.weights", query=2, key=1, value=0.9), Uniform("decoder.*.weights")]
)
def test_outputs_with_changes_are_those_of_the_changed_model(trained: Trained, change: Change) -> None:
    """However often the model runs: positions are counted from zero each time."""
    model = regard.load(trained.folder)
    texts = "eins und zwei", "one two"
    with changed(model, [change]):
        expected = model.inspect(*texts)["probabilities"].values
    outputs = changed_outputs(model.outputs(*texts), [change])
    for _ in range(2):
        found = [float(outputs.probabilities(place)[0, outputs.choice(place)]) for place in range(len(outputs))]
        assert found == pytest.approx(expected.tolist(), abs=1e-5)
    assert changed_outputs(outputs, []) is outputs
    norms = gradient_norms(outputs)
    assert all(torch.isfinite(torch.from_numpy(array.values)).all() for array in norms.values())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda: Temper("weights", temperature=0.0), "temperature = 0.0: must be above 0; 1 changes nothing"),
        (lambda: SetWeight("weights", value=1.5), "value = 1.5: a weight lies between 0 and 1"),
        (lambda: Silence("weights", head=3), "head = 3: must be from 0 to 1"),
        (lambda: SetWeight("weights", key=9), "key = 9: must be from 0 to 2"),
        (lambda: SetGate("weights"), "SetGate does not fit 'weights', whose axes are row, head, target, source"),
        (lambda: Uniform("gate"), "Uniform does not fit 'gate', whose axes are row, step, feature"),
        (lambda: Uniform("weight"), "no tap matches 'weight'; this model has 'weights'"),
    ],
)
def test_refusals(change: object, told: str) -> None:
    model = Looking()
    with pytest.raises(UsageError) as caught, changed(model, [change()]):  # type: ignore[operator]
        model.weights(causal(1, 2, 3))
    assert told in str(caught.value)
