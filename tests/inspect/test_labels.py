"""Labels show what is invisible, and know which way they run."""

from hypothesis import given
from inspection_strategies import labels

from regard.inspect.labels import readable, runs_right_to_left


@given(labels)
def test_nothing_in_a_readable_label_is_invisible(label: str) -> None:
    shown = readable(label)
    assert shown
    assert not any(character.isspace() or ord(character) < 32 for character in shown)
    assert len(shown) == max(len(label), 1)


def test_readable_labels() -> None:
    assert [readable(label) for label in ("Haus", "", " März", "a\tb", "\x00")] == ["Haus", "∅", "␣März", "a␣b", "�"]


def test_direction_is_that_of_most_letters() -> None:
    assert runs_right_to_left(["هذا", "بيت", "END"])
    assert runs_right_to_left(["שלום"])
    assert not runs_right_to_left(["house", "بيت"])
    assert not runs_right_to_left(["2021", "-"])
    assert not runs_right_to_left([])
