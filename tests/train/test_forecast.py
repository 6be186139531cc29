"""How long a run will take, said once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from train_tasks import recipe_for

from regard.recipe import AnyRecipe, Recipe, parse_recipe
from regard.train import Started, Step
from regard.train import forecast as room
from regard.train.forecast import Forecast, in_words, quick_recipes


def said(recipe: Recipe, pace: float, steps: int, aside: float = 0.0, device: str = "cpu") -> list[str]:
    """What is said of a run whose steps take so long, the first one much longer, with pauses between them."""
    lines: list[str] = []
    tell = Forecast(recipe, lines.append)
    tell(Started(0, 1, device, 1, "begins"))
    for number in range(1, steps + 1):
        paused = aside * number
        tell(Step(number, 1.0, 1.0, 1e-3, 10, 0, 50.0 + pace * number + paused, skipped=False, aside=paused))
    return lines


@given(st.floats(0.01, 20), st.integers(100, 10**6), st.floats(0, 5))
def test_the_time_is_that_of_the_steps_to_come(pace: float, steps: int, aside: float) -> None:
    """Whatever the first step took, and whatever was done between steps."""
    lines = said(recipe_for(steps=steps), pace, min(steps, 1000), aside)
    needed = max(6, 1 + 5 / pace) if pace < 6 else 1 + min(5, 30 / pace)
    if needed > 998 or pace * (steps - needed - 2) < 61:
        return
    (line,) = lines
    words, _, unit = line.removeprefix("this will take about ").partition(" more")[0].partition(" ")
    left, _, right = words.partition(":")
    seconds = {"min": 60, "h": 3600}[unit] * int(left) + {"min": 1, "h": 60}[unit] * int(right)
    assert seconds == pytest.approx(pace * (steps - needed), rel=0.02, abs=60 + 2 * pace)


def test_what_is_over_soon_is_not_forecast() -> None:
    assert said(recipe_for(steps=60), 1.0, 60) == []


def test_where_only_validation_can_end_it_nothing_is_invented() -> None:
    assert said(recipe_for(steps=0, validation={"patience": 3}), 1.0, 50) == []


def test_hours_on_a_cpu_come_with_what_takes_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "quick_recipes", lambda task: [f"quick-{task}"])
    (line,) = said(recipe_for(steps=10_000), 1.4, 10)
    task = recipe_for().task
    assert line == (
        "this will take about 3:53 h more on this machine; `--set train.minutes=10` stops after ten minutes; made for "
        f"minutes on a CPU: quick-{task} (`regard recipes NAME`)"
    )
    monkeypatch.setattr(room, "quick_recipes", lambda task: [])
    assert in_words(14_000, "translation") == (
        "this will take about 3:53 h more on this machine; `--set train.minutes=10` stops after ten minutes"
    )
    assert said(recipe_for(steps=10_000), 1.4, 10, device="cuda:0") == [
        "this will take about 3:53 h more on this machine"
    ]


@pytest.mark.parametrize(("task", "name"), [("translation", "multi30k-laptop"), ("language", "ptb-laptop")])
def test_there_is_a_recipe_for_minutes(task: str, name: str) -> None:
    assert quick_recipes(task) == [name]


def test_recipes_for_minutes_are_those_that_say_so_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    def recipe(name: str, kind: type[AnyRecipe]) -> AnyRecipe:
        minutes = {"quick": 10.0, "long": 300.0, "endless": 0.0, "toy": 1.0}[name]
        data = {"corpus": "dates"} if name == "toy" else {"train": ["a.de", "a.en"]}
        return parse_recipe({"data": data, "model": {"kind": "recurrent"}, "train": {"minutes": minutes, "steps": 9}})

    monkeypatch.setattr(room, "read_recipe", recipe)
    monkeypatch.setattr(room, "built_in_recipes", lambda: ["quick", "long", "endless", "toy"])
    assert quick_recipes("translation") == ["quick"]
    assert quick_recipes("language") == []
