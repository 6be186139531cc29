"""Labels show what is invisible, and know which way they run."""

from hypothesis import given
from inspection_strategies import labels

from regard.inspect.labels import arrow_between, readable, runs_right_to_left


@given(labels)
def test_nothing_in_a_readable_label_is_invisible(label: str) -> None:
    shown = readable(label)
    assert shown
    assert not any(character.isspace() or ord(character) < 32 for character in shown)
    carried = shown.startswith("◌") and not label.startswith("◌")  # a circle carries what would have no letter under it
    assert len(shown) == max(len(label), 1) + carried


def test_readable_labels() -> None:
    assert [readable(label) for label in ("Haus", "", " März", "a\tb", "\x00")] == ["Haus", "∅", "␣März", "a␣b", "�"]
    assert readable("\u0e48น") == "◌\u0e48น"


def test_a_pair_keeps_its_order() -> None:
    assert arrow_between("3. März", "2021-03-03") == "3. März → 2021-03-03"
    mixed = arrow_between("מרץ", "2021-03-03")
    assert mixed == "\u200e\u2068מרץ\u2069\u200e → \u200e\u20682021-03-03\u2069\u200e"


def test_direction_is_that_of_most_letters() -> None:
    assert runs_right_to_left(["هذا", "بيت", "END"])
    assert runs_right_to_left(["שלום"])
    assert not runs_right_to_left(["house", "بيت"])
    assert not runs_right_to_left(["2021", "-"])
    assert not runs_right_to_left([])
