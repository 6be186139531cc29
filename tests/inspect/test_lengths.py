"""Quality by length as a picture: one system or two, with or without intervals, whatever their names."""

from pathlib import Path

import pytest

from regard.errors import UsageError
from regard.inspect import draw_lengths, save_lengths
from regard.metrics import LengthQuality, MetricScore


def qualities(count: int, margin: float | None = 3.0, lines: int = 30) -> list[LengthQuality]:
    return [
        LengthQuality(
            *(3 * place + 1, 3 * place + 3, lines + place),
            *(MetricScore("BLEU", 50.0 - place, "tok:13a", margin), MetricScore("chrF2", 60.0 - place, "nc:6", margin)),
        )
        for place in range(count)
    ]


@pytest.mark.spread(2)
@pytest.mark.parametrize("margin", [None, 3.0])
@pytest.mark.parametrize("names", [["runs/mine"], ["runs/mine", "日本 $x^2$ " + 80 * "long"]])
def test_points_are_the_scores_and_bars_the_lines(names: list[str], margin: float | None) -> None:
    figure = draw_lengths({name: qualities(5, margin) for name in names})
    figure.canvas.draw()
    bleu, chrf, below = figure.axes
    assert (bleu.get_ylabel(), chrf.get_ylabel(), below.get_ylabel()) == ("BLEU", "chrF2", "lines")
    for panel, first in ((bleu, 50.0), (chrf, 60.0)):
        assert [list(line.get_ydata()) for line in panel.lines] == [[first - place for place in range(5)]] * len(names)
        assert len(panel.collections) == (0 if margin is None else len(names))
    assert [bar.get_height() for bar in below.patches] == [30, 31, 32, 33, 34]
    assert [label.get_text() for label in below.get_xticklabels()] == ["1–3", "4–6", "7–9", "10–12", "13–15"]
    texts = [text.get_text() for text in bleu.texts]
    assert ("vertical lines: 95 % intervals" in texts) == (margin is not None)
    assert "● runs/mine" in texts
    assert all(len(text) < 65 for text in texts)


def test_a_perfect_system_may_be_perfect_beyond_rounding() -> None:
    perfect = MetricScore("BLEU", 100.00000000000004, "tok:13a", 0.0)
    figure = draw_lengths({"a": [LengthQuality(1, 3, 30, perfect, perfect)]})
    figure.canvas.draw()
    for panel in figure.axes[:2]:
        (bars,) = panel.collections
        assert [y for segment in bars.get_segments() for _, y in segment] == [perfect.value] * 2


def test_intervals_stay_between_0_and_100() -> None:
    figure = draw_lengths({"a": qualities(2, margin=70.0)})
    for panel in figure.axes[:2]:
        (bars,) = panel.collections
        assert all(0 <= y <= 100 for segment in bars.get_segments() for _, y in segment)


@pytest.mark.parametrize("count", [1, 2, 13])
def test_nothing_leaves_the_picture(count: int) -> None:
    figure = draw_lengths({"runs/mine": qualities(count), "runs/" + "a" * 70: qualities(count)})
    figure.canvas.draw()
    box, whole = figure.get_tightbbox(), figure.get_size_inches()
    assert box.x0 >= -0.02
    assert box.y0 >= -0.02
    assert box.x1 <= whole[0] + 0.02
    assert box.y1 <= whole[1] + 0.02


def test_the_suffix_is_the_format(tmp_path: Path) -> None:
    save_lengths({"a": qualities(3)}, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match=r"pictures are not written as \.gif"):
        save_lengths({"a": qualities(3)}, tmp_path / "a.gif")


@pytest.mark.parametrize("systems", [{}, {"a": []}])
def test_nothing_to_draw(systems: dict[str, list[LengthQuality]]) -> None:
    with pytest.raises(UsageError, match="there is nothing to draw; give at least one system with at least one line"):
        draw_lengths(systems)
